package php

import (
	"context"
	"encoding/json"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

func TestAServiceThatComesBackRunsAsItDid(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		ctx := t.Context()
		export := func() json.RawMessage {
			document, err := w.Export(ctx, w.db, owner, service)
			must(w.T, err)
			return document
		}
		takeBack := func(document string) error {
			return w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
				return w.Import(ctx, tx, owner, service, json.RawMessage(document), nil)
			})
		}
		if document := export(); document != nil {
			w.Errorf("of nothing: %s", document)
		}
		w.apply()
		w.shows() // what there is to choose from is known from now on
		w.change(`{"version":"8.2","options":{"memory_limit":"128M","display_errors":true},"extensions":[{"name":"imagick","state":"enabled"}]}`)
		w.apply()
		document := export()

		w.services.SetStatus(w.T, service, "terminated")
		w.apply()
		w.services.SetStatus(w.T, service, "active")
		if document := export(); document != nil {
			w.Errorf("left: %s", document)
		}
		for range 2 {
			must(w.T, takeBack(string(document)))
			w.apply()
			if again := export(); string(again) != string(document) {
				w.Errorf("%s, was %s", again, document)
			}
		}
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.2" || shown.Options["memory_limit"].Value != "128M" {
			w.Errorf("%+v", shown)
		}
		must(w.T, takeBack(`{"version":"5.6"}`)) // which the machine no longer has
		if shown := w.shows(); shown.Version != "8.2" {
			w.Errorf("%+v", shown)
		}
		// Nor are its extensions, whether they came with a version or were removed from the machine.
		must(w.T, takeBack(`{"version":"5.6","extensions":["imagick","mcrypt"]}`))
		if again := export(); string(again) != string(document) {
			w.Errorf("%s, was %s", again, document)
		}
		if err := takeBack(`{"version":"8.2","options":{"memory_limit":"2048M"}}`); err == nil {
			w.Error("more memory than the plan has")
		}
	})
}

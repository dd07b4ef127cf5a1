package php

import (
	"testing"

	"stead.dev/stead/internal/hosting/site"
)

func TestAServiceThatComesBackRunsAsItDid(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		takeBack := func(document string) error { return w.Reimport(w, service, document) }
		if document := w.Exported(w, service); document != "" {
			t.Errorf("of nothing: %s", document)
		}
		w.apply()
		w.shows() // what there is to choose from is known from now on
		w.change(`{"version":"8.2","options":{"memory_limit":"128M","display_errors":true},"extensions":[{"name":"imagick","state":"enabled"}]}`)
		w.apply()
		document := w.Exported(w, service)

		w.Services.SetStatus(w.T, service, "terminated")
		w.apply()
		w.Services.SetStatus(w.T, service, "active")
		if document := w.Exported(w, service); document != "" {
			t.Errorf("left: %s", document)
		}
		for range 2 {
			w.Must(takeBack(document))
			w.apply()
			if again := w.Exported(w, service); again != document {
				t.Errorf("%s, was %s", again, document)
			}
		}
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.2" || shown.Options["memory_limit"].Value != "128M" {
			t.Errorf("%+v", shown)
		}
		w.Must(takeBack(`{"version":"5.6"}`)) // which the machine no longer has
		if shown := w.shows(); shown.Version != "8.2" {
			t.Errorf("%+v", shown)
		}
		// Nor are its extensions, whether they came with a version or were removed from the machine.
		w.Must(takeBack(`{"version":"5.6","extensions":["imagick","mcrypt"]}`))
		if again := w.Exported(w, service); again != document {
			t.Errorf("%s, was %s", again, document)
		}
		if err := takeBack(`{"version":"8.2","options":{"memory_limit":"2048M"}}`); err == nil {
			t.Error("more memory than the plan has")
		}
	})
}

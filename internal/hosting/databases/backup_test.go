package databases

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

func TestDatabasesThatAreGoneComeBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.service(owner, 10)
		export := func() json.RawMessage {
			document, err := w.Export(ctx, w.db, owner, 10)
			w.must(err)
			return document
		}
		takeBack := func(document json.RawMessage, items ...string) {
			w.must(w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Import(ctx, tx, owner, 10, document, items) }))
			w.apply(10)
		}
		if document := export(); document != nil {
			t.Errorf("of none: %s", document)
		}
		stays := w.add(10, `{"name":"shop","engine":"mariadb"}`)
		goes := w.add(10, `{"name":"blog","engine":"postgresql"}`)
		w.apply(10)
		document := export()
		for _, id := range []int64{goes} {
			if r := w.Do("DELETE", fmt.Sprintf("/10/databases/%d", id), "own", ""); r.Code != 200 {
				t.Fatalf("%+v", r)
			}
		}
		w.apply(10)
		w.add(10, `{"name":"new","engine":"mariadb"}`)
		takeBack(document, "s10_shop")
		if _, there := w.shows(10)["s10_blog"]; there {
			t.Error("one that was not named came back")
		}
		for range 2 {
			takeBack(document)
		}
		all := w.shows(10)
		if len(all) != 3 || all["s10_shop"].ID != stays || all["s10_blog"].ID == goes || all["s10_blog"].Status != Active || all["s10_blog"].Engine != "postgresql" {
			t.Errorf("databases: %+v", all)
		}
		if len(w.secrets.all[all["s10_blog"].ID][0]) == 0 {
			t.Error("it has no password")
		}
	})
}

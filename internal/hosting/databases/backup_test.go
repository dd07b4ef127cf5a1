package databases

import (
	"fmt"
	"testing"
)

func TestDatabasesThatAreGoneComeBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		takeBack := func(document string, items ...string) {
			w.Must(w.Reimport(w, 10, document, items...))
			w.apply(10)
		}
		if document := w.Exported(w, 10); document != "" {
			t.Errorf("of none: %s", document)
		}
		stays := w.add(10, `{"name":"shop","engine":"mariadb"}`)
		goes := w.add(10, `{"name":"blog","engine":"postgresql"}`)
		w.apply(10)
		document := w.Exported(w, 10)
		if r := w.Do("DELETE", fmt.Sprintf("/10/databases/%d", goes), "own", ""); r.Code != 200 {
			t.Fatalf("%+v", r)
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
		if _, _, err := w.secrets.Secret(t.Context(), w.DB, SecretKind, all["s10_blog"].ID); err != nil {
			t.Errorf("it has no password: %v", err)
		}
	})
}

package sitedomains

import (
	"bytes"
	"context"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

func TestAServiceThatComesBackHasItsDomains(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.service(owner, 10, "shop.example")
		w.add(10, "blog.example", Addon)
		w.add(10, "other.example", Alias)
		w.add(10, "taken.example", Addon)
		w.Must(w.Apply(ctx, owner, 10))
		before := w.has(10)
		document, err := w.Export(ctx, w.DB, owner, 10)
		w.Must(err)
		// What the machine that kept it may say beside.
		forged := append(bytes.TrimSuffix(document, []byte("]")), `,{"name":"mx.stead.test","kind":"addon","document_root":"/x"},{"name":"no name","kind":"addon","document_root":"/x"}]`...)

		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.collection().End(ctx, tx, 10) })
		w.Must(w.machine.DeleteAccount(ctx, "10"))
		w.Exec(`DELETE FROM test_services WHERE id = 10`)
		w.service(owner, 11, "taken.example")
		w.service(owner, 10, "shop.example")
		for range 2 {
			w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Import(ctx, tx, owner, 10, forged, nil) })
			w.Must(w.Apply(ctx, owner, 10))
		}
		after := w.has(10)
		if want := "shop.example=/public_html blog.example=/sites/blog.example other.example=/public_html"; after != want {
			t.Errorf("domains: %s, want %s (there were %s)", after, want, before)
		}
	})
}

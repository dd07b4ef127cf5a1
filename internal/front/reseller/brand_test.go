package reseller

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

func pngOf(t *testing.T, side int) *[]byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	return &content
}

func (w *world) get(path string) *http.Response {
	w.t.Helper()
	a := httptest.NewRecorder()
	w.BrandHandler().ServeHTTP(a, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, nil))
	return a.Result()
}

func TestABrandIsChangedAsAWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		none, err := w.brandOf(t.Context(), w.DB, w.AccountID)
		if v := none.shown(); err != nil || v != (brand.Brand{}) {
			t.Errorf("without one: %+v, %v", v, err)
		}
		in := brandIn{
			Name: " Samarkand Web ", Color: "#0F5FA8", Support: "help@reseller.example", Terms: "https://reseller.example/terms",
			PicturesIn: brand.PicturesIn{Logo: pngOf(t, 4), Icon: pngOf(t, 5)}, ETag: none.etag(),
		}
		first, err := w.changeBrand(t.Context(), w.AccountID, in)
		if err != nil {
			t.Fatal(err)
		}
		v := first.shown()
		if v.Name != "Samarkand Web" || v.Color != "#0f5fa8" || v.Terms != in.Terms || v.Support != in.Support || v.Logo == "" || v.Icon == "" || v.Style == "" {
			t.Errorf("the brand: %+v", v)
		}
		if _, err := w.changeBrand(t.Context(), w.AccountID, in); !errors.Is(err, fault.ETagMismatch) {
			t.Errorf("of the version before: %v", err)
		}
		// A refused member leaves all as it is.
		page := []byte("<!doctype html><script>alert(1)</script>")
		for _, wrong := range []brandIn{
			{Name: "a\nb"},
			{Name: "a\u202eb"},
			{Color: "red"},
			{Support: "nobody"},
			{Terms: "javascript:alert(1)"},
			{Privacy: "/privacy"},
			{Imprint: "data:text/html,a"},
			{Name: "Other", PicturesIn: brand.PicturesIn{Logo: &page}},
			{Name: "STЕAD"},
			{Name: "s.t.e.a.d"},
		} {
			if _, err := w.changeBrand(t.Context(), w.AccountID, wrong); !errors.Is(err, fault.Validation) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		if b, err := w.brandOf(t.Context(), w.DB, w.AccountID); err != nil || b.etag() != first.etag() {
			t.Errorf("after what was refused: %+v, %v", b, err)
		}
		// Other settings, and the brand of the sandbox, are apart from it.
		err = w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return putSettings(ctx, tx, w.AccountID, settings{}) })
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.brandOf(t.Context(), w.DB, w.SandboxID); err != nil || len(b.Pictures) != 0 || b.Name != "" {
			t.Errorf("of the sandbox: %+v, %v", b, err)
		}
		// Texts that are left out are empty, pictures stay until they are taken away.
		second, err := w.changeBrand(t.Context(), w.AccountID, brandIn{Name: "Registon", PicturesIn: brand.PicturesIn{Icon: &[]byte{}}, ETag: first.etag()})
		if v := second.shown(); err != nil || v.Terms != "" || v.Logo != first.shown().Logo || !strings.HasPrefix(v.Icon, "data:image/svg+xml;base64,") || v.Style != "" {
			t.Errorf("the second: %+v, %v", v, err)
		}
		chosen, err := w.settingsOf(t.Context(), w.DB, w.AccountID)
		if err != nil || chosen.autoRenew {
			t.Errorf("the brand changed the renewal: %+v, %v", chosen, err)
		}
	})
}

func TestFilesOfABrandAreFoundByTheirContent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		other := w.appoint("bobur@stead.test")
		mine, err := w.changeBrand(t.Context(), w.AccountID, brandIn{Name: "Samarkand Web", Color: "#0f5fa8", PicturesIn: brand.PicturesIn{Logo: pngOf(t, 4)}})
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := w.changeBrand(t.Context(), other.AccountID, brandIn{Name: "Buxoro", PicturesIn: brand.PicturesIn{Logo: pngOf(t, 9), Icon: pngOf(t, 4)}})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			mine.shown().Logo: "image/png", mine.shown().Style: "text/css; charset=utf-8", theirs.shown().Logo: "image/png", theirs.shown().Icon: "image/png",
		} {
			r := w.get(path)
			h := r.Header
			if r.StatusCode != http.StatusOK || h.Get("Content-Type") != want || h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s: %d %v", path, r.StatusCode, h)
			}
		}
		logo := mine.shown().Logo
		for _, path := range []string{
			BrandPath, BrandPath + "logo", BrandPath + "logo-.png", strings.Replace(logo, ".png", ".svg", 1), strings.Replace(logo, "logo-", "icon-x", 1),
			BrandPath + "style-red.css", BrandPath + "style-0f5fa8.js", BrandPath + "style-0f5fa8.css.css", logo + "/..",
			BrandPath + "logo-%00.png", BrandPath + "logo-%ff.png", BrandPath + "%00-0f.png", BrandPath + "%ff-0f.png",
		} {
			if r := w.get(path); r.StatusCode != http.StatusNotFound || r.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d", path, r.StatusCode)
			}
		}

		// Of a closed account nothing is left; what another has is as it was.
		err = w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.eraseBrand(ctx, tx, w.AccountID) })
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.brandOf(t.Context(), w.DB, w.AccountID); err != nil || b.shown() != (brand.Brand{}) {
			t.Errorf("of the closed account: %+v, %v", b, err)
		}
		if r := w.get(logo); r.StatusCode != http.StatusNotFound {
			t.Errorf("its logo: %d", r.StatusCode)
		}
		if r := w.get(theirs.shown().Icon); r.StatusCode != http.StatusOK {
			t.Errorf("the same picture of another: %d", r.StatusCode)
		}
		err = w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.eraseBrand(ctx, tx, 99_999) })
		if err != nil {
			t.Errorf("of a customer: %v", err)
		}
	})
}

// TestALinkBearsTheBrand: of the account whose service it opens, also when it was used.
func TestALinkBearsTheBrand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		if _, err := w.changeBrand(t.Context(), w.SandboxID, brandIn{Name: "Samarkand Web"}); err != nil {
			t.Fatal(err)
		}
		for account, want := range map[int64]string{w.SandboxID: "Samarkand Web", w.AccountID: ""} {
			token := secret.Token(linkPrefix, linkBytes)
			w.exec(`INSERT INTO reseller_links (account_id, service_id, token_hash, expires_at, created_at) VALUES ($1, 1, $2, $3, $4)`,
				account, secret.Hash(token), w.clk.Now().Add(time.Minute), w.clk.Now())
			if d, err := w.Link(t.Context(), token); err != nil || !d.Waits || d.Brand.Name != want {
				t.Errorf("the link: %+v, %v", d, err)
			}
			visit, err := w.Enter(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Leave(t.Context(), visit); err != nil {
				t.Fatal(err)
			}
			if d, err := w.Link(t.Context(), token); err != nil || d.Waits || d.Brand.Name != want {
				t.Errorf("the used link: %+v, %v", d, err)
			}
			if b, err := w.VisitBrand(t.Context(), visit); err != nil || b.Name != want {
				t.Errorf("the visit that is over: %+v, %v", b, err)
			}
		}
		if d, err := w.Link(t.Context(), "nothing"); err != nil || d != (Door{}) {
			t.Errorf("no link: %+v, %v", d, err)
		}
	})
}

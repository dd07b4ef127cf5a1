package articles

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func drawn(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPictureIsUploadedShownAndRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, s := t.Context(), newService(d, clk)
		p, err := s.AddPicture(ctx, "watch.png", drawn(t, 40, 20))
		if err != nil || p.Width != 40 || p.Height != 20 {
			t.Fatalf("%+v, %v", p, err)
		}
		if m, err := s.Picture(ctx, "watch.png"); err != nil || m.ContentType() != "image/png" {
			t.Errorf("%+v, %v", m, err)
		}
		for name, c := range map[string]struct {
			name    string
			content []byte
			field   string
		}{
			"one that is there":    {"watch.png", drawn(t, 1, 1), "name"},
			"a path":               {"../watch.png", drawn(t, 1, 1), "name"},
			"no name":              {".png", drawn(t, 1, 1), "name"},
			"a page as a picture":  {"a.png", []byte("<!doctype html><script>alert(1)</script>"), "content"},
			"only the head of one": {"a.png", []byte("\x89PNG\r\n\x1a\n<script>alert(1)</script>"), "content"},
			"another type":         {"a.jpg", drawn(t, 1, 1), "content"},
			"a drawing":            {"a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "content"},
			"a page by its name":   {"a.html", drawn(t, 1, 1), "content"},
			"one that is too wide": {"a.png", drawn(t, maxPictureSide+1, 1), "content"},
			"too much":             {"a.png", append(drawn(t, 1, 1), make([]byte, maxMedia)...), "content"},
		} {
			if _, err := s.AddPicture(ctx, c.name, c.content); fault.From(err).Invalid[c.field] == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		draft := Draft{Kind: Help, Slug: "watch", Language: "en", Category: "email", Text: Text{
			Title: "A watch", Description: "One by one.", Body: "![A watch](/media/watch.png)\n",
		}}
		made, err := s.Create(ctx, draft)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RemovePicture(ctx, "watch.png"); !errors.Is(err, errShown) {
			t.Errorf("one that a draft shows is removed: %v", err)
		}
		if err := s.Remove(ctx, made.ID, "en"); err != nil {
			t.Fatal(err)
		}
		if err := s.RemovePicture(ctx, "watch.png"); err != nil {
			t.Error(err)
		}
		if all, err := s.Pictures(ctx); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

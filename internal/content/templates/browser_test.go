package templates

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"stead.dev/stead/internal/platform/i18n"
)

var update = flag.Bool("update", false, "make the thumbnails anew")

// thumbnailLanguage is the language of the pages in thumbnails.
const thumbnailLanguage = i18n.Uzbek

// chromium opens a browser, and a server of the previews by slug and language.
func chromium(t *testing.T) (ctx context.Context, address func(tp *Template, lang string) string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slug, lang, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		tp := Find(slug)
		if tp == nil {
			http.NotFound(w, r)
			return
		}
		content, err := tp.Preview(lang)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatalf("%v: run the tests with `make test`, which installs it", err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(release)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, func(tp *Template, lang string) string { return server.URL + "/" + tp.Slug + "/" + lang }
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) { //nolint:revive // as testing wants it
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// scheme has pages shown in light or dark.
func scheme(value string) chromedp.Action[chromedp.Void] {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// TestUpdateThumbnails makes the thumbnails when it is told to (make thumbnails): pictures of the pages as a window of
// 1200 by 900 shows them, in light.
func TestUpdateThumbnails(t *testing.T) {
	if !*update {
		return // nothing is to be made
	}
	ctx, address := chromium(t)
	quality := int64(82)
	var lines []string
	for _, tp := range All() {
		for _, size := range Sizes() {
			var width, height int
			if _, err := fmt.Sscanf(string(size), "%dx%d", &width, &height); err != nil {
				t.Fatal(err)
			}
			do(t, ctx, chromedp.EmulateViewport(1200, 900, chromedp.EmulateScale(float64(width)/1200)), scheme("light"),
				chromedp.Navigate(address(tp, thumbnailLanguage)),
				chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
					shot, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
						Format: page.CaptureScreenshotFormatWebp, Quality: &quality,
					})
					if err != nil {
						return err
					}
					return os.WriteFile(filepath.Join("library", tp.Slug, string(size)+".webp"), shot.Data, 0o644)
				}))
		}
		lines = append(lines, tp.sumLine(t)+"\n")
	}
	if err := os.WriteFile(sums, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

package webui

import (
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/i18n"
)

func TestThePanelsPageNamesTheFilesOfItsRoute(t *testing.T) {
	t.Parallel()
	b, err := readBundle()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":                                "index",
		"/services":                        "services.index",
		"/services/7":                      "services.$service.index",
		"/services/7/dns":                  "services.$service.dns",
		"/services/7/files/public/img.png": "services.$service.files.$",
		"/staff":                           "staff.$",
		"/staff/customers/7":               "staff.$",
		"/no/such/page":                    "",
		"/services/7/dns/and/more":         "",
	} {
		if got := b.route(path); got != want {
			t.Errorf("route(%q) = %q, want %q", path, got, want)
		}
	}
	for _, lang := range i18n.Supported() {
		f := b.firstLoad("/services/7/dns", lang)
		for _, source := range []string{"src/app/main.tsx", "src/i18n/" + lang + ".ts", "src/i18n/pages." + lang + ".ts", b.routes["services.$service"], b.routes["services.$service.dns"]} {
			if file := panelPath + "/" + b.chunks[source].File; !slices.Contains(f.scripts, file) {
				t.Errorf("%s: %s (%s) is not among %q", lang, source, file, f.scripts)
			}
		}
		if file := panelPath + "/" + b.chunks["src/i18n/pages."+lang+".ts"].File; slices.Contains(b.firstLoad("/", lang).scripts, file) {
			t.Errorf("%s: the overview waits for the texts of all pages", lang)
		}
		if all := slices.Concat(f.scripts, f.styles); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Errorf("a file is named twice: %q", all)
		}
		if slices.ContainsFunc(f.scripts, func(s string) bool { return strings.HasSuffix(s, "/") }) || len(f.styles) == 0 {
			t.Errorf("%q, %q", f.scripts, f.styles)
		}
	}
}

package panel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/htaccess"
)

func TestIgnoredRulesAreBounded(t *testing.T) {
	var r IgnoredRules
	r.Add("/a/.htaccess", nil)
	for i := range 1000 {
		r.Add(fmt.Sprintf("/a%d/\n%s/.htaccess", i, strings.Repeat("x", 5000)), []htaccess.Rule{{Line: 1, Directive: "Header"}, {Line: 2, Directive: "Header"}, {Line: 3, Directive: "SetEnv", Protects: true}})
	}
	if len(r.Files) != MostIgnoredFiles || r.More != 1000-MostIgnoredFiles || !slices.Equal(r.Directives, []string{"Header", "SetEnv"}) || !r.Protects {
		t.Fatalf("%d files and %d more of %v", len(r.Files), r.More, r.Directives)
	}
	for _, f := range r.Files {
		if len(f.Path) > mostIgnoredPath+len("…") || strings.Contains(f.Path, "\n") || len(f.Directives) != 2 {
			t.Errorf("%q %v", f.Path, f.Directives)
		}
	}
	if got := r.Checked(); len(got.Files) != len(r.Files) || got.More != r.More || !slices.Equal(got.Directives, r.Directives) {
		t.Errorf("an honest report becomes %+v", got)
	}
}

func TestAReportOfAMachineIsChecked(t *testing.T) {
	many := make([]IgnoredFile, 1000)
	for i := range many {
		many[i] = IgnoredFile{Path: "/a/.htaccess", Directives: []string{"SetEnv", "Header", "Header", "free text"}}
	}
	got := IgnoredRules{Files: many, More: 1 << 62, Directives: []string{"SetEnv", "Header", "header", "free text", ""}}.Checked()
	if len(got.Files) != MostIgnoredFiles || !slices.Equal(got.Files[0].Directives, []string{"Header", "SetEnv"}) || !slices.Equal(got.Directives, got.Files[0].Directives) || got.More > 2*mostIgnoredMore {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"", "x", "/a", "https://evil.example/.htaccess", "/https://evil.example/.htaccess", "/a.htaccess"} {
		if got := (IgnoredRules{Files: []IgnoredFile{{Path: path, Directives: []string{"Header"}}}, Directives: []string{"Header"}}).Checked(); len(got.Files) > 0 {
			t.Errorf("%q is taken", path)
		}
	}
	if got := (IgnoredRules{More: 3, Protects: true, Directives: []string{"free text"}}).Checked(); len(got.Directives) > 0 || got.More > 0 || got.Protects {
		t.Errorf("%+v", got)
	}
}

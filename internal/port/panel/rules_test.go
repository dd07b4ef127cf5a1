package panel

import (
	"fmt"
	"reflect"
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
	if len(r.Files) != MostIgnoredFiles || r.More != 1000-MostIgnoredFiles || !slices.Equal(r.Others, []string{"Header"}) || !slices.Equal(r.Protecting, []string{"SetEnv"}) {
		t.Fatalf("%d files and %d more of %v", len(r.Files), r.More, r.IgnoredNames)
	}
	for _, f := range r.Files {
		if len(f.Path) > mostIgnoredPath+len("…") || strings.Contains(f.Path, "\n") || len(f.Others) != 1 || len(f.Protecting) != 1 {
			t.Errorf("%q %v", f.Path, f.IgnoredNames)
		}
	}
	if got := r.Checked(); !reflect.DeepEqual(got, r) {
		t.Errorf("an honest report becomes %+v", got)
	}
}

func TestAReportOfAMachineIsChecked(t *testing.T) {
	many := make([]IgnoredFile, 1000)
	for i := range many {
		many[i] = IgnoredFile{Path: "/a/.htaccess", IgnoredNames: IgnoredNames{Protecting: []string{"AuthType", "FREE", "authtype"}, Others: []string{"SetEnv", "Header", "Header", "AuthType", "free text", "…x"}}}
	}
	got := IgnoredRules{Files: many, More: 1 << 62, IgnoredNames: IgnoredNames{Others: []string{"SetEnv", "Header", "header", "free text", ""}}}.Checked()
	if len(got.Files) != MostIgnoredFiles || !slices.Equal(got.Files[0].Others, []string{"Header", "SetEnv"}) || !slices.Equal(got.Files[0].Protecting, []string{"AuthType"}) || !slices.Equal(got.Others, got.Files[0].Others) || got.More > 2*mostIgnoredMore {
		t.Errorf("%+v", got)
	}
	header := IgnoredNames{Others: []string{"Header"}}
	for _, path := range []string{"", "x", "/a", "https://evil.example/.htaccess", "/https://evil.example/.htaccess", "/a.htaccess"} {
		if got := (IgnoredRules{Files: []IgnoredFile{{Path: path, IgnoredNames: header}}, IgnoredNames: header}).Checked(); len(got.Files) > 0 {
			t.Errorf("%q is taken", path)
		}
	}
	if got := (IgnoredRules{More: 3, IgnoredNames: IgnoredNames{Protecting: []string{"free text"}}}).Checked(); !got.IsEmpty() || got.More > 0 {
		t.Errorf("%+v", got)
	}
}

// Who may make a directory, such as a visitor who uploads, writes nothing into the company's mails.
func TestPathsOfRuleFilesAreNoText(t *testing.T) {
	for path, want := range map[string]string{
		"/public_html/a-b_C.9/.htaccess":                            "/public_html/a-b_C.9/.htaccess",
		"/Account blocked: pay at https:\\x@evil.example/.htaccess": "/Account%20blocked%3A%20pay%20at%20https%3A%5Cx%40evil.example/.htaccess",
		"/a%41\n\xff/.htaccess":                                     "/a%2541%0A%FF/.htaccess",
		"/ж/.htaccess":                                              "/%D0%B6/.htaccess",
		"/" + strings.Repeat("x", 197) + "жж/.htaccess":             "/" + strings.Repeat("x", 197) + "…",
	} {
		var r IgnoredRules
		r.Add(path, []htaccess.Rule{{Line: 1, Directive: "Header"}})
		if r.Files[0].Path != want {
			t.Errorf("%q is shown as %q, want %q", path, r.Files[0].Path, want)
		}
		if got := r.Checked(); len(got.Files) != 1 || got.Files[0].Path != want {
			t.Errorf("%q is checked to %+v", want, got.Files)
		}
		r.Files[0].Path = path // of a machine that does not escape
		if got := r.Checked(); len(got.Files) != 1 || got.Files[0].Path != want {
			t.Errorf("%q of a machine is %+v", path, got.Files)
		}
	}
}

func TestProtectingRulesComeFirst(t *testing.T) {
	var r IgnoredRules
	for i := range MostIgnoredFiles {
		r.Add(fmt.Sprintf("/%d/.htaccess", i), []htaccess.Rule{{Line: 1, Directive: "Header"}})
	}
	var rules []htaccess.Rule
	for _, name := range []string{"Action", "AddAlt", "AddCharset", "AddEncoding", "AddHandler", "AddIcon", "AddLanguage", "AddType", "CGIVar", "CookieName", "Header", "RewriteRule"} {
		rules = append(rules, htaccess.Rule{Line: 1, Directive: name})
	}
	rules = append(rules, htaccess.Rule{Line: 2, Directive: "RewriteRule", Protects: true})
	r.Add("/z/.htaccess", rules)
	r.Add("/zz/.htaccess", []htaccess.Rule{{Line: 1, Directive: "AuthType", Protects: true}})
	if len(r.Files) != MostIgnoredFiles || r.More != 2 || r.Files[0].Path != "/z/.htaccess" || r.Files[1].Path != "/zz/.htaccess" || r.Files[2].Path != "/0/.htaccess" {
		t.Fatalf("%+v", r)
	}
	if f := r.Files[0]; !slices.Equal(f.Protecting, []string{"RewriteRule"}) || len(f.Others) != MostIgnoredNames-1 || slices.Contains(f.Others, "RewriteRule") {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(r.Protecting, []string{"AuthType", "RewriteRule"}) {
		t.Errorf("%+v", r.IgnoredNames)
	}
	if got := r.Checked(); !reflect.DeepEqual(got, r) {
		t.Errorf("checked %+v, want %+v", got, r)
	}
}

package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTheSummaryCountsWhatRan(t *testing.T) {
	for name, test := range map[string]struct {
		in    string
		want  tally
		good  bool
		shown []string
		quiet []string
	}{
		"all pass": {
			in: `{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"A/sub"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Elapsed":1.25}
{"Action":"skip","Package":"without/tests"}
`,
			want: tally{passed: 2}, good: true, shown: []string{"ok    p  1.2s"}, quiet: []string{"chatter", "without"},
		},
		"one fails": {
			in: `{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: wrong\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
`,
			want: tally{passed: 1, failed: 1}, shown: []string{"a_test.go:3: wrong", "FAIL  p"},
		},
		"one is skipped": {
			in: `{"Action":"output","Package":"p","Test":"A","Output":"no database\n"}
{"Action":"skip","Package":"p","Test":"A"}
{"Action":"pass","Package":"p"}
`,
			want: tally{skipped: 1}, shown: []string{"no database"},
		},
		"a package does not build": {
			in: `{"ImportPath":"p","Action":"build-output","Output":"a.go:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`,
			want: tally{failed: 1}, shown: []string{"syntax error", "FAIL  p"},
		},
		"the go command complains": {
			in:   "go: cannot find main module\n",
			want: tally{}, shown: []string{"cannot find main module"},
		},
		"nothing": {want: tally{}},
	} {
		var out strings.Builder
		r := newReport(&out)
		err := r.read(strings.NewReader(test.in))
		got := r.total()
		if err != nil || got != test.want || got.good() != test.good {
			t.Errorf("%s: %v, %v, good %v, want %v", name, got, err, got.good(), test.want)
		}
		for _, text := range test.shown {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %q is not shown in:\n%s", name, text, out.String())
			}
		}
		for _, text := range test.quiet {
			if strings.Contains(out.String(), text) {
				t.Errorf("%s: %q is shown in:\n%s", name, text, out.String())
			}
		}
	}
	if got := (tally{3, 2, 1}).String(); got != "3 passed, 2 failed, 1 skipped" {
		t.Errorf("the last line is %q", got)
	}
}

func TestAFewFailedTestsRunOnceMore(t *testing.T) {
	const first = `{"Action":"pass","Package":"p","Test":"Steady"}
{"Action":"fail","Package":"p","Test":"Busy/postgres"}
{"Action":"fail","Package":"p","Test":"Busy"}
{"Action":"pass","Package":"q","Test":"Elsewhere"}
{"Action":"fail","Package":"p"}
`
	for name, test := range map[string]struct {
		first, second string
		runs          int
		want          tally
		unsteady      bool
	}{
		"it passes": {
			first: first, second: `{"Action":"pass","Package":"p","Test":"Busy/postgres"}
{"Action":"pass","Package":"p","Test":"Busy"}
{"Action":"pass","Package":"p"}
`, runs: 1, want: tally{passed: 4}, unsteady: true,
		},
		"it fails again": {
			first: first, second: `{"Action":"fail","Package":"p","Test":"Busy/postgres"}
{"Action":"fail","Package":"p","Test":"Busy"}
{"Action":"fail","Package":"p"}
`, runs: 1, want: tally{passed: 2, failed: 2},
		},
		"it runs twice at first, and fails once": {
			first: `{"Action":"fail","Package":"p","Test":"Busy"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p","Test":"Busy"}
{"Action":"pass","Package":"p"}
`, second: `{"Action":"fail","Package":"p","Test":"Busy"}
{"Action":"fail","Package":"p"}
`, runs: 1, want: tally{failed: 1},
		},
		"the failed subtest does not run": {
			first: first, second: `{"Action":"pass","Package":"p","Test":"Busy"}
{"Action":"pass","Package":"p"}
`, runs: 1, want: tally{passed: 3, failed: 1},
		},
		"the package fails by itself": {
			first: first, second: `{"Action":"pass","Package":"p","Test":"Busy/postgres"}
{"Action":"pass","Package":"p","Test":"Busy"}
{"Action":"output","Package":"p","Output":"leaked goroutines\n"}
{"Action":"fail","Package":"p"}
`, runs: 1, want: tally{passed: 4, failed: 1}, unsteady: true,
		},
		"it does not build any more": {
			first: first, second: `{"Action":"fail","Package":"p","FailedBuild":"p"}
`, runs: 1, want: tally{passed: 2, failed: 2},
		},
		"all passed": {first: `{"Action":"pass","Package":"p","Test":"Steady"}`, want: tally{passed: 1}},
		"a data race": {
			first: `{"Action":"output","Package":"p","Test":"Racy","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p","Test":"Racy"}
`, want: tally{failed: 1},
		},
		"a panic": {
			first: `{"Action":"output","Package":"p","Test":"Panics","Output":"panic: nil map\n"}
{"Action":"fail","Package":"p","Test":"Panics"}
`, want: tally{failed: 1},
		},
		"beside a package that failed by itself": {first: first + `{"Action":"fail","Package":"q"}`, want: tally{passed: 2, failed: 3}},
		"many failed": {
			first: func() (lines string) {
				for i := range mostAgain + 1 {
					lines += fmt.Sprintf(`{"Action":"fail","Package":"p%d","Test":"Wrong"}`+"\n", i%2+10*i)
				}
				return lines
			}(), want: tally{failed: mostAgain + 1},
		},
	} {
		var out strings.Builder
		r := newReport(&out)
		if err := r.read(strings.NewReader(test.first)); err != nil {
			t.Fatal(err)
		}
		runs := 0
		err := r.again(func(pkg, pattern string) (io.Reader, error) {
			if runs++; pkg != "p" || pattern != "^(Busy)$" {
				t.Errorf("%s: %s of %s runs again", name, pattern, pkg)
			}
			return strings.NewReader(test.second), nil
		})
		if got := r.total(); err != nil || got != test.want || runs != test.runs {
			t.Errorf("%s: %v, %v after %d runs, want %v after %d\n%s", name, got, err, runs, test.want, test.runs, out.String())
		}
		if strings.Contains(out.String(), "UNSTEADY: p Busy ") != test.unsteady || r.unsteady != test.unsteady {
			t.Errorf("%s: it is not told, or told wrongly, in:\n%s", name, out.String())
		}
	}
}

func TestTheCommandRunsWithPatternAndPackage(t *testing.T) {
	in, err := output([]string{"sh", "-c", `echo "$@"; exit 3`, "sh", "-json"}, "-run", "^(A|B)$", "p")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if got := string(text); err != nil || got != "-json -run ^(A|B)$ p\n" {
		t.Errorf("it ran with %q, %v", got, err)
	}
	if _, err := output([]string{t.TempDir() + "/nothing"}); err == nil {
		t.Error("a command that is not there ran")
	}
}

package main

import (
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
		got, err := summarize(strings.NewReader(test.in), &out)
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

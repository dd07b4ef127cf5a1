package brand

import (
	"strings"
	"testing"
)

func contrast(a, b string) float64 {
	x, y := parse(a).luminance(), parse(b).luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestAnyColourIsReadable(t *testing.T) {
	for _, c := range []string{"", "#000000", "#ffffff", "#ffff00", "#0000ff", "#ff0000", "#777777", "#0f7a50", "#7c3aed", "#00ff00"} {
		l, d := Brand{Color: c}.Light(), Brand{Color: c}.Dark()
		for what, pair := range map[string][2]string{
			"a button": {l.Accent, l.OnAccent}, "a link": {l.Accent, "#f8f9fa"}, "a button under the pointer": {l.Hover, l.OnAccent},
			"a notice": {l.Ground, "#212529"}, "a dark notice": {d.Ground, "#e9ecef"}, "a dark button": {d.Accent, d.OnAccent}, "a dark link": {d.Accent, "#2a2a2a"}, "a dark button under the pointer": {d.Hover, d.OnAccent},
		} {
			if r := contrast(pair[0], pair[1]); r < 4.5 {
				t.Errorf("%q: %s has a contrast of %.2f: %v", c, what, r, pair)
			}
		}
	}
}

func TestTheStyleSheetHasNothingButColours(t *testing.T) {
	sheet := Brand{Color: "#000;} body { background: url(https://evil.example/) "}.StyleSheet()
	if strings.Contains(sheet, "url") || !strings.Contains(sheet, "--accent: #0f7a50") {
		t.Error(sheet)
	}
}

package yamlfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/yamlfile"
)

type price struct {
	Cents int64  `yaml:"usd_cents"`
	Setup *int64 `yaml:"setup_usd_cents,omitempty"`
}

type base struct {
	Years int `yaml:"years"`
}

// percent reads itself, in hundredths.
type percent int

func (p *percent) UnmarshalYAML(n *yaml.Node) error {
	var f float64
	err := n.Decode(&f)
	*p = percent(f * 100)
	return err
}

type document struct {
	base   `yaml:",inline"`
	Name   string           `yaml:"name"`
	Prices []price          `yaml:"prices"`
	Raises map[string]int64 `yaml:"raises"`
	Share  float64          `yaml:"share"`
	SLA    percent          `yaml:"sla"`
	PHP    []string         `yaml:"php"`
	Plain  uint8
}

func TestWholeNumbersAreWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name: a\nyears: 2\nprices: [{usd_cents: 299, setup_usd_cents: 0}]\nraises: {disk_mb: -1}\nshare: 0.5\nsla: 99.9\nphp: [8.2]\nplain: 7": "",
		"prices:\n  - usd_cents: 2.99":                   `line 2: "2.99" is not a whole number`,
		"prices:\n  - {usd_cents: 3.0}":                  `line 2: "3.0" is not a whole number`,
		"prices:\n  - setup_usd_cents: 0100":             `line 2: "0100" is not a whole number`,
		"raises: {disk_mb: 0x10}":                        `line 1: "0x10" is not a whole number`,
		"prices: [{usd_cents: &a 1.5}, {usd_cents: *a}]": `line 1: "1.5" is not a whole number`,
		"years: 1_000":                                   `line 1: "1_000" is not a whole number`,
		"plain: 1e2":                                     `line 1: "1e2" is not a whole number`,
		"prices: 7":                                      "cannot unmarshal",
		"years:":                                         "",
		"price: []":                                      "field price not found",
		"a: b\n  c: d":                                   "yaml: ",
		"name: a\n---\nname: b":                          "more than one document",
	} {
		var d document
		err := yamlfile.Decode([]byte(text), &d)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n"} {
		if err := yamlfile.Decode([]byte(text), &document{}); !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"stead.dev/stead/internal/platform/i18n"
)

// untrusted is how the model gets what stands in files and listings: as data in an object that says so. The nonce is of the
// run, so a text cannot contain the end of its own object and an instruction behind it that looks like ours.
type untrusted struct {
	Source string `json:"source"`
	Path   string `json:"path,omitempty"`
	Trust  string `json:"trust"`
	Nonce  string `json:"nonce"`
	Text   string `json:"text"`

	ETag       string `json:"etag,omitempty"`
	FromLine   int    `json:"from_line,omitempty"`
	TotalLines int    `json:"total_lines,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`

	// Of a page that the site has answered.
	Status   int    `json:"status,omitempty"`
	Type     string `json:"type,omitempty"`
	Location string `json:"location,omitempty"`
}

// plain makes visible what has no glyph: control, bidirectional and tag characters can hide a text from people that a model
// reads.
func plain(text string) string {
	if !strings.ContainsFunc(text, invisible) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if invisible(r) {
			fmt.Fprintf(&out, `\u{%x}`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func invisible(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && i18n.Unprintable(r)
}

// encode is JSON as models read it best: characters of HTML stay as they are.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

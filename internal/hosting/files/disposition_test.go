package files

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzContentDisposition: no name of a file can end the header, add a parameter to it, or come out
// as another name.
func FuzzContentDisposition(f *testing.F) {
	for _, name := range []string{"a.txt", `a"b;c=d\`, "ö – €.html", "a\r\nSet-Cookie: x=1", "%41", "", "\xff", "a'b*c"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := contentDisposition(name)
		for _, c := range []byte(header) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q has the byte %x", header, c)
			}
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || len(params) != 1 {
			t.Fatalf("%q is read as %s %v, %v", header, kind, params, err)
		}
		if utf8.ValidString(name) && params["filename"] != name && !strings.ContainsRune(name, 0) {
			t.Fatalf("%q became %q", name, params["filename"])
		}
	})
}

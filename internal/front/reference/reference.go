package reference

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/contentcoding"
)

// Path is where the pages are.
const Path = "/docs/"

// policy allows what the pages have and nothing else: no inline script, no other server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.html
var pageText string

//go:embed static
var static embed.FS

var pages = template.Must(template.New("page").Funcs(template.FuncMap{"parts": parts, "table": tableOf}).Parse(pageText))

// table is a list of fields with its heading.
type table struct {
	Head, Label string
	Rows        []field
}

func tableOf(head, label string, rows []field) table { return table{head, label, rows} }

// part is a part of a text; Code stands between backquotes there.
type part struct {
	Text string
	Code bool
}

func parts(text string) []part {
	var all []part
	for i, t := range strings.Split(text, "`") {
		all = append(all, part{t, i%2 == 1})
	}
	return all
}

// view is what a page is made of.
type view struct {
	Brand                 brand.Brand
	Client, Style, Script string
	Intro                 []string
	Sections              []section
	Section               *section
}

// file is an answer with its type.
type file struct {
	contentcoding.Content
	kind    string
	forEver bool
}

func newFile(kind string, content []byte, forEver bool) file {
	return file{contentcoding.NewContent(content), kind, forEver}
}

// digest stands in the addresses of files that browsers keep.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// Config is what the pages are made of.
type Config struct {
	Brand brand.Source
	// Client is the id of the application as which the pages get tokens. Its redirect address is Path.
	Client string
	// Document is the OpenAPI document; it is read at the first request.
	Document func() ([]byte, error)
	// Missing answers for addresses that are no pages.
	Missing http.Handler
}

// Handler serves the pages.
func Handler(cfg Config) http.Handler {
	made := branded(cfg.Brand, func(b brand.Brand) (map[string]file, error) {
		content, err := cfg.Document()
		if err != nil {
			return nil, err
		}
		return write(b, cfg.Client, content)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, err := made()
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		if err != nil {
			http.Error(w, "The reference cannot be shown.", http.StatusInternalServerError)
			return
		}
		f, ok := files[r.URL.Path]
		if !ok {
			cfg.Missing.ServeHTTP(w, r)
			return
		}
		f.serve(w, r)
	})
}

// branded keeps what is made for the present brand, and makes it anew when that has changed.
func branded[T any](source brand.Source, build func(brand.Brand) (T, error)) func() (T, error) {
	var (
		mu   sync.Mutex
		done bool
		of   brand.Brand
		kept T
		fail error
	)
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if b := source(); !done || b != of {
			kept, fail = build(b)
			done, of = true, b
		}
		return kept, fail
	}
}

const htmlType = "text/html; charset=utf-8"

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), f.kind, f.forEver)
	f.Serve(w, r)
}

func setHeaders(h http.Header, kind string, forEver bool) {
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // asks whether it has changed
	if forEver {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
}

// asset reads a file that browsers keep, and says where it is served.
func asset(name string) (address string, content []byte, err error) {
	if content, err = static.ReadFile("static/" + name); err != nil {
		return "", nil, fmt.Errorf("reference: %w", err)
	}
	return Path + "static/" + digest(content) + "/" + name, content, nil
}

// write makes all files by their paths.
func write(b brand.Brand, client string, content []byte) (map[string]file, error) {
	d, sections, err := read(content)
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	v := view{Brand: b, Client: client, Sections: sections, Intro: strings.Split(d.Info.Description, "\n\n")}
	for name, at := range map[string]struct {
		kind string
		path *string
	}{"reference.css": {"text/css; charset=utf-8", &v.Style}, "reference.js": {"text/javascript; charset=utf-8", &v.Script}} {
		address, content, err := asset(name)
		if err != nil {
			return nil, err
		}
		*at.path = address
		files[address] = newFile(at.kind, content, true)
	}
	page := func(path string, section *section) error {
		v.Section = section
		var text bytes.Buffer
		if err := pages.Execute(&text, v); err != nil {
			return fmt.Errorf("reference: %w", err)
		}
		files[path] = newFile(htmlType, text.Bytes(), false)
		return nil
	}
	if err := page(Path, nil); err != nil {
		return nil, err
	}
	for i := range sections {
		if err := page(Path+sections[i].Slug, &sections[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

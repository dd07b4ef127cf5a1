package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"stead.dev/stead/internal/platform/i18n"
)

//go:embed library
var library embed.FS

// Template is a site template.
type Template struct {
	ID          int64     `toml:"id"` // never used again for another template
	Slug        string    `toml:"-"`
	Name        i18n.Text `toml:"name"`
	Description i18n.Text `toml:"description"`
	Category    string    `toml:"category"`
	Tags        []string  `toml:"tags"`
	Updated     time.Time `toml:"updated"`

	page  *template.Template
	texts map[string]map[string]string // by language and key
	style []byte
	icon  []byte
	// thumbnails are WebP pictures by size.
	thumbnails map[Size][]byte
}

// Size is the width and height of a thumbnail in pixels.
type Size string

// The sizes of thumbnails.
const (
	Small Size = "400x300"
	Large Size = "800x600"
)

// Sizes lists the sizes of thumbnails.
func Sizes() []Size { return []Size{Small, Large} }

// The files of a site. The home page is last: visitors get it when the rest is there.
const (
	styleName = "style.css"
	iconName  = "favicon.svg"
	homeName  = "index.html"
)

// indexes are the names that web servers look for when a directory is asked for.
var indexes = []string{homeName, "index.htm", "index.php"}

// File is a file of a site.
type File struct {
	Name    string
	Content []byte
}

// All returns the templates in the order of their ids.
var All = sync.OnceValue(func() []*Template {
	all, err := load(library)
	if err != nil {
		panic(fmt.Sprintf("templates: embedded library: %v", err)) // part of the binary; tests catch it
	}
	return all
})

// byID returns the template with the id, or nil.
func byID(id int64) *Template {
	i := slices.IndexFunc(All(), func(t *Template) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return All()[i]
}

// Find returns the template with the slug, or nil.
func Find(slug string) *Template {
	i := slices.IndexFunc(All(), func(t *Template) bool { return t.Slug == slug })
	if i < 0 {
		return nil
	}
	return All()[i]
}

// load reads the templates of a file system with the folder library.
func load(files fs.FS) ([]*Template, error) {
	folders, err := fs.ReadDir(files, "library")
	if err != nil {
		return nil, err
	}
	var all []*Template
	for _, folder := range folders {
		sub, err := fs.Sub(files, path.Join("library", folder.Name()))
		if err != nil {
			return nil, err
		}
		t, err := parse(sub, folder.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Name(), err)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Template) int { return int(a.ID - b.ID) })
	return all, nil
}

// parse reads the folder of a template.
func parse(files fs.FS, slug string) (*Template, error) {
	t := &Template{Slug: slug, texts: map[string]map[string]string{}, thumbnails: map[Size][]byte{}}
	if err := decode(files, "template.toml", t); err != nil {
		return nil, err
	}
	for _, lang := range i18n.Supported() {
		texts := map[string]string{}
		if err := decode(files, "texts."+lang+".toml", &texts); err != nil {
			return nil, err
		}
		t.texts[lang] = texts
	}
	var err error
	if t.page, err = template.New("page.html").Option("missingkey=error").ParseFS(files, "page.html"); err != nil {
		return nil, err
	}
	if t.style, err = fs.ReadFile(files, styleName); err != nil {
		return nil, err
	}
	if t.icon, err = fs.ReadFile(files, iconName); err != nil {
		return nil, err
	}
	for _, size := range Sizes() {
		picture, err := fs.ReadFile(files, string(size)+".webp")
		if err != nil {
			return nil, err
		}
		t.thumbnails[size] = picture
	}
	return t, nil
}

// decode reads a TOML file into v, and refuses keys that v does not have.
func decode(files fs.FS, name string, v any) error {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	meta, err := toml.Decode(string(content), v)
	if err == nil && len(meta.Undecoded()) > 0 {
		err = fmt.Errorf("unknown keys %v", meta.Undecoded())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// pageData is what page.html is executed with.
type pageData struct {
	Lang string
	Name string // of the site
	T    map[string]string
}

// Page returns the home page in a language. title is the name of the site; empty for the one that the template suggests.
func (t *Template) Page(lang, title string) ([]byte, error) {
	texts, ok := t.texts[lang]
	if !ok {
		return nil, fmt.Errorf("templates: %s is not in %q", t.Slug, lang)
	}
	if title == "" {
		title = texts["name"]
	}
	var page bytes.Buffer
	if err := t.page.Execute(&page, pageData{Lang: lang, Name: title, T: texts}); err != nil {
		return nil, fmt.Errorf("templates: %s in %s: %w", t.Slug, lang, err)
	}
	return page.Bytes(), nil
}

// Site returns the files of a site made of the template, in the order in which they are written.
func (t *Template) Site(lang, title string) ([]File, error) {
	page, err := t.Page(lang, title)
	return []File{{styleName, t.style}, {iconName, t.icon}, {homeName, page}}, err
}

// The lines of a page that name its other files. A preview is one document without them.
const (
	styleLink = `<link rel="stylesheet" href="` + styleName + `">`
	iconLink  = `<link rel="icon" href="` + iconName + `" type="image/svg+xml">`
)

// Preview returns the page as one document that loads nothing.
func (t *Template) Preview(lang string) ([]byte, error) {
	page, err := t.Page(lang, "")
	if err != nil {
		return nil, err
	}
	whole := strings.NewReplacer(styleLink, "<style>"+string(t.style)+"</style>", iconLink, "").Replace(string(page))
	return []byte(whole), nil
}

// matches reports whether the template has the text in its name, its description or its tags, in any language.
func (t *Template) matches(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return true
	}
	words := slices.Clone(t.Tags)
	for _, translated := range []i18n.Text{t.Name, t.Description} {
		for _, lang := range i18n.Supported() {
			words = append(words, translated[lang])
		}
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(word), text) })
}

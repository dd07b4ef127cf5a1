package articles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/i18n"
)

// Problem is something wrong in a file.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1; 0: the file as a whole
	Text string `json:"text"`

	// code is that of the text in the catalogue, for those who write in a browser; data belongs to it.
	code string
	data map[string]any
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ": " + p.Text
}

// Problems are all that is wrong with a directory, for whoever wrote it.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return "nothing was imported, the texts have problems:\n  " + strings.Join(lines, "\n  ")
}

func (p *Problems) add(file string, line int, format string, args ...any) {
	p.addAs("", nil, file, line, format, args...)
}

// addAs is add for what those who write in a browser are told by a text of the catalogue.
func (p *Problems) addAs(code string, data map[string]any, file string, line int, format string, args ...any) {
	*p = append(*p, Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...), code: code, data: data})
}

// filePath is the name of the file of a text.
func filePath(k Kind, slug, lang string) string { return path.Join(string(k), slug+"."+lang+".md") }

// parsePath is the reverse of filePath.
func parsePath(name string) (k Kind, slug, lang string, err error) {
	dir, base := path.Split(name)
	k = Kind(strings.TrimSuffix(dir, "/"))
	base, isText := strings.CutSuffix(base, ".md")
	slug, lang, hasLang := strings.Cut(base, ".")
	switch {
	case !slices.Contains(kinds, k):
		err = errors.New("texts lie in kb, blog or glossary")
	case !isText:
		err = errors.New("texts end in .md; pictures lie in media")
	case !hasLang || !slices.Contains(i18n.Supported(), lang):
		err = fmt.Errorf("a text is named <slug>.<language>.md with a language of %s", strings.Join(i18n.Supported(), ", "))
	case !slugForm.MatchString(slug) || len(slug) > maxSlug:
		err = fmt.Errorf("a slug is of small Latin letters, digits and single hyphens, at most %d", maxSlug)
	}
	return k, slug, lang, err
}

// front is the front matter of a file, in the order in which it is written.
type front struct {
	Title       string   `yaml:"title,omitempty"`
	Term        string   `yaml:"term,omitempty"`
	Description string   `yaml:"description,omitempty"`
	Short       string   `yaml:"short,omitempty"`
	Category    string   `yaml:"category,omitempty"`
	Position    *int     `yaml:"position,omitempty"`
	PublishedAt day      `yaml:"published_at,omitempty"`
	UpdatedAt   day      `yaml:"updated_at,omitempty"`
	Author      string   `yaml:"author,omitempty"`
	Keywords    []string `yaml:"keywords,omitempty,flow"`
	Draft       bool     `yaml:"draft,omitempty"`
}

// day is a date as it is written; without quotes, which a string would get.
type day string

// MarshalYAML implements yaml.Marshaler.
func (d day) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: string(d)}, nil
}

// members of the front matter by kind; true: it must be there.
var members = map[Kind]map[string]bool{
	Help: {"title": true, "description": true, "category": true, "position": true, "updated_at": true, "keywords": false, "draft": false},
	Post: {"title": true, "description": true, "category": true, "published_at": true, "author": true, "updated_at": false, "keywords": false, "draft": false},
	Term: {"term": true, "short": true, "updated_at": false, "keywords": false, "draft": false},
}

const (
	fence   = "---\n"
	dayForm = time.DateOnly
)

// file is a parsed file: the text, what all texts of the article have in common, and where things stand.
type file struct {
	path     string
	lang     string
	article  Article // without texts
	text     Text
	lines    map[string]int // of the members of the front matter
	bodyLine int            // the line on which the body begins
	// references are the links to articles and pictures of ours.
	references []reference
}

// member is the line of a member of the front matter.
func (f *file) member(name string) int { return max(1, f.lines[name]) }

// parseFile reads a text. What is wrong with it is added to the problems; ok is false then.
func parseFile(name string, content []byte, problems *Problems) (_ *file, ok bool) {
	before := len(*problems)
	f := &file{path: name}
	k, slug, lang, err := parsePath(name)
	if err != nil {
		problems.add(name, 0, "%v", err)
		return nil, false
	}
	f.lang, f.article = lang, Article{Kind: k, Slug: slug}
	if !utf8.Valid(content) || bytes.ContainsRune(content, 0) {
		problems.add(name, 0, "it is no text in UTF-8")
		return nil, false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(content), "\ufeff"), "\r\n", "\n")
	head, body, found := strings.Cut(strings.TrimPrefix(text, fence), "\n"+fence)
	if !strings.HasPrefix(text, fence) || !found {
		problems.add(name, 1, "it begins with front matter between two lines of ---")
		return nil, false
	}
	f.bodyLine = strings.Count(head, "\n") + 4 // two fences, the last line of the head, and counted from 1
	for strings.HasPrefix(body, "\n") {
		body, f.bodyLine = body[1:], f.bodyLine+1
	}
	f.text.Body = strings.TrimRight(body, "\n ") + "\n"
	f.readFront(head, problems)
	if strings.TrimSpace(f.text.Body) == "" {
		problems.add(name, f.bodyLine, "it has no text")
	}
	if len(f.text.Body) > maxBody {
		problems.add(name, f.bodyLine, "it is longer than %d bytes", maxBody)
	}
	if len(*problems) == before {
		checkMarkdown(f, problems)
	}
	return f, len(*problems) == before
}

// yamlLine finds the line in an error of the parser, which names no other place.
var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\n  )?line (\d+): `)

// readFront reads the front matter.
func (f *file) readFront(head string, problems *Problems) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(head), &doc); err != nil {
		f.yamlProblem(err, problems)
		return
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		problems.add(f.path, 1, "the front matter is a list of names with values")
		return
	}
	known, mapping := members[f.article.Kind], doc.Content[0].Content
	f.lines = map[string]int{}
	for i := 0; i+1 < len(mapping); i += 2 {
		name, line := mapping[i].Value, mapping[i].Line+1 // below the fence
		if _, ok := known[name]; !ok {
			problems.add(f.path, line, "%q does not belong to a text of %s", name, f.article.Kind)
		}
		if _, twice := f.lines[name]; twice {
			problems.add(f.path, line, "%s is said twice", name)
			return
		}
		f.lines[name] = line
	}
	var read front
	if err := doc.Content[0].Decode(&read); err != nil {
		f.yamlProblem(err, problems)
		return
	}
	var missing []string
	for name, needed := range known {
		if _, there := f.lines[name]; needed && !there {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	for _, name := range missing {
		problems.add(f.path, 1, "%s is missing", name)
	}
	f.take(read, problems)
}

func (f *file) yamlProblem(err error, problems *Problems) {
	line, text := 2, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits
		line, text = n+1, err.Error()[len(m[0]):]
	}
	if strings.Contains(text, "mapping values") {
		text = "a text with a colon stands in quotes"
	}
	problems.add(f.path, line, "%s", strings.ReplaceAll(text, "\n  ", "; "))
}

// take checks the members that are there.
func (f *file) take(read front, problems *Problems) {
	wrong := func(member, format string, args ...any) { problems.add(f.path, f.member(member), format, args...) }
	line := func(member, value string, most int) string {
		if _, there := f.lines[member]; !there {
			return ""
		}
		value = strings.TrimSpace(value)
		switch n := utf8.RuneCountInString(value); {
		case n == 0:
			wrong(member, "%s is empty", member)
		case n > most:
			wrong(member, "%s has %d letters, at most %d are shown", member, n, most)
		case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }):
			wrong(member, "%s is one line", member)
		}
		return value
	}
	date := func(member string, value day) (t time.Time) {
		if _, there := f.lines[member]; !there {
			return t
		}
		t, err := time.Parse(dayForm, string(value))
		if err != nil || t.Year() < 1990 || t.Year() > 2200 {
			wrong(member, "%s is a day, such as 2026-11-24", member)
		}
		return t
	}
	t, a := &f.text, &f.article
	t.Title, t.Description = line("title", read.Title, maxTitle), line("description", read.Description, maxDescription)
	if a.Kind == Term {
		t.Title, t.Description = line("term", read.Term, maxTitle), line("short", read.Short, maxDescription)
	}
	t.Author, t.Draft = line("author", read.Author, maxAuthor), read.Draft
	t.UpdatedAt, a.PublishedAt = date("updated_at", read.UpdatedAt), date("published_at", read.PublishedAt)
	if a.Category = read.Category; f.lines["category"] > 0 && !slices.Contains(categories[a.Kind], a.Category) {
		wrong("category", "the category is one of %s", strings.Join(categories[a.Kind], ", "))
	}
	if read.Position != nil {
		if a.Position = *read.Position; a.Position < 0 || a.Position > 100_000 {
			wrong("position", "position is a number from 0 to 100000")
		}
	}
	if len(read.Keywords) > maxKeywords {
		wrong("keywords", "there are more than %d keywords", maxKeywords)
	}
	for _, word := range read.Keywords {
		t.Keywords = append(t.Keywords, line("keywords", word, maxKeyword))
	}
}

// renderFile writes a text as parseFile reads it.
func renderFile(a Article, lang string) ([]byte, error) {
	t := a.Texts[lang]
	date := func(t time.Time) day {
		if t.IsZero() {
			return ""
		}
		return day(t.Format(dayForm))
	}
	f := front{
		Title: t.Title, Description: t.Description, Category: a.Category, PublishedAt: date(a.PublishedAt), UpdatedAt: date(t.UpdatedAt),
		Author: t.Author, Keywords: t.Keywords, Draft: t.Draft,
	}
	switch a.Kind {
	case Help:
		f.Position = &a.Position
	case Term:
		f.Term, f.Title, f.Short, f.Description = t.Title, "", t.Description, ""
	}
	var out bytes.Buffer
	out.WriteString(fence)
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(f), enc.Close()); err != nil {
		return nil, fmt.Errorf("articles: write %s: %w", filePath(a.Kind, a.Slug, lang), err)
	}
	out.WriteString(fence + "\n" + t.Body)
	return out.Bytes(), nil
}

// bundle is a directory as it was read: articles by kind and slug, and pictures by name.
type bundle struct {
	articles []Article
	files    []*file
	media    []Media
}

// readBundle reads a directory. Files that begin with a dot, and what lies at the top beside the known directories, such
// as a README, are none of ours.
func readBundle(fsys fs.FS) (b bundle, problems Problems, err error) {
	at := map[[2]string]int{} // kind and slug → place in b.articles
	for _, k := range kinds {
		names, err := namesIn(fsys, string(k))
		if err != nil {
			return b, nil, err
		}
		for _, name := range names {
			content, err := readBounded(fsys, name, maxBody+10_000)
			if err != nil {
				problems.add(name, 0, "%v", err)
				continue
			}
			f, ok := parseFile(name, content, &problems)
			if !ok {
				continue
			}
			b.files = append(b.files, f)
			id := [2]string{string(k), f.article.Slug}
			if _, there := at[id]; !there {
				at[id] = len(b.articles)
				a := f.article
				a.Texts = map[string]Text{}
				b.articles = append(b.articles, a)
			}
			a := &b.articles[at[id]]
			agree(*a, f, &problems)
			a.Texts[f.lang] = f.text
		}
	}
	b.media, err = readMedia(fsys, &problems)
	return b, problems, err
}

// agree checks that a file says the same as the article's other ones where all languages have one value.
func agree(a Article, f *file, problems *Problems) {
	const other = "%s differs from that in another language of the same article"
	if a.Category != f.article.Category {
		problems.add(f.path, f.member("category"), other, "category")
	}
	if a.Position != f.article.Position {
		problems.add(f.path, f.member("position"), other, "position")
	}
	if !a.PublishedAt.Equal(f.article.PublishedAt) {
		problems.add(f.path, f.member("published_at"), other, "published_at")
	}
}

// namesIn lists the files of a directory, which may be missing.
func namesIn(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("articles: read %s: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(fsys fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Size() > most:
		return nil, fmt.Errorf("it is larger than %d bytes", most)
	}
	return fs.ReadFile(fsys, name)
}

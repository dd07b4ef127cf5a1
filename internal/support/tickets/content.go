package tickets

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"stead.dev/stead/internal/platform/i18n"
)

// content is what a mail says.
type content struct {
	plain, html []string
	files       []File
	left        int // files that no message has room for, and parts that cannot be decoded
}

// readContent reads the texts and the files of a mail.
func readContent(r *mail.Reader) (c content, err error) {
	size := 0
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if message.IsUnknownEncoding(err) {
			c.left++
			continue
		}
		if err != nil && !message.IsUnknownCharset(err) {
			return c, dropped("a part of it cannot be read: %w", err)
		}
		data, err := io.ReadAll(part.Body)
		if err != nil {
			return c, dropped("a part of it cannot be read: %w", err)
		}
		kind, name, attached := described(part.Header)
		switch {
		case kind == "text/plain" && !attached:
			c.plain = append(c.plain, string(data))
		case kind == "text/html" && !attached:
			c.html = append(c.html, string(data))
		case len(c.files) < maxFiles && size+len(data) <= MaxFiles:
			size += len(data)
			c.files = append(c.files, File{Name: name, Content: data})
		default:
			c.left++
		}
	}
}

// contentHeader is what the headers of all parts have.
type contentHeader interface {
	ContentType() (kind string, params map[string]string, err error)
	ContentDisposition() (disposition string, params map[string]string, err error)
}

// described reads what a part is, the name of its file, which may be empty, and whether it is one although it may be a text.
func described(h mail.PartHeader) (kind, name string, attached bool) {
	var params, dispositions map[string]string
	if h, ok := h.(contentHeader); ok { // what cannot be parsed has no kind and no name
		kind, params, _ = h.ContentType()
		_, dispositions, _ = h.ContentDisposition()
	}
	_, attached = h.(*mail.AttachmentHeader)
	name = cmp.Or(dispositions["filename"], params["name"])
	return kind, name, attached || name != ""
}

// message is the content as it is kept: what was left out is said in the language.
func (c content) message(lang string) (body string, files []File) {
	texts := c.plain
	if strings.TrimSpace(strings.Join(texts, "")) == "" {
		texts = nil
		for _, page := range c.html {
			texts = append(texts, plainOf(page))
		}
	}
	body = withoutQuote(strings.Join(texts, "\n"))
	var notes []string
	if utf8.RuneCountInString(body) > maxBody {
		notes = append(notes, i18n.T(lang, "tickets.received.shortened", nil))
	}
	if c.left > 0 {
		notes = append(notes, i18n.T(lang, "tickets.received.files_left_out", map[string]any{"Count": c.left}))
	}
	if body == "" && len(c.files) > 0 {
		notes = append(notes, i18n.T(lang, "tickets.received.files_alone", nil))
	}
	if len(notes) == 0 {
		return body, c.files
	}
	note := strings.Join(notes, "\n")
	if room := maxBody - utf8.RuneCountInString(note) - 2; utf8.RuneCountInString(body) > room {
		body = string([]rune(body)[:room])
	}
	return strings.TrimSpace(body + "\n\n" + note), c.files
}

// plainOf is the text of a page: a line for each paragraph, "> " before what it quotes, and nothing of scripts and styles. It builds no
// tree, which a mail of nested elements could make deep.
func plainOf(page string) string {
	var (
		text    strings.Builder
		hidden  atom.Atom // the element whose text nobody sees
		quotes  int
		started bool // whether the line has text
	)
	line := func() {
		text.WriteByte('\n')
		started = false
	}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.TrimSpace(text.String())
		}
		token := z.Token()
		switch kind {
		case html.TextToken:
			words := strings.Join(strings.Fields(token.Data), " ")
			if hidden != 0 || words == "" && !started {
				continue
			}
			if !started {
				text.WriteString(strings.Repeat("> ", min(quotes, mostQuotes)))
			} else if strings.TrimLeft(token.Data, " \t\r\n") != token.Data {
				text.WriteByte(' ')
			}
			started = true
			text.WriteString(words)
			if words != "" && strings.TrimRight(token.Data, " \t\r\n") != token.Data {
				text.WriteByte(' ')
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			ends := kind == html.EndTagToken
			switch {
			case hidden != 0:
				if ends && token.DataAtom == hidden {
					hidden = 0
				}
			case hides(token.DataAtom) && kind == html.StartTagToken:
				hidden = token.DataAtom
			case token.DataAtom == atom.Blockquote && ends:
				line()
				quotes = max(quotes-1, 0)
			case token.DataAtom == atom.Blockquote:
				line()
				quotes++
			case token.DataAtom == atom.Br || breaks(token.DataAtom) && started:
				line()
			}
		}
	}
}

// mostQuotes bounds the marks before a quoted line: a mail of a megabyte of nested quotes would become one of gigabytes.
const mostQuotes = 10

// hides reports whether nobody sees the text in an element.
func hides(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Textarea, atom.Iframe, atom.Noscript:
		return true
	}
	return false
}

// breaks reports whether an element begins a line.
func breaks(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Li, atom.Ul, atom.Ol, atom.Tr, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr, atom.Pre, atom.Section, atom.Article:
		return true
	}
	return false
}

package mailer

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/i18n"
)

// letterPage is the form of all mails: tables and styles of elements, which mail programs understand. The style element has
// what cannot stand at an element, the colours in the dark; whoever drops it shows the light ones. It loads nothing but the
// logo, whose address is the same for everybody.
//
//go:embed letter.html
var letterPage string

var letterTemplate = template.Must(template.New("letter").Parse(letterPage))

type letterView struct {
	Lang, Subject, Company, Site, Logo string
	Light, Dark                        brand.Palette
	Blocks                             []block
	Footer                             [][]span
	Legal                              []legalLink
}

// block is a paragraph, or the button.
type block struct {
	Spans  []span
	Button *button
}

type button struct{ Label, Link, Hint string }

// span is a piece of text, which may be a link, or a line break.
type span struct {
	Text  string
	Link  bool
	Break bool
}

type legalLink struct{ Text, Link string }

// html is the letter as HTML. The texts are those of the plain part; html/template escapes all of them.
func (w *Writer) html(l Letter, subject, text string) string {
	b := w.Brand()
	v := letterView{
		Lang: l.Lang, Subject: subject, Company: b.Name, Site: w.BaseURL + "/", Light: b.Light(), Dark: b.Dark(),
	}
	if b.MailLogo {
		v.Logo = w.BaseURL + b.Logo
	}
	links := l.Links
	if l.Page != "" {
		links = append([]string{l.Page}, links...)
	}
	label := "letters.open"
	if l.Kind.Button != "" {
		label = l.Kind.Button
	}
	press := &button{
		Label: i18n.T(l.Lang, label, nil), Link: l.Page, Hint: i18n.T(l.Lang, "letters.hint", nil),
	}
	paragraphs := append(append([]string{l.Greeting}, strings.Split(text, "\n\n")...), l.After...)
	pending := l.Page != "" // the button comes once, where the page's address stands first
	for _, p := range paragraphs {
		p = strings.Trim(p, "\n")
		before, last := strings.CutSuffix(p, l.Page)
		if pending && last {
			if before = strings.TrimRight(before, " \n"); before != "" {
				v.Blocks = append(v.Blocks, block{Spans: spans(before, links)})
			}
			v.Blocks, pending = append(v.Blocks, block{Button: press}), false
			continue
		}
		if p != "" {
			v.Blocks = append(v.Blocks, block{Spans: spans(p, links)})
		}
	}
	if pending {
		v.Blocks = append(v.Blocks, block{Button: press})
	}
	for _, p := range l.Footer {
		v.Footer = append(v.Footer, spans(p, links))
	}
	for _, x := range []legalLink{{"webui.legal.terms", b.Terms}, {"webui.legal.privacy", b.Privacy}, {"webui.legal.imprint", b.Imprint}} {
		if x.Link != "" {
			v.Legal = append(v.Legal, legalLink{i18n.T(l.Lang, x.Text, nil), x.Link})
		}
	}
	var page strings.Builder
	if err := letterTemplate.Execute(&page, v); err != nil {
		panic(fmt.Sprintf("mailer: the form of mails: %v", err)) // a builder takes everything, and tests fill every field
	}
	return page.String()
}

// spans divides a text at line breaks and at the links.
func spans(text string, links []string) []span {
	var all []span
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			all = append(all, span{Break: true})
		}
		for line != "" {
			at, found := len(line), ""
			for _, l := range links {
				if j := strings.Index(line, l); l != "" && j >= 0 && (j < at || j == at && len(l) > len(found)) {
					at, found = j, l
				}
			}
			if at > 0 {
				all = append(all, span{Text: line[:at]})
			}
			if found != "" {
				all = append(all, span{Text: found, Link: true})
			}
			line = line[at+len(found):]
		}
	}
	return all
}

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// browser imitates a person's browser: it keeps cookies, follows redirects, and submits forms as the page has them. It
// runs no scripts, which Stead's pages do not need.
type browser struct {
	client *http.Client
}

func newBrowser(client *http.Client) *browser {
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), redirectURI) {
			return http.ErrUseLastResponse // the redirect to the application, which is this program
		}
		if len(via) >= 10 {
			return errors.New("too many redirects")
		}
		return nil
	}
	return &browser{client: client}
}

// page is what a browser shows.
type page struct {
	at       *url.URL
	status   int
	location *url.URL // where the page redirects the browser, when that is the application
	title    string
	text     string // visible, for messages
	forms    []form
}

// form is a form of a page.
type form struct {
	method  string
	action  *url.URL
	values  url.Values // as the page fills them in
	fields  []string
	buttons []button
}

type button struct{ name, value string }

func (b *browser) open(ctx context.Context, address string) (*page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return b.do(req)
}

// submit sends f with some fields filled in, by the button with the given value; an empty value selects the first
// button.
func (b *browser) submit(ctx context.Context, f *form, press string, fill map[string]string) (*page, error) {
	values := url.Values{}
	for name, v := range f.values {
		values[name] = v
	}
	for name, v := range fill {
		values.Set(name, v)
	}
	for i, btn := range f.buttons {
		if btn.name != "" && (btn.value == press || press == "" && i == 0) {
			values.Set(btn.name, btn.value)
		}
	}
	target, body := *f.action, io.Reader(nil)
	if f.method == http.MethodGet {
		target.RawQuery = values.Encode()
	} else {
		body = strings.NewReader(values.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, f.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.do(req)
}

func (b *browser) do(req *http.Request) (*page, error) {
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Accept-Language", "en")
	res, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // read whole
	if err != nil {
		return nil, err
	}
	p, err := parsePage(res.Request.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	p.status = res.StatusCode
	if p.location, err = res.Location(); errors.Is(err, http.ErrNoLocation) {
		err = nil
	}
	if err == nil && p.status >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s answered %d: %s", req.Method, req.URL.Path, p.status, shorten(p.text, 300))
	}
	return p, err
}

// form finds the first form with all of the given fields.
func (p *page) form(fields ...string) (*form, error) {
	if f := p.find(fields...); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("the page %s has no form with %s", p.at.Path, strings.Join(fields, ", "))
}

// find is form for a page that may have none: nil.
func (p *page) find(fields ...string) *form {
	for i := range p.forms {
		f := &p.forms[i]
		if !slices.ContainsFunc(fields, func(name string) bool { return !slices.Contains(f.fields, name) }) {
			return f
		}
	}
	return nil
}

// button finds the form with a button of the given value.
func (p *page) button(value string) (*form, error) {
	for i := range p.forms {
		if slices.ContainsFunc(p.forms[i].buttons, func(b button) bool { return b.value == value }) {
			return &p.forms[i], nil
		}
	}
	return nil, fmt.Errorf("the page %s has no button %q", p.at.Path, value)
}

// parsePage parses an HTML page from at.
func parsePage(at *url.URL, r io.Reader) (*page, error) {
	root, err := html.Parse(r)
	if err != nil {
		return nil, err
	}
	p := &page{at: at}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			p.title = textOf(n)
		case atom.Main:
			p.text = textOf(n)
		case atom.Body:
			if p.text == "" {
				p.text = textOf(n)
			}
		case atom.Form:
			f, err := parseForm(at, n)
			if err != nil {
				return nil, err
			}
			p.forms = append(p.forms, f)
		}
	}
	return p, nil
}

func parseForm(at *url.URL, n *html.Node) (form, error) {
	action, err := at.Parse(attr(n, "action"))
	if err != nil {
		return form{}, fmt.Errorf("the page %s has a form to a strange address: %w", at.Path, err)
	}
	f := form{method: http.MethodGet, action: action, values: url.Values{}}
	if strings.EqualFold(attr(n, "method"), http.MethodPost) {
		f.method = http.MethodPost
	}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode {
			f.add(c)
		}
	}
	return f, nil
}

// add adds an element of the form as a browser would.
func (f *form) add(n *html.Node) {
	name := attr(n, "name")
	switch n.DataAtom {
	case atom.Button:
		if t := attr(n, "type"); t == "" || t == "submit" {
			f.buttons = append(f.buttons, button{name, attr(n, "value")})
		}
		return
	case atom.Textarea:
		f.set(name, textOf(n))
	case atom.Select:
		f.set(name, selected(n))
	case atom.Input:
		switch attr(n, "type") {
		case "submit":
			f.buttons = append(f.buttons, button{name, attr(n, "value")})
		case "checkbox", "radio":
			if name != "" {
				f.fields = append(f.fields, name)
			}
			if has(n, "checked") {
				f.values.Add(name, valueOr(n, "on"))
			}
		default:
			f.set(name, attr(n, "value"))
		}
	}
}

func (f *form) set(name, value string) {
	if name == "" {
		return
	}
	f.fields = append(f.fields, name)
	f.values.Add(name, value)
}

// selected is the chosen option, or the first.
func selected(n *html.Node) string {
	first, found := "", false
	for c := range n.Descendants() {
		if c.Type != html.ElementNode || c.DataAtom != atom.Option {
			continue
		}
		if has(c, "selected") {
			return valueOr(c, textOf(c))
		}
		if !found {
			first, found = valueOr(c, textOf(c)), true
		}
	}
	return first
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func valueOr(n *html.Node, otherwise string) string {
	if has(n, "value") {
		return attr(n, "value")
	}
	return otherwise
}

// textOf is the text in n, its blanks folded.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && (c.Parent.DataAtom != atom.Script && c.Parent.DataAtom != atom.Style) {
			b.WriteString(c.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

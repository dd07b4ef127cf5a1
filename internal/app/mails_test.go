package app

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/letter"
)

var unfilled = regexp.MustCompile(`<no value>|&lt;no value&gt;|\{\{|%!|ZgotmplZ`)

// TestEveryMailIsReadableInBothForms writes each kind of mail in each language and reads it as a mail program does.
func TestEveryMailIsReadableInBothForms(t *testing.T) {
	w := &mailer.Writer{
		Brand:   brand.Fixed(brand.Brand{Name: "Bulut & Co", Color: "#1c4ed8", Sender: "Bulut & Co", Support: "help@bulut.example", Logo: "/brand/logo-1.png", MailLogo: true, Terms: "https://bulut.example/terms"}),
		BaseURL: "https://bulut.example",
	}
	kinds := mailKinds()
	if len(kinds) < 40 {
		t.Errorf("there are %d kinds of mails", len(kinds))
	}
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.ID] {
			t.Errorf("two kinds are %s", k.ID)
		}
		seen[k.ID] = true
		for _, lang := range i18n.Supported() {
			l := w.Sample(k, lang)
			l.To = "anna@example.com"
			m := w.Write(l)
			subject, plain, html := parsed(t, m)
			if subject != m.Subject || subject == "" {
				t.Errorf("%s in %s: subject %q, want %q", k.ID, lang, subject, m.Subject)
			}
			if unfilled.MatchString(subject + plain + html) {
				t.Errorf("%s in %s has an empty placeholder:\n%s\n%s", k.ID, lang, subject, plain)
			}
			if !strings.Contains(html, `<html lang="`+lang+`">`) || strings.Contains(html, "<script") {
				t.Errorf("%s in %s: %s", k.ID, lang, html)
			}
			if l.Page != "" && (strings.Count(html, `class="press"`) != 1 || !strings.Contains(plain, l.Page)) {
				t.Errorf("%s in %s does not lead to its page:\n%s", k.ID, lang, plain)
			}
			// Both have the same words.
			text := textOfHTML(html)
			for word := range strings.FieldsSeq(plain) {
				if !strings.Contains(text, word) {
					t.Errorf("%s in %s: %q is missing in the HTML:\n%s", k.ID, lang, word, text)
				}
			}
		}
	}
}

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

func textOfHTML(html string) string {
	return strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+").Replace(tags.ReplaceAllString(html, " "))
}

// parsed reads a mail with net/mail and mime.
func parsed(t *testing.T, m mailer.Message) (subject, plain, html string) {
	t.Helper()
	composed, err := letter.Compose(&mail.Address{Name: "Bulut", Address: "no-reply@bulut.example"}, m, time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := composed.WriteTo(&raw); err != nil {
		t.Fatal(err)
	}
	read, err := mail.ReadMessage(&raw)
	if err != nil {
		t.Fatal(err)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	if from, err := mail.ParseAddress(read.Header.Get("From")); err != nil || *from != (mail.Address{Name: "Bulut & Co", Address: "no-reply@bulut.example"}) {
		t.Fatalf("from %v, %v", from, err)
	}
	kind, params, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("it is a %s, %v", kind, err)
	}
	parts := multipart.NewReader(read.Body, params["boundary"])
	var kinds []string
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil || p.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			t.Fatalf("a part of %v, %v", p.Header, err)
		}
		kinds = append(kinds, p.Header.Get("Content-Type"))
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		if len(kinds) == 1 {
			plain = text
		} else {
			html = text
		}
	}
	// The last part is the one that mail programs prefer (RFC 2046, section 5.1.4).
	if len(kinds) != 2 || !strings.HasPrefix(kinds[0], "text/plain; charset=UTF-8") || !strings.HasPrefix(kinds[1], "text/html; charset=UTF-8") {
		t.Fatalf("its parts are %q", kinds)
	}
	return subject, plain, html
}

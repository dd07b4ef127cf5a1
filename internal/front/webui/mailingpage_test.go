package webui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/notifications"
)

// TestMailsEndByALink: looking at the page ends nothing, and a mail program that follows RFC 8058 needs no cookie and no origin.
func TestMailsEndByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	link := func(topic notifications.Topic) string {
		t.Helper()
		link, err := s.notices.UnsubscribeLink(1, topic)
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	sites := link(notifications.Sites)
	for _, lang := range []string{"en", "ru", "uz"} {
		page := b.get(sites + "?lang=" + lang)
		if page.status != http.StatusOK || !strings.Contains(page.body, `action="`+strings.TrimPrefix(sites, s.url)+`"`) || !strings.Contains(page.body, "anna@example.com") || strings.Contains(page.body, "pages.mailing") {
			t.Fatalf("%d %s", page.status, page.body)
		}
	}
	b.get("/?lang=en")
	program := s.browser(t)
	if a := program.post(sites, url.Values{"List-Unsubscribe": {"One-Click"}}, "Sec-Fetch-Site", ""); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if page := b.get(sites); !strings.Contains(page.body, "gets no more mails about certificates and backups") || strings.Contains(page.body, "<button class=\"full\"") {
		t.Errorf("%s", page.body)
	}
	if page := b.get(link(notifications.Essential)); !strings.Contains(page.body, "cannot be switched off") {
		t.Errorf("%s", page.body)
	}
	for _, path := range []string{"/notifications/unsubscribe/AAAA", "/notifications/unsubscribe/" + url.PathEscape("../x")} {
		if a := b.post(path, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

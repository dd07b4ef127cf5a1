package account

import (
	"strings"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/port/mailer"
)

// compose writes a mail in its owner's language: a greeting, what happened or what to do, the client that caused it,
// and what to do if that was somebody else.
func (s *Service) compose(id, to string, p Profile, a mailArgs, token string) mailer.Message {
	text := func(key string, data map[string]any) string { return i18n.T(p.Locale, "account.mail."+key, data) }
	data := map[string]any{"Company": s.Brand().Name, "Name": p.Name, "Email": p.Email, "Link": s.link(a.Mail, token)}
	greeting := "greeting"
	if !p.EmailVerified || to != p.Email {
		// Anybody may have entered this address: what they call themselves, and their browser, is no message to its owner.
		greeting, a.UserAgent = "greeting_plain", "—"
	}
	parts := []string{text(greeting, data), text(string(a.Mail)+".text", data)}
	if a.Address != "" {
		parts = append(parts, text("where", map[string]any{
			"Time": i18n.Minute(a.At), "Address": a.Address, "Browser": a.UserAgent,
		}))
		parts = append(parts, text("not_you", map[string]any{"Link": s.BaseURL + "/recover"}))
	}
	parts = append(parts, text("signature", data))
	if s.Brand().Support != "" {
		parts = append(parts, text("support", map[string]any{"Support": s.Brand().Support}))
	}
	return mailer.Message{
		ID: id, To: to, Subject: text(string(a.Mail)+".subject", data), Text: strings.Join(parts, "\n\n") + "\n",
	}
}

// link is the page that a mail links to.
func (s *Service) link(kind mailKind, token string) string {
	switch kind {
	case mailRecovery:
		return s.BaseURL + "/recover/" + token
	case mailWelcome, mailVerifyEmail:
		return s.BaseURL + "/email/" + token
	default:
		return s.BaseURL + "/panel/account/security"
	}
}

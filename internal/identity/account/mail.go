package account

import (
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/port/mailer"
)

// mailOf is a kind of mail with its texts.
func mailOf(kind mailKind) mailer.Kind {
	k := mailer.Kind{
		ID: "account." + string(kind), Subject: "account.mail." + string(kind) + ".subject", Text: "account.mail." + string(kind) + ".text",
		Button: "letters.security", Greeting: "account.mail.greeting", Footer: []string{"account.mail.signature", "account.mail.support"},
	}
	switch kind {
	case mailRecovery:
		k.Button = "letters.set_password"
	case mailWelcome, mailVerifyEmail:
		k.Button = "letters.confirm_address"
	case mailExportReady:
		k.Button = "letters.data"
	}
	return k
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind {
	var all []mailer.Kind
	for _, kind := range []mailKind{
		mailWelcome, mailVerifyEmail, mailEmailChanged, mailRecovery, mailSignedIn, mailPasswordChanged, mailTwoFactorOn, mailTwoFactorOff,
		mailRecoveryCodeUsed, mailPasskeyAdded, mailPasskeyRemoved, mailExportReady, mailClosed,
	} {
		all = append(all, mailOf(kind))
	}
	return all
}

// compose writes a mail in its owner's language: a greeting, what happened or what to do, the client that caused it,
// and what to do if that was somebody else.
func (s *Service) compose(id, to string, p Profile, a mailArgs, token string) mailer.Message {
	b := s.Brand()
	text := func(key string, data map[string]any) string { return i18n.T(p.Locale, "account.mail."+key, data) }
	greeting := text("greeting", map[string]any{"Name": p.Name})
	if !p.EmailVerified || to != p.Email {
		// Anybody may have entered this address: what they call themselves, and their browser, is no message to its owner.
		greeting, a.UserAgent = text("greeting_plain", nil), "—"
	}
	l := mailer.Letter{
		Kind: mailOf(a.Mail), ID: id, To: to, Lang: p.Locale, Page: s.link(a.Mail, token), Greeting: greeting,
		Footer: []string{text("signature", map[string]any{"Company": b.Name})},
	}
	l.Words = map[string]any{"Link": l.Page}
	if a.Address != "" {
		forgotten := s.BaseURL + "/recover"
		l.Links = []string{forgotten}
		l.After = []string{
			text("where", map[string]any{"Time": i18n.Minute(a.At), "Address": a.Address, "Browser": a.UserAgent}),
			text("not_you", map[string]any{"Link": forgotten}),
		}
	}
	if b.Support != "" {
		l.Footer = append(l.Footer, text("support", map[string]any{"Support": b.Support}))
	}
	return s.Letters.Write(l)
}

// link is the page that a mail links to.
func (s *Service) link(kind mailKind, token string) string {
	switch kind {
	case mailRecovery:
		return s.BaseURL + "/recover/" + token
	case mailWelcome, mailVerifyEmail:
		return s.BaseURL + "/email/" + token
	case mailExportReady:
		return s.BaseURL + "/panel/account/data"
	case mailClosed:
		return "" // there is no page for the person any more
	default:
		return s.BaseURL + "/panel/account/security"
	}
}

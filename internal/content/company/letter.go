package company

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/port/mailer"
)

// The largest texts of mails, in characters.
const (
	maxSubject = 200
	maxText    = 5000
)

// needed are the placeholders without which a mail that has them would be of no use.
var needed = []string{"Body", "Code", "Link", "Text"}

// required are the placeholders that a text of the kind must keep.
func required(k mailer.Kind) []string {
	names := i18n.Placeholders(i18n.Raw(i18n.Fallback, k.Text))
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(needed, name) })
}

var braces = regexp.MustCompile(`\{\{[^{}]*\}\}|\{\{|\}\}`)

// checkLetter refuses a text that cannot be a mail of the kind, and says which placeholder is at fault.
func checkLetter(k mailer.Kind, t mailer.Text) (mailer.Text, error) {
	t = mailer.Text{Subject: strings.TrimSpace(t.Subject), Text: strings.TrimSpace(strings.ReplaceAll(t.Text, "\r\n", "\n"))}
	control := func(r rune) bool { return r != '\n' && i18n.Unprintable(r) }
	switch {
	case k.Subject == "" && t.Subject != "":
		return t, fault.Invalid("subject", "letter_no_subject")
	case k.Subject != "" && t.Subject == "", utf8.RuneCountInString(t.Subject) > maxSubject:
		return t, fault.InvalidData("subject", "letter_length", map[string]any{"Max": maxSubject})
	case t.Text == "" || utf8.RuneCountInString(t.Text) > maxText:
		return t, fault.InvalidData("text", "letter_length", map[string]any{"Max": maxText})
	case strings.Contains(t.Subject, "\n") || strings.ContainsFunc(t.Subject, control):
		return t, errText("subject")
	case strings.ContainsFunc(t.Text, control):
		return t, fault.Invalid("text", "letter_character")
	}
	allowed := k.Placeholders()
	for member, text := range map[string]string{"subject": t.Subject, "text": t.Text} {
		for _, found := range braces.FindAllString(text, -1) {
			name := i18n.Placeholders(found)
			if len(name) != 1 || !slices.Contains(allowed, name[0]) {
				return t, fault.InvalidData(member, "letter_unknown", map[string]any{"What": found, "Allowed": written(allowed)})
			}
		}
	}
	has := i18n.Placeholders(t.Text)
	for _, name := range required(k) {
		if !slices.Contains(has, name) {
			return t, fault.InvalidData("text", "letter_missing", map[string]any{"What": written([]string{name})})
		}
	}
	return t, nil
}

// written are placeholders as they are written in texts.
func written(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = "{{." + name + "}}"
	}
	return strings.Join(all, " ")
}

// letterKey names a kind of mail in a language.
type letterKey struct{ kind, language string }

// Letter is what staff have written instead of the shipped text of a kind of mails.
func (s *Service) Letter(kind, language string) (mailer.Text, bool) {
	t, ok := s.present.Get().letters[letterKey{kind, language}]
	return t, ok
}

// kind finds a kind of mails, or returns fault.NotFound.
func (s *Service) kind(id string) (mailer.Kind, error) {
	for _, k := range s.Kinds {
		if k.ID == id {
			return k, nil
		}
	}
	return mailer.Kind{}, fault.NotFound.New()
}

// letterText is the text of a kind that is live.
func (s *Service) letterText(k mailer.Kind, language string) (t mailer.Text, changed bool) {
	if t, changed = s.Letter(k.ID, language); changed {
		return t, true
	}
	return k.Shipped(language), false
}

// ChangeLetter replaces the text of a kind of mails in a language; a dry run only checks it.
func (s *Service) ChangeLetter(ctx context.Context, id, language string, t mailer.Text, dryRun bool) (mailer.Kind, mailer.Text, error) {
	k, err := s.kind(id)
	if err == nil {
		t, err = checkLetter(k, t)
	}
	if err != nil || dryRun {
		return k, t, err
	}
	return k, t, s.changeLetter(ctx, "mail.change", k.ID, language, func(ctx context.Context, tx *db.Tx) error {
		return saveLetter(ctx, tx, letterKey{k.ID, language}, t)
	})
}

// ResetLetter goes back to the shipped text.
func (s *Service) ResetLetter(ctx context.Context, id, language string) (mailer.Kind, error) {
	k, err := s.kind(id)
	if err != nil {
		return k, err
	}
	return k, s.changeLetter(ctx, "mail.reset", k.ID, language, func(ctx context.Context, tx *db.Tx) error {
		return deleteLetter(ctx, tx, letterKey{k.ID, language})
	})
}

// SendTest mails the live text with sample data to a member of staff.
func (s *Service) SendTest(ctx context.Context, id, language string, accountID int64, mailID string) error {
	k, err := s.kind(id)
	if err != nil {
		return err
	}
	to, err := s.Staff.Address(ctx, accountID)
	if err != nil {
		return err
	}
	recorded := s.Audit.RecordCompany(ctx, "mail.send_test", "", k.ID+" "+language, letterState(letterKey{k.ID, language}))
	if err := s.DB.InTx(recorded, func(context.Context, *db.Tx) error { return nil }); err != nil {
		return err
	}
	l := s.Letters.Sample(k, language)
	l.ID, l.To = mailID, to
	if err := s.Mailer.Send(ctx, s.Letters.Write(l)); err != nil {
		return fault.Unavailable.Wrap(err)
	}
	return nil
}

func (s *Service) changeLetter(ctx context.Context, action, kind, language string, f func(ctx context.Context, tx *db.Tx) error) error {
	return s.record(ctx, action, "", kind+" "+language, letterState(letterKey{kind, language}), f)
}

func letterState(k letterKey) func(ctx context.Context, q db.Querier) (any, error) {
	return func(ctx context.Context, q db.Querier) (any, error) {
		t, err := readLetter(ctx, q, k)
		return map[string]string{"subject": t.Subject, "text": t.Text}, err
	}
}

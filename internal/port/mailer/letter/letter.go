// Package letter formats a message for sending (RFC 5322), in the same way for every adapter.
package letter

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"stead.dev/stead/internal/port/mailer"
)

// Compose formats m, sent by from at the given time. An error is mailer.ErrRejected: the message can never be sent.
func Compose(from *mail.Address, m mailer.Message, at time.Time) (*gomail.Msg, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	l := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	sender := *from
	sender.Name = cmp.Or(m.Sender, from.Name)
	l.FromMailAddress(&sender)
	if err := l.To(m.To); err != nil {
		return nil, errors.Join(mailer.ErrRejected, fmt.Errorf("recipient: %w", err))
	}
	_, host, _ := strings.Cut(from.Address, "@")
	l.SetMessageIDWithValue(m.ID + "@" + host)
	l.SetDateWithValue(at)
	l.Subject(m.Subject)
	// Suppresses out-of-office replies (RFC 3834, section 5).
	l.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.ReplyTo != "" {
		if err := l.ReplyTo(m.ReplyTo); err != nil {
			return nil, errors.Join(mailer.ErrRejected, fmt.Errorf("address for answers: %w", err))
		}
	}
	if m.Unsubscribe != "" {
		l.SetGenHeader("List-Unsubscribe", "<"+m.Unsubscribe+">")
		if strings.HasPrefix(m.Unsubscribe, "https://") { // nothing else may be offered for one click
			l.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
		}
	}
	l.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		l.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return l, nil
}

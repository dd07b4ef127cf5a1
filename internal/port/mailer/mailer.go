// Package mailer is the port to outgoing mail. Adapters: smtp, which hands messages to a mail server, and file, which
// writes them into a folder where no server is configured. Package mailertest is the suite that all adapters pass.
package mailer

import (
	"context"
	"errors"
	"strings"
)

// Mailer sends one message. The calling job retries with the same Message: an adapter gives it the same identity each
// time.
type Mailer interface {
	// Send returns nil when a server has accepted the message. ErrRejected is an error that no retry can solve.
	Send(ctx context.Context, m Message) error
}

// ErrRejected says that this message will never be accepted: its recipient does not exist or its form is wrong.
var ErrRejected = errors.New("mailer: the message was rejected for good")

// Message is one mail to one person.
type Message struct {
	// ID identifies a message and stays the same when it is sent again; letters, digits, dots and hyphens.
	ID string
	// To is the recipient's address, without a name.
	To      string
	Subject string
	// Text is the message; HTML, if present, has the same content.
	Text string
	HTML string
	// Unsubscribe is an address that ends a subscription when it gets a POST (RFC 8058); empty for what is no subscription.
	Unsubscribe string
	// Sender is the sender's name; empty for that of the sender of all mails.
	Sender string
	// ReplyTo is where answers go; empty for the sender of all mails.
	ReplyTo string
}

// Check returns ErrRejected for a message that no adapter may send: a line break in a header could inject other
// headers.
func (m Message) Check() error {
	switch {
	case m.ID == "" || !word(m.ID):
		return errors.Join(ErrRejected, errors.New("mailer: the id must be of letters, digits, dots and hyphens"))
	case m.To == "" || hasControl(m.To):
		return errors.Join(ErrRejected, errors.New("mailer: the recipient is no address"))
	case hasControl(m.Sender):
		return errors.Join(ErrRejected, errors.New("mailer: the sender's name has control characters"))
	case hasControl(m.Subject):
		return errors.Join(ErrRejected, errors.New("mailer: the subject has control characters"))
	case m.Unsubscribe != "" && (hasControl(m.Unsubscribe) || strings.ContainsAny(m.Unsubscribe, " <>,")):
		return errors.Join(ErrRejected, errors.New("mailer: the address to unsubscribe at is none"))
	case m.ReplyTo != "" && (hasControl(m.ReplyTo) || strings.ContainsAny(m.ReplyTo, " <>,")):
		return errors.Join(ErrRejected, errors.New("mailer: the address for answers is none"))
	case m.Text == "":
		return errors.Join(ErrRejected, errors.New("mailer: the message has no text"))
	}
	return nil
}

func word(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' {
			return false
		}
	}
	return true
}

func hasControl(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return true
		}
	}
	return false
}

package mail

import (
	"archive/tar"
	"context"
	"errors"
	"io"

	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

// Simulated keeps mailboxes without mail, for simulated machines.
type Simulated struct{ book }

var (
	_ facility.Facility = (*Simulated)(nil)
	_ panel.Mail        = (*Simulated)(nil)
)

// OpenSimulated opens the records in dir.
func OpenSimulated(dir string, lookup facility.Lookup) (*Simulated, error) {
	b, err := openBook(dir, lookup)
	if err != nil {
		return nil, err
	}
	b.publish = func(context.Context, string) error { return nil }
	b.measure = func(context.Context, string, state) (map[string]use, error) { return map[string]use{}, nil }
	b.shut = func(context.Context, ...string) error { return nil }
	b.erase = func(string, ...string) error { return nil }
	return &Simulated{b}, nil
}

// MailServer implements panel.Mail, with a name that leads nowhere (RFC 2606) and the usual ports.
func (s *Simulated) MailServer(_ context.Context, ref string) (panel.MailServer, error) {
	if _, err := s.accounts(ref); err != nil {
		return panel.MailServer{}, panel.Wrap("mail.server", ref, err)
	}
	return panel.MailServer{
		Hostname: "mail.sandbox.invalid", IMAP: 143, IMAPS: 993, POP3: 110, POP3S: 995, Submission: 587, Submissions: 465, Sieve: 4190,
		IPv4: "192.0.2.1", IPv6: "2001:db8::1",
	}, nil
}

// AddMail implements panel.Mail. The messages are counted, and kept nowhere.
func (s *Simulated) AddMail(_ context.Context, ref, address string, maildir io.Reader) (done panel.AddedMail, err error) {
	if _, _, _, err := s.mailboxOf(ref, address); err != nil {
		return done, panel.Wrap("mail.add", ref, err)
	}
	t := tar.NewReader(maildir)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, panel.Wrap("mail.add", ref, errors.Join(panel.ErrInvalid, err))
		}
		if _, dir, _, ok := placeOf(h.Name); ok && dir != "" {
			done.Messages++
			done.Bytes += h.Size
		}
	}
}

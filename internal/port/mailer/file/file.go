// Package file writes mails into a folder. It is for machines without a configured mail server: recovery and notices
// work, and the operator finds them.
package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/letter"
)

// Mailer writes each message to <Dir>/<id>.eml, readable by the owner of the process only: mails hold links that sign
// in.
type Mailer struct {
	dir   string
	from  *mail.Address
	clock clock.Clock
}

// New makes a mailer that writes into dir, which it makes when it is missing.
func New(dir, from string, c clock.Clock) (*Mailer, error) {
	a, err := mail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("mail to files: the sender %q is no address: %w", from, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail to files: %w", err)
	}
	return &Mailer{dir: dir, from: a, clock: c}, nil
}

// Send implements mailer.Mailer. A message sent again overwrites itself.
func (m *Mailer) Send(ctx context.Context, msg mailer.Message) error {
	if err := errors.Join(ctx.Err(), intx.Check(ctx)); err != nil {
		return err
	}
	l, err := letter.Compose(m.from, msg, m.clock.Now())
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if _, err := l.WriteTo(&content); err != nil {
		return fmt.Errorf("mail to files: %w", err)
	}
	// Under its name no reader finds a partial mail.
	if err := atomicfile.Write(filepath.Join(m.dir, msg.ID+".eml"), content.Bytes(), 0o600); err != nil {
		return fmt.Errorf("mail to files: %w", err)
	}
	return nil
}

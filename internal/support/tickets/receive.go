package tickets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	netmail "net/mail"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	// Mails come in whatever encoding their program likes.
	_ "github.com/emersion/go-message/charset"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// maxMail bounds a mail, in bytes: the files with their encoding, and the text.
const maxMail = 10 << 20

// ErrDropped is why a mail is taken and not kept: the mail server need not try again, and must not answer, because an answer to a
// machine would be answered. Only the customer of the ticket is told, when there is no room for the mail.
var ErrDropped = errors.New("tickets: the mail was dropped")

func dropped(format string, args ...any) error {
	return errors.Join(ErrDropped, fmt.Errorf(format, args...))
}

// Receive adds an answer of a customer that came by mail to its ticket. It returns ErrDropped for everything else, also for mails
// of staff: a customer knows the ticket's address and can forge theirs, and would answer in the company's name.
func (s *Service) Receive(ctx context.Context, raw io.Reader) (t Ticket, err error) {
	limited := &io.LimitedReader{R: raw, N: maxMail + 1}
	whole, err := message.Read(limited)
	if whole == nil { // with a charset or an encoding that is unknown it is read as it is
		return t, dropped("it cannot be read: %w", err)
	}
	r := mail.NewReader(whole)
	defer func() { _ = r.Close() }() // frees nothing that could fail
	h := r.Header
	if auto := strings.ToLower(h.Get("Auto-Submitted")); auto != "" && auto != "no" {
		return t, dropped("a machine sent it")
	}
	switch strings.ToLower(h.Get("Precedence")) {
	case "bulk", "list", "junk", "auto_reply":
		return t, dropped("it is of a list")
	}
	if h.Get("Return-Path") == "<>" || h.Get("List-Id") != "" || h.Get("X-Auto-Response-Suppress") != "" {
		return t, dropped("a machine sent it")
	}
	if t, err = s.addressed(ctx, h); err != nil {
		return t, err
	}
	from, err := addresses(h, "From")
	if err != nil || len(from) != 1 {
		return t, dropped("it does not say who sent it")
	}
	writer, err := s.People.Writer(ctx, from[0].Address)
	if errors.Is(err, fault.NotFound) || err == nil && (writer.Closed || writer.ID != t.AccountID) {
		return t, dropped("it is not from the address of the ticket's customer")
	}
	if err != nil {
		return t, err
	}
	m := Message{Via: "mail"}
	if m.mailID, _ = h.MessageID(); m.mailID == "" {
		return t, dropped("it has no Message-ID")
	}
	if again, err := delivered(ctx, s.DB, m.mailID); err != nil || again {
		return t, err
	}
	read, err := readContent(r)
	if limited.N <= 0 { // whatever its cut end looks like
		err = fault.PayloadTooLarge.With(fault.Fields{"maximum": maxMail >> 20}).Saying("tickets.limit.mail")
		return t, s.refuse(ctx, t, err)
	}
	if err != nil {
		return t, err
	}
	m.Body, m.Files = read.message(t.Language)
	_, err = s.Write(ctx, writer.ID, t.ID, m)
	switch {
	case db.IsUnique(err):
		return t, nil // it was delivered at the same moment
	case errors.Is(err, fault.LimitReached):
		return t, s.refuse(ctx, t, err)
	case errors.Is(err, fault.Validation), errors.Is(err, fault.PayloadTooLarge):
		return t, dropped("it cannot be kept: %w", err)
	}
	return t, err
}

// refuse drops a mail of the ticket's customer and has the customer told why: nobody reads what they wrote.
func (s *Service) refuse(ctx context.Context, t Ticket, reason error) error {
	if err := s.enqueueRefusedMail(ctx, t.ID, fault.From(reason)); err != nil {
		return err
	}
	return dropped("it cannot be kept: %w", reason)
}

// addresses reads a list of addresses. Their names may be in any charset: nobody reads them.
func addresses(h mail.Header, name string) ([]*netmail.Address, error) {
	raw := func(_ string, text io.Reader) (io.Reader, error) { return text, nil }
	p := netmail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: raw}}
	return p.ParseList(h.Get(name))
}

// addressed finds the ticket whose token is in an address of the mail.
func (s *Service) addressed(ctx context.Context, h mail.Header) (Ticket, error) {
	local, domain, _ := strings.Cut(strings.ToLower(s.Brand().Support), "@")
	for _, name := range []string{"Delivered-To", "X-Original-To", "To", "Cc"} {
		all, err := addresses(h, name)
		if err != nil {
			continue
		}
		for _, a := range all {
			user, host, _ := strings.Cut(strings.ToLower(a.Address), "@")
			token, ok := strings.CutPrefix(user, local+"+")
			if !ok || host != domain || domain == "" {
				continue
			}
			t, err := byToken(ctx, s.DB, token)
			if !errors.Is(err, fault.NotFound) {
				return t, err
			}
		}
	}
	return Ticket{}, dropped("it is not addressed to a ticket")
}

// withoutQuote removes what a mail repeats of the mail that it answers: the lines that begin with > at its end, and the line
// above them.
func withoutQuote(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	end := len(lines)
	for end > 0 {
		line := strings.TrimSpace(lines[end-1])
		if line != "" && !strings.HasPrefix(line, ">") {
			break
		}
		end--
	}
	quoted := end < len(lines) && strings.Contains(strings.Join(lines[end:], "\n"), ">")
	if quoted && end > 1 && strings.HasSuffix(strings.TrimSpace(lines[end-1]), ":") {
		end--
	}
	if kept := strings.TrimSpace(strings.Join(lines[:end], "\n")); kept != "" {
		return kept
	}
	return strings.TrimSpace(text)
}

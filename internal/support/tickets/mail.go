package tickets

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/port/mailer"
)

// mailArgs asks for the mail of an answer to the customer.
type mailArgs struct {
	MessageID int64 `json:"message_id"`
}

// Kind implements river.JobArgs.
func (mailArgs) Kind() string { return "tickets.mail" }

// Register adds the section's worker.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a mailArgs) error {
		err := s.sendMail(ctx, a.MessageID)
		if errors.Is(err, mailer.ErrRejected) {
			return jobs.Cancel(err)
		}
		return err
	})
}

func (s *Service) enqueueMail(ctx context.Context, tx *db.Tx, message int64) error {
	return s.Queue.Enqueue(ctx, tx, mailArgs{MessageID: message}, &river.InsertOpts{UniqueOpts: jobs.Once()})
}

// sendMail mails an answer to the customer. Its id is the message's, so a repeated mail is recognized.
func (s *Service) sendMail(ctx context.Context, id int64) error {
	m, err := messageOf(ctx, s.DB, id)
	if errors.Is(err, db.ErrNoRows) {
		return nil // the account was closed meanwhile
	}
	if err != nil {
		return err
	}
	t, err := find(ctx, s.DB, m.TicketID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := s.People.Person(ctx, s.DB, t.AccountID)
	if err != nil || to.Closed || !to.Verified {
		return err
	}
	page := s.BaseURL + "/panel/support/" + strconv.FormatInt(t.ID, 10)
	l := mailer.Letter{
		Kind: answerMail, ID: "ticket-" + strconv.FormatInt(t.ID, 10) + "-" + strconv.FormatInt(m.ID, 10), To: to.Email, Lang: t.Language,
		Words: map[string]any{"Subject": t.Subject, "Number": t.ID, "Text": m.Body, "Link": page}, Page: page, ReplyTo: s.replyTo(t.token),
	}
	if l.ReplyTo != "" {
		l.After = []string{i18n.T(t.Language, "tickets.mail.reply", nil)}
	}
	return s.Mailer.Send(ctx, s.Letters.Write(l))
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind { return []mailer.Kind{answerMail} }

// answerMail is the mail of an answer.
var answerMail = mailer.Kind{ID: "tickets.answer", Subject: "tickets.mail.subject", Text: "tickets.mail.text", Button: "letters.ticket"}

// replyTo is the address at which answers to a ticket arrive; empty where there is no address for questions.
func (s *Service) replyTo(token string) string {
	local, domain, ok := strings.Cut(s.Brand().Support, "@")
	if !ok {
		return ""
	}
	return local + "+" + url.QueryEscape(token) + "@" + domain
}

package tickets

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

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

// staffMailArgs asks for the mail to staff about a ticket that waits for them.
type staffMailArgs struct {
	TicketID int64 `json:"ticket_id"`
}

// Kind implements river.JobArgs.
func (staffMailArgs) Kind() string { return "tickets.staff_mail" }

// refusedArgs asks for the mail that tells a customer why a mail to a ticket was not added. TextID is the reason and Maximum a
// word of it; Hour, in Unix time, makes it one mail an hour of a ticket and reason: whoever knows the ticket's address and can
// forge the customer's sends the customer no more than that.
type refusedArgs struct {
	TicketID int64  `json:"ticket_id"`
	TextID   string `json:"text_id"`
	Maximum  int    `json:"maximum"`
	Hour     int64  `json:"hour"`
}

// Kind implements river.JobArgs.
func (refusedArgs) Kind() string { return "tickets.refused_mail" }

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a mailArgs) error { return unlessRejected(s.sendMail(ctx, a.MessageID)) })
	jobs.Work(w, func(ctx context.Context, a staffMailArgs) error { return unlessRejected(s.mailStaff(ctx, a.TicketID)) })
	jobs.Work(w, func(ctx context.Context, a refusedArgs) error { return unlessRejected(s.mailRefused(ctx, a)) })
}

// unlessRejected ends a job whose mail nobody takes.
func unlessRejected(err error) error {
	if errors.Is(err, mailer.ErrRejected) {
		return jobs.Cancel(err)
	}
	return err
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

// staffPause is how long staff are not mailed again about a ticket.
const staffPause = 10 * time.Minute

// enqueueStaffMail has staff mailed of what a customer wrote: at once when nothing was written of late, else once after a pause, for all
// that is written until then. A mail that waits can be one of twice the pause ago.
func (s *Service) enqueueStaffMail(ctx context.Context, tx *db.Tx, message Message) error {
	opts := &river.InsertOpts{UniqueOpts: jobs.Once()}
	busy, err := writtenBefore(ctx, tx, message, tx.Now.Add(-2*staffPause))
	if err != nil {
		return err
	}
	if busy {
		opts.ScheduledAt = s.Clock.Now().Add(staffPause)
	}
	return s.Queue.Enqueue(ctx, tx, staffMailArgs{TicketID: message.TicketID}, opts)
}

// mailStaff mails whoever cares for a ticket that waits for staff, else the company's support address. The mail has none of the
// customer's words: whoever can open a ticket would write to staff in the company's name.
func (s *Service) mailStaff(ctx context.Context, id int64) error {
	t, err := find(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) || err == nil && t.Status != Open {
		return nil // the account was closed, or somebody has answered meanwhile
	}
	if err != nil {
		return err
	}
	to, lang := s.Brand().Support, s.Language
	if t.AssigneeID != nil {
		p, err := s.People.Person(ctx, s.DB, *t.AssigneeID)
		if err != nil && !errors.Is(err, fault.NotFound) {
			return err
		}
		if err == nil && p.Staff && p.Verified && !p.Closed {
			to, lang = p.Email, p.Locale
		}
	}
	if to == "" {
		return nil
	}
	last, err := lastOfCustomer(ctx, s.DB, id)
	if err != nil {
		return err
	}
	page := s.BaseURL + "/panel/staff/tickets/" + strconv.FormatInt(id, 10)
	return s.Mailer.Send(ctx, s.Letters.Write(mailer.Letter{
		Kind: staffMail, ID: "ticket-" + strconv.FormatInt(id, 10) + "-staff-" + strconv.FormatInt(last, 10), To: to, Lang: lang,
		Words: map[string]any{"Number": id, "Link": page}, Page: page,
	}))
}

func (s *Service) enqueueRefusedMail(ctx context.Context, id int64, refusal *fault.Error) error {
	most, _ := refusal.Fields["maximum"].(int)
	args := refusedArgs{TicketID: id, TextID: refusal.TextID(), Maximum: most, Hour: s.Clock.Now().Truncate(time.Hour).Unix()}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.Queue.Enqueue(ctx, tx, args, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	})
}

// mailRefused tells the customer of a ticket why a mail was not added to it. An answer to this mail reaches no ticket, so
// that two machines cannot go on answering each other.
func (s *Service) mailRefused(ctx context.Context, a refusedArgs) error {
	t, err := find(ctx, s.DB, a.TicketID)
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
	page := s.BaseURL + "/panel/support"
	return s.Mailer.Send(ctx, s.Letters.Write(mailer.Letter{
		Kind: refusedMail, ID: fmt.Sprintf("ticket-%d-%s-%d", t.ID, a.TextID, a.Hour), To: to.Email, Lang: t.Language, Page: page,
		Words: map[string]any{"Number": t.ID, "Reason": i18n.T(t.Language, a.TextID, map[string]any{"maximum": a.Maximum}), "Link": page},
	}))
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind { return []mailer.Kind{answerMail, staffMail, refusedMail} }

// staffMail tells staff of a ticket that waits for them.
var staffMail = mailer.Kind{ID: "tickets.staff", Subject: "tickets.staff_mail.subject", Text: "tickets.staff_mail.text", Button: "letters.ticket"}

// answerMail is the mail of an answer.
var answerMail = mailer.Kind{ID: "tickets.answer", Subject: "tickets.mail.subject", Text: "tickets.mail.text", Button: "letters.ticket"}

// refusedMail tells that a mail was not added to its ticket.
var refusedMail = mailer.Kind{ID: "tickets.refused", Subject: "tickets.refused.subject", Text: "tickets.refused.text", Button: "letters.open"}

// replyTo is the address at which answers to a ticket arrive; empty where there is no address for questions.
func (s *Service) replyTo(token string) string {
	local, domain, ok := strings.Cut(s.Brand().Support, "@")
	if !ok {
		return ""
	}
	return local + "+" + url.QueryEscape(token) + "@" + domain
}

package tickets

import (
	"context"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/mailer"
)

// Person is somebody who writes in tickets.
type Person struct {
	ID                  int64
	Email, Name, Locale string
	Staff, Verified     bool
	// Closed accounts write nothing, and no mail is for them.
	Closed bool
}

// People knows the accounts.
type People interface {
	// Person returns fault.NotFound for an unknown account.
	Person(ctx context.Context, q db.Querier, accountID int64) (Person, error)
	// Writer finds an account by its address, or returns fault.NotFound.
	Writer(ctx context.Context, email string) (Person, error)
}

// Services knows whose a service is.
type Services interface {
	// Owns returns fault.NotFound when the service is not the account's.
	Owns(ctx context.Context, q db.Querier, accountID, serviceID int64) error
}

// Recorder returns contexts in which what staff change is recorded in the audit log.
type Recorder interface {
	RecordTicket(ctx context.Context, action string, id int64) context.Context
	// RecordAnswer is for a canned answer, named by its id or its title.
	RecordAnswer(ctx context.Context, action string, key any) context.Context
}

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Queue    jobs.Enqueuer
	Mailer   mailer.Mailer
	People   People
	Services Services
	Audit    Recorder
	// Answers by mail arrive at the support address of Brand, with a ticket's token behind a plus sign.
	Brand   brand.Source
	Letters *mailer.Writer
	BaseURL string
	// Language is that of mails to the support address.
	Language string
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// Question is a new ticket.
type Question struct {
	AccountID int64
	ServiceID *int64
	Subject   string
	Language  string
	Message   Message
}

// What an account may leave with the company's support, so that nobody fills its database.
// Customers are refused beyond these bounds, staff are not. Requests at the same moment may exceed a bound by a few.
const (
	// maxOpen bounds the tickets that are not closed.
	maxOpen = 50
	// maxMessages and maxText, in bytes, bound a ticket, which is read as a whole.
	maxMessages = 500
	maxText     = 2 << 20
	// maxDaily bounds the messages of a day, and maxDailyFiles their files together, in bytes.
	maxDaily      = 200
	maxDailyFiles = 20 * MaxFiles
)

// Ask opens a ticket.
func (s *Service) Ask(ctx context.Context, n Question) (t Ticket, err error) {
	title, err := subject(n.Subject)
	if err != nil {
		return t, err
	}
	m, err := n.Message.normal()
	if err != nil {
		return t, err
	}
	if _, ok := i18n.Lookup(n.Language); !ok {
		n.Language = i18n.English
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n.ServiceID != nil {
			if err := s.Services.Owns(ctx, tx, n.AccountID, *n.ServiceID); err != nil {
				return err
			}
		}
		if err := checkOpen(ctx, tx, n.AccountID); err != nil {
			return err
		}
		if err := checkDay(ctx, tx, n.AccountID, m); err != nil {
			return err
		}
		t = Ticket{
			AccountID: n.AccountID, ServiceID: n.ServiceID, Subject: title, Status: Open, Language: n.Language,
			token: strings.ToLower(secret.Token("", 20)), CreatedAt: tx.Now, UpdatedAt: tx.Now,
		}
		if t.ID, err = insertTicket(ctx, tx, t); err != nil {
			return err
		}
		m.TicketID, m.AuthorID, m.CreatedAt = t.ID, n.AccountID, tx.Now
		if m.ID, err = insertMessage(ctx, tx, m); err != nil {
			return err
		}
		return s.enqueueStaffMail(ctx, tx, m)
	})
	return t, err
}

// Own reads a ticket of an account with its messages, without internal notes.
func (s *Service) Own(ctx context.Context, accountID, id int64) (Ticket, []Message, error) {
	t, err := ofAccount(ctx, s.DB, accountID, id)
	if err != nil {
		return t, nil, err
	}
	all, err := messages(ctx, s.DB, id, false)
	return t, all, err
}

// Write adds a message of the customer, which opens the ticket again.
func (s *Service) Write(ctx context.Context, accountID, id int64, m Message) (made Message, err error) {
	if m, err = m.normal(); err != nil {
		return m, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		t, err := ofAccount(ctx, tx, accountID, id)
		if err == nil && t.Status == Closed {
			err = checkOpen(ctx, tx, accountID)
		}
		if err == nil {
			err = checkRoom(ctx, tx, id, m)
		}
		if err == nil {
			err = checkDay(ctx, tx, accountID, m)
		}
		if err != nil {
			return err
		}
		if made, err = s.add(ctx, tx, id, accountID, m, Open); err != nil {
			return err
		}
		return s.enqueueStaffMail(ctx, tx, made)
	})
	return made, err
}

// checkOpen refuses one more open ticket of an account: fault.LimitReached.
func checkOpen(ctx context.Context, tx *db.Tx, accountID int64) error {
	open, err := countOpen(ctx, tx, accountID)
	if err == nil && open >= maxOpen {
		err = fault.LimitReached.With(fault.Fields{"limit": "tickets", "maximum": maxOpen}).Saying("tickets.limit.open")
	}
	return err
}

// checkRoom refuses a message of a customer that the ticket has no room for: fault.LimitReached.
func checkRoom(ctx context.Context, tx *db.Tx, id int64, m Message) error {
	written, text, err := sizeOf(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case written >= maxMessages:
		return fault.LimitReached.With(fault.Fields{"limit": "ticket_messages", "maximum": maxMessages}).Saying("tickets.limit.full")
	case text+int64(len(m.Body)) > maxText:
		return fault.LimitReached.With(fault.Fields{"limit": "ticket_bytes", "maximum": maxText}).Saying("tickets.limit.full")
	default:
		return nil
	}
}

// checkDay refuses a message of a customer beyond those of a day: fault.LimitReached.
func checkDay(ctx context.Context, tx *db.Tx, accountID int64, m Message) error {
	written, size, err := writtenSince(ctx, tx, accountID, tx.Now.Add(-24*time.Hour))
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		size += f.Size
	}
	switch {
	case written >= maxDaily:
		return fault.LimitReached.With(fault.Fields{"limit": "messages", "maximum": maxDaily}).Saying("tickets.limit.day")
	case size > maxDailyFiles:
		return fault.LimitReached.With(fault.Fields{"limit": "attachments_bytes", "maximum": maxDailyFiles}).Saying("tickets.limit.files")
	default:
		return nil
	}
}

func (s *Service) add(ctx context.Context, tx *db.Tx, id, author int64, m Message, next Status) (Message, error) {
	m.TicketID, m.AuthorID, m.CreatedAt = id, author, tx.Now
	var err error
	if m.ID, err = insertMessage(ctx, tx, m); err != nil {
		return m, err
	}
	if m.Internal {
		return m, touch(ctx, tx, id)
	}
	return m, setStatus(ctx, tx, id, next)
}

// CloseOwn closes a ticket, by its customer.
func (s *Service) CloseOwn(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := ofAccount(ctx, tx, accountID, id); err != nil {
			return err
		}
		return setStatus(ctx, tx, id, Closed)
	})
}

// ReopenOwn opens a closed ticket again, by its customer.
func (s *Service) ReopenOwn(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		t, err := ofAccount(ctx, tx, accountID, id)
		if err != nil || t.Status != Closed {
			return err
		}
		if err := checkOpen(ctx, tx, accountID); err != nil {
			return err
		}
		return setStatus(ctx, tx, id, Open)
	})
}

// OwnFile reads a file of an account's ticket.
func (s *Service) OwnFile(ctx context.Context, accountID, id, file int64) (File, error) {
	return fileOf(ctx, s.DB, accountID, id, file)
}

// Ticket reads a ticket with all its messages, for staff.
func (s *Service) Ticket(ctx context.Context, id int64) (Ticket, []Message, error) {
	t, err := find(ctx, s.DB, id)
	if err != nil {
		return t, nil, err
	}
	all, err := messages(ctx, s.DB, id, true)
	return t, all, err
}

// List reads a page of the tickets that match, the last changed first.
func (s *Service) List(ctx context.Context, f Filter, p page.Params) ([]Ticket, int, error) {
	return list(ctx, s.DB, f, p)
}

// File reads a file, for staff.
func (s *Service) File(ctx context.Context, id, file int64) (File, error) {
	return fileOf(ctx, s.DB, 0, id, file)
}

// Answer adds a message of a member of staff. An internal note changes no state and reaches nobody; anything else is mailed to
// the customer.
func (s *Service) Answer(ctx context.Context, staffID, id int64, m Message, next Status) (made Message, err error) {
	if m, err = m.normal(); err != nil {
		return m, err
	}
	m.Staff = true
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := find(ctx, tx, id); err != nil {
			return err
		}
		if made, err = s.add(ctx, tx, id, staffID, m, next); err != nil || m.Internal {
			return err
		}
		return s.enqueueMail(ctx, tx, made.ID)
	})
	return made, err
}

// Change changes the state or the assignee of a ticket; nil leaves what is. An assignee of 0 is nobody.
func (s *Service) Change(ctx context.Context, id int64, status *Status, assignee *int64) (t Ticket, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := find(ctx, tx, id); err != nil {
			return err
		}
		if assignee != nil {
			if *assignee != 0 {
				p, err := s.People.Person(ctx, tx, *assignee)
				if err != nil || !p.Staff {
					return fault.Invalid("assignee_id", "staff")
				}
			}
			if err := setAssignee(ctx, tx, id, *assignee); err != nil {
				return err
			}
		}
		if status != nil {
			if err := setStatus(ctx, tx, id, *status); err != nil {
				return err
			}
		}
		t, err = find(ctx, tx, id)
		return err
	})
	return t, err
}

// CannedAnswer is an answer that staff give often.
type CannedAnswer struct {
	ID          int64
	Title, Body string
}

// Answers lists the canned answers by their titles.
func (s *Service) Answers(ctx context.Context) ([]CannedAnswer, error) { return answers(ctx, s.DB) }

// SaveAnswer writes the canned answer of a title.
func (s *Service) SaveAnswer(ctx context.Context, title, body string) (c CannedAnswer, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, err = saveAnswer(ctx, tx, title, body)
		return err
	})
	return c, err
}

// RemoveAnswer removes a canned answer.
func (s *Service) RemoveAnswer(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return deleteAnswer(ctx, tx, id) })
}

// Closed removes the tickets of an account that is closed.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return deleteOf(ctx, tx, accountID)
}

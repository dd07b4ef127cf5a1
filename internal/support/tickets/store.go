package tickets

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var rows = db.Map(func(t *Ticket) db.Fields {
	return db.Fields{
		"id": &t.ID, "account_id": &t.AccountID, "service_id": &t.ServiceID, "subject": &t.Subject, "status": &t.Status, "assignee_id": &t.AssigneeID,
		"language": &t.Language, "token": &t.token, "created_at": &t.CreatedAt, "updated_at": &t.UpdatedAt, "closed_at": &t.ClosedAt,
	}
})

func scanTicket(r db.Row) (Ticket, error) {
	t, err := rows.Scan(r)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return t, err
}

func find(ctx context.Context, q db.Querier, id int64) (Ticket, error) {
	return scanTicket(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM tickets WHERE id = $1`, id))
}

func ofAccount(ctx context.Context, q db.Querier, accountID, id int64) (Ticket, error) {
	return scanTicket(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM tickets WHERE account_id = $1 AND id = $2`, accountID, id))
}

func byToken(ctx context.Context, q db.Querier, token string) (Ticket, error) {
	return scanTicket(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM tickets WHERE token = $1`, token))
}

// Filter selects tickets; empty members select all.
type Filter struct {
	AccountID, ServiceID, AssigneeID int64
	Status                           Status
}

func list(ctx context.Context, q db.Querier, f Filter, p page.Params) (all []Ticket, total int, err error) {
	const matching = ` FROM tickets WHERE (CAST($1 AS BIGINT) = 0 OR account_id = $1) AND (CAST($2 AS BIGINT) = 0 OR service_id = $2)
		AND (CAST($3 AS BIGINT) = 0 OR assignee_id = $3) AND (CAST($4 AS TEXT) = '' OR status = $4)`
	args := []any{f.AccountID, f.ServiceID, f.AssigneeID, string(f.Status)}
	if err := q.QueryRow(ctx, `SELECT COUNT(*)`+matching, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	all, err = db.Collect(ctx, q, rows.Scan, `SELECT `+rows.Columns()+matching+` ORDER BY updated_at DESC, id DESC LIMIT $5 OFFSET $6`,
		append(args, p.Limit(), p.Offset())...)
	return all, total, err
}

func countOpen(ctx context.Context, q db.Querier, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM tickets WHERE account_id = $1 AND status <> 'closed'`, accountID).Scan(&n)
	return n, err
}

// sizeOf counts the messages of a ticket, and the bytes of their texts.
func sizeOf(ctx context.Context, q db.Querier, id int64) (written int, text int64, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(OCTET_LENGTH(body)), 0) AS BIGINT) FROM tickets_messages WHERE ticket_id = $1`, id).
		Scan(&written, &text)
	return written, text, err
}

// writtenSince counts the messages of an account since a moment, and the bytes of their files.
func writtenSince(ctx context.Context, q db.Querier, accountID int64, since time.Time) (written int, size int64, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(DISTINCT m.id), CAST(COALESCE(SUM(a.size), 0) AS BIGINT)
		FROM tickets t JOIN tickets_messages m ON m.ticket_id = t.id LEFT JOIN tickets_attachments a ON a.message_id = m.id
		WHERE t.account_id = $1 AND NOT m.staff AND m.created_at > $2`, accountID, since).Scan(&written, &size)
	return written, size, err
}

// writtenBefore reports whether the customer wrote something else in the message's ticket since a moment.
func writtenBefore(ctx context.Context, q db.Querier, m Message, since time.Time) (written bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM tickets_messages WHERE ticket_id = $1 AND id <> $2 AND NOT staff AND created_at > $3)`,
		m.TicketID, m.ID, since).Scan(&written)
	return written, err
}

// lastOfCustomer is the id of what the customer wrote last in a ticket.
func lastOfCustomer(ctx context.Context, q db.Querier, ticket int64) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0) FROM tickets_messages WHERE ticket_id = $1 AND NOT staff`, ticket).Scan(&id)
	return id, err
}

func insertTicket(ctx context.Context, tx *db.Tx, t Ticket) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO tickets (account_id, service_id, subject, status, token, language, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING id`, t.AccountID, t.ServiceID, t.Subject, t.Status, t.token, t.Language, t.CreatedAt).Scan(&id)
	return id, err
}

func insertMessage(ctx context.Context, tx *db.Tx, m Message) (id int64, err error) {
	var mailID *string
	if m.mailID != "" {
		mailID = &m.mailID
	}
	if m.Via == "" {
		m.Via = "panel"
	}
	err = tx.QueryRow(ctx, `INSERT INTO tickets_messages (ticket_id, author_id, staff, internal, via, body, mail_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`, m.TicketID, m.AuthorID, m.Staff, m.Internal, m.Via, m.Body, mailID, m.CreatedAt).Scan(&id)
	for _, f := range m.Files {
		if err != nil {
			break
		}
		_, err = tx.Exec(ctx, `INSERT INTO tickets_attachments (message_id, name, size, content) VALUES ($1, $2, $3, $4)`, id, f.Name, f.Size, f.Content)
	}
	return id, err
}

func setStatus(ctx context.Context, tx *db.Tx, id int64, s Status) error {
	closed := &tx.Now
	if s != Closed {
		closed = nil
	}
	_, err := tx.Exec(ctx, `UPDATE tickets SET status = $1, closed_at = $2, updated_at = $3 WHERE id = $4`, s, closed, tx.Now, id)
	return err
}

// touch notes that somebody wrote, and leaves the state to whoever sets it at the same time.
func touch(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE tickets SET updated_at = $1 WHERE id = $2`, tx.Now, id)
	return err
}

func setAssignee(ctx context.Context, tx *db.Tx, id, staff int64) error {
	var assignee *int64
	if staff != 0 {
		assignee = &staff
	}
	_, err := tx.Exec(ctx, `UPDATE tickets SET assignee_id = $1 WHERE id = $2`, assignee, id)
	return err
}

const messageColumns = `id, ticket_id, author_id, staff, internal, via, body, created_at`

func scanMessage(r db.Row) (m Message, err error) {
	err = r.Scan(&m.ID, &m.TicketID, &m.AuthorID, &m.Staff, &m.Internal, &m.Via, &m.Body, &m.CreatedAt)
	return m, err
}

// delivered tells whether a mail is a message of a ticket.
func delivered(ctx context.Context, q db.Querier, mailID string) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM tickets_messages WHERE mail_id = $1)`, mailID).Scan(&found)
	return found, err
}

func messages(ctx context.Context, q db.Querier, ticket int64, internal bool) ([]Message, error) {
	all, err := db.Collect(ctx, q, scanMessage, `SELECT `+messageColumns+` FROM tickets_messages
		WHERE ticket_id = $1 AND ($2 OR NOT internal) ORDER BY id`, ticket, internal)
	if err != nil {
		return nil, err
	}
	at := map[int64]int{}
	for i, m := range all {
		at[m.ID] = i
	}
	_, err = db.Collect(ctx, q, func(r db.Row) (struct{}, error) {
		var (
			f       File
			message int64
		)
		err := r.Scan(&message, &f.ID, &f.Name, &f.Size)
		if i, ok := at[message]; ok {
			all[i].Files = append(all[i].Files, f)
		}
		return struct{}{}, err
	}, `SELECT a.message_id, a.id, a.name, a.size FROM tickets_attachments a JOIN tickets_messages m ON m.id = a.message_id WHERE m.ticket_id = $1 ORDER BY a.id`, ticket)
	return all, err
}

func messageOf(ctx context.Context, q db.Querier, id int64) (Message, error) {
	return scanMessage(q.QueryRow(ctx, `SELECT `+messageColumns+` FROM tickets_messages WHERE id = $1`, id))
}

// fileOf reads a file of a ticket; an account of 0 is staff, who see files of notes, too.
func fileOf(ctx context.Context, q db.Querier, accountID, ticket, file int64) (f File, err error) {
	err = q.QueryRow(ctx, `SELECT a.id, a.name, a.size, a.content FROM tickets_attachments a JOIN tickets_messages m ON m.id = a.message_id
		JOIN tickets t ON t.id = m.ticket_id WHERE a.id = $1 AND t.id = $2 AND (CAST($3 AS BIGINT) = 0 OR t.account_id = $3 AND NOT m.internal)`,
		file, ticket, accountID).Scan(&f.ID, &f.Name, &f.Size, &f.Content)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return f, err
}

func answers(ctx context.Context, q db.Querier) ([]CannedAnswer, error) {
	return db.Collect(ctx, q, func(r db.Row) (c CannedAnswer, err error) {
		err = r.Scan(&c.ID, &c.Title, &c.Body)
		return c, err
	}, `SELECT id, title, body FROM tickets_answers ORDER BY title`)
}

func saveAnswer(ctx context.Context, tx *db.Tx, title, body string) (c CannedAnswer, err error) {
	c = CannedAnswer{Title: title, Body: body}
	err = tx.QueryRow(ctx, `INSERT INTO tickets_answers (title, body, updated_at) VALUES ($1, $2, $3)
		ON CONFLICT (title) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at RETURNING id`, title, body, tx.Now).Scan(&c.ID)
	return c, err
}

func deleteAnswer(ctx context.Context, tx *db.Tx, id int64) error {
	n, err := tx.Exec(ctx, `DELETE FROM tickets_answers WHERE id = $1`, id)
	if err == nil && n == 0 {
		err = fault.NotFound.New()
	}
	return err
}

func deleteOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	for _, query := range []string{
		`DELETE FROM tickets_attachments WHERE message_id IN (SELECT m.id FROM tickets_messages m JOIN tickets t ON t.id = m.ticket_id WHERE t.account_id = $1)`,
		`DELETE FROM tickets_messages WHERE ticket_id IN (SELECT id FROM tickets WHERE account_id = $1)`,
		`DELETE FROM tickets WHERE account_id = $1`,
	} {
		if _, err := tx.Exec(ctx, query, accountID); err != nil {
			return err
		}
	}
	return nil
}

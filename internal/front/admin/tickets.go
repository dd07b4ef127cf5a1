package admin

import (
	"context"
	"io"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/support/tickets"
)

// Inbox takes mails to tickets.
type Inbox interface {
	Receive(ctx context.Context, raw io.Reader) (tickets.Ticket, error)
}

// RecordTicket implements tickets.Recorder.
func (a *Admin) RecordTicket(ctx context.Context, action string, id int64) context.Context {
	return a.change(ctx, action, "", rowOf("ticket", "tickets", "account_id, status, assignee_id, updated_at", "id", id))
}

// announcementColumns are what the audit log keeps of an announcement.
const announcementColumns = "title, body, link, level, audience, audience_of, starts_at, ends_at, notify, mail, published_at, withdrawn_at, version"

// RecordAnnouncement implements announcements.Recorder.
func (a *Admin) RecordAnnouncement(ctx context.Context, action string, id int64) context.Context {
	if id == 0 {
		return a.change(ctx, action, "", newRowOf("announcement", "announcements", announcementColumns))
	}
	return a.change(ctx, action, "", rowOf("announcement", "announcements", announcementColumns, "id", id))
}

// RecordTaxRules implements invoices.Recorder.
func (a *Admin) RecordTaxRules(ctx context.Context, action, reason string, id int64) context.Context {
	const columns = "file, valid_from"
	if id == 0 {
		return a.change(ctx, action, reason, newRowOf("tax_rules", "invoices_tax_rules", columns))
	}
	return a.change(ctx, action, reason, rowOf("tax_rules", "invoices_tax_rules", columns, "id", id))
}

// RecordCompany implements company.Recorder.
func (a *Admin) RecordCompany(ctx context.Context, action, reason, key string, state func(ctx context.Context, q db.Querier) (any, error)) context.Context {
	return a.change(ctx, action, reason, subject{kind: "company", key: key, state: state})
}

// RecordAnswer implements tickets.Recorder.
func (a *Admin) RecordAnswer(ctx context.Context, action string, key any) context.Context {
	column := "id"
	if _, title := key.(string); title {
		column = "title"
	}
	return a.change(ctx, action, "", rowOf("canned_answer", "tickets_answers", "title, body", column, key))
}

package main

import (
	"cmp"
	"io"
	"strconv"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/identity/audit"
)

type auditCmd struct {
	List   auditList   `cmd:"" help:"List what staff have done, the newest first."`
	Export auditExport `cmd:"" help:"Print the whole log as CSV, or with --json as a JSON object a line."`
}

// auditFilter are the flags that choose entries.
type auditFilter struct {
	Account int64  `help:"Only what concerns this customer's account: its id."`
	Actor   int64  `help:"Only what this member of staff has done: the id of the account."`
	Action  string `help:"Only this action, such as service.suspend."`
}

func (f auditFilter) filter() audit.Filter {
	return audit.Filter{AccountID: f.Account, ActorID: f.Actor, Action: f.Action}
}

type auditList struct {
	auditFilter
	Before int64 `help:"Only entries older than this one."`
	Limit  int   `help:"How many, at most 200." default:"50"`
}

// Run lists entries.
func (c *auditList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		found, err := a.AuditLog(e.ctx, c.filter(), c.Before, min(c.Limit, 200))
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": found}, func(w io.Writer) {
			row(w, "ID", "AT", "WHO", "VIA", "ACTION", "SUBJECT", "ACCOUNT", "REASON")
			for _, f := range found {
				who, account := f.ActorName, ""
				if f.ActorID != nil {
					who = cmp.Or(f.ActorName, "staff "+strconv.FormatInt(*f.ActorID, 10))
				}
				if f.AccountID != nil {
					account = strconv.FormatInt(*f.AccountID, 10)
				}
				row(w, f.ID, f.At.Format("2006-01-02 15:04:05"), who, f.Via, f.Action, f.SubjectKind+" "+f.Subject, account, f.Reason)
			}
		})
	})
}

type auditExport struct{ auditFilter }

// Run prints the log.
func (c *auditExport) Run(e *environment) error {
	format := audit.CSV
	if e.json {
		format = audit.NDJSON
	}
	return e.administer(func(a *admin.Admin) error { return a.Audit.Export(e.ctx, e.stdout, c.filter(), format) })
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/front/admin/whmcs"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Takeovers makes services of those that another system has sold.
type Takeovers interface {
	// TakeOver begins the provisioning of a service, for which nothing is paid here, and answers its id and what a renewal costs.
	TakeOver(ctx context.Context, tx *db.Tx, i orders.Import) (serviceID int64, renewal money.USDCents, err error)
}

// attempts runs f in a transaction, or in a part of one, which an error undoes.
type attempts func(ctx context.Context, f func(ctx context.Context, tx *db.Tx) error) error

// alone runs f in a transaction of its own, which a dry run undoes.
func (w *whmcsImport) alone(ctx context.Context, f func(ctx context.Context, tx *db.Tx) error) error {
	return w.try(ctx, !w.Apply, f)
}

// savepoints runs f in a part of a transaction.
func savepoints(tx *db.Tx) attempts {
	return func(ctx context.Context, f func(ctx context.Context, tx *db.Tx) error) error {
		return tx.Savepoint(ctx, func(ctx context.Context) error { return f(ctx, tx) })
	}
}

// heldName is a domain name of a client, with what the registry says of it, or why it is left out.
type heldName struct {
	row     ImportRow
	name    domains.Held
	renews  bool
	account int64 // that has it here; 0: none
}

// held asks the registry about the domain names of a client that are not here yet.
func (w *whmcsImport) held(ctx context.Context, c whmcs.Client) ([]heldName, error) {
	all := make([]heldName, len(w.domains[c.ID]))
	for i, d := range w.domains[c.ID] {
		h := heldName{row: ImportRow{Kind: "domain", ID: d.ID, What: d.Name, Becomes: ImportNew, PaidUntil: d.Expires}, renews: d.Renews}
		switch status := strings.ToLower(d.Status); {
		case status == "cancelled" || status == "fraud" || status == "transferred away":
			h.row.Becomes = ImportEnded
		case strings.HasPrefix(status, "pending"):
			h.row.leave("it is " + status + " there")
		default:
			if err := w.hold(ctx, &h, d.Name); err != nil {
				return nil, err
			}
		}
		all[i] = h
	}
	return all, nil
}

// hold asks the registry about one name.
func (w *whmcsImport) hold(ctx context.Context, h *heldName, written string) error {
	name, err := domainname.ForSite(written, nil)
	if err != nil {
		h.row.leave(explain(err))
		return nil
	}
	id, accountID, live, err := w.Domains.Live(ctx, w.DB, name)
	if err != nil {
		return err
	}
	if live {
		h.row.DomainID, h.account = id, accountID
		return nil
	}
	h.name, err = w.Domains.Held(ctx, name)
	switch {
	case errors.Is(err, fault.DomainUnavailable):
		h.row.leave("our registrar does not hold it")
	case isRefused(err):
		h.row.leave(explain(err))
	case err != nil:
		return err
	case !h.name.Expires().IsZero():
		h.row.PaidUntil = h.name.Expires().UTC().Format(time.DateOnly)
	}
	return nil
}

// belongings imports what a client has who has an account.
func (w *whmcsImport) belongings(ctx context.Context, c whmcs.Client, accountID int64, run attempts) error {
	p, err := w.Accounts.Profile(ctx, w.DB, accountID)
	if err != nil {
		return err
	}
	if p.ClosedAt != nil {
		w.leaveAll(c.ID, "the account here is closed")
		return nil
	}
	held, err := w.held(ctx, c)
	if err != nil {
		return err
	}
	return w.each(ctx, c, accountID, held, run)
}

// each imports the domain names of a client, by which it may use them, and then its services.
func (w *whmcsImport) each(ctx context.Context, c whmcs.Client, accountID int64, held []heldName, run attempts) error {
	for _, h := range held {
		row, err := w.domain(ctx, h, accountID, run)
		if err != nil {
			return fmt.Errorf("domain %d: %w", h.row.ID, err)
		}
		w.report.add(row)
	}
	for _, s := range w.services[c.ID] {
		row, err := w.service(ctx, c, s, accountID, run)
		if err != nil {
			return fmt.Errorf("service %d: %w", s.ID, err)
		}
		w.report.add(row)
	}
	return nil
}

// leaveAll leaves out what a client has.
func (w *whmcsImport) leaveAll(client int64, reason string) {
	for _, d := range w.domains[client] {
		row := ImportRow{Kind: "domain", ID: d.ID, What: d.Name}
		row.leave(reason)
		w.report.add(row)
	}
	for _, s := range w.services[client] {
		row := serviceRow(s)
		if row.Becomes != ImportEnded {
			row.leave(reason)
		}
		w.report.add(row)
	}
}

// domain gives the account a name that the registrar holds.
func (w *whmcsImport) domain(ctx context.Context, h heldName, accountID int64, run attempts) (ImportRow, error) {
	row := h.row
	if row.Becomes != ImportNew {
		return row, nil
	}
	row.AccountID = w.known(accountID)
	switch h.account {
	case 0:
	case accountID:
		row.Becomes = ImportThere
		return row, nil
	default:
		row.leave("another account here has it")
		return row, nil
	}
	var id int64
	err := run(ctx, func(ctx context.Context, tx *db.Tx) error {
		reason := fmt.Sprintf("domain %d of %s", row.ID, w.Source)
		return w.record(ctx, tx, "domain.adopt", reason, newRowOf("domain", "domains", "name, status, expires_at, auto_renew").of(accountID), func() (err error) {
			id, err = w.Domains.Adopt(ctx, tx, accountID, h.name, h.renews)
			return err
		})
	})
	if isRefused(err) {
		row.leave(explain(err))
		return row, nil
	}
	if w.Apply {
		row.DomainID = id
	}
	return row, err
}

// known is the id of an account; 0 for one that a dry run undoes.
func (w *whmcsImport) known(accountID int64) int64 {
	if accountID == w.undone {
		return 0
	}
	return accountID
}

// farthest is how far ahead a service may be paid, in years. Who has one for ever there has a price of nothing here.
const farthest = 10

// serviceRow begins the row of a service.
func serviceRow(s whmcs.Service) ImportRow {
	row := ImportRow{Kind: "service", ID: s.ID, What: strings.TrimSpace(s.Name + " " + s.Domain), Becomes: ImportNew, PaidUntil: s.NextDue}
	switch strings.ToLower(s.Status) {
	case "terminated", "cancelled", "fraud", "completed":
		row.Becomes = ImportEnded
	}
	return row
}

// service makes a service of one that lives there.
func (w *whmcsImport) service(ctx context.Context, c whmcs.Client, s whmcs.Service, accountID int64, run attempts) (ImportRow, error) {
	row := serviceRow(s)
	if row.Becomes == ImportEnded {
		return row, nil
	}
	row.AccountID = w.known(accountID)
	key := strconv.FormatInt(s.ID, 10)
	if t, ok := w.taken[key]; ok {
		if !t.Over() {
			row.Becomes, row.AccountID, row.ServiceID, row.Status = ImportThere, t.AccountID, t.ServiceID, string(t.Status)
			return row, nil
		}
		row.Notes = append(row.Notes, fmt.Sprintf("service %d was made of it, and has failed (%s)", t.ServiceID, t.Failure))
	}
	i, reason := w.takeover(c, s, accountID)
	if reason != "" {
		row.leave(reason)
		return row, nil
	}
	i.From.Source, i.From.ID = w.Source, key
	row.Plan, row.Months = w.Products[s.Product], i.PeriodMonths
	if s.Cancelling {
		row.Notes = append(row.Notes, "its client has asked for its end: it is not renewed by itself")
	}
	switch services.SuspendReason(i.From.Suspended) {
	case services.Unpaid:
		row.Notes = append(row.Notes, "it is suspended until its client pays, and is not renewed by itself")
	case services.Manual:
		row.Notes = append(row.Notes, "it is suspended until staff lift that: "+s.SuspendReason)
	}
	domain, err := domainname.ForSite(s.Domain, nil)
	if first, twice := w.byDomain[domain]; err == nil && twice && first != s.ID {
		row.leave(fmt.Sprintf("service %d has the same domain", first))
		return row, nil
	}
	var (
		id      int64
		renewal money.USDCents
	)
	err = run(ctx, func(ctx context.Context, tx *db.Tx) error {
		why := fmt.Sprintf("service %s of %s", key, w.Source)
		made := newRowOf("service", "services", "account_id, status, plan_slug, panel, renew_price").of(accountID)
		return w.record(ctx, tx, "service.take_over", why, made, func() (err error) {
			id, renewal, err = w.Takeovers.TakeOver(ctx, tx, i)
			return err
		})
	})
	if isRefused(err) {
		row.leave(explain(err))
		return row, nil
	}
	if err != nil {
		return row, err
	}
	w.byDomain[domain] = s.ID
	row.Renewal = &renewal
	if w.Apply {
		row.ServiceID, row.Status = id, string(services.Provisioning)
	}
	return row, nil
}

// takeover is what a service becomes, or why it is left out.
func (w *whmcsImport) takeover(c whmcs.Client, s whmcs.Service, accountID int64) (i orders.Import, reason string) {
	plan, mapped := w.plans[s.Product]
	months, period := s.Months()
	until, dated := s.PaidUntil()
	now := w.Clock.Now()
	status := strings.ToLower(s.Status)
	switch {
	case !mapped:
		return i, fmt.Sprintf("the mapping file has no plan for product %d", s.Product)
	case status != "active" && status != "suspended":
		return i, "it is " + status + " there"
	case !period:
		return i, fmt.Sprintf("the billing cycle %q is no period", s.Cycle)
	case !dated:
		return i, "there is no day until which it is paid"
	case until.After(now.AddDate(farthest, 0, 0)):
		return i, fmt.Sprintf("it is paid for more than %d years ahead", farthest)
	}
	paid, err := w.cents(s.Amount, c.Currency)
	if err != nil {
		return i, err.Error()
	}
	if paid < 0 {
		return i, "its price is below zero"
	}
	i = orders.Import{
		AccountID: accountID, PlanID: plan, PeriodMonths: months, Domain: s.Domain, AutoRenew: !s.Cancelling,
		From: sale.Takeover{PaidUntil: until, Paid: paid},
	}
	if w.Prices != "catalog" {
		i.Price = &paid
	}
	switch {
	case status != "suspended":
	case s.Overdue(now):
		i.From.Suspended, i.AutoRenew = string(services.Unpaid), false
	default:
		i.From.Suspended = string(services.Manual)
	}
	return i, ""
}

package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Hit is something that a search found.
type Hit struct {
	Kind      string `json:"kind" enum:"account,service,order,invoice,domain,hosted_domain,session,request,audit,job,topup,ticket,node" doc:"request: what a reseller called; audit: what staff did."`
	ID        int64  `json:"id"`
	AccountID int64  `json:"account_id" doc:"Customer whom it belongs to; 0 where there is none."`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
}

// hitsEach bounds the hits of a kind.
const hitsEach = 8

// documentNumber is the number of an invoice, a credit note or a receipt.
var documentNumber = regexp.MustCompile(`^(.*?)(INV|CN|RCP)-(\d{4})-(\d{1,12})$`)

// orderNumber is what people call an order, such as ORD-2026-000123.
var orderNumber = regexp.MustCompile(`^ORD-\d{4}-(\d{1,12})$`)

// requestPrefix is what the ids of requests begin with.
const requestPrefix = "req_"

// finder finds things of a kind. A statement returns id, account, title and detail.
type finder struct {
	kind, query string
	args        []any
}

// Search finds whatever has the text as its id, name, address, number or request id.
func (a *Admin) Search(ctx context.Context, text string) ([]Hit, error) {
	text = strings.TrimSpace(text)
	all := []Hit{}
	if text == "" {
		return all, nil
	}
	for _, f := range finders(text) {
		found, err := a.find(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if strings.HasPrefix(text, requestPrefix) {
		enqueued, err := a.enqueuedBy(ctx, text)
		return append(all, enqueued...), err
	}
	return all, nil
}

// subjects find what a job works for, by the argument that names it. A job names its own row, such as a backup, and not always
// the service of that.
var subjects = []struct{ argument, kind, query string }{
	{"service_id", "service", serviceHits + `id = $1`},
	{"backup_id", "service", serviceHits + `id = (SELECT service_id FROM backups WHERE id = $1)`},
	{"restore_id", "service", serviceHits + `id = (SELECT service_id FROM backups_restores WHERE id = $1)`},
	{"installation_id", "service", serviceHits + `id = (SELECT service_id FROM templates_installations WHERE id = $1)`},
	{"move_id", "service", serviceHits + `id = (SELECT service_id FROM moves_moves WHERE id = $1)`},
	{"service_id", "order", orderHits + `id = (SELECT order_id FROM services WHERE id = $1)`},
	{"operation_id", "domain", domainHits + `id = (SELECT domain_id FROM domains_operations WHERE id = $1)`},
	{"operation_id", "order", orderHits + `id = (SELECT order_id FROM domains_operations WHERE id = $1)`},
	{"domain_id", "domain", domainHits + `id = $1`},
	{"message_id", "ticket", ticketHits + `id = (SELECT ticket_id FROM tickets_messages WHERE id = $1)`},
	{"topup_id", "topup", topupHits + `id = $1`},
}

// What a hit tells of a thing of each kind.
const (
	serviceHits = `SELECT id, account_id, label, status FROM services WHERE `
	orderHits   = `SELECT id, account_id, kind, status FROM orders WHERE `
	domainHits  = `SELECT id, account_id, name, status FROM domains WHERE `
	ticketHits  = `SELECT id, account_id, subject, status FROM tickets WHERE `
	topupHits   = `SELECT id, account_id, gateway, status FROM wallet_topups WHERE `
)

// enqueuedBy finds the jobs that a request enqueued, and what they work for. Its other effects name no request.
func (a *Admin) enqueuedBy(ctx context.Context, request string) ([]Hit, error) {
	found, _, err := a.Jobs.List(ctx, a.DB, jobs.Filter{RequestID: request}, hitsEach, 0)
	if err != nil {
		return nil, err
	}
	var (
		all, of []Hit
		seen    = map[Hit]bool{}
	)
	for _, j := range found {
		var arguments map[string]json.RawMessage
		if err := json.Unmarshal([]byte(j.Arguments), &arguments); err != nil {
			return nil, fmt.Errorf("admin: arguments of job %d: %w", j.ID, err)
		}
		all = append(all, Hit{Kind: "job", ID: j.ID, Title: j.Kind, Detail: j.State})
		for _, subject := range subjects {
			id, err := strconv.ParseInt(string(arguments[subject.argument]), 10, 64)
			if err != nil {
				continue // the job names no such thing
			}
			f := finder{subject.kind, subject.query, []any{id}}
			hits, err := a.find(ctx, f)
			if err != nil {
				return nil, err
			}
			for _, h := range hits {
				if !seen[h] {
					seen[h] = true
					of = append(of, h)
				}
			}
		}
	}
	return append(of, all...), nil
}

func (a *Admin) find(ctx context.Context, f finder) ([]Hit, error) {
	found, err := db.Collect(ctx, a.DB, func(r db.Row) (h Hit, err error) {
		h.Kind = f.kind
		err = r.Scan(&h.ID, &h.AccountID, &h.Title, &h.Detail)
		return h, err
	}, f.query+` LIMIT `+strconv.Itoa(hitsEach), f.args...)
	if err != nil {
		return nil, fmt.Errorf("admin: search %s: %w", f.kind, err)
	}
	return found, nil
}

// shortestPart is the length from which a text is looked for inside names.
const shortestPart = 3

func finders(text string) []finder {
	var all []finder
	add := func(kind, query string, args ...any) { all = append(all, finder{kind, query, args}) }
	if id, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64); err == nil && id > 0 {
		add("account", `SELECT id, id, email, name FROM account_users WHERE id = $1`, id)
		add("service", serviceHits+`id = $1`, id)
		add("order", orderHits+`id = $1`, id)
		add("ticket", ticketHits+`id = $1`, id)
		add("topup", topupHits+`id = $1`, id)
	}
	if m := orderNumber.FindStringSubmatch(strings.ToUpper(text)); m != nil {
		id, _ := strconv.ParseInt(m[1], 10, 64)
		add("order", orderHits+`id = $1`, id)
	}
	if m := documentNumber.FindStringSubmatch(strings.ToUpper(text)); m != nil {
		year, _ := strconv.Atoi(m[3])
		sequence, _ := strconv.ParseInt(m[4], 10, 64)
		add("invoice", `SELECT id, account_id, kind, CAST(total AS TEXT) FROM invoices WHERE year = $1 AND sequence = $2`, year, sequence)
	}
	if address, err := netip.ParseAddr(text); err == nil {
		add("session", `SELECT s.id, s.account_id, u.email, s.user_agent FROM account_sessions s JOIN account_users u ON u.id = s.account_id
			WHERE s.address = $1 ORDER BY s.id DESC`, address.Unmap().String())
	}
	if strings.HasPrefix(text, requestPrefix) {
		add("request", `SELECT id, account_id, operation, COALESCE(error_key, '') FROM reseller_calls WHERE request_id = $1`, text)
		add("audit", `SELECT id, COALESCE(account_id, 0), action, subject_kind || ' ' || subject FROM audit_entries WHERE request_id = $1`, text)
	}
	if utf8.RuneCountInString(text) < shortestPart {
		return all
	}
	part := contains(text)
	add("account", `SELECT id, id, email, name FROM account_users
		WHERE sandbox_of IS NULL AND (email LIKE $1 ESCAPE '\' OR LOWER(name) LIKE $1 ESCAPE '\') ORDER BY id DESC`, part)
	add("service", serviceHits+`LOWER(label) LIKE $1 ESCAPE '\' OR domain LIKE $1 ESCAPE '\'
		OR username = $2 ORDER BY id DESC`, part, text)
	add("hosted_domain", `SELECT service_id, account_id, name, kind FROM hosting_domains WHERE name LIKE $1 ESCAPE '\' AND kind <> 'primary' ORDER BY id DESC`, part)
	add("domain", domainHits+`name LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	add("ticket", ticketHits+`LOWER(subject) LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	add("node", `SELECT id, 0, name, state FROM nodes_nodes WHERE LOWER(name) LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	return all
}

package admin

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
)

// Hit is something that a search found.
type Hit struct {
	Kind      string `json:"kind" enum:"account,service,order,invoice,domain,hosted_domain,session,request,topup,ticket,node"`
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
		found, err := db.Collect(ctx, a.DB, func(r db.Row) (h Hit, err error) {
			h.Kind = f.kind
			err = r.Scan(&h.ID, &h.AccountID, &h.Title, &h.Detail)
			return h, err
		}, f.query+` LIMIT `+strconv.Itoa(hitsEach), f.args...)
		if err != nil {
			return nil, fmt.Errorf("admin: search %s: %w", f.kind, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// shortestPart is the length from which a text is looked for inside names.
const shortestPart = 3

func finders(text string) []finder {
	var all []finder
	add := func(kind, query string, args ...any) { all = append(all, finder{kind, query, args}) }
	if id, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64); err == nil && id > 0 {
		add("account", `SELECT id, id, email, name FROM account_users WHERE id = $1`, id)
		add("service", `SELECT id, account_id, label, status FROM services WHERE id = $1`, id)
		add("order", `SELECT id, account_id, kind, status FROM orders WHERE id = $1`, id)
		add("ticket", `SELECT id, account_id, subject, status FROM tickets WHERE id = $1`, id)
		add("topup", `SELECT id, account_id, gateway, status FROM wallet_topups WHERE id = $1`, id)
	}
	if m := orderNumber.FindStringSubmatch(strings.ToUpper(text)); m != nil {
		id, _ := strconv.ParseInt(m[1], 10, 64)
		add("order", `SELECT id, account_id, kind, status FROM orders WHERE id = $1`, id)
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
	if strings.HasPrefix(text, "req_") {
		add("request", `SELECT id, account_id, operation, COALESCE(error_key, '') FROM reseller_calls WHERE request_id = $1`, text)
		add("request", `SELECT id, COALESCE(account_id, 0), action, subject_kind || ' ' || subject FROM audit_entries WHERE request_id = $1`, text)
	}
	if utf8.RuneCountInString(text) < shortestPart {
		return all
	}
	part := contains(text)
	add("account", `SELECT id, id, email, name FROM account_users
		WHERE sandbox_of IS NULL AND (email LIKE $1 ESCAPE '\' OR LOWER(name) LIKE $1 ESCAPE '\') ORDER BY id DESC`, part)
	add("service", `SELECT id, account_id, label, status FROM services WHERE LOWER(label) LIKE $1 ESCAPE '\' OR domain LIKE $1 ESCAPE '\'
		OR username = $2 ORDER BY id DESC`, part, text)
	add("hosted_domain", `SELECT service_id, account_id, name, kind FROM hosting_domains WHERE name LIKE $1 ESCAPE '\' AND kind <> 'primary' ORDER BY id DESC`, part)
	add("domain", `SELECT id, account_id, name, status FROM domains WHERE name LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	add("ticket", `SELECT id, account_id, subject, status FROM tickets WHERE LOWER(subject) LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	add("node", `SELECT id, 0, name, state FROM nodes_nodes WHERE LOWER(name) LIKE $1 ESCAPE '\' ORDER BY id DESC`, part)
	return all
}

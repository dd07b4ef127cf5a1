package reseller

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type clientsIn struct {
	page.Params
	Query string `query:"q" maxLength:"64" doc:"Only tags that begin with it"`
}

type clientIn struct {
	ClientRef string `path:"client_ref" maxLength:"256" doc:"Your tag, escaped: a slash is %2F"`
}

// clientWire is a tag with its numbers.
type clientWire struct {
	ClientRef     string      `json:"client_ref"`
	Services      int64       `json:"services" doc:"That have not ended: not failed, cancelled or terminated"`
	Active        int64       `json:"active_services"`
	Suspended     int64       `json:"suspended_services"`
	Ended         int64       `json:"ended_services"`
	Domains       int64       `json:"domains" doc:"Registrations that are not over"`
	RenewalCost   money.Money `json:"renewal_cost" doc:"Of its services that renew by themselves, a period of each"`
	NextRenewalAt *time.Time  `json:"next_renewal_at" doc:"When the paid time of the first of them ends"`
}

// clientOneWire is a tag with its objects.
type clientOneWire struct {
	clientWire
	Spent       money.Money         `json:"spent" doc:"What you ever paid for what bore the tag when it was paid, less what came back"`
	ServiceList []Resold            `json:"service_list" doc:"The newest 50; all: GET /api/v1/reseller/services?client_ref="`
	DomainList  []clientsDomainWire `json:"domain_list" doc:"The newest 50; all: GET /api/v1/reseller/domains?client_ref="`
}

type clientsDomainWire struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	AutoRenew bool       `json:"auto_renew"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// statsWire is the numbers of a reseller.
type statsWire struct {
	Services statsServices `json:"services"`
	Renewals statsRenewals `json:"renewals"`
	Spend    statsSpend    `json:"spend"`
	Balance  money.Money   `json:"balance"`
	Held     money.Money   `json:"held"`
}

type statsServices struct {
	Total    int64                     `json:"total"`
	ByStatus map[services.Status]int64 `json:"by_status" doc:"Every status, also those that no service has"`
}

type statsRenewals struct {
	Days           int         `json:"days" doc:"How far ahead"`
	Count          int64       `json:"count"`
	Cost           money.Money `json:"cost"`
	UncoveredCount int64       `json:"uncovered_count"`
	Uncovered      money.Money `json:"uncovered" doc:"Cost of those that the balance does not pay for after all that are due before"`
}

type statsSpend struct {
	ThisMonth money.Money `json:"this_month" doc:"Of UTC; less what came back"`
	LastMonth money.Money `json:"last_month"`
}

type statsIn struct {
	Days int `query:"days" minimum:"1" maximum:"366" default:"30" doc:"How far ahead renewals are counted"`
}

// clientOperations are the numbers of a reseller and of its clients' tags (specification, section "Reseller").
func (s *Service) clientOperations() []api.Route {
	return []api.Route{
		api.Operation[statsIn, statsWire]{
			ID: "reseller.stats", Method: http.MethodGet, Path: "/api/v1/reseller/stats", Section: api.Reseller, Auth: api.Key,
			Description: "Services by state, renewals of the coming days with the part of their cost that the balance does not cover, and " +
				"spending of this month and the last one (months of UTC, cents of USD).",
			Summary: "See your services, coming renewals and spending in numbers", Handle: s.statsOperation,
		},
		api.Operation[clientsIn, page.List[clientWire]]{
			ID: "reseller.clients.list", Method: http.MethodGet, Path: "/api/v1/reseller/clients", Section: api.Reseller, Auth: api.Key,
			Summary: "List the tags that your services and domains bear, in their order", Handle: s.clientsOperation,
			Description: "Nothing else is kept of your clients.",
		},
		api.Operation[clientIn, clientOneWire]{
			ID: "reseller.clients.get", Method: http.MethodGet, Path: "/api/v1/reseller/clients/{client_ref}", Section: api.Reseller,
			Auth: api.Key, Summary: "Get a tag with its services, domains and spending",
			Description: "A tag that is borne by nothing is not found. Escape it as a path segment: / is %2F.",
			Errors:      []*fault.Def{fault.NotFound}, Handle: s.clientOperation,
		},
	}
}

func (s *Service) statsOperation(ctx context.Context, p auth.Principal, in *statsIn) (*statsWire, error) {
	now, err := s.Services.Now(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	byStatus, err := countServices(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	has, err := s.Billing.Funds(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	due, err := sumDue(ctx, s.DB, p.AccountID, now.AddDate(0, 0, in.Days), has)
	if err != nil {
		return nil, err
	}
	balance, err := s.Wallet.Balance(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	this, err := s.Wallet.Spent(ctx, s.DB, p.AccountID, month, month.AddDate(0, 1, 0))
	if err != nil {
		return nil, err
	}
	last, err := s.Wallet.Spent(ctx, s.DB, p.AccountID, month.AddDate(0, -1, 0), month)
	if err != nil {
		return nil, err
	}
	w := &statsWire{
		Services: statsServices{ByStatus: map[services.Status]int64{}},
		Renewals: statsRenewals{
			Days: in.Days, Count: due.Count, Cost: money.Wire(ctx, due.Cost), UncoveredCount: due.Uncovered,
			Uncovered: money.Wire(ctx, due.UncoveredCost),
		},
		Spend:   statsSpend{ThisMonth: money.Wire(ctx, this), LastMonth: money.Wire(ctx, last)},
		Balance: money.Wire(ctx, balance.Spendable), Held: money.Wire(ctx, balance.Held),
	}
	for _, status := range services.Statuses() {
		w.Services.ByStatus[status] = byStatus[status]
		w.Services.Total += byStatus[status]
	}
	return w, nil
}

func (s *Service) clientsOperation(ctx context.Context, p auth.Principal, in *clientsIn) (*page.List[clientWire], error) {
	total, err := countTags(ctx, s.DB, p.AccountID, in.Query)
	if err != nil {
		return nil, err
	}
	tags, err := listTags(ctx, s.DB, p.AccountID, in.Query, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	clients, err := clientsOf(ctx, s.DB, p.AccountID, tags)
	if err != nil {
		return nil, err
	}
	wires := make([]clientWire, len(clients))
	for i, c := range clients {
		wires[i] = c.wire(ctx)
	}
	return page.Of(in.Params, total, wires), nil
}

func (s *Service) clientOperation(ctx context.Context, p auth.Principal, in *clientIn) (*clientOneWire, error) {
	clients, err := clientsOf(ctx, s.DB, p.AccountID, []string{in.ClientRef})
	if err != nil {
		return nil, err
	}
	c := clients[0]
	if c.services+c.ended+c.domains+c.pastDomains == 0 {
		return nil, fault.NotFound.New()
	}
	list, err := s.resoldList(ctx, p.AccountID, services.Filter{ClientRef: &in.ClientRef}, page.Params{PerPage: page.MaxPerPage})
	if err != nil {
		return nil, err
	}
	domains, err := taggedDomains(ctx, s.DB, p.AccountID, in.ClientRef)
	if err != nil {
		return nil, err
	}
	spent, err := s.Wallet.SpentFor(ctx, s.DB, p.AccountID, in.ClientRef)
	if err != nil {
		return nil, err
	}
	return &clientOneWire{clientWire: c.wire(ctx), Spent: money.Wire(ctx, spent), ServiceList: list.Data, DomainList: domains}, nil
}

// client is the numbers of a tag.
type client struct {
	tag                                string
	services, active, suspended, ended int64
	domains, pastDomains               int64
	cost                               money.USDCents
	next                               *time.Time
}

func (c client) wire(ctx context.Context) clientWire {
	return clientWire{
		ClientRef: c.tag, Services: c.services, Active: c.active, Suspended: c.suspended, Ended: c.ended, Domains: c.domains,
		RenewalCost: money.Wire(ctx, c.cost), NextRenewalAt: c.next,
	}
}

// A reseller's services and domains have tags. These queries read both sections' tables, and write neither.
const tags = `(SELECT client_ref FROM services WHERE account_id = $1 AND SUBSTR(client_ref, 1, LENGTH(CAST($2 AS TEXT))) = $2
	UNION SELECT client_ref FROM domains WHERE account_id = $1 AND SUBSTR(client_ref, 1, LENGTH(CAST($2 AS TEXT))) = $2) AS tags`

func countTags(ctx context.Context, q db.Querier, accountID int64, query string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM `+tags, accountID, query).Scan(&n)
	return n, err
}

func listTags(ctx context.Context, q db.Querier, accountID int64, query string, limit, offset int) ([]string, error) {
	return db.Collect(ctx, q, func(row db.Row) (tag string, err error) {
		err = row.Scan(&tag)
		return tag, err
	}, `SELECT client_ref FROM `+tags+` ORDER BY client_ref LIMIT $3 OFFSET $4`, accountID, query, limit, offset)
}

// clientsOf counts the objects of each of the tags.
func clientsOf(ctx context.Context, q db.Querier, accountID int64, names []string) ([]client, error) {
	clients, at := make([]client, len(names)), map[string]*client{}
	marks, args := make([]string, len(names)), []any{accountID}
	for i, n := range names {
		clients[i].tag = n
		at[n] = &clients[i]
		args = append(args, n)
		marks[i] = fmt.Sprintf("$%d", len(args))
	}
	if len(names) == 0 {
		return nil, nil
	}
	in := ` WHERE account_id = $1 AND client_ref IN (` + strings.Join(marks, ", ") + `) GROUP BY client_ref`
	_, err := db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var c client
		err = row.Scan(&c.tag, &c.services, &c.active, &c.suspended, &c.ended, &c.cost, &c.next)
		*at[c.tag] = c
		return none, err
	}, `SELECT client_ref, SUM(CASE WHEN status IN ('failed', 'cancelled', 'terminated') THEN 0 ELSE 1 END),
			SUM(CASE WHEN status IN ('active', 'past_due') THEN 1 ELSE 0 END), SUM(CASE WHEN status = 'suspended' THEN 1 ELSE 0 END),
			SUM(CASE WHEN status IN ('failed', 'cancelled', 'terminated') THEN 1 ELSE 0 END),
			CAST(SUM(CASE WHEN `+services.Renewing+` THEN `+services.NextPrice+` ELSE 0 END) AS BIGINT),
			MIN(CASE WHEN `+services.Renewing+` THEN expires_at END)
		FROM services`+in, args...)
	if err != nil {
		return nil, err
	}
	_, err = db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var tag string
		var here, past int64
		err = row.Scan(&tag, &here, &past)
		at[tag].domains, at[tag].pastDomains = here, past
		return none, err
	}, `SELECT client_ref, SUM(CASE WHEN status IN ('transferred_out', 'cancelled', 'failed') THEN 0 ELSE 1 END),
			SUM(CASE WHEN status IN ('transferred_out', 'cancelled', 'failed') THEN 1 ELSE 0 END)
		FROM domains`+in, args...)
	return clients, err
}

func taggedDomains(ctx context.Context, q db.Querier, accountID int64, tag string) ([]clientsDomainWire, error) {
	found, err := db.Collect(ctx, q, func(row db.Row) (d clientsDomainWire, err error) {
		err = row.Scan(&d.ID, &d.Name, &d.Status, &d.AutoRenew, &d.ExpiresAt)
		return d, err
	}, `SELECT id, name, status, auto_renew, expires_at FROM domains WHERE account_id = $1 AND client_ref = $2 ORDER BY id DESC LIMIT $3`,
		accountID, tag, page.MaxPerPage)
	if found == nil {
		found = []clientsDomainWire{}
	}
	return found, err
}

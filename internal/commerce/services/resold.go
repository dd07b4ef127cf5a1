package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// View is a service as the interface shows it.
type View = serviceWire

// Resold is a service as its reseller sees it (resources, section 23). Its renewal is covered when
// the wallet pays for it after all that is due before it.
type Resold struct {
	View
	Cost        money.Money       `json:"cost" doc:"What its first period cost, without a setup"`
	RenewCost   money.Money       `json:"renew_cost" doc:"What its renewal costs you"`
	Metadata    map[string]string `json:"metadata" doc:"What you noted of it"`
	SuspendNote *string           `json:"suspend_note" doc:"What you suspended it for"`
	Sandbox     bool              `json:"sandbox"`
}

// Filter says which services a reseller's list shows; empty members show all.
type Filter struct {
	Status, Query string
	ClientRef     *string
	PlanID        int64
	RenewsBefore  *time.Time
}

// Bounds of what resellers note (resources, section 23).
const (
	maxClientRef     = 64 // characters
	maxMetadata      = 20 // members
	maxMetadataKey   = 40
	maxMetadataValue = 500
	maxSuspendNote   = 300
)

// checkNotes refuses what is too much to note of a service.
func checkNotes(clientRef *string, metadata map[string]string) error {
	if clientRef != nil {
		switch {
		case utf8.RuneCountInString(*clientRef) > maxClientRef:
			return ErrClientRefTooLong.New()
		case strings.ContainsFunc(*clientRef, unicode.IsControl):
			return fault.Invalid("client_ref", "characters")
		}
	}
	if len(metadata) > maxMetadata {
		return fault.Invalid("metadata", "metadata")
	}
	for key, value := range metadata {
		if key == "" || utf8.RuneCountInString(key) > maxMetadataKey || utf8.RuneCountInString(value) > maxMetadataValue ||
			strings.ContainsRune(key+value, 0) {
			return fault.Invalid("metadata", "metadata")
		}
	}
	return nil
}

func metadataText(m map[string]string) (string, error) {
	if m == nil {
		m = map[string]string{}
	}
	text, err := json.Marshal(m)
	return string(text), err
}

// note changes what the owner noted, and adds to previous what it was.
func (r *record) note(p preferences, previous map[string]any) error {
	if err := checkNotes(p.clientRef, p.metadata); err != nil {
		return err
	}
	if c := p.clientRef; c != nil {
		wanted := orNull(*c)
		if (wanted == nil) != (r.clientRef == nil) || (wanted != nil && *wanted != *r.clientRef) {
			previous["client_ref"], r.clientRef = r.clientRef, wanted
		}
	}
	if p.metadata == nil {
		return nil
	}
	before := map[string]string{}
	if err := json.Unmarshal([]byte(r.metadata), &before); err != nil {
		return fmt.Errorf("services: metadata of service %d: %w", r.id, err)
	}
	if maps.Equal(before, p.metadata) {
		return nil
	}
	var err error
	previous["metadata"] = before
	r.metadata, err = metadataText(p.metadata)
	return err
}

// suspendedByOwner tells that the service's suspension is its owner's to lift.
func (r record) suspendedByOwner() bool {
	return r.status == Suspended && *r.suspendReason == Manual && r.ownerSuspendedAt != nil && r.suspendedAt != nil && r.ownerSuspendedAt.Equal(*r.suspendedAt)
}

// due is a place in the order in which an account's services are renewed.
type due struct {
	at time.Time
	id int64
}

func (r record) before(d due) bool {
	return r.expiresAt.Before(d.at) || (r.expiresAt.Equal(d.at) && r.id < d.id)
}

// renewing is the condition of record.renewing in SQL.
const renewing = `auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'))`

// sumAtOnce is how many renewals are gone through one by one to find the first that the balance does not pay for. Most
// balances pay for few of very many.
const sumAtOnce = 500

// uncovered is the first of an account's renewals that the balance does not pay for, in the order in which they are due;
// nil when it pays for all. Those that are due later than until need not be looked at.
func uncovered(ctx context.Context, q db.Querier, accountID int64, until time.Time, has funds) (*due, error) {
	var after due
	for {
		s, err := sumRenewals(ctx, q, accountID, after, sumAtOnce, has)
		if err != nil || s.first != nil || s.count < sumAtOnce || s.last.at.After(until) {
			return s.first, err
		}
		after, has.balance = s.last, has.balance-s.sum
		// There are very many. Sums without an order cost a fraction: the half of the time that the balance pays for is
		// passed over, then half of what is left, until few are.
		for end := until; end.Sub(after.at) > time.Microsecond; {
			middle := after.at.Add(end.Sub(after.at) / 2).Truncate(time.Microsecond)
			count, sum, err := sumBetween(ctx, q, accountID, after, middle, has.tax)
			if err != nil {
				return nil, err
			}
			if sum > has.balance {
				end = middle
			} else {
				after, has.balance = due{middle, math.MaxInt64}, has.balance-sum
			}
			if count <= sumAtOnce {
				break
			}
		}
	}
}

// summed is a number of renewals that follow each other.
type summed struct {
	count int
	sum   money.USDCents
	last  due
	first *due // that the balance does not pay for; the rest is then of no use
}

// sumRenewals sums the next renewals of an account, until one of them is not paid for.
func sumRenewals(ctx context.Context, q db.Querier, accountID int64, after due, n int, has funds) (s summed, err error) {
	_, err = db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var d due
		var total money.USDCents
		var place int
		if err = row.Scan(&d.at, &d.id, &total, &place); err != nil {
			return none, err
		}
		if total > has.balance {
			s.first = &d
		}
		s.count, s.sum, s.last = place, total, d
		return none, nil
	}, `SELECT expires_at, id, CAST(total AS BIGINT), place FROM (
			SELECT expires_at, id, SUM(`+renewalCost(6)+`) OVER (ORDER BY expires_at, id) AS total,
				ROW_NUMBER() OVER (ORDER BY expires_at, id) AS place, COUNT(*) OVER () AS places
			FROM (SELECT expires_at, id, renew_price, pending_price, addon_price FROM services WHERE account_id = $1 AND `+renewing+`
				AND (expires_at, id) > ($2, $3) ORDER BY expires_at, id LIMIT $4) AS next) AS sums
		WHERE total > $5 OR place = places ORDER BY expires_at, id LIMIT 1`, accountID, after.at, after.id, n, has.balance, has.tax.BasisPoints)
	return s, err
}

// sumBetween is how many renewals of an account are due after one, until a time, and what they cost.
func sumBetween(ctx context.Context, q db.Querier, accountID int64, after due, until time.Time, tax money.Tax) (count int, sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(`+renewalCost(5)+`), 0) AS BIGINT) FROM services WHERE account_id = $1 AND `+renewing+`
		AND (expires_at, id) > ($2, $3) AND expires_at <= $4`,
		accountID, after.at, after.id, until, tax.BasisPoints).Scan(&count, &sum)
	return count, sum, err
}

// resold shows services to the reseller that has them.
func (s *Service) resold(ctx context.Context, q db.Querier, accountID int64, rows []record) ([]Resold, error) {
	has, err := s.funds(ctx, q, accountID)
	if err != nil {
		return nil, err
	}
	var last time.Time
	for _, r := range rows {
		if r.renewing() && r.expiresAt.After(last) {
			last = *r.expiresAt
		}
	}
	var first *due
	if !last.IsZero() {
		if first, err = uncovered(ctx, q, accountID, last, has); err != nil {
			return nil, err
		}
	}
	kept, err := s.kept(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Resold, len(rows))
	for i, r := range rows {
		w := Resold{
			View: wire(ctx, r, has), Cost: money.Wire(ctx, r.firstPrice), RenewCost: money.Wire(ctx, r.nextPrice()), Sandbox: r.sandbox,
		}
		w.RenewalCovered = r.renewing() && (first == nil || r.before(*first))
		if r.suspendedByOwner() {
			w.SuspendNote = orNull(r.suspendNote)
		}
		w.AvailableActions = append(w.AvailableActions, r.ownActions(slices.Contains(kept, r.id))...)
		if err := json.Unmarshal([]byte(r.metadata), &w.Metadata); err != nil {
			return nil, fmt.Errorf("services: metadata of service %d: %w", r.id, err)
		}
		all[i] = w
	}
	return all, nil
}

// kept are the ids of the services that have ended and can come back.
func (s *Service) kept(ctx context.Context, q db.Querier, rows []record) ([]int64, error) {
	var ended []int64
	for _, r := range rows {
		if r.status == Terminated {
			ended = append(ended, r.id)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	return s.Keeper.Kept(ctx, q, ended)
}

// ResoldList is one page of a reseller's services, the newest first. There may be very many, of which a search looks at
// each: so only those are counted that come after the page, while its coverage is found.
func (s *Service) ResoldList(ctx context.Context, accountID int64, f Filter, p page.Params) (*page.List[Resold], error) {
	wanted := filter{status: f.Status, query: f.Query, clientRef: f.ClientRef, planID: f.PlanID, renewsBefore: f.RenewsBefore}
	rows, err := paged(ctx, s.DB, accountID, wanted, p)
	if err != nil {
		return nil, err
	}
	total, after := 0, 0
	if len(rows) > 0 {
		total, wanted.below = p.Offset()+len(rows), rows[len(rows)-1].id
	}
	var counting errgroup.Group
	if len(rows) == p.Limit() || p.Offset() > 0 && len(rows) == 0 { // else this is the last page
		counting.Go(func() (err error) {
			after, err = counted(ctx, s.DB, accountID, wanted)
			return err
		})
	}
	all, err := s.resold(ctx, s.DB, accountID, rows)
	err = errors.Join(err, counting.Wait())
	return page.Of(p, total+after, all), err
}

// ResoldOne is one of a reseller's services.
func (s *Service) ResoldOne(ctx context.Context, q db.Querier, accountID, id int64) (*Resold, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return nil, err
	}
	all, err := s.resold(ctx, q, accountID, []record{r})
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// Notes are what a reseller changes of a service; nil leaves a member as it is.
type Notes struct {
	Label     *string
	AutoRenew *bool
	ClientRef *string           // empty takes it away
	Metadata  map[string]string // all of it
}

// Note changes what a reseller says of one of its services.
func (s *Service) Note(ctx context.Context, accountID, id int64, n Notes) error {
	return s.update(ctx, accountID, id, preferences{label: n.Label, autoRenew: n.AutoRenew, clientRef: n.ClientRef, metadata: n.Metadata})
}

// SuspendOwn takes one of a reseller's services offline for a reason of the reseller's own. Only an active one whose paid
// time is not over: what is not paid ends, whatever its owner does.
func (s *Service) SuspendOwn(ctx context.Context, tx *db.Tx, accountID, id int64, note string) error {
	if utf8.RuneCountInString(note) > maxSuspendNote || strings.ContainsFunc(note, unicode.IsControl) {
		return fault.Invalid("reason", "characters")
	}
	return s.changeOwn(ctx, tx, accountID, id, func(r record) error {
		switch r.status {
		case Active:
			if !r.expiresAt.After(tx.Now) {
				return fault.ServiceNotActive.Wrapf("services: the paid time of service %d is over", id)
			}
		case Suspended:
			return ErrAlreadySuspended.New()
		default:
			return fault.ServiceNotActive.New()
		}
		if err := setSuspended(ctx, tx, id, Manual); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE services SET owner_suspended_at = suspended_at, suspend_note = $1 WHERE id = $2`, note, id)
		if err != nil {
			return err
		}
		return s.followSuspension(ctx, tx, r, "service.suspended")
	})
}

// UnsuspendOwn brings back what SuspendOwn took offline. What an operator suspended, or what is not
// paid, is refused.
func (s *Service) UnsuspendOwn(ctx context.Context, tx *db.Tx, accountID, id int64) error {
	r, err := lockOwn(ctx, tx, accountID, id)
	if err != nil {
		return err
	}
	if r.status != Suspended {
		return ErrNotSuspended.New()
	}
	if !r.suspendedByOwner() {
		return fault.ServiceSuspended.New()
	}
	return s.Unsuspend(ctx, tx, id)
}

// DueRenewal is a renewal that is to come.
type DueRenewal struct {
	ServiceID    int64
	Label        string
	Domain       *string
	ClientRef    *string
	ExpiresAt    time.Time
	AttemptAt    *time.Time
	Cost         money.USDCents
	RunningTotal money.USDCents // with all that are due before
	Covered      bool
}

// Renewals are one page of an account's automatic renewals that are due before a time, in the order
// in which they are due.
func (s *Service) Renewals(ctx context.Context, accountID int64, by time.Time, p page.Params) ([]DueRenewal, int, error) {
	has, err := s.funds(ctx, s.DB, accountID)
	if err != nil {
		return nil, 0, err
	}
	var total int
	const matching = ` FROM services WHERE account_id = $1 AND expires_at < $2 AND ` + renewing
	if err := s.DB.QueryRow(ctx, `SELECT count(*)`+matching, accountID, by).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := db.Collect(ctx, s.DB, func(row db.Row) (d DueRenewal, err error) {
		err = row.Scan(&d.ServiceID, &d.Label, &d.Domain, &d.ClientRef, &d.ExpiresAt, &d.AttemptAt, &d.Cost, &d.RunningTotal)
		d.Covered = d.RunningTotal <= has.balance
		return d, err
	}, `SELECT id, label, domain, client_ref, expires_at, next_renewal_attempt_at, `+renewalCost(5)+`,
			CAST(SUM(`+renewalCost(5)+`) OVER (ORDER BY expires_at, id) AS BIGINT)`+matching+`
		ORDER BY expires_at, id LIMIT $3 OFFSET $4`, accountID, by, p.Limit(), p.Offset(), has.tax.BasisPoints)
	return rows, total, err
}

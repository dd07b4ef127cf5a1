package services

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Owned is a service with what its owner is told beside the View. Whether its renewal is covered is not told here.
type Owned struct {
	View
	FirstPrice, NextPrice money.USDCents // of its first period, without a setup, and of its next renewal
	Metadata              map[string]string
	SuspendNote           *string // nil unless its owner suspended it
	Sandbox               bool
	Renewing              bool // by itself
}

// Owned is one page of an account's services, the newest first.
func (s *Service) Owned(ctx context.Context, q db.Querier, accountID int64, f Filter, p page.Params) ([]Owned, error) {
	rows, err := paged(ctx, q, accountID, f, p)
	if err != nil {
		return nil, err
	}
	return s.owned(ctx, q, rows)
}

// CountOwned counts the services on all pages.
func (s *Service) CountOwned(ctx context.Context, q db.Querier, accountID int64, f Filter) (int, error) {
	return counted(ctx, q, accountID, f)
}

// OwnedOne is one of the account's services.
func (s *Service) OwnedOne(ctx context.Context, q db.Querier, accountID, id int64) (Owned, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return Owned{}, err
	}
	all, err := s.owned(ctx, q, []record{r})
	if err != nil {
		return Owned{}, err
	}
	return all[0], nil
}

func (s *Service) owned(ctx context.Context, q db.Querier, rows []record) ([]Owned, error) {
	kept, err := s.kept(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Owned, len(rows))
	for i, r := range rows {
		o := Owned{View: wire(ctx, r, Funds{}), FirstPrice: r.firstPrice, NextPrice: r.nextPrice(), Sandbox: r.sandbox, Renewing: r.renewing()}
		if r.suspendedByOwner() {
			o.SuspendNote = orNull(r.suspendNote)
		}
		o.AvailableActions = append(o.AvailableActions, r.ownActions(slices.Contains(kept, r.id))...)
		if err := json.Unmarshal([]byte(r.metadata), &o.Metadata); err != nil {
			return nil, fmt.Errorf("services: metadata of service %d: %w", r.id, err)
		}
		all[i] = o
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

// endedByOperator tells that a service is, or was when it ended, suspended by an operator for a reason that neither
// money nor its owner lifts.
func (r record) endedByOperator() bool {
	if r.suspendReason == nil || *r.suspendReason == Unpaid {
		return false
	}
	own := *r.suspendReason == Manual && r.ownerSuspendedAt != nil && r.suspendedAt != nil && r.ownerSuspendedAt.Equal(*r.suspendedAt)
	return !own
}

// ownActions are what its reseller can do with a service beside what every owner can; kept tells whether what it
// consisted of is, where it has ended.
func (r record) ownActions(kept bool) (actions []string) {
	switch r.status {
	case Active:
		actions = append(actions, "login_link", "suspend")
	case PastDue:
		actions = append(actions, "login_link")
	case Terminated:
		if kept && !r.endedByOperator() {
			actions = append(actions, "restore")
		}
	}
	if r.suspendedByOwner() {
		actions = append(actions, "unsuspend")
	}
	if _, ok := r.status.after(endOrdered); ok && !r.endedByOperator() {
		actions = append(actions, "terminate")
	}
	return actions
}

// EndOwn ends one of a reseller's services, now or with the time that is paid. Nothing is given back for time that is
// left. A final backup is made as of every service that ends. One that is on its way already is left on it; with the
// paid time, a service ends that has some: one that is past due ends now.
//
// That it ends with its paid time is taken back by switching on its automatic renewal, or by renewing it.
func (s *Service) EndOwn(ctx context.Context, tx *db.Tx, accountID, id int64, atPeriodEnd bool) error {
	return s.changeOwn(ctx, tx, accountID, id, func(r record) error {
		switch r.status {
		case Terminating:
			return nil
		case Terminated:
			return ErrTerminated.New()
		}
		if _, ok := r.status.after(endOrdered); !ok {
			return fault.ServiceNotActive.Wrapf("services: a service that is %s cannot be ended", r.status)
		}
		if r.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		left := r.expiresAt.Sub(tx.Now)
		if !atPeriodEnd || left <= 0 {
			return s.beginTermination(ctx, tx, r)
		}
		if r.endsAtExpiry {
			return nil
		}
		if err := setEnding(ctx, tx, r); err != nil {
			return err
		}
		now, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		days := int(math.Ceil(float64(left) / float64(day)))
		return s.emitChange(ctx, tx, "service.termination_scheduled", now, map[string]any{"auto_renew": r.autoRenew}, map[string]any{"days": days})
	})
}

// Closed refuses that an account is closed that has a service which is paid and not over.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, total, err := list(ctx, tx, accountID, Filter{there: true}, page.Params{Page: 1, PerPage: 1})
	if err == nil && total > 0 {
		err = fault.InUse.Wrapf("%d of its services are not over", total)
	}
	return err
}

// RestoreOwn brings one of a reseller's terminated services back, as long as its final backup is kept. Where its paid
// time is over, a period of it is paid from the wallet, at the price of its renewal; the money is held until the panel
// has the service, which the period begins with, and comes back when the panel refuses it.
func (s *Service) RestoreOwn(ctx context.Context, tx *db.Tx, accountID, id int64, keyed bool) error {
	before, err := getOwn(ctx, tx, accountID, id)
	return s.inTimeOf(ctx, tx, before, err, func(record) error {
		if err := s.restorable(ctx, tx, before); err != nil {
			return err
		}
		if before.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		var orderID int64
		if !before.expiresAt.After(tx.Now) {
			// The wallet's row is locked before the service's.
			orderID, err = s.Billing.Begin(ctx, tx, sale.Purchase{
				AccountID: accountID, ServiceID: id, Kind: "renewal", Title: before.planName, Domain: before.domain,
				PeriodMonths: before.periodMonths, Price: before.renewPrice, Keyed: keyed, ClientRef: before.clientRef,
			})
			if err != nil {
				return err
			}
		}
		if _, err := s.unmoved(ctx, tx, before); err != nil {
			return err
		}
		if err := s.Restore(ctx, tx, id); err != nil || orderID == 0 {
			return err
		}
		return setRestoreOrder(ctx, tx, id, &orderID, before)
	})
}

// paidReturn takes the money that is held for a service which comes back, and answers until when that pays it; false
// where none is held. It is called before the service's row is locked.
func (s *Service) paidReturn(ctx context.Context, tx *db.Tx, r record) (until time.Time, paid bool, err error) {
	if r.restoreOrderID == nil {
		return *r.expiresAt, false, nil
	}
	if err := s.Orders.Complete(ctx, tx, *r.restoreOrderID); err != nil {
		return until, false, fmt.Errorf("services: complete order %d: %w", *r.restoreOrderID, err)
	}
	return addMonths(tx.Now, r.periodMonths), true, nil
}

// returned notes what was paid for a service that is back: its own plan, so another one that was to come with the next
// renewal does not.
func (s *Service) returned(ctx context.Context, tx *db.Tx, r record, until time.Time) error {
	if err := insertPeriod(ctx, tx, r.id, tx.Now, until, r.restorePrice); err != nil {
		return err
	}
	if err := setRestoreOrder(ctx, tx, r.id, nil, r); err != nil {
		return err
	}
	if err := setPending(ctx, tx, r.id, nil, nil, nil); err != nil {
		return err
	}
	return s.Addons.Renewed(ctx, tx, r.id, until)
}

// setEnding has a service end with its paid time, and not be renewed before.
func setEnding(ctx context.Context, tx *db.Tx, r record) error {
	_, err := tx.Exec(ctx, `UPDATE services SET ends_at_expiry = TRUE, auto_renew = FALSE, next_renewal_attempt_at = NULL,
		terminates_at = expires_at, warned = NULL, step_at = CAST($1 AS BIGINT) WHERE id = $2`, tx.Now, r.id)
	return err
}

func setRestoreOrder(ctx context.Context, tx *db.Tx, id int64, orderID *int64, r record) error {
	_, err := tx.Exec(ctx, `UPDATE services SET restore_order_id = $1, restore_price = $2 WHERE id = $3`, orderID, r.renewPrice-r.addonPrice, id)
	return err
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

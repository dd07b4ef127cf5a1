package services

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Notes are what its owner changes of a service; nil leaves a member as it is.
type Notes struct {
	Label     *string
	AutoRenew *bool
	ClientRef *string           // empty takes it away
	Metadata  map[string]string // all of it
}

// Note changes what the owner of a service says of it.
func (s *Service) Note(ctx context.Context, accountID, id int64, n Notes) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.changeOwn(ctx, tx, accountID, id, func(r Row) error {
			if !slices.Contains(r.Status.actions(), "update") {
				return fault.ServiceNotActive.New()
			}
			previous := map[string]any{}
			if n.Label != nil {
				label, err := cleanLabel(*n.Label)
				if err != nil {
					return err
				}
				if label != r.label {
					previous["label"], r.label = r.label, label
				}
			}
			if n.AutoRenew != nil && *n.AutoRenew != r.autoRenew {
				previous["auto_renew"], r.autoRenew = r.autoRenew, *n.AutoRenew
			}
			if err := r.note(n, previous); err != nil {
				return err
			}
			if len(previous) == 0 {
				return nil
			}
			if err := setPreferences(ctx, tx, r); err != nil {
				return err
			}
			if err := s.planRenewal(ctx, tx, id); err != nil {
				return err
			}
			return s.emit(ctx, tx, "service.updated", r, previous)
		})
	})
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
func (r *Row) note(n Notes, previous map[string]any) error {
	if err := checkNotes(n.ClientRef, n.Metadata); err != nil {
		return err
	}
	if c := n.ClientRef; c != nil {
		wanted := db.OrNull(*c)
		if (wanted == nil) != (r.ClientRef == nil) || (wanted != nil && *wanted != *r.ClientRef) {
			previous["client_ref"], r.ClientRef = r.ClientRef, wanted
		}
	}
	if n.Metadata == nil {
		return nil
	}
	before := map[string]string{}
	if err := json.Unmarshal([]byte(r.metadata), &before); err != nil {
		return fmt.Errorf("services: metadata of service %d: %w", r.ID, err)
	}
	if maps.Equal(before, n.Metadata) {
		return nil
	}
	var err error
	previous["metadata"] = before
	if len(r.metadata) > maxEventMetadata {
		previous["metadata"] = nil // what is told of a service has a bound
	}
	r.metadata, err = metadataText(n.Metadata)
	return err
}

// SuspendOwn takes one of a reseller's services offline for a reason of the reseller's own. Only an active one whose paid
// time is not over: what is not paid ends, whatever its owner does.
func (s *Service) SuspendOwn(ctx context.Context, tx *db.Tx, accountID, id int64, note string) error {
	if utf8.RuneCountInString(note) > maxSuspendNote || strings.ContainsFunc(note, unicode.IsControl) {
		return fault.Invalid("reason", "characters")
	}
	return s.changeOwn(ctx, tx, accountID, id, func(r Row) error {
		switch r.Status {
		case Active:
			if !r.ExpiresAt.After(tx.Now) {
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
	if r.Status != Suspended {
		return ErrNotSuspended.New()
	}
	if !r.suspendedByOwner() {
		return fault.ServiceSuspended.New()
	}
	return s.Unsuspend(ctx, tx, id)
}

// EndOwn ends one of a reseller's services, now or with the time that is paid. Nothing is given back for time that is
// left. A final backup is made as of every service that ends. One that is on its way already is left on it; with the
// paid time, a service ends that has some: one that is past due ends now.
//
// That it ends with its paid time is taken back by switching on its automatic renewal, or by renewing it.
func (s *Service) EndOwn(ctx context.Context, tx *db.Tx, accountID, id int64, atPeriodEnd bool) error {
	return s.changeOwn(ctx, tx, accountID, id, func(r Row) error {
		switch r.Status {
		case Terminating:
			return nil
		case Terminated:
			return ErrTerminated.New()
		}
		if _, ok := r.Status.after(endOrdered); !ok {
			return fault.ServiceNotActive.Wrapf("services: a service that is %s cannot be ended", r.Status)
		}
		if r.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		left := r.ExpiresAt.Sub(tx.Now)
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
		previous, err := changed(r, now)
		if err != nil {
			return err
		}
		days := int(math.Ceil(float64(left) / float64(day)))
		return s.emitChange(ctx, tx, "service.termination_scheduled", now, previous, map[string]any{"days": days})
	})
}

// setEnding has a service end with its paid time, and not be renewed before.
func setEnding(ctx context.Context, tx *db.Tx, r Row) error {
	_, err := tx.Exec(ctx, `UPDATE services SET ends_at_expiry = TRUE, auto_renew = FALSE, next_renewal_attempt_at = NULL,
		terminates_at = expires_at, warned = NULL, step_at = CAST($1 AS BIGINT) WHERE id = $2`, tx.Now, r.ID)
	return err
}

// RestoreOwn brings one of an account's terminated services back, as long as its final backup is kept. Where its paid
// time is over, a period of it is paid from the wallet, at the price of its renewal; the money is held until the panel
// has the service, which the period begins with, and comes back when the panel refuses it.
func (s *Service) RestoreOwn(ctx context.Context, tx *db.Tx, accountID, id int64, keyed bool) error {
	before, err := getOwn(ctx, tx, accountID, id)
	return s.inTimeOf(ctx, tx, before, err, func(Row) error {
		if err := s.restorable(ctx, tx, before); err != nil {
			return err
		}
		if before.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		var orderID int64
		if !before.ExpiresAt.After(tx.Now) {
			// The wallet's row is locked before the service's.
			orderID, err = s.Orders.Begin(ctx, tx, sale.Purchase{
				AccountID: accountID, ServiceID: id, Kind: "renewal", Title: before.PlanName, Domain: before.Domain,
				PeriodMonths: before.PeriodMonths, Price: before.RenewPrice, Keyed: keyed, ClientRef: before.ClientRef,
			})
			if err != nil {
				return err
			}
		}
		if _, err := s.LockUnchanged(ctx, tx, []Row{before}); err != nil {
			return err
		}
		if err := s.Restore(ctx, tx, id); err != nil || orderID == 0 {
			return err
		}
		return setRestoreOrder(ctx, tx, id, &orderID, before)
	})
}

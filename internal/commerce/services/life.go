package services

import (
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/fault"
)

const day = 24 * time.Hour

func days(n int) time.Duration { return time.Duration(n) * day }

// Days before expiry, and before the end, at which the owner is told (resources,
// sections 1 and 25), the most urgent last.
var (
	reminders = []int{30, 14, 7, 3, 1}
	warnings  = []int{7, 3, 1}
)

// How often is tried what did not go: a renewal that the wallet did not cover (money
// that comes in tries it at once), and a suspension while a payment is on its way.
const (
	renewAgain   = day
	paymentAgain = 10 * time.Minute
	// paymentWait is how long after grace a payment on its way keeps a service online: as long as bank transfers take.
	paymentWait = 14 * day
)

// act is one step in the life of a service.
type act string

const (
	actRenew     act = "renew"
	actRemind    act = "remind"
	actExpire    act = "expire"
	actSuspend   act = "suspend"
	actWait      act = "wait" // with the suspension, for a payment
	actWarn      act = "warn"
	actTerminate act = "terminate"
)

// todo is what is to be done with a service now, or when it is to be looked at again.
type todo struct {
	act  act // empty: nothing now
	days int // of a reminder or a warning: how many are left
	next time.Time
}

// Renewable says why a service cannot be renewed, or nil. One that an operator
// suspended is not for money to bring back.
func (r Row) Renewable() error {
	if r.Status == Suspended && (r.suspendReason == nil || *r.suspendReason != Unpaid) {
		return fault.ServiceSuspended.New()
	}
	if _, ok := r.Status.after(renewed); !ok {
		return ErrRenewalNotAllowed.New()
	}
	return nil
}

// actions are what the customer can do with the service. Renewing is none of them where it would be refused.
func (r Row) actions() []string {
	return slices.DeleteFunc(r.Status.actions(), func(action string) bool { return action == "renew" && r.Renewable() != nil })
}

// renewing tells whether the service renews by itself.
func (r Row) renewing() bool { return r.autoRenew && r.Renewable() == nil }

// starting tells whether the service renews by itself once it stands, which is soon.
func (r Row) starting() bool { return r.autoRenew && r.Status == Provisioning }

// attemptAt is when the renewal of a service is tried next. For the first time that is in the second half of its period,
// whatever its product says: a month would be renewed in the moment in which it is bought.
func (r Row) attemptAt(t sale.Terms) time.Time {
	if r.nextRenewalAttemptAt != nil {
		return *r.nextRenewalAttemptAt
	}
	return r.ExpiresAt.Add(-min(days(t.RenewBefore), r.halfPeriod()))
}

func (r Row) halfPeriod() time.Duration {
	return r.ExpiresAt.Sub(sale.AddMonths(*r.ExpiresAt, -r.PeriodMonths)) / 2
}

// todo looks at a service. Where two things are due, the one that helps the customer
// comes first: a renewal before all, a step towards the end last.
func (r Row) todo(t sale.Terms, now time.Time) todo {
	var next time.Time
	later := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if r.renewing() {
		if at := r.attemptAt(t); !now.Before(at) {
			return todo{act: actRenew}
		} else {
			later(at)
		}
	}
	switch {
	case r.Status == Active && r.endsAtExpiry && !now.Before(*r.ExpiresAt):
		return todo{act: actTerminate}
	case r.Status == Active && r.endsAtExpiry:
		later(*r.ExpiresAt)
		if n, at := tell(warnings, *r.ExpiresAt, r.warned, now); n > 0 {
			return todo{act: actWarn, days: n}
		} else if !at.IsZero() {
			later(at)
		}
	case r.Status == Active && !now.Before(*r.ExpiresAt):
		return todo{act: actExpire}
	case r.Status == Active:
		later(*r.ExpiresAt)
		if n, at := tell(r.reminders(), *r.ExpiresAt, r.reminded, now); n > 0 {
			return todo{act: actRemind, days: n}
		} else if !at.IsZero() {
			later(at)
		}
	case r.Status == PastDue && !now.Before(*r.graceUntil):
		return todo{act: actSuspend}
	case r.Status == PastDue:
		later(*r.graceUntil)
	case r.Status == Suspended && r.terminatesAt != nil && !now.Before(*r.terminatesAt):
		return todo{act: actTerminate}
	case r.Status == Suspended && r.terminatesAt != nil:
		later(*r.terminatesAt)
		if n, at := tell(warnings, *r.terminatesAt, r.warned, now); n > 0 {
			return todo{act: actWarn, days: n}
		} else if !at.IsZero() {
			later(at)
		}
	case r.suspendedByOwner() && !now.Before(*r.ExpiresAt):
		return todo{act: actExpire}
	case r.suspendedByOwner():
		later(*r.ExpiresAt)
	}
	return todo{next: next}
}

// reminders are the marks in the second half of the service's period: nobody wants to be
// reminded of the next renewal by the last one.
func (r Row) reminders() []int {
	i := slices.IndexFunc(reminders, func(n int) bool { return days(n) <= r.halfPeriod() })
	if i < 0 {
		return nil
	}
	return reminders[i:]
}

// tell is the mark of marks (days before end, falling) that is to be told of now, 0 for
// none, and when the next one comes. Of marks that were passed together only the most
// urgent is told; told is the last one.
func tell(marks []int, end time.Time, told *int, now time.Time) (mark int, next time.Time) {
	for _, n := range marks {
		at := end.Add(-days(n))
		switch {
		case told != nil && n >= *told:
		case now.Before(at):
			return mark, at
		default:
			mark = n
		}
	}
	return mark, time.Time{}
}

// graceOf is until when a service stays online that has just become past due: the
// product's days after its expiry, but at least a day after now, for a platform that
// was itself away.
func graceOf(expiresAt time.Time, t sale.Terms, now time.Time) time.Time {
	return slices.MaxFunc([]time.Time{expiresAt.Add(days(t.Grace)), now.Add(day)}, time.Time.Compare)
}

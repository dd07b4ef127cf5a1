package sla

import (
	"fmt"
	"time"
)

// Status is what became of a month.
type Status string

// The states.
const (
	None     Status = "none"
	Proposed Status = "proposed"
	Credited Status = "credited"
	Rejected Status = "rejected"
)

var statuses = []Status{Proposed, Credited, Rejected, None}

// The notes that are not an operator's.
const (
	noteUnknown = "unknown" // more than a twentieth of the month is unknown
	noteCause   = "cause"   // the credit depends on outages that the site itself may have caused
	noteClosed  = "account_closed"
)

// maxNote bounds what operators write, in bytes.
const maxNote = 300

const (
	// settles is how long after its end a month is closed: until then what is known of it may still change.
	settles = 24 * time.Hour
	// pays is how long after its end a month is credited: until then staff can look at it.
	pays = 48 * time.Hour
)

// closesAt is when the month is closed.
func (m Month) closesAt() time.Time { return m.End.Add(settles) }

// Outage is a time in which a service's monitor found it down.
type Outage struct {
	StartedAt time.Time
	EndedAt   *time.Time // nil: it goes on
	Cause     string
	// Ours tells that the server is the cause, Sure that nothing a customer runs can be.
	Ours, Sure bool
}

// within is what of the outage is in a time.
func (o Outage) within(from, to time.Time) (Span, bool) {
	s := Span{o.StartedAt, to}
	if o.EndedAt != nil && o.EndedAt.Before(to) {
		s.End = *o.EndedAt
	}
	if s.Start.Before(from) {
		s.Start = from
	}
	return s, s.Start.Before(s.End)
}

// known is everything that a month of a service is judged by.
type known struct {
	facts   Facts // without outages
	outages []Outage
	promise *Promise
	watched bool
}

// Assessment is how a month of a service was. One of a month that is closed is a row.
type Assessment struct {
	ID, AccountID, ServiceID int64
	Month                    Month
	Result
	// Promised is the promised uptime in millionths; nil when the plan promises nothing.
	Promised *int64
	Status   Status
	// Held tells that it is credited only when staff approve it; Note says why, or why it was rejected.
	Held      bool
	Note      string
	CreditAt  *time.Time
	CreatedAt time.Time
	DecidedAt *time.Time
}

// judge is what a month comes to. Whatever depends on outages of which the cause is not sure is for a person to decide.
func (k known) judge() (Assessment, error) {
	var promise Promise
	a := Assessment{Month: k.facts.Month, Status: None}
	if k.promise != nil {
		promise = *k.promise
		a.Promised = &promise.Uptime
	}
	spans := func(counts func(Outage) bool) (all []Span) {
		for _, o := range k.outages {
			if s, ok := o.within(k.facts.Month.Start, k.facts.Until); ok && counts(o) {
				all = append(all, s)
			}
		}
		return all
	}
	f := k.facts
	f.Outages = spans(func(o Outage) bool { return o.Ours })
	var err error
	if a.Result, err = assess(f, promise); err != nil {
		return a, err
	}
	f.Outages = spans(func(o Outage) bool { return o.Ours && o.Sure })
	sure, err := assess(f, promise)
	switch {
	case err != nil || a.Amount == 0:
	case a.Doubtful:
		a.Status, a.Held, a.Note = Proposed, true, noteUnknown
	case sure.Amount != a.Amount:
		a.Status, a.Held, a.Note = Proposed, true, noteCause
	default:
		a.Status = Proposed
	}
	return a, err
}

// Percent writes an uptime in millionths with three decimals, rounded down.
func Percent(millionths int64) string {
	return fmt.Sprintf("%d.%03d", millionths/10_000, millionths%10_000/10)
}

// eligible tells that something is owed.
func (a Assessment) eligible() bool { return a.Amount > 0 }

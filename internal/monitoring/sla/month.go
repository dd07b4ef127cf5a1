package sla

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Month is a calendar month in UTC, by its first moment.
type Month struct{ Start, End time.Time }

// monthOf is the month that a moment is in.
func monthOf(t time.Time) Month {
	t = t.UTC()
	start := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Month{start, start.AddDate(0, 1, 0)}
}

// Span is a time from Start until before End.
type Span struct{ Start, End time.Time }

// Paid is a time of a service and what was really paid for it.
type Paid struct {
	Span
	Amount money.USDCents
}

// Tier is what is given back when the uptime was below a limit.
type Tier struct {
	// Below is an uptime in millionths; Percent is of what was paid for the month.
	Below, Percent int64
}

// Promise is the uptime that a plan promises. The zero value promises nothing.
type Promise struct {
	// Uptime is in millionths: 999,000 is 99.9 %.
	Uptime int64
	Tiers  []Tier
	// Most bounds what is given back, in percent of what was paid for the month.
	Most int64
}

// Facts are what a month is judged by.
type Facts struct {
	Month       Month
	Until       time.Time // the end of the month, or now while it lasts
	Paid        []Paid
	Maintenance []Span
	Outages     []Span // those that are ours
	UnknownS    int64  // seconds in which nobody looked
}

// Result is how a month was.
type Result struct {
	ServedS      int64 // seconds that count: paid, without maintenance
	DownS        int64
	MaintenanceS int64
	UnknownS     int64
	Base         money.USDCents // what was paid for the month
	Uptime       int64          // millionths, rounded down; a million when nothing counts
	Breached     bool
	Percent      int64
	Amount       money.USDCents
	// Doubtful tells that more than a twentieth is unknown: a person decides.
	Doubtful bool
}

// assess judges a month. All arithmetic is on whole seconds and cents.
func assess(f Facts, p Promise) (Result, error) {
	end := f.Month.End
	if f.Until.Before(end) {
		end = f.Until
	}
	frame := []Span{{f.Month.Start, end}}
	paid := make([]Span, len(f.Paid))
	for i, x := range f.Paid {
		paid[i] = x.Span
	}
	active := intersect(merge(paid), frame)
	excluded := intersect(merge(f.Maintenance), active)
	counted := subtract(active, excluded)
	down := intersect(merge(f.Outages), counted)
	r := Result{ServedS: seconds(counted), DownS: seconds(down), MaintenanceS: seconds(excluded), UnknownS: f.UnknownS, Uptime: 1_000_000}
	var err error
	if r.Base, err = base(f.Paid, frame[0]); err != nil {
		return r, err
	}
	if r.ServedS == 0 {
		return r, nil
	}
	up := r.ServedS - r.DownS
	r.Uptime = up * 1_000_000 / r.ServedS
	r.Doubtful = r.UnknownS*20 > r.ServedS
	if up*1_000_000 >= p.Uptime*r.ServedS {
		return r, nil
	}
	r.Breached = true
	for _, t := range p.Tiers {
		if up*1_000_000 < t.Below*r.ServedS {
			r.Percent = max(r.Percent, t.Percent)
		}
	}
	r.Percent = min(r.Percent, p.Most)
	r.Amount = r.Base * money.USDCents(r.Percent) / 100
	return r, nil
}

// base is what was paid for a time: of each payment a part by the length of its own time, rounded down.
func base(paid []Paid, frame Span) (sum money.USDCents, err error) {
	for _, p := range paid {
		for _, common := range intersect([]Span{p.Span}, []Span{frame}) {
			part := new(big.Int).Mul(big.NewInt(int64(p.Amount)), big.NewInt(int64(common.End.Sub(common.Start))))
			part.Quo(part, big.NewInt(int64(p.End.Sub(p.Start))))
			if sum, err = sum.Add(money.USDCents(part.Int64())); err != nil {
				return 0, fmt.Errorf("sla: base: %w", err)
			}
		}
	}
	return sum, nil
}

// merge is the union of spans, in order and apart from each other.
func merge(all []Span) (merged []Span) {
	all = slices.DeleteFunc(slices.Clone(all), func(s Span) bool { return !s.Start.Before(s.End) })
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	for _, s := range all {
		if n := len(merged); n > 0 && !s.Start.After(merged[n-1].End) {
			if s.End.After(merged[n-1].End) {
				merged[n-1].End = s.End
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// intersect is what two merged lists share.
func intersect(a, b []Span) (common []Span) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		start, end := a[i].Start, a[i].End
		if b[j].Start.After(start) {
			start = b[j].Start
		}
		if b[j].End.Before(end) {
			end = b[j].End
		}
		if start.Before(end) {
			common = append(common, Span{start, end})
		}
		if a[i].End.Before(b[j].End) {
			i++
		} else {
			j++
		}
	}
	return common
}

// subtract is what of merged a is not in merged b.
func subtract(a, b []Span) (left []Span) {
	for _, s := range a {
		for _, x := range b {
			if !x.End.After(s.Start) || !x.Start.Before(s.End) {
				continue
			}
			if x.Start.After(s.Start) {
				left = append(left, Span{s.Start, x.Start})
			}
			s.Start = x.End
			if !s.Start.Before(s.End) {
				break
			}
		}
		if s.Start.Before(s.End) {
			left = append(left, s)
		}
	}
	return left
}

// seconds is the length of spans, each rounded down.
func seconds(all []Span) (sum int64) {
	for _, s := range all {
		sum += int64(s.End.Sub(s.Start) / time.Second)
	}
	return sum
}

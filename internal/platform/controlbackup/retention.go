package controlbackup

import (
	"slices"
	"time"
)

// How many backups are kept: the newest of each of the last hours, days and weeks that have one. The last proven one is kept
// beside them.
const (
	keepHours = 24
	keepDays  = 14
	keepWeeks = 8
)

// expired lists the backups that are not kept any longer.
func expired(all []Sidecar) (gone []Sidecar) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Sidecar) int { return b.MadeAt.Compare(a.MadeAt) })
	kept := map[string]bool{}
	for _, rule := range []struct {
		most   int
		period func(time.Time) time.Time
	}{
		{keepHours, func(t time.Time) time.Time { return t.Truncate(time.Hour) }},
		{keepDays, func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }},
		{keepWeeks, func(t time.Time) time.Time { return t.Truncate(7 * 24 * time.Hour) }},
	} {
		seen := map[time.Time]bool{}
		for _, b := range all {
			period := rule.period(b.MadeAt.UTC())
			if !seen[period] && len(seen) < rule.most {
				seen[period], kept[b.Archive] = true, true
			}
		}
	}
	if i := slices.IndexFunc(all, func(b Sidecar) bool { return b.Proven }); i >= 0 {
		kept[all[i].Archive] = true
	}
	return slices.DeleteFunc(all, func(b Sidecar) bool { return kept[b.Archive] })
}

package monitors

import (
	"slices"
	"strconv"
	"time"
)

// A region is a place from which monitors are checked: the control plane, and each place where a node is that has joined.
// Several nodes may be at one place. One of them checks at a time; when it falls silent another one takes its part.
type region struct {
	id     int64
	name   string
	nodeID int64 // the node that checks
	seenAt time.Time
	share
}

// The region of the control plane.
const (
	home       = "control"
	homeRegion = 0
)

// How long after its last word a region has no vote any more, its part may be taken by another node, and monitors cannot
// name it any more.
const (
	silentAfter = 30 * time.Second
	goneAfter   = day
)

// alive reports whether the region checks.
func (r region) alive(now time.Time) bool { return now.Sub(r.seenAt) < silentAfter }

// share is how many of the monitors that a region has checked of late it found failing. Of the control plane's, those
// count that other regions check too.
type share struct{ failing, checked int }

// shareFor is how long a check counts for the share of its region.
const shareFor = 2 * time.Minute

// leastChecked are the monitors that are needed to judge a region.
const leastChecked = 3

func (s share) judged() bool { return s.checked >= leastChecked }
func (s share) high() bool   { return s.judged() && 2*s.failing >= s.checked }
func (s share) low() bool    { return s.judged() && 4*s.failing <= s.checked }

// suspended are the regions that have no vote because the fault is theirs: at least half of what they check fails, while
// of the other regions more than half see at most a quarter of theirs fail. When much is down everywhere, nobody is
// suspended. Regions that check too little to be judged do not take part.
func suspended(shares map[int64]share) map[int64]bool {
	found := map[int64]bool{}
	for id, s := range shares {
		if !s.high() {
			continue
		}
		others, calm := 0, 0
		for other, o := range shares {
			if other == id || !o.judged() {
				continue
			}
			if others++; o.low() {
				calm++
			}
		}
		if 2*calm > others {
			found[id] = true
		}
	}
	return found
}

// regions are all that have ever been, and what they are worth now.
type regions struct {
	readAt time.Time
	all    map[int64]region // but the control plane
	byName map[string]int64
	// healthy may vote: they have spoken of late, and are not suspended. The control plane is among them unless it is.
	healthy   map[int64]bool
	suspended map[int64]bool
}

// newRegions judges regions at a time; own is the share of the control plane.
func newRegions(rows []region, own share, now time.Time) *regions {
	r := &regions{readAt: now, all: map[int64]region{}, byName: map[string]int64{home: homeRegion}}
	shares := map[int64]share{homeRegion: own}
	for _, one := range rows {
		r.all[one.id], r.byName[one.name] = one, one.id
		if one.alive(now) {
			shares[one.id] = one.share
		}
	}
	r.suspended = suspended(shares)
	r.healthy = map[int64]bool{}
	for id := range shares {
		if !r.suspended[id] {
			r.healthy[id] = true
		}
	}
	return r
}

// name is what a region is called.
func (r *regions) name(id int64) string {
	if id == homeRegion {
		return home
	}
	if one, ok := r.all[id]; ok {
		return one.name
	}
	return strconv.FormatInt(id, 10)
}

func (r *regions) names(ids []int64) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = r.name(id)
	}
	return names
}

// known are the names that a monitor can choose of.
func (r *regions) known(now time.Time) []string {
	names := []string{home}
	for _, one := range r.all {
		if now.Sub(one.seenAt) < goneAfter {
			names = append(names, one.name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// of are the names of the regions that check a monitor: those that its owner chose, or all that check now.
func (r *regions) of(s settings, now time.Time) []string {
	switch {
	case s.homeOnly():
		return []string{home}
	case len(s.Regions) > 0:
		return s.Regions
	}
	names := []string{home}
	for _, one := range r.all {
		if one.alive(now) {
			names = append(names, one.name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// voters are the regions whose results count for a monitor now.
func (r *regions) voters(m *monitor) map[int64]bool {
	voters := map[int64]bool{}
	for id := range r.healthy {
		if id == homeRegion || m.checkedIn(r.all[id].name) {
			voters[id] = true
		}
	}
	return voters
}

// checkedIn reports whether a region other than the control plane checks a monitor.
func (m *monitor) checkedIn(name string) bool {
	return !m.settings.homeOnly() && (len(m.settings.Regions) == 0 || slices.Contains(m.settings.Regions, name))
}

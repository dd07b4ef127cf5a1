package monitors

import (
	"cmp"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/probe"
)

// Status is what is known about a monitored thing.
type Status string

// The states of a monitor (resources, section 8).
const (
	Pending     Status = "pending"
	Up          Status = "up"
	Degraded    Status = "degraded"
	Down        Status = "down"
	Maintenance Status = "maintenance"
	Paused      Status = "paused"
	// unknown is no state but what seconds are counted as in which nobody looked.
	unknown Status = "unknown"
)

// vote is the last result of a region.
type vote struct {
	At time.Time `json:"at"`
	// Failures are those in a row, the first at FailedAt.
	Failures int       `json:"failures,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	ErrorKey string    `json:"error_key,omitempty"`
	// Response is in milliseconds; 0 when there is none.
	Response int `json:"response_ms,omitempty"`
}

// memory is what the state machine remembers between results, beside the status.
type memory struct {
	Votes map[int64]vote `json:"votes,omitempty"`
	// Since is from when on the calls of a heartbeat are heard without a gap: it was resumed then, or nobody looked before.
	Since time.Time `json:"since,omitzero"`
	// Counted is until when seconds have been counted.
	Counted time.Time `json:"counted,omitzero"`
	// OKAt is the first success of a monitor that is down, and Successes how many came since.
	OKAt      time.Time `json:"ok_at,omitzero"`
	Successes int       `json:"successes,omitempty"`
	// Partial are the rounds in a row in which some regions failed, but too few.
	Partial int `json:"partial,omitempty"`
	// Recent are the last response times in milliseconds.
	Recent []int `json:"recent,omitempty"`
	// Flaps is the number of transitions, halved every flapHalf, as of DecayedAt; FlapsAt was the last one.
	Flaps     float64   `json:"flaps,omitempty"`
	DecayedAt time.Time `json:"decayed_at,omitzero"`
	FlapsAt   time.Time `json:"flaps_at,omitzero"`
	Flapping  bool      `json:"flapping,omitempty"`
	// Seen is when the last finding came.
	Seen time.Time `json:"seen,omitzero"`
	// OpenOutage tells that an outage goes on, also through a maintenance window.
	OpenOutage bool `json:"open_outage,omitempty"`
	// WarnedDays is the smallest threshold of the certificate's expiry that was told of; WarnedFor is that expiry.
	WarnedDays int       `json:"warned_days,omitempty"`
	WarnedFor  time.Time `json:"warned_for,omitzero"`
	// The same of the domain.
	DomainDays int       `json:"domain_days,omitempty"`
	DomainFor  time.Time `json:"domain_for,omitzero"`
}

const (
	flapHalf   = 15 * time.Minute
	flapMost   = 3.0
	flapStable = 5 * time.Minute
	// flapSuccesses end an outage of a monitor that flaps.
	flapSuccesses = 3
	// partialRounds in a row make a monitor degraded.
	partialRounds = 3
	recentCount   = 3
)

// finding is a result of a region as the state machine sees it.
type finding struct {
	Region   int64
	At       time.Time
	OK       bool
	Unknown  bool // nobody could look
	ErrorKey string
	Response int // in milliseconds; 0 when there is none
	// Voters are the regions that have a vote now; nil: all of them.
	Voters map[int64]bool
}

// change is a transition.
type change struct {
	To Status
	// At is when it happened, which is before it was certain: an outage begins with the first failure and ends with the
	// first success.
	At       time.Time
	ErrorKey string
	// Confirmed is the number of regions that agree.
	Confirmed int
	Regions   []int64
	// Again tells that a maintenance window has ended, and the outage that was there before goes on.
	Again bool
	// Silent tells that nobody is to be alarmed: the monitor flaps.
	Silent bool
	// Began tells that the monitor has begun to flap, and Settled that it does no longer.
	Began, Settled bool
}

// span is a stretch of time in a state.
type span struct {
	From, To time.Time
	Status   Status
}

// horizon is how old the last result of a region may be for it to have a vote.
func (s settings) horizon() time.Duration {
	h := 2*s.interval() + time.Duration(s.Target.TimeoutMS)*time.Millisecond
	if s.Target.Type == probe.Heartbeat {
		h += s.retryInterval()
	}
	return h
}

// tally is what the regions say.
type tally struct {
	voting, failing, confirmed, quorum int
	failedAt                           time.Time // the first failure of those that fail
	errorKey                           string
	regions                            []int64 // that fail
	// Whether the control plane has a vote, fails, and confirms.
	homeVotes, homeFails, homeConfirms bool
	// round tells that the finding is of the first region that fails: one for each round.
	round bool
}

// A node alone decides nothing: it may lie, or have lost its network. Either the control plane agrees, or another node does.

// blind reports whether nobody looked whose word is enough.
func (t tally) blind() bool { return t.voting == 0 || t.voting == 1 && !t.homeVotes }

// doubtful reports whether so many regions fail that the thing may be down.
func (t tally) doubtful() bool { return t.failing >= t.quorum && (t.homeFails || t.failing > 1) }

// down reports whether it is certain.
func (t tally) down() bool { return t.confirmed >= t.quorum && (t.homeConfirms || t.confirmed > 1) }

// tally counts the votes of regions that have one: those of voters (nil: of all) that are not too old.
func (m memory) tally(s settings, now time.Time, voters map[int64]bool) (t tally) {
	regions := make([]int64, 0, len(m.Votes))
	for region := range m.Votes {
		regions = append(regions, region)
	}
	slices.Sort(regions)
	for _, region := range regions {
		v := m.Votes[region]
		if now.Sub(v.At) > s.horizon() || voters != nil && !voters[region] {
			continue
		}
		t.voting++
		t.homeVotes = t.homeVotes || region == homeRegion
		if v.Failures == 0 {
			continue
		}
		t.failing++
		t.homeFails = t.homeFails || region == homeRegion
		t.regions = append(t.regions, region)
		if t.failedAt.IsZero() || v.FailedAt.Before(t.failedAt) {
			t.failedAt, t.errorKey = v.FailedAt, v.ErrorKey
		}
		if v.Failures > s.Retries {
			t.confirmed++
			t.homeConfirms = t.homeConfirms || region == homeRegion
		}
	}
	t.quorum = s.Quorum
	if t.quorum == 0 {
		t.quorum = t.voting/2 + 1
	}
	t.quorum = max(1, min(t.quorum, t.voting))
	return t
}

// apply takes in a finding at a time: the status and the memory afterwards, how the time since the last one counts, and
// the transition, if there is one.
func apply(status Status, m memory, s settings, f finding) (Status, memory, []span, *change) {
	// Regions report at their own pace: time never goes back.
	now := later(f.At, m.Seen)
	votes := map[int64]vote{}
	for region, v := range m.Votes {
		if region == f.Region || now.Sub(v.At) <= s.horizon() {
			votes[region] = v
		}
	}
	m.Votes = votes
	switch v := votes[f.Region]; {
	case f.Unknown:
		delete(votes, f.Region)
	case f.OK:
		votes[f.Region] = vote{At: f.At, Response: f.Response}
	default:
		if v.Failures == 0 {
			v.FailedAt = f.At
		}
		v.At, v.ErrorKey, v.Failures, v.Response = f.At, f.ErrorKey, v.Failures+1, f.Response
		votes[f.Region] = v
	}
	if f.OK && f.Response > 0 && f.Region == homeRegion { // what a node says makes nothing slow
		m.Recent = append(slices.Clone(m.Recent), f.Response)
		m.Recent = m.Recent[max(0, len(m.Recent)-recentCount):]
	}
	m.decay(now)
	settled := m.Flapping && now.Sub(m.FlapsAt) >= flapStable
	if settled {
		m.Flapping = false
	}
	t := m.tally(s, now, f.Voters)
	t.round = len(t.regions) > 0 && t.regions[0] == f.Region
	next, spans, c := m.judge(status, s, now, t)
	m.Seen = now
	if c == nil && settled {
		c = &change{To: next, At: now, ErrorKey: t.errorKey, Settled: true, Confirmed: t.confirmed, Regions: t.regions}
	}
	return next, m, spans, c
}

// judge decides on the state by what the regions say.
func (m *memory) judge(status Status, s settings, now time.Time, t tally) (next Status, spans []span, c *change) {
	window := s.Windows.at(now)
	switch {
	case window:
		spans = m.count(s, status, now)
		if status != Maintenance {
			c = &change{To: Maintenance, At: now}
		}
		m.OKAt, m.Successes, m.Partial = time.Time{}, 0, 0
		return Maintenance, spans, c
	case t.blind():
		spans = m.count(s, unknown, now)
		if status == Maintenance {
			return Pending, spans, nil
		}
		return status, spans, nil
	case t.down():
		return m.down(status, s, now, t)
	case t.doubtful():
		// Perhaps. Seconds from the first failure on are counted when it is certain.
		m.OKAt, m.Successes = time.Time{}, 0
		if status == Down {
			return Down, m.count(s, Down, now), nil
		}
		if status == Maintenance {
			status = Pending
		}
		return status, m.count(s, status, t.failedAt), nil
	default:
		return m.up(status, s, now, t)
	}
}

func (m *memory) down(status Status, s settings, now time.Time, t tally) (Status, []span, *change) {
	m.OKAt, m.Successes, m.Partial = time.Time{}, 0, 0
	if status == Down {
		return Down, m.count(s, Down, now), nil
	}
	began := t.failedAt
	if ended := s.Windows.lastEnd(now); began.Before(ended) {
		began = ended // what failed within a window is none of an outage
	}
	if began.Before(m.Counted) {
		began = m.Counted
	}
	spans := append(m.count(s, status, began), m.count(s, Down, now)...)
	c := &change{To: Down, At: began, ErrorKey: t.errorKey, Confirmed: t.confirmed, Regions: t.regions, Again: m.OpenOutage}
	if !m.OpenOutage {
		m.flap(now, c)
	}
	c.Silent = m.Flapping && !c.Began
	m.OpenOutage = true
	return Down, spans, c
}

func (m *memory) up(status Status, s settings, now time.Time, t tally) (Status, []span, *change) {
	if status == Down || m.OpenOutage {
		if m.Successes == 0 {
			m.OKAt = now
		}
		m.Successes++
		if m.Flapping && m.Successes < flapSuccesses {
			return Down, m.count(s, Down, m.OKAt), nil
		}
		spans := append(m.count(s, Down, m.OKAt), m.count(s, Up, now)...)
		c := &change{To: Up, At: m.OKAt}
		m.OKAt, m.Successes, m.OpenOutage = time.Time{}, 0, false
		m.flap(now, c)
		c.Silent = m.Flapping && !c.Began
		return Up, spans, c
	}
	switch {
	case t.failing == 0:
		m.Partial = 0
	case t.round:
		m.Partial++
	}
	next := Up
	if m.Partial >= partialRounds || s.MaxResponseMS > 0 && median(m.Recent) > s.MaxResponseMS {
		next = Degraded
	}
	was := status
	if was == Pending || was == Maintenance || was == Paused {
		was = next // what it was before is what it turns out to be
	}
	spans := m.count(s, was, now)
	if next == status {
		return next, spans, nil
	}
	return next, spans, &change{To: next, At: now, ErrorKey: t.errorKey, Confirmed: t.failing, Regions: t.regions}
}

// flap counts a transition.
func (m *memory) flap(now time.Time, c *change) {
	if m.Flaps == 0 {
		m.DecayedAt = now
	}
	m.Flaps++
	m.FlapsAt = now
	if m.Flaps > flapMost && !m.Flapping {
		m.Flapping, c.Began = true, true
	}
}

// decay halves the count of transitions for each flapHalf that has passed.
func (m *memory) decay(now time.Time) {
	for m.Flaps > 0 && now.Sub(m.DecayedAt) >= flapHalf {
		m.Flaps /= 2
		m.DecayedAt = m.DecayedAt.Add(flapHalf)
		if m.Flaps < 0.1 {
			m.Flaps = 0
		}
	}
}

func median(values []int) int {
	if len(values) < recentCount {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare)
	return sorted[len(sorted)/2]
}

// count counts the time until a moment as a state, and what lies in windows as maintenance. What is longer ago than the
// horizon when nothing came is unknown.
func (m *memory) count(s settings, as Status, until time.Time) []span {
	from := m.Counted
	if from.IsZero() {
		m.Counted = until
		return nil
	}
	if !until.After(from) {
		return nil
	}
	m.Counted = until
	if as == Pending || as == Maintenance {
		as = unknown // windows are found below
	}
	spans := []span{{from, until, as}}
	if known := later(from, m.Seen).Add(s.horizon()); as != unknown && known.Before(until) {
		spans = []span{{from, known, as}, {known, until, unknown}}
	}
	var all []span
	for _, one := range spans {
		all = append(all, s.Windows.split(one)...)
	}
	return all
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

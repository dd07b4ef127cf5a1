package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/probe"
)

// outcome is a check that was made.
type outcome struct {
	monitorID, region int64
	revision          string // of the settings with which the check was made; empty: it is the call of a heartbeat
	shard             int
	epoch             int64 // of the lease under which it was made; 0: it was made under none
	scheduledAt       time.Time
	checkedAt         time.Time
	result            probe.Result
	watched           time.Time // the monitor's shard without a gap since then; zero: not known to have had one
	news              bool      // it failed, or is the first, or follows one that failed: it is written soon
}

func (o outcome) key() [3]int64 { return [3]int64{o.monitorID, o.region, o.scheduledAt.UnixMicro()} }

// row is what is kept of the check.
func (o outcome) row() checked {
	c := checked{monitorID: o.monitorID, region: o.region, scheduledAt: o.scheduledAt, checkedAt: o.checkedAt, ok: o.result.OK}
	r := o.result
	if r.HTTPStatus != 0 {
		c.httpStatus = &r.HTTPStatus
	}
	if !r.Unknown && r.Response > 0 {
		ms := milliseconds(r.Response)
		c.response = &ms
	}
	for _, p := range []struct {
		of time.Duration
		to **int64
	}{{r.Lookup, &c.lookup}, {r.Connect, &c.connect}, {r.TLS, &c.tls}, {r.FirstByte, &c.ttfb}} {
		if p.of > 0 {
			ms := milliseconds(p.of)
			*p.to = &ms
		}
	}
	if r.ErrorKey != "" {
		c.errorKey = &r.ErrorKey
	}
	if r.Detail != "" {
		c.detail = &r.Detail
	}
	return c
}

// milliseconds rounds up: no answer takes no time.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// recorded is what became of a monitor with a result.
type recorded struct {
	// soon tells that the control plane looks again before an interval has passed.
	soon bool
}

// batch is what a transaction writes for many results.
type batch struct {
	monitors    map[int64]*monitor
	hours, days rollup
	touched     map[int64]bool
	regions     *regions
	// changed are the monitors that a region found up or down, unlike before; by region.
	changed map[int64][]int64
}

// record takes in results: raw rows, roll-ups, states, outages and events in one commit. A result counts once, whoever
// brings it, and only while its lease is held.
func (s *Service) record(ctx context.Context, results []outcome) (told map[int64]recorded, err error) {
	slices.SortFunc(results, func(a, b outcome) int { return a.checkedAt.Compare(b.checkedAt) })
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		told = map[int64]recorded{}
		held, err := s.held(ctx, tx)
		if err != nil {
			return err
		}
		valid := slices.DeleteFunc(slices.Clone(results), func(o outcome) bool { return o.epoch != 0 && held[o.shard] != o.epoch })
		return s.recordIn(ctx, tx, valid, told)
	})
	return told, err
}

// recordIn is record within a transaction, of results that are valid.
func (s *Service) recordIn(ctx context.Context, tx *db.Tx, results []outcome, told map[int64]recorded) error {
	ids := map[int64]bool{}
	for _, o := range results {
		ids[o.monitorID] = true
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := lockAll(ctx, tx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return err
	}
	regs, err := s.regions(ctx, tx)
	if err != nil {
		return err
	}
	b := &batch{monitors: map[int64]*monitor{}, hours: rollup{}, days: rollup{}, touched: map[int64]bool{}, regions: regs, changed: map[int64][]int64{}}
	for i := range rows {
		b.monitors[rows[i].id] = &rows[i]
	}
	results, err = s.fresh(ctx, tx, b, results)
	if err != nil {
		return err
	}
	for _, o := range results {
		if err := s.take(ctx, tx, b, o); err != nil {
			return err
		}
		m := b.monitors[o.monitorID]
		told[o.monitorID] = recorded{m.soon(regs)}
	}
	if err := s.ask(ctx, tx, b.changed); err != nil {
		return err
	}
	if err := addHours(ctx, tx, b.hours); err != nil {
		return err
	}
	if err := addDays(ctx, tx, b.days); err != nil {
		return err
	}
	return putChecked(ctx, tx, b)
}

// soon reports whether the control plane looks again soon at something that fails. Where others look too, it does so only
// until it is sure of what it sees itself.
func (m *monitor) soon(regs *regions) bool {
	failures := m.memory.Votes[homeRegion].Failures
	return failures > 0 && m.status != Down && (failures <= m.settings.Retries || len(regs.voters(m)) < 2)
}

// fresh writes the raw rows of results whose monitors are there and are checked, and returns those that are new. A
// heartbeat that is not due has no row.
func (s *Service) fresh(ctx context.Context, tx *db.Tx, b *batch, results []outcome) ([]outcome, error) {
	var (
		kept []outcome
		rows []checked
		last = map[[2]int64]time.Time{}
	)
	for _, o := range results {
		m := b.monitors[o.monitorID]
		if m == nil || m.paused || o.revision != "" && o.revision != m.revision() {
			continue // nobody checks it any more, or something else was checked
		}
		if o.region != homeRegion {
			k := [2]int64{o.monitorID, o.region}
			if !m.takes(o, b.regions.name(o.region), later(last[k], m.memory.Votes[o.region].At)) {
				continue
			}
			last[k] = o.checkedAt
		}
		if m.settings.Target.Type == probe.Heartbeat && !o.result.Called {
			if o.watched.After(m.memory.Since) { // kept for who leases the shard next
				m.memory.Since, b.touched[m.id] = o.watched, true
			}
			var due bool
			if o, due = m.missed(o); !due {
				continue
			}
		}
		kept, rows = append(kept, o), append(rows, o.row())
	}
	if len(rows) == 0 {
		return nil, nil
	}
	fresh, err := insertChecks(ctx, tx, rows)
	return slices.DeleteFunc(kept, func(o outcome) bool { return !fresh[o.key()] }), err
}

// missed judges a heartbeat by when its last call came, or since when calls are heard; false when there is nothing to tell.
func (m *monitor) missed(o outcome) (outcome, bool) {
	since := m.createdAt
	if m.lastBeatAt != nil {
		since = *m.lastBeatAt
	} else if m.status == Pending {
		return o, false // nobody has called yet
	}
	since = later(since, m.memory.Since)
	if o.checkedAt.Sub(since) <= m.settings.interval()+m.settings.retryInterval() {
		return o, false
	}
	o.result = probe.Result{ErrorKey: probe.KeyMissed, Detail: "no call since " + since.Format(time.RFC3339)}
	return o, true
}

// take applies one result.
func (s *Service) take(ctx context.Context, tx *db.Tx, b *batch, o outcome) error {
	m := b.monitors[o.monitorID]
	f := finding{
		Region: o.region, At: o.checkedAt, OK: o.result.OK, Unknown: o.result.Unknown, ErrorKey: o.result.ErrorKey, Voters: b.regions.voters(m),
	}
	if !o.result.Unknown && o.result.Response > 0 {
		f.Response = int(milliseconds(o.result.Response))
	}
	before := *m
	var (
		spans []span
		c     *change
	)
	m.status, m.memory, spans, c = apply(m.status, m.memory, m.settings, f)
	b.touched[m.id] = true
	if failed := !f.OK && !f.Unknown; failed != (before.memory.Votes[o.region].Failures > 0) && len(f.Voters) > 1 {
		b.changed[o.region] = append(b.changed[o.region], m.id)
	}
	for _, one := range spans {
		b.hours.spend(m.id, one, hour)
		b.days.spend(m.id, one, day)
	}
	if !f.Unknown && (o.region == homeRegion || f.Voters[o.region]) {
		one := totals{Checks: 1}
		if !f.OK {
			one.Failures = 1
		} else if f.Response > 0 {
			ms := int64(f.Response)
			one.Responses, one.ResponseSum, one.ResponseMin, one.ResponseMax = 1, ms, ms, ms
		}
		b.hours.of(m.id, o.checkedAt, hour).add(one)
		b.days.of(m.id, o.checkedAt, day).add(one)
	}
	if o.region == homeRegion {
		m.lookedAt(o, f)
	}
	if m.status == Down && m.errorKey == nil { // others see it
		if t := m.memory.tally(m.settings, m.memory.Seen, f.Voters); t.errorKey != "" {
			m.errorKey = &t.errorKey
		}
	}
	if m.status != before.status {
		at := o.checkedAt
		m.lastStatusChangeAt = &at
	}
	if c != nil {
		if err := s.changed(ctx, tx, m, before, *c); err != nil {
			return err
		}
	}
	return s.warn(ctx, tx, m, o.checkedAt)
}

// lookedAt notes what the control plane itself found, which is what is shown of the last check.
func (m *monitor) lookedAt(o outcome, f finding) {
	at := o.checkedAt
	m.lastCheckedAt = &at
	if !f.Unknown {
		m.errorKey = nil
		if !f.OK {
			m.errorKey = &f.ErrorKey
		}
	}
	m.lastResponseMS = nil
	if f.Response > 0 {
		ms := int64(f.Response)
		m.lastResponseMS = &ms
	}
	if o.result.Certificate != nil {
		m.certificate = o.result.Certificate
	}
	if o.result.DomainExpiresAt != nil {
		m.domainExpiresAt = o.result.DomainExpiresAt
	}
}

// changed writes what a transition brings: its outage and its event.
func (s *Service) changed(ctx context.Context, tx *db.Tx, m *monitor, before monitor, c change) error {
	var (
		typ      string
		outageID int64
		err      error
	)
	switch {
	case c.Settled && !c.Began && c.To == before.status:
	case c.To == Down:
		typ = "monitor.down"
		if c.Again {
			outageID, err = openOutageOf(ctx, tx, m.id)
			break
		}
		outageID, err = openOutage(ctx, tx, outage{
			monitorID: m.id, startedAt: c.At, cause: c.ErrorKey, regions: c.Regions, confirmedBy: c.Confirmed,
		})
	case c.To == Up && (before.status == Down || before.memory.OpenOutage):
		typ = "monitor.up"
		if outageID, err = openOutageOf(ctx, tx, m.id); err == nil {
			err = endOutage(ctx, tx, m.id, c.At)
		}
	case c.To == Up && before.status == Degraded:
		typ = "monitor.up"
	case c.To == Degraded:
		typ = "monitor.degraded"
	}
	if err != nil {
		return err
	}
	pushed, err := s.alarm(ctx, tx, m, c, outageID)
	if err != nil || typ == "" {
		return err
	}
	return s.emit(ctx, tx, typ, m, before.status, map[string]any{"flapping": m.memory.Flapping, onDevices: pushed})
}

// onDevices is the member of an event's data that says that the account's devices show an alert of it.
const onDevices = "on_devices"

// emit tells of a monitor.
func (s *Service) emit(ctx context.Context, tx *db.Tx, typ string, m *monitor, before Status, more map[string]any) error {
	data := map[string]any{
		"id": m.id, "name": m.name, "type": m.settings.Target.Type, "status": m.status, "service_id": m.serviceID,
		"last_checked_at": m.lastCheckedAt, "last_status_change_at": m.lastStatusChangeAt, "built_in": m.builtIn,
	}
	if m.errorKey != nil {
		data["error_key"] = *m.errorKey
	}
	maps.Copy(data, more)
	e := outbox.Event{Type: typ, AccountID: m.accountID, Subject: "monitor", SubjectID: m.id, Data: data}
	if before != m.status {
		e.Previous = map[string]any{"status": before}
	}
	return s.Events.Emit(ctx, tx, e)
}

// warn tells of a certificate or a registration that is about to expire, once for each threshold.
func (s *Service) warn(ctx context.Context, tx *db.Tx, m *monitor, now time.Time) error {
	if c := m.certificate; c != nil {
		if days, ok := crossed(m.settings.SSLDays, c.ExpiresAt, now, &m.memory.WarnedDays, &m.memory.WarnedFor); ok {
			if err := s.expiring(ctx, tx, m, alertSSL, "monitor.ssl_expiring", c.ExpiresAt, days, now); err != nil {
				return err
			}
		}
	}
	if at := m.domainExpiresAt; at != nil {
		if days, ok := crossed(m.settings.DomainDays, *at, now, &m.memory.DomainDays, &m.memory.DomainFor); ok {
			return s.expiring(ctx, tx, m, alertDomain, "monitor.domain_expiring", *at, days, now)
		}
	}
	return nil
}

// expiring writes the alerts and the event of something that ends soon.
func (s *Service) expiring(ctx context.Context, tx *db.Tx, m *monitor, kind alertKind, typ string, at time.Time, days int, now time.Time) error {
	pushed, err := s.alert(ctx, tx, m, kind, 0, now.Unix(), now)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, typ, m, m.status, map[string]any{"expires_at": at, "days": days, onDevices: pushed})
}

// crossed reports whether an expiry has come nearer than a threshold that was not told of, and how many days are left.
// thresholds descend.
func crossed(thresholds []int, expires, now time.Time, warned *int, warnedFor *time.Time) (days int, ok bool) {
	if !expires.Equal(*warnedFor) {
		*warned, *warnedFor = 0, expires
	}
	days = int(expires.Sub(now) / (24 * time.Hour))
	if !expires.After(now) {
		return 0, false // it is past: what the check says counts
	}
	reached := 0
	for _, t := range thresholds {
		if expires.Sub(now) <= time.Duration(t)*24*time.Hour {
			reached = t
		}
	}
	if reached == 0 || *warned != 0 && *warned <= reached {
		return days, false
	}
	*warned = reached
	return days, true
}

// putChecked writes the states of the monitors of a batch.
func putChecked(ctx context.Context, tx *db.Tx, b *batch) error {
	var rows db.Values
	for _, id := range slices.Sorted(maps.Keys(b.touched)) {
		m := b.monitors[id]
		kept, err := json.Marshal(m.memory)
		if err != nil {
			return err
		}
		var certificate *string
		if m.certificate != nil {
			c, err := json.Marshal(m.certificate)
			if err != nil {
				return err
			}
			text := string(c)
			certificate = &text
		}
		rows.Add(id, m.status, string(kept), m.errorKey, m.lastCheckedAt, m.lastStatusChangeAt, m.lastResponseMS, certificate, m.domainExpiresAt)
	}
	if rows.Empty() {
		return nil
	}
	table, args := rows.Table(tx)
	_, err := tx.Exec(ctx, `WITH given (id, status, memory, error_key, checked, changed, response, certificate, domain) AS (`+table+`)
		UPDATE monitors SET status = given.status, memory = given.memory, error_key = given.error_key, last_checked_at = given.checked,
			last_status_change_at = given.changed, last_response_ms = given.response, certificate = given.certificate,
			domain_expires_at = given.domain
		FROM given WHERE monitors.id = given.id`, args...)
	return err
}

// Beat takes in the call of a heartbeat: its exit code, 0 for success. A token that nobody has is not found.
func (s *Service) Beat(ctx context.Context, token string, exitCode int) (found bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found = false
		m, err := lockByPush(ctx, tx, hashOf(token))
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		if found = true; err != nil || m.paused {
			return err
		}
		// Of many calls within a moment one counts.
		scheduled := tx.Now.Truncate(beatStep)
		if m.lastBeatAt != nil && !m.lastBeatAt.Truncate(beatStep).Before(scheduled) && exitCode == 0 == (m.errorKey == nil) {
			return nil
		}
		if err := setBeat(ctx, tx, m.id); err != nil {
			return err
		}
		r := probe.Result{OK: exitCode == 0, Called: true}
		if exitCode != 0 {
			r.ErrorKey, r.Detail = probe.KeyExitCode, exitDetail(exitCode)
		}
		if m.lastBeatAt != nil && m.lastBeatAt.Truncate(beatStep).Equal(scheduled) {
			scheduled = tx.Now
		}
		return s.recordIn(ctx, tx, []outcome{{monitorID: m.id, scheduledAt: scheduled, checkedAt: tx.Now, result: r}}, map[int64]recorded{})
	})
	return found, err
}

// beatStep is the time within which calls of a heartbeat that say the same count once.
const beatStep = 10 * time.Second

func setBeat(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE monitors SET last_beat_at = $1 WHERE id = $2`, tx.Now, id)
	return err
}

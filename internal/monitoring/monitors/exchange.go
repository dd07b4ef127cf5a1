package monitors

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/probe"
)

// Exchange takes in what a node found for its region, and answers what it is to check. A node may lie about what it finds:
// results that cannot be are refused or dropped, a node has one vote at most, and none alone.
func (s *Service) Exchange(ctx context.Context, nodeID int64, name string, in nodelink.Checks) (out nodelink.Work, err error) {
	if len(in.Results) > nodelink.MostResults || len(in.Versions) > nodelink.CheckParts || in.Failing < 0 || in.Failing > in.Checked ||
		in.Checked > mostCounted {
		return out, fault.InvalidRequest.New()
	}
	if name == home { // it is none of the control plane's
		name = fmt.Sprintf("node-%d", nodeID)
	}
	var claimed bool
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := claimRegion(ctx, tx, name, nodeID, share{in.Failing, in.Checked})
		if claimed = err == nil; errors.Is(err, db.ErrNoRows) {
			return nil // another node checks for the region
		}
		if err != nil || len(in.Results) == 0 {
			return err
		}
		s.region.forget() // what it says of itself counts for what it brings
		return s.recordIn(ctx, tx, taken(id, in.Results, tx.Now), map[int64]recorded{})
	})
	s.region.forget()
	out.Now = s.Clock.Now()
	if err != nil || !claimed {
		out.Idle = true
		return out, err
	}
	parts, err := s.work.of(ctx, s, name)
	if err != nil {
		return out, err
	}
	size := 0
	for i, p := range parts {
		if i < len(in.Versions) && in.Versions[i] == p.Version {
			continue
		}
		if size > nodelink.MostWorkSize {
			out.More = true
			break
		}
		size += len(p.Tasks)
		out.Parts = append(out.Parts, p)
	}
	if regs, err := s.regions(ctx, s.DB); err == nil {
		out.Asked = s.asks.since(in.Since, regs.byName[name])
	}
	return out, nil
}

// mostCounted is more than a node checks.
const mostCounted = 1_000_000

// taken are the results of a region that can be true, in the order of their times.
func taken(region int64, results []nodelink.CheckResult, now time.Time) []outcome {
	var all []outcome
	for _, r := range results {
		if o, ok := plausible(r, now); ok {
			o.region = region
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b outcome) int { return a.checkedAt.Compare(b.checkedAt) })
	return all
}

// How far the clock of a node may be ahead, and how long a check may take beyond the longest timeout.
const (
	mostAhead = 10 * time.Second
	mostTaken = 90 * time.Second
)

// failures are the keys with which a check by a node can fail.
var failures = []string{
	probe.KeyDNS, probe.KeyConnectTimeout, probe.KeyRefused, probe.KeyConnection, probe.KeyTLS, probe.KeyExpired, probe.KeyStatus,
	probe.KeyMissing, probe.KeyPresent, probe.KeyJSON, probe.KeyAnswer, probe.KeyTimeout, probe.KeyRedirects, probe.KeyBlocked,
	probe.KeyNoReply,
}

// plausible reads a result of a node; false when it cannot be true. Of certificates and domains the control plane learns by
// its own checks alone.
func plausible(r nodelink.CheckResult, now time.Time) (outcome, bool) {
	p := r.Result
	switch {
	case r.ID <= 0, p.Unknown, p.Called,
		r.CheckedAt.After(now.Add(mostAhead)), now.Sub(r.CheckedAt) > nodelink.ResultsFor,
		r.ScheduledAt.After(r.CheckedAt), r.CheckedAt.Sub(r.ScheduledAt) > mostTaken,
		p.OK != (p.ErrorKey == ""), !p.OK && !slices.Contains(failures, p.ErrorKey),
		p.HTTPStatus != 0 && (p.HTTPStatus < 100 || p.HTTPStatus > 599):
		return outcome{}, false
	}
	for _, d := range []time.Duration{p.Response, p.Lookup, p.Connect, p.TLS, p.FirstByte} {
		if d < 0 || d > mostTaken {
			return outcome{}, false
		}
	}
	at := r.CheckedAt
	if at.After(now) {
		at = now
	}
	return outcome{
		monitorID: r.ID, revision: r.Revision, scheduledAt: r.ScheduledAt.UTC().Truncate(time.Microsecond), checkedAt: at.UTC(),
		result: probe.Result{
			OK: p.OK, HTTPStatus: p.HTTPStatus, Response: p.Response, Lookup: p.Lookup, Connect: p.Connect, TLS: p.TLS, FirstByte: p.FirstByte,
			ErrorKey: p.ErrorKey, Detail: shortLine(p.Detail),
		},
	}, true
}

// mostDetail bounds what a node says about a failure, in characters.
const mostDetail = 300

// shortLine is text on one line, of at most mostDetail characters.
func shortLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	runes := []rune(text)
	return string(runes[:min(len(runes), mostDetail)])
}

// revision tells settings apart, so that a result counts for those only with which the check was made.
func (m *monitor) revision() string {
	h := sha256.New()
	h.Write([]byte(m.rawSettings)) // a hash cannot fail
	h.Write([]byte{0})
	h.Write(m.headers)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// takes reports whether a result of another region than the control plane counts for a monitor: the region checks it, as it
// is now, and not more often than a node may. last is when the region checked it before.
func (m *monitor) takes(o outcome, name string, last time.Time) bool {
	return m.checkedIn(name) && o.revision == m.revision() && o.checkedAt.Sub(last) >= nodelink.LeastApart
}

// askTopic is that of the signals by which a region that finds something changed asks the others to look at once.
const askTopic = "monitors.ask"

// mostAsked is how many monitors a signal names at most, so that it stays short.
const mostAsked = 100

// ask has the other regions look at monitors at once.
func (s *Service) ask(ctx context.Context, tx *db.Tx, changed map[int64][]int64) error {
	for region, ids := range changed {
		for some := range slices.Chunk(ids, mostAsked) {
			text := make([]string, len(some))
			for i, id := range some {
				text[i] = strconv.FormatInt(id, 10)
			}
			if err := s.Signals.Send(ctx, tx, askTopic, fmt.Sprintf("%d:%s", region, strings.Join(text, ","))); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAsk reads what ask wrote.
func readAsk(payload string) (region int64, ids []int64, ok bool) {
	from, list, ok := strings.Cut(payload, ":")
	region, err := strconv.ParseInt(from, 10, 64)
	if err != nil || !ok {
		return 0, nil, false
	}
	for text := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, nil, false
		}
		ids = append(ids, id)
	}
	return region, ids, true
}

// asks are the monitors that regions have asked about of late, as this process heard.
type asks struct {
	mu  sync.Mutex
	all []asked
}

type asked struct {
	at     time.Time
	region int64 // that asks
	id     int64
}

// How long and how many are remembered, and how much later than others a process may hear of them.
const (
	askedFor   = time.Minute
	mostAsks   = 10_000
	heardAfter = 2 * time.Second
)

func (a *asks) add(payload string, now time.Time) {
	region, ids, ok := readAsk(payload)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = slices.DeleteFunc(a.all, func(one asked) bool { return now.Sub(one.at) > askedFor })
	for _, id := range ids {
		a.all = append(a.all, asked{now, region, id})
	}
	a.all = a.all[max(0, len(a.all)-mostAsks):]
}

// since are those that regions other than the given one have asked about since a time.
func (a *asks) since(t time.Time, region int64) (ids []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if one.region != region && one.at.After(t.Add(-heardAfter)) {
			ids = append(ids, one.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// work is what nodes check, read once for all of them.
type work struct {
	mu    sync.Mutex
	at    time.Time // when it was read
	tasks [nodelink.CheckParts][]assigned
	// parts are the lists of regions, made as they are asked for.
	parts map[string][]nodelink.WorkPart

	changes sync.Mutex
	changed bool // since it was read
}

// assigned is a task with the regions that its owner chose; none: all.
type assigned struct {
	nodelink.Task
	regions []string
}

// How often the list is read: not oftener when monitors change, and not more rarely when none is heard to.
const (
	workLeast = 2 * time.Second
	workMost  = time.Minute
)

func (w *work) change() {
	w.changes.Lock()
	defer w.changes.Unlock()
	w.changed = true
}

// stale reports whether the list must be read, and takes note that it is.
func (w *work) stale(now time.Time) bool {
	w.changes.Lock()
	defer w.changes.Unlock()
	age := now.Sub(w.at)
	if w.parts != nil && age < workMost && (!w.changed || age < workLeast) {
		return false
	}
	w.changed = false
	return true
}

// of is the list of a region.
func (w *work) of(ctx context.Context, s *Service, region string) ([]nodelink.WorkPart, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := s.Clock.Now(); w.stale(now) {
		tasks, err := s.assign(ctx)
		if err != nil {
			w.change()
			return nil, err
		}
		w.at, w.tasks, w.parts = now, tasks, map[string][]nodelink.WorkPart{}
	}
	if parts := w.parts[region]; parts != nil {
		return parts, nil
	}
	parts := make([]nodelink.WorkPart, nodelink.CheckParts)
	for i, all := range w.tasks {
		list := []nodelink.Task{}
		for _, one := range all {
			if len(one.regions) == 0 || slices.Contains(one.regions, region) {
				list = append(list, one.Task)
			}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(raw)
		parts[i] = nodelink.WorkPart{Part: i, Version: base64.RawURLEncoding.EncodeToString(sum[:12]), Tasks: raw}
	}
	w.parts[region] = parts
	return parts, nil
}

// assign reads what nodes check. Headers are sent only where the monitor's owner chose regions (see settings.homeOnly).
func (s *Service) assign(ctx context.Context) (tasks [nodelink.CheckParts][]assigned, err error) {
	const atOnce = 1000
	for above := int64(0); ; {
		rows, err := running(ctx, s.DB, above, atOnce)
		if err != nil {
			return tasks, err
		}
		for i := range rows {
			m := &rows[i]
			if m.settings.homeOnly() {
				continue
			}
			t := nodelink.Task{
				ID: m.id, Revision: m.revision(), Target: m.settings.Target, IntervalS: m.settings.IntervalS, Retries: m.settings.Retries,
				RetryIntervalS: m.settings.RetryIntervalS,
			}
			headers, err := s.openHeaders(*m)
			if err != nil {
				s.Log.Warn("monitors: a monitor cannot be checked by nodes", "monitor", m.id, "error", err)
				continue
			}
			for name, value := range headers {
				if t.Header == nil {
					t.Header = http.Header{}
				}
				t.Header.Set(name, value)
			}
			part := m.id % nodelink.CheckParts
			tasks[part] = append(tasks[part], assigned{t, m.settings.Regions})
		}
		if len(rows) < atOnce {
			return tasks, nil
		}
		above = rows[len(rows)-1].id
	}
}

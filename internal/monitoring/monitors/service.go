package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/push"
)

// Prober makes checks.
type Prober interface {
	Check(ctx context.Context, t probe.Target) probe.Result
}

// Config configures the section; all but AllowLoopback, Idle and TelegramURL is required.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Events  outbox.Events
	Box     *secret.Box
	Signals *signal.Hub
	Prober  Prober
	Log     *slog.Logger
	BaseURL string
	Queue   jobs.Enqueuer
	Mailer  mailer.Mailer
	Limiter throttle.Limiter
	// Brand is named in what is sent.
	Brand   brand.Source
	Letters *mailer.Writer
	// TelegramURL replaces the address of Telegram; for tests.
	TelegramURL string
	// AllowLoopback accepts targets on this machine; for tests.
	AllowLoopback bool
	// Idle: this process makes no checks.
	Idle bool
}

// Hosted is a service as its own monitor needs it.
type Hosted struct {
	Label, Domain string
	OriginURL     string // answers HTTP for the domain whatever its DNS says; empty when there is none
	Online        bool   // active or past due
	Ended         bool
	Sandbox       bool
}

// Services know what is hosted.
type Services interface {
	// Hosted is one of the account's services.
	Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) (Hosted, error)
	// OnlineLimits are the limits of the plans of an account's services that are online.
	OnlineLimits(ctx context.Context, q db.Querier, accountID int64) ([]site.Limited, error)
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Services Services
	Owners   Owners
	Devices  Devices
}

// Devices are those of the accounts.
type Devices interface {
	// Send sends a message to all devices of an account, and tells how many took it. An error means that one of them may
	// take it later: it is sent again, with the same id.
	Send(ctx context.Context, accountID int64, m push.Message) (took int, err error)
}

// Owners know the owners of accounts.
type Owners interface {
	// Locale is the language in which an account's owner is told.
	Locale(ctx context.Context, q db.Querier, accountID int64) (string, error)
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
	name     string // of this process among the replicas
	outgoing *outgoing.Client
	region   regionCache
	work     work
	asks     asks
}

// New makes the section. Connect comes before its use.
func New(c Config) *Service {
	s := &Service{
		Config: c, name: secret.Token("", 12), outgoing: outgoing.New(outgoing.Config{AllowLoopback: c.AllowLoopback, Timeout: sendTimeout}),
	}
	s.Signals.Subscribe(topic, func(string) { s.work.change() })
	s.Signals.Subscribe(askTopic, func(payload string) { s.asks.add(payload, s.Clock.Now()) })
	return s
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// MaxMonitors bounds the monitors of an account whatever its plans say.
const MaxMonitors = 1000

// topic is that of the signals that tell replicas which monitor has changed.
const topic = "monitors"

// wish is what an owner wants of a monitor; nil leaves a member as it is.
type wish struct {
	name      *string
	serviceID **int64
	settings  func(*settings)
	// headers replace those that are there; a nil value keeps the one of that name.
	headers map[string]*string
	paused  *bool
	// regions replace those that are there; empty: all that there are.
	regions *[]string
}

// create makes a monitor.
func (s *Service) create(ctx context.Context, accountID int64, w wish) (m monitor, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		m = monitor{
			accountID: accountID, shard: rand.N(shards), status: Pending, settings: defaults(), badgeToken: secret.Token("", 16), createdAt: tx.Now, //nolint:gosec // spreads load; nobody gains by guessing it
		}
		if err := s.wanted(ctx, tx, &m, w); err != nil {
			return err
		}
		if err := s.allowed(ctx, tx, accountID, m.settings.IntervalS, 1); err != nil {
			return err
		}
		var push string
		var hash []byte
		if m.settings.Target.Type == probe.Heartbeat {
			push = secret.Token("", 24)
			hash = hashOf(push)
		}
		if m.paused {
			m.status = Paused
		}
		if m.id, err = insert(ctx, tx, m, hash); err != nil {
			return err
		}
		if err := s.sealHeaders(&m, w.headers, nil); err != nil {
			return err
		}
		if push != "" {
			if m.push, err = s.Box.Seal([]byte(push), sealedAt(m.id, "push_token")); err != nil {
				return err
			}
		}
		if err := setSecrets(ctx, tx, m.id, m.headers, m.push); err != nil {
			return err
		}
		return s.signal(ctx, tx, m.id)
	})
	return m, err
}

// wanted applies a wish and checks what it comes to.
func (s *Service) wanted(ctx context.Context, tx *db.Tx, m *monitor, w wish) error {
	if w.name != nil {
		m.name = strings.TrimSpace(*w.name)
	}
	if w.settings != nil {
		w.settings(&m.settings)
	}
	if w.paused != nil {
		m.paused = *w.paused
	}
	if err := m.settings.check(s.AllowLoopback); err != nil {
		return err
	}
	if m.name == "" {
		m.name = nameOf(m.settings.Target)
	}
	if !plain(m.name, maxName) {
		return fault.Invalid("name", "characters")
	}
	given := map[string]string{}
	for name, value := range w.headers {
		if given[name] = ""; value != nil {
			given[name] = *value
		}
	}
	if err := checkHeaders(given); err != nil {
		return err
	}
	if err := s.ownChannels(ctx, tx, m.accountID, m.settings.Channels); err != nil {
		return err
	}
	if w.regions != nil {
		if err := s.choose(ctx, tx, &m.settings, *w.regions); err != nil {
			return err
		}
	}
	if n := len(m.settings.Regions); n > 0 && m.settings.Quorum > n {
		return fault.InvalidData("quorum", "monitor_quorum", map[string]any{"Max": n})
	}
	if w.headers != nil {
		m.settings.HeaderNames = slices.Sorted(maps.Keys(w.headers))
	}
	if w.serviceID != nil {
		m.serviceID = *w.serviceID
		if m.serviceID != nil {
			if _, err := s.Services.Hosted(ctx, tx, m.accountID, *m.serviceID); err != nil {
				if errors.Is(err, fault.NotFound) {
					err = fault.Invalid("service_id", "value")
				}
				return err
			}
		}
	}
	return nil
}

// choose sets the regions that an owner chose. The control plane is always among them.
func (s *Service) choose(ctx context.Context, tx *db.Tx, set *settings, names []string) error {
	if len(names) == 0 {
		set.Regions = nil
		return nil
	}
	regs, err := s.regions(ctx, tx)
	if err != nil {
		return err
	}
	allowed := regs.known(tx.Now)
	if t := set.Target.Type; t == probe.Heartbeat || t == probe.Domain {
		allowed = []string{home}
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) && !slices.Contains(set.Regions, name) {
			return errRegion.With(fault.Fields{"allowed": allowed})
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == home })
	slices.Sort(chosen)
	set.Regions = append([]string{home}, slices.Compact(chosen)...)
	return nil
}

// nameOf is what a monitor is called whose owner has not named it.
func nameOf(t probe.Target) string {
	name := string(t.Type)
	switch {
	case t.URL != "":
		name = strings.TrimPrefix(strings.TrimPrefix(t.URL, "https://"), "http://")
	case t.Host != "":
		name = t.Host
	}
	runes := []rune(name)
	return string(runes[:min(len(runes), maxName)])
}

// allowed refuses monitors beyond what the account's plans allow: their number, and the interval. The locked account's
// rows are counted, so two requests at once do not pass both on SQLite; on PostgreSQL they are bounded by MaxMonitors.
func (s *Service) allowed(ctx context.Context, tx *db.Tx, accountID int64, intervalS int, more int64) error {
	most, shortest, err := s.allowance(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if more > 0 {
		if err := lockAccount(ctx, tx, accountID); err != nil {
			return err
		}
		n, err := count(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if n+more > most {
			return errLimit.With(fault.Fields{"maximum": most})
		}
	}
	if intervalS < shortest {
		allowed := slices.DeleteFunc(slices.Clone(intervals), func(i int) bool { return i < shortest })
		return errInterval.With(fault.Fields{"allowed": allowed})
	}
	return nil
}

// allowance is what the plans of an account allow together: the sum of their numbers, and the shortest of their intervals.
func (s *Service) allowance(ctx context.Context, q db.Querier, accountID int64) (most int64, shortest int, err error) {
	plans, err := s.Services.OnlineLimits(ctx, q, accountID)
	if err != nil {
		return 0, 0, err
	}
	shortest = intervals[len(intervals)-1]
	for _, p := range plans {
		n, step := p.Limits.Of("monitors"), p.Limits.Of("monitor_interval_s")
		if n == site.Unlimited || n > MaxMonitors {
			n = MaxMonitors
		}
		most = min(most+n*p.Services, MaxMonitors)
		if step == site.Unlimited {
			step = int64(intervals[0])
		}
		shortest = min(shortest, int(min(step, int64(shortest))))
	}
	return most, shortest, nil
}

// sealHeaders seals what is sent. before are the values that are kept where a new one is nil.
func (s *Service) sealHeaders(m *monitor, headers map[string]*string, before map[string]string) error {
	if headers == nil {
		return nil
	}
	values := map[string]string{}
	for name, value := range headers {
		if value != nil {
			values[name] = *value
		} else {
			kept, ok := before[name]
			if !ok {
				return fault.Invalid("headers", "monitor_header")
			}
			values[name] = kept
		}
	}
	if m.headers = nil; len(values) == 0 {
		return nil
	}
	b, err := json.Marshal(values)
	if err == nil {
		m.headers, err = s.Box.Seal(b, sealedAt(m.id, "headers"))
	}
	return err
}

func (s *Service) openHeaders(m monitor) (values map[string]string, err error) {
	if m.headers == nil {
		return nil, nil
	}
	b, err := s.Box.Open(m.headers, sealedAt(m.id, "headers"))
	if err == nil {
		err = json.Unmarshal(b, &values)
	}
	return values, err
}

func sealedAt(id int64, column string) []byte { return fmt.Appendf(nil, "monitors/%d/%s", id, column) }

func hashOf(token string) []byte { return secret.Hash(token) }

// signal tells replicas that a monitor has changed.
func (s *Service) signal(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Signals.Send(ctx, tx, topic, strconv.FormatInt(id, 10))
}

// update changes a monitor. What is checked afterwards begins anew when something of the target changes.
func (s *Service) update(ctx context.Context, accountID, id int64, w wish) (m monitor, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if m, err = lock(ctx, tx, accountID, id); err != nil {
			return notFound(err)
		}
		if m.builtIn {
			return errBuiltIn.New()
		}
		before := m
		target, err := json.Marshal(m.settings.Target)
		if err != nil {
			return err
		}
		if err := s.wanted(ctx, tx, &m, w); err != nil {
			return err
		}
		if m.settings.Target.Type != before.settings.Target.Type {
			return fault.Invalid("type", "monitor_type_stays")
		}
		resumes := before.paused && !m.paused
		if m.settings.IntervalS < before.settings.IntervalS || resumes {
			more := int64(0)
			if resumes { // it is counted already
				if err := s.roomFor(ctx, tx, m); err != nil {
					return err
				}
			}
			if err := s.allowed(ctx, tx, accountID, m.settings.IntervalS, more); err != nil {
				return err
			}
		}
		old, err := s.openHeaders(before)
		if err != nil {
			return err
		}
		if err := s.sealHeaders(&m, w.headers, old); err != nil {
			return err
		}
		after, err := json.Marshal(m.settings.Target)
		if err != nil {
			return err
		}
		switch {
		case m.paused && !before.paused:
			err = s.pause(ctx, tx, &m, pausedByOwner)
		case resumes:
			m.status, m.memory, m.lastStatusChangeAt = Pending, memory{Counted: tx.Now, Since: tx.Now}, &tx.Now
			err = put(ctx, tx, m, nil)
		default:
			if string(target) != string(after) {
				m.memory.Votes, m.memory.Recent = nil, nil
			}
			err = put(ctx, tx, m, pauseReason(m.paused))
		}
		if err != nil {
			return err
		}
		return s.signal(ctx, tx, id)
	})
	return m, err
}

// roomFor refuses to resume a monitor that is beyond what the plans allow.
func (s *Service) roomFor(ctx context.Context, tx *db.Tx, m monitor) error {
	most, _, err := s.allowance(ctx, tx, m.accountID)
	if err != nil {
		return err
	}
	all, err := lockOfAccount(ctx, tx, m.accountID)
	if err != nil {
		return err
	}
	running := int64(0)
	for _, o := range all {
		if !o.paused && o.id != m.id {
			running++
		}
	}
	if running+1 > most {
		return errLimit.With(fault.Fields{"maximum": most})
	}
	return nil
}

// pause ends the checks of a monitor, with its open outage, and tells of it.
func (s *Service) pause(ctx context.Context, tx *db.Tx, m *monitor, reason string) error {
	before := m.status
	spans := m.memory.count(m.settings, m.status, tx.Now)
	if err := s.spend(ctx, tx, m.id, spans); err != nil {
		return err
	}
	if err := endOutage(ctx, tx, m.id, tx.Now); err != nil {
		return err
	}
	if err := cancelAlerts(ctx, tx, m.id); err != nil {
		return err
	}
	m.paused, m.status, m.memory, m.lastStatusChangeAt = true, Paused, memory{}, &tx.Now
	if err := put(ctx, tx, *m, &reason); err != nil {
		return err
	}
	return s.emit(ctx, tx, "monitor.paused", m, before, map[string]any{"reason": reason})
}

func (s *Service) spend(ctx context.Context, tx *db.Tx, id int64, spans []span) error {
	byHour, byDay := rollup{}, rollup{}
	for _, one := range spans {
		byHour.spend(id, one, hour)
		byDay.spend(id, one, day)
	}
	if err := addHours(ctx, tx, byHour); err != nil {
		return err
	}
	return addDays(ctx, tx, byDay)
}

func (s *Service) remove(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		m, err := lock(ctx, tx, accountID, id)
		if err != nil {
			return notFound(err)
		}
		if m.builtIn {
			return errBuiltIn.New()
		}
		if err := remove(ctx, tx, accountID, id); err != nil {
			return err
		}
		if err := cancelAlerts(ctx, tx, id); err != nil {
			return err
		}
		return s.signal(ctx, tx, id)
	})
}

func (s *Service) get(ctx context.Context, accountID, id int64) (monitor, error) {
	m, err := get(ctx, s.DB, accountID, id)
	return m, notFound(err)
}

func (s *Service) list(ctx context.Context, accountID int64, f filter, p page.Params) ([]monitor, int, error) {
	return list(ctx, s.DB, accountID, f, p)
}

func notFound(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return fault.NotFound.New()
	}
	return err
}

// retention of raw checks and of hours.
const (
	keepChecks  = 7 * day
	keepHours   = 35 * day
	forgetAtOne = 2000
)

// Clean deletes what is old, a few rows at a time so that nobody waits for it. A periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	for _, f := range []func(ctx context.Context, tx *db.Tx) (int64, error){
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return forgetChecks(ctx, tx, tx.Now.Add(-keepChecks), forgetAtOne)
		},
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return forgetHours(ctx, tx, tx.Now.Add(-keepHours), forgetAtOne)
		},
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return forgetAlerts(ctx, tx, tx.Now.Add(-keepAlerts), forgetAtOne)
		},
	} {
		for {
			var n int64
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = f(ctx, tx)
				return err
			})
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			if n < forgetAtOne {
				break
			}
		}
	}
	return nil
}

// closed removes what names a person when an account is closed.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := removeChannels(ctx, tx, accountID); err != nil {
		return err
	}
	return removeOfAccount(ctx, tx, accountID)
}

func exitDetail(code int) string { return "the exit code was " + strconv.Itoa(code) }

package runs

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/panel"
)

// Signals wakes the processes that work on runs.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
	Subscribe(topic string, f func(payload string))
}

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Clock   clock.Clock
	Events  outbox.Events
	Signals Signals
	Log     *slog.Logger
	Wallet  Wallet
	// Models are those that the operator offers.
	Models *llm.Offer
	// Idle processes leave all runs to others: they do not reach the hosting servers.
	Idle bool
	// Ending is closed when the server begins to stop: who watches a run comes again.
	Ending <-chan struct{}
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs

	streams semaphore.Keyed[int64] // of events, by account
}

// New makes the section.
func New(c Config) *Service {
	return &Service{Config: c, streams: semaphore.Keyed[int64]{Each: streamsMost}}
}

// Connect gives the section what it needs of others.
func (s *Service) Connect(n Needs) { s.Needs = n }

// readSettings returns the settings of an account, and what of its budget is spent in this month.
func (s *Service) readSettings(ctx context.Context, accountID int64) (settings, money.USDCents, error) {
	set, err := settingsOf(ctx, s.DB, accountID)
	if err != nil {
		return set, 0, err
	}
	spent, err := spentSince(ctx, s.DB, accountID, monthOf(s.Clock.Now()))
	return set, spent, err
}

// writeSettings replaces the settings of an account. Runs that have begun keep those with which they began.
func (s *Service) writeSettings(ctx context.Context, accountID int64, set settings) error {
	if err := set.check(); err != nil {
		return err
	}
	if set.model != nil {
		if _, ok := s.Models.Find(*set.model); !ok {
			return s.unknownModel()
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return putSettings(ctx, tx, accountID, set) })
}

func (s *Service) unknownModel() error {
	names := []string{}
	for _, m := range s.Models.Models() {
		names = append(names, m.Name)
	}
	return errModelUnknown.With(fault.Fields{"models": names})
}

// modelFor is the model of an account's runs.
func (s *Service) modelFor(set settings) (llm.Model, error) {
	if set.model == nil {
		m, ok := s.Models.Default()
		if !ok {
			return m, errDisabled.Wrapf("no model is offered")
		}
		return m, nil
	}
	m, ok := s.Models.Find(*set.model)
	if !ok {
		return m, s.unknownModel()
	}
	return m, nil
}

// start takes a task on one of the account's services: run, money and conversation are one commit.
func (s *Service) start(ctx context.Context, accountID, serviceID int64, text string, conversationID *int64) (r run, err error) {
	if text, err = s.withoutSecrets(ctx, accountID, serviceID, text); err != nil {
		return r, err
	}
	err = site.Change[panel.Files](ctx, s.DB, s.Services, s.Panels, panel.CapFiles, accountID, serviceID,
		func(ctx context.Context, tx *db.Tx, on site.Site) error {
			set, err := lockSettings(ctx, tx, accountID)
			if err != nil {
				return err
			}
			if !set.enabled || on.Sandbox {
				return errDisabled.New()
			}
			m, err := s.modelFor(set)
			if err != nil {
				return err
			}
			spent, err := spentSince(ctx, tx, accountID, monthOf(tx.Now))
			if err != nil {
				return err
			}
			r = newRun(tx, accountID, serviceID, Agent)
			if r.held, err = holdFor(ctx, m, set.budget, spent); err != nil {
				return err
			}
			r.terms = terms{Mode: set.mode, Model: m.Name, Tools: set.tools, Allowed: set.allowed, Denied: set.denied, Steps: set.steps, KeepBroken: !set.undoWhenBroken, Nonce: secret.Token("", 8)}
			if set.language != nil {
				r.terms.Language = *set.language
			}
			talk, err := s.talkFor(ctx, tx, accountID, serviceID, text, conversationID)
			if err != nil {
				return err
			}
			r.conversationID = &talk
			if err := s.admit(ctx, tx, &r); err != nil {
				return err
			}
			if _, err := insertMessage(ctx, tx, message{conversationID: talk, runID: r.id, role: byUser, content: text}); err != nil {
				return err
			}
			return s.hold(ctx, tx, r)
		})
	return r, err
}

func newRun(tx *db.Tx, accountID, serviceID int64, kind Kind) run {
	return run{
		accountID: accountID, serviceID: serviceID, kind: kind, status: Queued, leaseUntil: tx.Now, timeLeft: workTime.Microseconds(), createdAt: tx.Now,
	}
}

// admit writes a run that nobody works on yet, and wakes those who may.
func (s *Service) admit(ctx context.Context, tx *db.Tx, r *run) error {
	open, err := openRuns(ctx, tx, r.accountID, r.serviceID)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return errInProgress.With(fault.Fields{"run": open[0].id})
	}
	ids, err := db.NextIDs(ctx, tx, "ai_runs", 1)
	if err != nil {
		return err
	}
	r.id = ids[0]
	if err := insertRun(ctx, tx, *r); err != nil {
		return err
	}
	if err := s.tell(ctx, tx, r, "run.started", map[string]any{"run": r.id, "kind": r.kind}); err != nil {
		return err
	}
	return s.wake(ctx, tx, r)
}

// topic is that of the signals which wake the processes that work on runs.
const topic = "ai_runs"

func (s *Service) wake(ctx context.Context, tx *db.Tx, r *run) error {
	if err := putRun(ctx, tx, *r); err != nil {
		return err
	}
	return s.Signals.Send(ctx, tx, topic, "")
}

// talkFor is the conversation in which a message is said, a new one without an id.
func (s *Service) talkFor(ctx context.Context, tx *db.Tx, accountID, serviceID int64, text string, id *int64) (int64, error) {
	if id == nil {
		return insertConversation(ctx, tx, conversation{accountID: accountID, serviceID: serviceID, title: shorten(text, mostTitle), status: TalkRuns})
	}
	c, err := lockConversation(ctx, tx, accountID, serviceID, *id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.Invalid("conversation_id", "ai_conversation")
	}
	if err != nil {
		return 0, err
	}
	return c.id, setTalk(ctx, tx, c.id, TalkRuns)
}

const mostTitle = 100 // bytes

// find reads a run of one of the account's services, or fault.NotFound.
func (s *Service) find(ctx context.Context, accountID, serviceID, id int64) (run, error) {
	r, err := runOf(ctx, s.DB, accountID, serviceID, id)
	return r, orNotFound(err)
}

// cancel ends a run of one of the account's services: at once when nobody works on it, else as soon as its present step is
// over.
func (s *Service) cancel(ctx context.Context, accountID, serviceID, id int64) (r run, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if r, err = lockRunOf(ctx, tx, accountID, serviceID, id); err != nil {
			return orNotFound(err)
		}
		switch {
		case r.status == Cancelled, r.cancelling:
			return nil
		case !r.status.open():
			return errOver.New()
		case r.status == Waiting:
			return s.finish(ctx, tx, &r, Stopped)
		}
		r.cancelling = true
		return s.wake(ctx, tx, &r)
	})
	return r, err
}

func orNotFound(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return fault.NotFound.New()
	}
	return err
}

// conversations answers a page of the conversations about a service, and the number of all.
func (s *Service) conversations(ctx context.Context, accountID, serviceID int64, p page.Params) ([]conversation, int, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	rows, err := conversationsOf(ctx, s.DB, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	total, err := countConversations(ctx, s.DB, accountID, serviceID)
	return rows, total, err
}

// story is a conversation with what was said and done in it.
type story struct {
	conversation

	usage    usage
	messages []message
	calls    map[int64][]call   // by message
	changes  map[int64][]change // by call
}

// mostMessages bounds what is shown of a conversation.
const mostMessages = 200

// read tells a conversation.
func (s *Service) read(ctx context.Context, accountID, serviceID, id int64) (t story, err error) {
	if t.conversation, err = conversationOf(ctx, s.DB, accountID, serviceID, id); err != nil {
		return t, orNotFound(err)
	}
	if t.usage, err = usageOf(ctx, s.DB, id); err != nil {
		return t, err
	}
	if t.messages, err = lastMessages(ctx, s.DB, id, mostMessages); err != nil || len(t.messages) == 0 {
		return t, err
	}
	calls, err := callsSince(ctx, s.DB, id, t.messages[0].id)
	if err != nil {
		return t, err
	}
	t.calls, t.changes = map[int64][]call{}, map[int64][]change{}
	var runs []int64
	for _, c := range calls {
		t.calls[c.messageID] = append(t.calls[c.messageID], c)
		if !slices.Contains(runs, c.runID) {
			runs = append(runs, c.runID)
		}
	}
	for _, runID := range runs {
		changes, err := changesOf(ctx, s.DB, runID)
		if err != nil {
			return t, err
		}
		for _, c := range changes {
			if c.callID != nil {
				t.changes[*c.callID] = append(t.changes[*c.callID], c)
			}
		}
	}
	return t, nil
}

// forget removes a conversation in which no run is open.
func (s *Service) forget(ctx context.Context, accountID, serviceID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, err := lockConversation(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return orNotFound(err)
		}
		open, err := openRuns(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		for _, r := range open {
			if r.conversationID != nil && *r.conversationID == c.id {
				return errInProgress.With(fault.Fields{"run": r.id})
			}
		}
		return removeConversation(ctx, tx, c.id)
	})
}

// changes answers a page of the changes of a service's files, and the number of all.
func (s *Service) changes(ctx context.Context, accountID, serviceID, runID int64, p page.Params) ([]change, int, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	rows, err := listChanges(ctx, s.DB, accountID, serviceID, runID, p)
	if err != nil {
		return nil, 0, err
	}
	total, err := countChanges(ctx, s.DB, accountID, serviceID, runID)
	return rows, total, err
}

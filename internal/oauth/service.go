package oauth

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
)

// Lifetimes. Those of access and refresh tokens are the specification's.
const (
	AccessLife  = 15 * 24 * time.Hour
	RefreshLife = 30 * 24 * time.Hour
	// CodeLife is short: the application exchanges a code at once.
	CodeLife = 2 * time.Minute
	// DefaultRefreshGrace is how long the answer to a refresh can be had again.
	DefaultRefreshGrace = 30 * time.Second
)

// Prefixes tell people and secret scanners what they have found.
const (
	accessPrefix  = "sta_"
	refreshPrefix = "str_"
	codePrefix    = "stc_"
	tokenBytes    = 32
)

// Holder is what a token's principal takes from the account.
type Holder struct {
	// Locale and Currency are the display preferences.
	Locale, Currency string
	// Admin accounts bear the admin role.
	Admin bool
	// Suspended accounts' tokens are refused.
	Suspended bool
}

// Accounts knows the accounts. Holder answers an error that is fault.NotFound
// when there is none.
type Accounts interface {
	Holder(ctx context.Context, q db.Querier, accountID int64) (Holder, error)
}

// AccountTopic is the signal by which the account section tells that something
// a Holder is made of has changed; its payload is the account's id in decimal.
const AccountTopic = "account"

// topic is the signal of this section's own changes: "grant/7" and the like.
const topic = "oauth"

// Config of a Service. All fields are required unless said otherwise.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	Hub   *signal.Hub
	// Box encrypts the answers kept for the grace.
	Box      *secret.Box
	Accounts Accounts
	// BaseURL is the issuer: the address of this server, without a slash at
	// its end.
	BaseURL string
	// RefreshGrace is how long the answer to a refresh can be had again;
	// 0 means DefaultRefreshGrace, less means never.
	RefreshGrace time.Duration
	// Remembered bounds the tokens that Verify keeps in memory; 0 means 10,000.
	Remembered int
	Log        *slog.Logger
}

// Service is the authorization server.
type Service struct {
	Config
	cache *cache
	uses  uses
	onEnd []Ending
}

// New makes a service; Run keeps its notes of what was used.
func New(c Config) *Service {
	if c.RefreshGrace == 0 {
		c.RefreshGrace = DefaultRefreshGrace
	}
	if c.Remembered == 0 {
		c.Remembered = 10_000
	}
	s := &Service{Config: c, cache: newCache(c.Remembered)}
	c.Hub.Subscribe(topic, func(payload string) {
		kind, id, _ := strings.Cut(payload, "/")
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			s.cache.forget(ref{kind, n})
		}
	})
	c.Hub.Subscribe(AccountTopic, func(payload string) {
		if n, err := strconv.ParseInt(payload, 10, 64); err == nil {
			s.cache.forget(ref{refAccount, n})
		}
	})
	return s
}

// tell makes every replica forget what it remembers of r, once tx is committed.
func (s *Service) tell(ctx context.Context, tx *db.Tx, r ref) error {
	return s.Hub.Send(ctx, tx, topic, r.kind+"/"+strconv.FormatInt(r.id, 10))
}

// Ending hears that an application may not act for an account any more, in the transaction that ends it. 0 stands for all
// of the account's applications, or for all of the application's accounts.
type Ending func(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error

// OnEnd has f end what else an application made in the name of an account.
func (s *Service) OnEnd(f Ending) { s.onEnd = append(s.onEnd, f) }

func (s *Service) ended(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error {
	for _, f := range s.onEnd {
		if err := f(ctx, tx, accountID, applicationID); err != nil {
			return err
		}
	}
	return nil
}

// end ends a grant and all its tokens.
func (s *Service) end(ctx context.Context, tx *db.Tx, grantID int64, reason string) error {
	if err := endGrant(ctx, tx, grantID, reason); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refGrant, grantID})
}

// EndAll ends all grants of an account in tx: for when its owner, or the
// operator, wants nobody to act for it any more. Consents stay.
func (s *Service) EndAll(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := endGrantsOfAccount(ctx, tx, accountID, "account"); err != nil {
		return err
	}
	if err := s.ended(ctx, tx, accountID, 0); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// EndSession ends what Stead's own applications were given in a session of the account, in tx.
func (s *Service) EndSession(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	if err := endGrantsOfSession(ctx, tx, accountID, session, "account"); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// EndOtherSessions is EndSession for all sessions of the account but one, or all when that is 0.
func (s *Service) EndOtherSessions(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	if err := endGrantsOfOtherSessions(ctx, tx, accountID, session, "account"); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// useInterval is how often Run writes down which grants were used.
const useInterval = 15 * time.Second

// Run writes down what was used until ctx ends, and once more then.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			s.flush(last)
			return
		case <-tick.C:
			s.flush(ctx)
		}
	}
}

// flush writes the noted uses. Losing them harms nobody, so an error is logged.
func (s *Service) flush(ctx context.Context) {
	noted := s.uses.take()
	if len(noted) == 0 {
		return
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, u := range noted {
			if err := noteUse(ctx, tx, u.grantID, u.at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Log.WarnContext(ctx, "oauth: cannot note the last use of tokens", "error", err)
	}
}

package oauth

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
)

// Lifetimes. Those of access and refresh tokens are the specification's.
const (
	AccessLife  = 15 * 24 * time.Hour
	RefreshLife = 30 * 24 * time.Hour
	// PipelineLife is that of an access token of PipelineClientID, which has no refresh token.
	PipelineLife = 365 * 24 * time.Hour
	// CodeLife is short: the application exchanges a code at once.
	CodeLife = 2 * time.Minute
	// DefaultRefreshGrace is how long the answer to a refresh can be repeated while its tokens are not used.
	DefaultRefreshGrace = 10 * time.Second
)

// Prefixes tell people and secret scanners what they have found.
const (
	accessPrefix  = "sta_"
	refreshPrefix = "str_"
	codePrefix    = "stc_"
	tokenBytes    = 32
)

// Holder is the part of an account that a token's principal needs.
type Holder struct {
	// Locale and Currency are the display preferences.
	Locale, Currency string
	// Role is that of a member of staff; customers have none. TwoFactor says that nobody signs in without a second factor.
	Role      auth.Role
	TwoFactor bool
	// Suspended accounts' tokens are refused.
	Suspended bool
}

// Accounts looks up accounts and their browser sessions. Both methods return an error that is fault.NotFound when there is none.
type Accounts interface {
	Holder(ctx context.Context, q db.Querier, accountID int64) (Holder, error)
	// SessionEnd is when a session of the account that is alive now ends at the latest.
	SessionEnd(ctx context.Context, q db.Querier, accountID, sessionID int64, now time.Time) (time.Time, error)
}

// AccountTopic is the account section's signal that data of a Holder has changed; its payload is the account's id in
// decimal.
const AccountTopic = "account"

// topic is the signal of this section's own changes: "grant/7" and the like.
const topic = "oauth"

// Config of a Service. All fields are required unless said otherwise.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	Hub   *signal.Hub
	// Box encrypts the answers kept for the grace period.
	Box      *secret.Box
	Accounts Accounts
	// BaseURL is the issuer: the address of this server, without a slash at
	// its end.
	BaseURL string
	// RefreshGrace is how long the answer to a refresh can be repeated; 0 means DefaultRefreshGrace, a negative value
	// never.
	RefreshGrace time.Duration
	// Remembered bounds the tokens that Verify keeps in memory; 0 means 10,000.
	Remembered int
	Log        *slog.Logger
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	// Endings are called in their order.
	Endings []Ending
}

// Service is the authorization server.
type Service struct {
	Config
	Needs
	cache *cache
	known callers
	uses  uses
}

// New makes a service; its Run records the uses of tokens.
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
			if kind == refApplication {
				s.known.forget(n)
			}
		}
	})
	c.Hub.Subscribe(AccountTopic, func(payload string) {
		if n, err := strconv.ParseInt(payload, 10, 64); err == nil {
			s.cache.forget(ref{refAccount, n})
		}
	})
	return s
}

// tell makes every replica drop its cache entries of r, after tx commits.
func (s *Service) tell(ctx context.Context, tx *db.Tx, r ref) error {
	return s.Hub.Send(ctx, tx, topic, r.kind+"/"+strconv.FormatInt(r.id, 10))
}

// Ending is called when an application may not act for an account any more, in the transaction that ends it. 0 stands
// for all of the account's applications, or for all of the application's accounts.
type Ending func(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error

// ended calls the Endings.
func (s *Service) ended(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error {
	for _, ending := range s.Endings {
		if err := ending(ctx, tx, accountID, applicationID); err != nil {
			return err
		}
	}
	return nil
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// outlived reports whether the session has ended that a grant ends with, by whatever: signing out, its age, or lack of use. ends is
// when it will end at the latest, or the zero time for a grant without a session.
func (s *Service) outlived(ctx context.Context, q db.Querier, accountID int64, session *int64, now time.Time) (ends time.Time, gone bool, err error) {
	if session == nil {
		return time.Time{}, false, nil
	}
	ends, err = s.Accounts.SessionEnd(ctx, q, accountID, *session, now)
	if errors.Is(err, fault.NotFound) {
		return time.Time{}, true, nil
	}
	return ends, false, err
}

// end ends a grant and all its tokens.
func (s *Service) end(ctx context.Context, tx *db.Tx, grantID int64, reason string) error {
	if err := endGrant(ctx, tx, grantID, reason); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refGrant, grantID})
}

// EndAll ends all grants of an account in tx, when its owner or the operator wants no application to act for it.
// Consents stay.
func (s *Service) EndAll(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := endGrantsOfAccount(ctx, tx, accountID, "account"); err != nil {
		return err
	}
	if err := s.ended(ctx, tx, accountID, 0); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// EndSession ends, in tx, the grants that Stead's own applications got in a session of the account.
func (s *Service) EndSession(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	if err := endGrantsOfSession(ctx, tx, accountID, session, "account"); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// EndOtherSessions is EndSession for all sessions of the account except one, or all when that is 0.
func (s *Service) EndOtherSessions(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	if err := endGrantsOfOtherSessions(ctx, tx, accountID, session, "account"); err != nil {
		return err
	}
	return s.tell(ctx, tx, ref{refAccount, accountID})
}

// useInterval is how often Run writes the recorded uses.
const useInterval = 15 * time.Second

// Run writes recorded uses until ctx ends, and once more at the end.
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

// flush writes the recorded uses. Losing them is harmless, so an error is only logged.
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

package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// Topic is the signal that an account changed in a way that others may have cached: suspension, role, preferences,
// password. The payload is the account's id in decimal.
const Topic = "account"

// Signaller sends messages to every replica (signal.Hub).
type Signaller interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
}

// Grants are the tokens by which applications act for the account. Those that Stead's own applications got in a session without a
// consent end with it.
type Grants interface {
	// EndAll ends every token of the account, in tx.
	EndAll(ctx context.Context, tx *db.Tx, accountID int64) error
	SessionBound
}

// SessionBound is what a browser got in a session and may not keep afterwards.
type SessionBound interface {
	// EndSession ends, in tx, what was given in a session.
	EndSession(ctx context.Context, tx *db.Tx, accountID, sessionID int64) error
	// EndOtherSessions ends what was given in all sessions except one, or in all when that is 0.
	EndOtherSessions(ctx context.Context, tx *db.Tx, accountID, sessionID int64) error
}

// Referrals records customers who were referred by others.
type Referrals interface {
	// Referred records that a new account came with a referral code. An unknown code is no error.
	Referred(ctx context.Context, tx *db.Tx, accountID int64, code string) error
}

// Limits bound attempts; a policy with Limit 0 sets no bound.
type Limits struct {
	// SignInDevice counts the passwords that a browser tries which has signed in to the account before. What others do
	// never counts for it.
	SignInDevice throttle.Policy
	// SignInPair counts those of other browsers, per address and account, and SignInAddress per address.
	SignInPair, SignInAddress throttle.Policy
	// SignInAccount counts those of all other browsers for an account. Above it, SignInAttacked takes the place of SignInPair.
	SignInAccount, SignInAttacked throttle.Policy
	// SignInSlow is what the policies of passwords allow beyond their number: nobody is locked out, attempts are slowed down.
	SignInSlow throttle.Policy
	// SecondFactor counts codes of a signed-in session, and of a browser and an address from which both factors were proved.
	SecondFactor throttle.Policy
	// SecondFactorPair counts those of other browsers, per address and account, and SecondFactorSlow is what it allows beyond
	// its number.
	SecondFactorPair, SecondFactorSlow throttle.Policy
	// SecondFactorAccount counts those of all other browsers for an account. A code is right with a probability of 3 in a
	// million, because the codes of three steps are valid. So 100 guesses a day find one with 0.03 % a day, and with 50 %
	// after 2,300 days (ln 2 / 0.0003) of guessing with a password that its owner does not change. One address makes up to
	// 10 + 24 guesses a day, so it cannot use up those of all.
	SecondFactorAccount throttle.Policy
	// RegisterAddress and RecoverAddress count per address.
	RegisterAddress, RecoverAddress throttle.Policy
	// MailAccount counts the mails that anybody can trigger to one address.
	MailAccount throttle.Policy
}

// DefaultLimits allow people to mistype and stop bots.
func DefaultLimits() Limits {
	return Limits{
		SignInDevice:   throttle.Policy{Name: "sign_in_device", Limit: 20, Window: 15 * time.Minute},
		SignInPair:     throttle.Policy{Name: "sign_in_pair", Limit: 10, Window: 15 * time.Minute},
		SignInAddress:  throttle.Policy{Name: "sign_in_address", Limit: 60, Window: 15 * time.Minute},
		SignInAccount:  throttle.Policy{Name: "sign_in_account", Limit: 50, Window: time.Hour},
		SignInAttacked: throttle.Policy{Name: "sign_in_attacked", Limit: 3, Window: 15 * time.Minute},
		SignInSlow:     throttle.Policy{Name: "slow", Limit: 1, Window: time.Minute},
		SecondFactor:   throttle.Policy{Name: "second_factor", Limit: 10, Window: 15 * time.Minute},

		SecondFactorPair:    throttle.Policy{Name: "second_factor_pair", Limit: 10, Window: 24 * time.Hour},
		SecondFactorSlow:    throttle.Policy{Name: "slow", Limit: 1, Window: time.Hour},
		SecondFactorAccount: throttle.Policy{Name: "second_factor_account", Limit: 100, Window: 24 * time.Hour},

		RegisterAddress: throttle.Policy{Name: "register_address", Limit: 30, Window: time.Hour},
		RecoverAddress:  throttle.Policy{Name: "recover_address", Limit: 20, Window: time.Hour},
		MailAccount:     throttle.Policy{Name: "account_mail", Limit: 5, Window: time.Hour},
	}
}

// Config of a Service. All fields are required unless said otherwise.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Box     *secret.Box
	Queue   jobs.Enqueuer
	Signals Signaller
	Limiter throttle.Limiter
	Mailer  mailer.Mailer
	Modules Modules
	Limits  Limits
	// BaseURL is the address of the pages; links in mails begin with it, and
	// passkeys are bound to its host.
	BaseURL string
	// Brand is named in mails, authenticator apps and passkeys.
	Brand   brand.Source
	Letters *mailer.Writer
	// Language and Currency of new accounts that name none.
	Language, Currency string
	// Log has a line for each failed sign-in, for programs that shut addresses out.
	Log *slog.Logger
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Grants Grants
	// Pushes are the browsers that notifications are pushed to.
	Pushes    SessionBound
	Referrals Referrals
}

// NoGrants is the Grants of who issues no tokens, and the SessionBound of who gives nothing to sessions.
type NoGrants struct{}

// EndAll implements Grants.
func (NoGrants) EndAll(context.Context, *db.Tx, int64) error { return nil }

// EndSession implements Grants.
func (NoGrants) EndSession(context.Context, *db.Tx, int64, int64) error { return nil }

// EndOtherSessions implements Grants.
func (NoGrants) EndOtherSessions(context.Context, *db.Tx, int64, int64) error { return nil }

// NoReferrals is the Referrals of who rewards nobody.
type NoReferrals struct{}

// Referred implements Referrals.
func (NoReferrals) Referred(context.Context, *db.Tx, int64, string) error { return nil }

// Service is the use cases of this section.
type Service struct {
	Config
	Needs
	passwords *hasher
	failures  failures
	web       *webauthn.WebAuthn
	forget    []func(ctx context.Context, tx *db.Tx, accountID int64) error
	obstacles []func(ctx context.Context, q db.Querier, accountID int64) ([]module.Obstacle, error)
}

// New makes a service. Connect comes before its use.
func New(c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Hostname() == "" {
		return nil, fmt.Errorf("account: the base URL %q has no host", c.BaseURL)
	}
	web, err := newWebAuthn(c.Brand().Name, base)
	if err != nil {
		return nil, fmt.Errorf("account: passkeys: %w", err)
	}
	return &Service{Config: c, passwords: newHasher(max(2, runtime.NumCPU()), argonParams), web: web}, nil
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Profile reads an account.
func (s *Service) Profile(ctx context.Context, q db.Querier, id int64) (Profile, error) {
	return profile(ctx, q, id)
}

// Profiles reads several accounts.
func (s *Service) Profiles(ctx context.Context, q db.Querier, ids []int64) ([]Profile, error) {
	return profiles(ctx, q, ids)
}

// Update changes the visible data of an account; nil keeps a member.
type Update struct {
	Name, Locale, Currency *string
}

// Update changes the profile and returns it.
func (s *Service) Update(ctx context.Context, id int64, u Update) (p Profile, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err = s.UpdateIn(ctx, tx, id, u)
		return err
	})
	return p, err
}

// UpdateIn is Update inside a larger transaction.
func (s *Service) UpdateIn(ctx context.Context, tx *db.Tx, id int64, u Update) (p Profile, err error) {
	if u.Name != nil {
		name, err := checkName(*u.Name)
		if err != nil {
			return p, err
		}
		u.Name = &name
	}
	if u.Locale != nil {
		if err := checkLocale(*u.Locale); err != nil {
			return p, err
		}
	}
	if u.Currency != nil {
		currency, err := checkCurrency(*u.Currency)
		if err != nil {
			return p, err
		}
		u.Currency = &currency
	}
	if err := lockUser(ctx, tx, id); err != nil {
		return p, err
	}
	if p, err = profile(ctx, tx, id); err != nil {
		return p, err
	}
	if u.Name != nil {
		p.Name = *u.Name
	}
	if u.Locale != nil {
		p.Locale = *u.Locale
	}
	if u.Currency != nil {
		p.Currency = *u.Currency
	}
	if err := setName(ctx, tx, id, p.Name); err != nil {
		return p, err
	}
	if err := setPreferences(ctx, tx, id, p.Locale, p.Currency); err != nil {
		return p, err
	}
	return p, s.signal(ctx, tx, id)
}

func (s *Service) signal(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Signals.Send(ctx, tx, Topic, strconv.FormatInt(id, 10))
}

// limit counts an attempt and refuses one above the policy.
func (s *Service) limit(ctx context.Context, key string, p throttle.Policy) error {
	if p.Limit <= 0 {
		return nil
	}
	r, err := s.Limiter.Take(ctx, key, p)
	if err != nil {
		return err
	}
	if !r.Allowed {
		return fault.RateLimited.With(fault.Fields{"retry_after": int(r.Reset/time.Second) + 1})
	}
	return nil
}

// pace counts an attempt to guess a password. Above the policy only one passes now and then: an attempt is never refused for
// longer than that.
func (s *Service) pace(ctx context.Context, key string, p throttle.Policy) error {
	return s.paceBy(ctx, key, p, s.Limits.SignInSlow)
}

// paceBy is pace with the policy for what comes above p.
func (s *Service) paceBy(ctx context.Context, key string, p, slow throttle.Policy) error {
	err := s.limit(ctx, key, p)
	if !errors.Is(err, fault.RateLimited) || slow.Limit <= 0 {
		return err
	}
	slow.Name = p.Name + "_" + slow.Name
	return s.limit(ctx, key, slow)
}

// Authenticate finds the session of a browser's token. It reads the database each time, so a session that ended
// anywhere has ended here.
func (s *Service) Authenticate(ctx context.Context, token string) (Session, error) {
	now := s.Clock.Now()
	session, err := sessionByToken(ctx, s.DB, secret.Hash(token), now)
	return s.admit(ctx, session, err, now)
}

// AuthenticateAgain finds an authenticated session unless it has ended since. It looks up the id, because reauthentication
// changes the token.
func (s *Service) AuthenticateAgain(ctx context.Context, session Session) (Session, error) {
	now := s.Clock.Now()
	session, err := sessionByID(ctx, s.DB, session.Account.ID, session.ID, now)
	return s.admit(ctx, session, err, now)
}

// admit completes a session that was looked up with err, unless its account or that of who acts is shut, and notes its use.
func (s *Service) admit(ctx context.Context, session Session, err error, now time.Time) (Session, error) {
	if errors.Is(err, fault.NotFound) {
		return Session{}, fault.Unauthenticated.Wrap(err)
	}
	if err != nil {
		return Session{}, err
	}
	if session.Account, err = profile(ctx, s.DB, session.Account.ID); err != nil {
		return Session{}, err
	}
	if !session.Account.Open() {
		return Session{}, fault.Unauthenticated.New()
	}
	if session.ActingID != 0 { // until the member of staff is one no longer
		member, err := profile(ctx, s.DB, session.ActingID)
		if err != nil {
			return Session{}, err
		}
		if !member.Open() || member.Role == "" {
			return Session{}, fault.Unauthenticated.New()
		}
	}
	if now.Sub(session.LastSeenAt) >= seenEvery && !auth.IsUnattended(ctx) {
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return touchSession(ctx, tx, session.ID) })
	}
	return session, err
}

// callers finds the session of the browser that calls an operation, and what is known of the browser.
func (s *Service) callers(ctx context.Context, p auth.Principal) (session Session, c Client, err error) {
	session, err = sessionByID(ctx, s.DB, p.AccountID, p.SessionID, s.Clock.Now())
	if errors.Is(err, fault.NotFound) {
		return session, c, fault.Unauthenticated.Wrap(err)
	}
	if err == nil {
		session.Account, err = profile(ctx, s.DB, p.AccountID)
	}
	caller := auth.CallerOf(ctx)
	return session, Client{Address: caller.Address, UserAgent: caller.UserAgent}, err
}

// Sessions lists the account's sessions, the latest use first.
func (s *Service) Sessions(ctx context.Context, account int64, p page.Params) (*page.List[Session], error) {
	rows, total, err := listSessions(ctx, s.DB, account, s.Clock.Now(), p)
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}

// SessionEnd is when a session of the account that is alive now ends at the latest; fault.NotFound when it has ended, expired, or
// was not used for too long.
func (s *Service) SessionEnd(ctx context.Context, q db.Querier, account, id int64, now time.Time) (time.Time, error) {
	session, err := sessionByID(ctx, q, account, id, now)
	return session.ExpiresAt, err
}

// EndSession signs one browser of the account out. A member of staff may have begun to act as customers in it, so that ends too.
func (s *Service) EndSession(ctx context.Context, account, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := endSession(ctx, tx, account, id); err != nil {
			return err
		}
		if err := endActing(ctx, tx, account); err != nil {
			return err
		}
		return s.endGiven(ctx, tx, account, id)
	})
}

// EndOtherSessions signs out all browsers of the account except the given one.
func (s *Service) EndOtherSessions(ctx context.Context, session Session) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.endSessions(ctx, tx, session.Account.ID, session.ID)
	})
}

// endGiven ends what was given in a session.
func (s *Service) endGiven(ctx context.Context, tx *db.Tx, account, session int64) error {
	if err := s.Grants.EndSession(ctx, tx, account, session); err != nil {
		return err
	}
	return s.Pushes.EndSession(ctx, tx, account, session)
}

// endSessions ends all sessions of the account except one, or all when that is 0, and the grants given in them.
func (s *Service) endSessions(ctx context.Context, tx *db.Tx, account, except int64) error {
	if err := endSessions(ctx, tx, account, except); err != nil {
		return err
	}
	if err := s.Grants.EndOtherSessions(ctx, tx, account, except); err != nil {
		return err
	}
	return s.Pushes.EndOtherSessions(ctx, tx, account, except)
}

// SignOut ends the session of a token, if there is one, and those in which its member of staff acts as others.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		account, id, err := endSessionByToken(ctx, tx, secret.Hash(token))
		if err != nil || id == 0 {
			return err
		}
		if err := endActing(ctx, tx, account); err != nil {
			return err
		}
		return s.endGiven(ctx, tx, account, id)
	})
}

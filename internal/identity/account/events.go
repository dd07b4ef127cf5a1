package account

import (
	"context"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// EventKind is what the security log of an account records; its text is account.event.<kind>.
type EventKind string

// The kinds of events.
const (
	EventSignedIn           EventKind = "signed_in"
	EventSignInFailed       EventKind = "sign_in_failed"
	EventCodeFailed         EventKind = "code_failed"
	EventPasskeyFailed      EventKind = "passkey_failed"
	EventPasswordChanged    EventKind = "password_changed"
	EventTwoFactorOn        EventKind = "two_factor_on"
	EventTwoFactorOff       EventKind = "two_factor_off"
	EventCodesRenewed       EventKind = "codes_renewed"
	EventRecoveryCodeUsed   EventKind = "recovery_code_used"
	EventPasskeyAdded       EventKind = "passkey_added"
	EventPasskeyRemoved     EventKind = "passkey_removed"
	EventAddressConfirmed   EventKind = "address_confirmed"
	EventApplicationAllowed EventKind = "application_allowed"
	EventApplicationRemoved EventKind = "application_removed"
	EventKeyCreated         EventKind = "key_created"
	EventStaffSignedIn      EventKind = "staff_signed_in"
	EventKeyRevoked         EventKind = "key_revoked"
	EventSSHKeyAdded        EventKind = "ssh_key_added"
	EventSSHKeyRemoved      EventKind = "ssh_key_removed"
	EventFTPAccountAdded    EventKind = "ftp_account_added"
	EventExportRequested    EventKind = "export_requested"
	EventExportDownloaded   EventKind = "export_downloaded"
)

// Event is a row of an account's security log.
type Event struct {
	ID        int64
	Kind      EventKind
	Address   string
	UserAgent string
	// Times is how often it happened between CreatedAt and LastAt: equal failures within an hour are one row.
	Times             int64
	CreatedAt, LastAt time.Time
}

// keepEvents is how long the security log goes back.
const keepEvents = 180 * 24 * time.Hour

// Events reads a page of the account's security log, the newest first.
func (s *Service) Events(ctx context.Context, account int64, p page.Params) (*page.List[Event], error) {
	rows, total, err := listEvents(ctx, s.DB, account, p)
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}

// Note records what another section did for the account.
func (s *Service) Note(ctx context.Context, account int64, kind EventKind, c Client) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return insertEvent(ctx, tx, account, kind, c, 1, tx.Now, tx.Now)
	})
}

// Noted records what the caller of the request did for the account, in the transaction of the change.
func (s *Service) Noted(ctx context.Context, tx *db.Tx, account int64, kind EventKind) error {
	c := auth.CallerOf(ctx)
	return s.note(ctx, tx, account, kind, Client{Address: c.Address, UserAgent: c.UserAgent})
}

// ApplicationEnded records that the account's owner has disconnected an application. Without an account or an application it is
// about several, which somebody else ended.
func (s *Service) ApplicationEnded(ctx context.Context, tx *db.Tx, account, application int64) error {
	if account == 0 || application == 0 {
		return nil
	}
	return s.Noted(ctx, tx, account, EventApplicationRemoved)
}

// SSHKeyAdded records a new way into one of the account's services.
func (s *Service) SSHKeyAdded(ctx context.Context, tx *db.Tx, account int64) error {
	return s.Noted(ctx, tx, account, EventSSHKeyAdded)
}

// SSHKeyRemoved records that a way into one of the account's services was closed.
func (s *Service) SSHKeyRemoved(ctx context.Context, tx *db.Tx, account int64) error {
	return s.Noted(ctx, tx, account, EventSSHKeyRemoved)
}

// FTPAccountAdded records a new way into one of the account's services.
func (s *Service) FTPAccountAdded(ctx context.Context, tx *db.Tx, account int64) error {
	return s.Noted(ctx, tx, account, EventFTPAccountAdded)
}

// note records an event in the transaction that it belongs to.
func (s *Service) note(ctx context.Context, tx *db.Tx, account int64, kind EventKind, c Client) error {
	return insertEvent(ctx, tx, account, kind, c, 1, tx.Now, tx.Now)
}

// failed records a failed attempt: as a line in the log, which programs such as fail2ban read, and in the account's security
// log, if there is an account (0: none). Run writes the latter afterwards, so that the answer takes as long without one.
func (s *Service) failed(ctx context.Context, account int64, kind EventKind, reason string, c Client) {
	s.Log.WarnContext(ctx, "sign-in failed", "address", c.address(), "step", string(kind), "reason", reason)
	if account != 0 {
		s.failures.add(failure{account, kind, c.address(), c.userAgent()}, s.Clock.Now())
	}
}

// failure is a kind of failed attempts that are counted together.
type failure struct {
	account            int64
	kind               EventKind
	address, userAgent string
}

type tally struct {
	times       int64
	first, last time.Time
}

// failures collects failed attempts until they are written.
type failures struct {
	mu  sync.Mutex
	all map[failure]tally
}

// mostFailures bounds the memory that attackers can fill between two writes.
const mostFailures = 10_000

func (f *failures) add(what failure, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, known := f.all[what]
	switch {
	case !known && len(f.all) >= mostFailures:
		return
	case !known:
		t.first = now
	}
	if f.all == nil {
		f.all = map[failure]tally{}
	}
	t.times, t.last = t.times+1, now
	f.all[what] = t
}

func (f *failures) take() map[failure]tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	f.all = nil
	return all
}

// failuresEvery is how often Run writes failed attempts.
const failuresEvery = 5 * time.Second

// Run writes failed attempts until ctx ends, and once more at the end.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(failuresEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), failuresEvery)
			defer cancel()
			s.writeFailures(last)
			return
		case <-tick.C:
			s.writeFailures(ctx)
		}
	}
}

// writeFailures writes the failed attempts that were collected. Losing them is harmless, so an error is only logged.
func (s *Service) writeFailures(ctx context.Context) {
	all := s.failures.take()
	if len(all) == 0 {
		return
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for what, t := range all {
			if err := mergeEvent(ctx, tx, what, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "cannot record failed sign-ins", "error", err)
	}
}

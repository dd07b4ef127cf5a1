package devices

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/push"
)

// Notices finds notifications.
type Notices interface {
	// Notice reads one in a language; false when it no longer exists.
	Notice(ctx context.Context, q db.Querier, id int64, locale string) (Notice, bool, error)
}

// Config configures the section; all fields are required.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Queue   jobs.Enqueuer
	Box     *secret.Box
	Notices Notices
}

// Service is the section's use cases.
type Service struct {
	Config
	senders map[Platform]push.Sender
	// sending bounds the concurrent pushes of an account.
	sending semaphore.Keyed[int64]
}

// New makes the section.
func New(c Config) *Service {
	return &Service{Config: c, senders: map[Platform]push.Sender{}, sending: semaphore.Keyed[int64]{Each: mostSending}}
}

// SetSender sets the push service of a platform. Devices of a platform without one are kept.
func (s *Service) SetSender(p Platform, to push.Sender) { s.senders[p] = to }

// registration is what an application reports about its device.
type registration struct {
	applicationID, sessionID        int64
	platform                        Platform
	token, name, locale, appVersion string
}

// register assigns the device with that token to the account, or records that it was seen; fresh says that it is new.
func (s *Service) register(ctx context.Context, accountID int64, r registration) (d device, fresh bool, err error) {
	if to := s.senders[r.platform]; to != nil {
		if r.token, err = to.Canonical(r.token); err != nil {
			return d, false, fault.Invalid("token", "device_token")
		}
	}
	hash := secret.Hash(r.token)
	sealed, err := s.Box.Seal([]byte(r.token), sealedAt(hash))
	if err != nil {
		return d, false, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		d, fresh, err = upsert(ctx, tx, device{
			accountID: accountID, applicationID: r.applicationID, sessionID: r.sessionID, platform: r.platform, hash: hash, token: sealed, name: r.name, locale: r.locale,
			appVersion: r.appVersion, lastSeenAt: tx.Now, createdAt: tx.Now,
		})
		if err != nil {
			return err
		}
		return trim(ctx, tx, accountID, d.id, maxDevices)
	})
	return d, fresh, err
}

// remove deletes the account's device with the token, of any platform.
func (s *Service) remove(ctx context.Context, accountID int64, token string) error {
	written := []string{token}
	for _, to := range s.senders {
		if canonical, err := to.Canonical(token); err == nil && canonical != token {
			written = append(written, canonical)
		}
	}
	return s.forget(ctx, func(ctx context.Context, tx *db.Tx) (found bool, err error) {
		for _, t := range written {
			one, err := removeByToken(ctx, tx, accountID, secret.Hash(t))
			if err != nil {
				return false, err
			}
			found = found || one
		}
		return found, nil
	})
}

// removeByID deletes the account's device by its id.
func (s *Service) removeByID(ctx context.Context, accountID, id int64) error {
	return s.forget(ctx, func(ctx context.Context, tx *db.Tx) (bool, error) { return removeByID(ctx, tx, accountID, id) })
}

func (s *Service) forget(ctx context.Context, f func(context.Context, *db.Tx) (bool, error)) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := f(ctx, tx)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// Ended deletes, in tx, what an application has registered that may not act for the account any more. 0 stands for all
// of the account's applications, or for all of the application's accounts.
func (s *Service) Ended(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error {
	switch {
	case applicationID == 0:
		return removeOfAccount(ctx, tx, accountID)
	case accountID == 0:
		return removeOfApplication(ctx, tx, applicationID)
	default:
		return removeOfConnection(ctx, tx, accountID, applicationID)
	}
}

// EndSession deletes, in tx, the browsers that registered themselves in a session of the account.
func (s *Service) EndSession(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	return removeOfSession(ctx, tx, accountID, session)
}

// EndOtherSessions is EndSession for all sessions of the account except one, or all when that is 0.
func (s *Service) EndOtherSessions(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	return removeOfOtherSessions(ctx, tx, accountID, session)
}

// Announce pushes a new notification to the account's devices, after the transaction that creates it.
func (s *Service) Announce(ctx context.Context, tx *db.Tx, accountID, notificationID int64) error {
	devices, err := ofAccount(ctx, tx, accountID)
	if err != nil {
		return err
	}
	for _, d := range devices {
		if s.senders[d.platform] == nil {
			continue
		}
		if err := s.enqueue(ctx, tx, pushArgs{DeviceID: d.id, NotificationID: notificationID}); err != nil {
			return err
		}
	}
	return nil
}

// Send sends a message to all devices of an account at once, and tells how many took it. An error means that one of them may
// take it later. Devices that are gone are deleted. A browser's endpoint may hang, so ctx should have a deadline.
func (s *Service) Send(ctx context.Context, accountID int64, m push.Message) (took int, err error) {
	all, err := ofAccount(ctx, s.DB, accountID)
	if err != nil {
		return 0, err
	}
	results := make([]error, len(all))
	atonce.Each(len(all), pushesAtOnce, func(i int) { results[i] = s.pushTo(ctx, all[i], m) })
	for _, one := range results {
		switch {
		case one == nil:
			took++
		case !errors.Is(one, errNotTaken):
			err = errors.Join(err, one)
		}
	}
	return took, err
}

// pushesAtOnce is how many devices of an account Send sends to at a time.
const pushesAtOnce = 8

// errNotTaken says that a device will not take a message, now or later.
var errNotTaken = errors.New("devices: the device takes no such message")

func (s *Service) pushTo(ctx context.Context, d device, m push.Message) error {
	to := s.senders[d.platform]
	if to == nil {
		return errNotTaken
	}
	token, err := s.Box.Open(d.token, sealedAt(d.hash))
	if err != nil {
		return fmt.Errorf("devices: token of device %d: %w", d.id, err)
	}
	err = to.Send(ctx, string(token), m)
	switch {
	case errors.Is(err, push.ErrGone):
		if err := s.delete(ctx, d); err != nil {
			return err
		}
		return errNotTaken
	case errors.Is(err, push.ErrRejected):
		return errNotTaken
	}
	return err
}

// delete removes a device that its push service reports as gone.
func (s *Service) delete(ctx context.Context, d device) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := removeByID(ctx, tx, d.accountID, d.id)
		return err
	})
}

// push pushes a notification to a device, unless there is no more reason to. It returns how long a busy push service
// asks to wait.
func (s *Service) push(ctx context.Context, deviceID, notificationID int64) (pause time.Duration, err error) {
	d, err := get(ctx, s.DB, deviceID)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, found, err := s.Notices.Notice(ctx, s.DB, notificationID, d.locale)
	if err != nil {
		return 0, err
	}
	left := n.CreatedAt.Add(fresh).Sub(s.Clock.Now())
	to := s.senders[d.platform]
	if !found || !n.Wanted || n.AccountID != d.accountID || left <= 0 || to == nil {
		return 0, nil
	}
	token, err := s.Box.Open(d.token, sealedAt(d.hash))
	if err != nil {
		return 0, fmt.Errorf("devices: token of device %d: %w", d.id, err)
	}
	// A browser's endpoint can be any server, and may hang: it delays pushes of its own account only.
	sent, ok := s.sending.Acquire(d.accountID)
	if !ok {
		return sendingPause, nil
	}
	defer sent()
	err = to.Send(ctx, string(token), push.Message{
		ID: "notification-" + strconv.FormatInt(notificationID, 10), Kind: n.Kind, Title: n.Title, Body: n.Body, Link: n.Link,
		Urgency: n.Urgency, TTL: left,
	})
	var busy *push.Busy
	switch {
	case errors.As(err, &busy):
		return max(busy.After, leastPause), nil
	case errors.Is(err, push.ErrGone):
		return 0, s.delete(ctx, d)
	case errors.Is(err, push.ErrRejected):
		return 0, jobs.Cancel(err)
	}
	return 0, err
}

const (
	// mostSending bounds the concurrent pushes of an account in this process: an eighth of the total.
	mostSending = 8
	// sendingPause is the delay of a push above that bound.
	sendingPause = 5 * time.Second
)

// leastPause is the pause for services that do not say how long they are busy.
const leastPause = 30 * time.Second

// Clean deletes devices that were not seen for long. A periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return clean(ctx, tx, tx.Now.Add(-retention)) })
}

// Keys is the key pair for browser subscriptions. The first caller in any process creates it.
func (s *Service) Keys(ctx context.Context) (k push.Keys, err error) {
	public, sealed, err := readKeys(ctx, s.DB)
	if errors.Is(err, db.ErrNoRows) {
		public, sealed, err = s.makeKeys(ctx)
	}
	if err != nil {
		return k, fmt.Errorf("devices: keys: %w", err)
	}
	private, err := s.Box.Open(sealed, []byte(keysPlace))
	if err != nil {
		return k, fmt.Errorf("devices: keys: %w", err)
	}
	return push.Keys{Public: public, Private: string(private)}, nil
}

const keysPlace = "devices_keys/1/private_key"

func (s *Service) makeKeys(ctx context.Context) (public string, sealed []byte, err error) {
	pair, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	text := base64.RawURLEncoding.EncodeToString
	if sealed, err = s.Box.Seal([]byte(text(pair.Bytes())), []byte(keysPlace)); err != nil {
		return "", nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The first insert wins.
		if err := insertKeys(ctx, tx, text(pair.PublicKey().Bytes()), sealed); err != nil {
			return err
		}
		public, sealed, err = readKeys(ctx, tx)
		return err
	})
	return public, sealed, err
}

// sealedAt is the additional data with which a device's token is sealed.
func sealedAt(hash []byte) []byte { return []byte("devices/" + hex.EncodeToString(hash) + "/token") }

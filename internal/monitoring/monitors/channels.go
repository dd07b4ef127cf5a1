package monitors

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
)

// channelWish is what an owner wants of a channel; nil leaves a member as it is.
type channelWish struct {
	name, events      *string
	delayS, reminderS *int
}

func (w channelWish) apply(c *channel) error {
	set(&c.name, w.name)
	set(&c.events, w.events)
	set(&c.delayS, w.delayS)
	set(&c.reminderS, w.reminderS)
	if c.name = strings.TrimSpace(c.name); !plain(c.name, maxName) {
		return fault.Invalid("name", "characters")
	}
	return nil
}

// testsAllowed bounds what an account can have sent to addresses that it only says are its own.
var testsAllowed = throttle.Policy{Name: "alert_channel", Limit: 20, Window: time.Hour}

// mayTest counts a message that was asked for.
func (s *Service) mayTest(ctx context.Context, accountID int64) error {
	r, err := s.Limiter.Take(ctx, "alert_channel:"+strconv.FormatInt(accountID, 10), testsAllowed)
	if err == nil && !r.Allowed {
		err = fault.RateLimited.New()
	}
	return err
}

// addChannel makes a channel and sends it the code that proves that its owner reads it, but for the account's own devices.
// shown is the secret of a webhook.
func (s *Service) addChannel(ctx context.Context, accountID int64, typ channelType, a address, w channelWish) (c channel, shown string, err error) {
	if err := a.check(typ, s.AllowLoopback); err != nil {
		return c, "", err
	}
	if err := s.mayTest(ctx, accountID); err != nil {
		return c, "", err
	}
	if typ == byWebhook {
		b := make([]byte, 32)
		_, _ = rand.Read(b) // never fails
		shown = "whsec_" + base64.StdEncoding.EncodeToString(b)
		a.Secret = shown
	}
	code := newCode()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c = channel{accountID: accountID, typ: typ, name: a.mask(typ), hint: a.mask(typ), events: "up_down", createdAt: tx.Now}
		if err := w.apply(&c); err != nil {
			return err
		}
		if c.id, err = insertChannel(ctx, tx, c); err != nil {
			return err
		}
		others, err := channelsOf(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if typ == byPush && slices.ContainsFunc(others, func(o channel) bool { return o.typ == byPush && o.id != c.id }) {
			return fault.AlreadyExists.New()
		}
		if len(others) > maxAccountChannels {
			return fault.LimitReached.With(fault.Fields{"limit": "alert_channels", "maximum": maxAccountChannels})
		}
		sealed, err := json.Marshal(a) //nolint:gosec // it is sealed before it is stored
		if err == nil {
			c.target, err = s.Box.Seal(sealed, channelSealedAt(c.id))
		}
		if err != nil {
			return err
		}
		if c.setCode(code, tx.Now); typ == byPush { // whoever has registered a device reads it
			c.verifiedAt, c.codeHash, c.codeExpiresAt = &tx.Now, nil, nil
		}
		return putChannel(ctx, tx, c)
	})
	if err == nil && typ != byPush {
		err = s.sendCode(ctx, c, code)
	}
	return c, shown, err
}

// setCode gives a channel a code that proves for a while that its owner reads it.
func (c *channel) setCode(code string, now time.Time) {
	until := now.Add(codeFor)
	c.codeHash, c.codeExpiresAt, c.codeAttempts = secret.Hash(code), &until, 0
}

func newCode() string {
	n, err := rand.Int(rand.Reader, big.NewInt(100_000_000))
	if err != nil {
		panic(err) // never fails
	}
	return fmt.Sprintf("%08d", n)
}

// sendCode sends the code. That it does not arrive is no error of the operation: it can be sent again.
func (s *Service) sendCode(ctx context.Context, c channel, code string) error {
	locale, err := s.Owners.Locale(ctx, s.DB, c.accountID)
	if err != nil {
		return err
	}
	words := map[string]any{"Code": code, "Company": s.Brand().Name}
	key, err := s.send(ctx, c, message{
		id: "code_" + secret.Token("", 12), typ: "channel.code", at: s.Clock.Now(), code: code,
		text: i18n.T(locale, "monitor.alert.code", words), lang: locale, words: words,
	})
	if err != nil || key == "" {
		return err
	}
	return s.changeChannel(ctx, c.accountID, c.id, func(_ *db.Tx, c *channel) error { c.lastErrorKey = &key; return nil })
}

// changeChannel locks one of the account's channels and calls f.
func (s *Service) changeChannel(ctx context.Context, accountID, id int64, f func(tx *db.Tx, c *channel) error) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, err := channelOf(ctx, tx, accountID, id, tx.ForUpdate())
		if err != nil {
			return notFound(err)
		}
		if err := f(tx, &c); err != nil {
			return err
		}
		return putChannel(ctx, tx, c)
	})
}

func (s *Service) updateChannel(ctx context.Context, accountID, id int64, w channelWish) (out channel, err error) {
	err = s.changeChannel(ctx, accountID, id, func(_ *db.Tx, c *channel) error {
		err := w.apply(c)
		out = *c
		return err
	})
	return out, err
}

// verifyChannel takes the code. After a few wrong ones it needs another.
func (s *Service) verifyChannel(ctx context.Context, accountID, id int64, code string) (out channel, err error) {
	wrong := false
	err = s.changeChannel(ctx, accountID, id, func(tx *db.Tx, c *channel) error {
		wrong = false
		switch {
		case c.verifiedAt != nil:
		case c.codeHash == nil || tx.Now.After(*c.codeExpiresAt) || c.codeAttempts >= codeMost || !secret.Equal(c.codeHash, secret.Hash(code)):
			c.codeAttempts++
			wrong = true // it is counted, so the transaction commits
		default:
			c.verifiedAt, c.codeHash, c.codeExpiresAt = &tx.Now, nil, nil
		}
		out = *c
		return nil
	})
	if err == nil && wrong {
		err = fault.Invalid("code", "monitor_code")
	}
	return out, err
}

// testChannel sends a message at once: the code again to one that is not verified, and a test to one that is.
func (s *Service) testChannel(ctx context.Context, accountID, id int64) (out channel, err error) {
	if out, err = channelOf(ctx, s.DB, accountID, id, ""); err != nil {
		return out, notFound(err)
	}
	if err := s.mayTest(ctx, accountID); err != nil {
		return out, err
	}
	if out.verifiedAt == nil {
		code := newCode()
		if err := s.changeChannel(ctx, accountID, id, func(tx *db.Tx, c *channel) error { c.setCode(code, tx.Now); return nil }); err != nil {
			return out, err
		}
		if err := s.sendCode(ctx, out, code); err != nil {
			return out, err
		}
	} else {
		locale, err := s.Owners.Locale(ctx, s.DB, accountID)
		if err != nil {
			return out, err
		}
		words := map[string]any{"Company": s.Brand().Name}
		key, err := s.send(ctx, out, message{
			id: "test_" + secret.Token("", 12), typ: "channel.test", at: s.Clock.Now(), text: i18n.T(locale, "monitor.alert.test", words),
			lang: locale, words: words, page: s.BaseURL + "/panel/monitors",
		})
		if err != nil {
			return out, err
		}
		if err := s.changeChannel(ctx, accountID, id, func(_ *db.Tx, c *channel) error { c.lastErrorKey = db.OrNull(key); return nil }); err != nil {
			return out, err
		}
	}
	out, err = channelOf(ctx, s.DB, accountID, id, "")
	return out, notFound(err)
}

func (s *Service) removeChannel(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := deleteChannel(ctx, tx, accountID, id)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// ownChannels refuses channels that are not the account's.
func (s *Service) ownChannels(ctx context.Context, tx *db.Tx, accountID int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	all, err := channelsOf(ctx, tx, accountID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(c channel) bool { return c.id == id }) {
			return fault.Invalid("channels", "value")
		}
	}
	return nil
}

func (s *Service) openAddress(c channel) (a address, err error) {
	b, err := s.Box.Open(c.target, channelSealedAt(c.id))
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	return a, err
}

func channelSealedAt(id int64) []byte { return fmt.Appendf(nil, "monitors_channels/%d/target", id) }

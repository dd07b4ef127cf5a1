package monitors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/push"
	"stead.dev/stead/sdk/go/webhook"
)

// alarm writes the alerts of a transition, and tells whether the account's devices get one.
func (s *Service) alarm(ctx context.Context, tx *db.Tx, m *monitor, c change, outageID int64) (pushed bool, err error) {
	n := int64(0)
	var kind alertKind
	switch {
	case c.Began:
		kind, n = alertFlapping, c.At.Unix()
	case c.Settled:
		kind, n, outageID = alertSettled, c.At.Unix(), 0
	case c.Silent:
		return false, nil
	case c.To == Down:
		kind = alertDown
		if c.Again {
			n = c.At.Unix()
		}
	case c.To == Up && outageID != 0:
		kind = alertUp
	default:
		return false, nil
	}
	return s.alert(ctx, tx, m, kind, outageID, n, c.At)
}

// alert writes an alert for each channel of a monitor that wants it, and tells whether the account's devices are one of them.
func (s *Service) alert(ctx context.Context, tx *db.Tx, m *monitor, kind alertKind, outageID, n int64, since time.Time) (pushed bool, err error) {
	if len(m.settings.Channels) == 0 {
		return false, nil
	}
	all, err := channelsOf(ctx, tx, m.accountID)
	if err != nil {
		return false, err
	}
	data, err := m.alertData(since)
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if c.verifiedAt == nil || !slices.Contains(m.settings.Channels, c.id) {
			continue
		}
		a := alertRow{channelID: c.id, monitorID: m.id, outageID: outageID, kind: kind, n: n, data: data, notBefore: tx.Now, createdAt: tx.Now}
		if kind == alertDown {
			a.notBefore = later(tx.Now, since.Add(time.Duration(max(c.delayS, m.settings.AlertAfterS))*time.Second))
		}
		if kind == alertUp {
			known, err := recovered(ctx, tx, c.id, m.id, outageID, tx.Now)
			if err != nil {
				return false, err
			}
			if !known && c.events != "up" {
				continue // it was never told that something was down
			}
		}
		if !c.wants(kind) {
			continue
		}
		pushed = pushed || c.typ == byPush
		fresh, err := insertAlert(ctx, tx, a)
		if err != nil {
			return false, err
		}
		if fresh {
			if err := s.wakeChannel(ctx, tx, c.id, a.notBefore); err != nil {
				return false, err
			}
		}
	}
	return pushed, nil
}

// turnAlerts bounds what one job sends before others of the queue run.
const turnAlerts = 20

// Deliver sends a channel its due alerts, one after the other, each until it has arrived or is given up.
func (s *Service) Deliver(ctx context.Context, channelID int64) error {
	lease := secret.Token("", 12)
	for range turnAlerts {
		c, a, ok, err := s.takeAlert(ctx, channelID, lease)
		if err != nil || !ok {
			return err
		}
		key, err := s.sendAlert(ctx, c, a)
		if err != nil {
			return err // ours: the lease ends, and somebody tries again
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.recordAlert(ctx, a, lease, key); err != nil {
			return err
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.wakeChannel(ctx, tx, channelID, tx.Now) })
}

// takeAlert leases the channel and answers its next alert.
func (s *Service) takeAlert(ctx context.Context, channelID int64, lease string) (c channel, a alertRow, ok bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ok = false
		var there bool
		if c, there, err = lockChannel(ctx, tx, channelID); err != nil || !there {
			return err
		}
		if c.lease != nil && *c.lease != lease && tx.Now.Before(*c.leaseUntil) || c.notBefore != nil && tx.Now.Before(*c.notBefore) {
			return nil
		}
		if a, ok, err = nextToTell(ctx, tx, channelID); err != nil {
			return err
		}
		if c.lease, c.leaseUntil = nil, nil; ok {
			until := tx.Now.Add(alertLease)
			c.lease, c.leaseUntil = &lease, &until
		}
		return putChannel(ctx, tx, c)
	})
	return c, a, ok, err
}

// recordAlert stores what became of an alert. key is why it did not arrive; empty when it did.
func (s *Service) recordAlert(ctx context.Context, a alertRow, lease, key string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, there, err := lockChannel(ctx, tx, a.channelID)
		if err != nil || !there || c.lease == nil || *c.lease != lease {
			return err
		}
		c.lease, c.leaseUntil, c.notBefore, c.lastErrorKey = nil, nil, nil, nil
		state := "sent"
		if a.attempts++; key != "" {
			c.lastErrorKey = &key
			if state = "failed"; a.attempts < alertAttempts && tx.Now.Sub(a.createdAt) < alertAge {
				state = "pending"
				until := tx.Now.Add(alertPause(a.attempts))
				c.notBefore = &until
				if err := s.wakeChannel(ctx, tx, c.id, until); err != nil {
					return err
				}
			}
		}
		if err := settleAlert(ctx, tx, a.id, a.attempts, state); err != nil {
			return err
		}
		if state == "sent" && (a.kind == alertDown || a.kind == alertReminder) {
			if err := s.remind(ctx, tx, c, a); err != nil {
				return err
			}
		}
		return putChannel(ctx, tx, c)
	})
}

// remind writes the next reminder of an outage that goes on.
func (s *Service) remind(ctx context.Context, tx *db.Tx, c channel, a alertRow) error {
	m, err := byID(ctx, tx, a.monitorID)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	every := m.settings.ReminderS
	if every == 0 {
		every = c.reminderS
	}
	open, err := outageGoesOn(ctx, tx, a.outageID)
	if err != nil || !open || every == 0 {
		return err
	}
	next := a
	next.kind, next.n, next.createdAt = alertReminder, a.n+1, tx.Now
	next.notBefore = tx.Now.Add(time.Duration(every) * time.Second)
	if _, err := insertAlert(ctx, tx, next); err != nil {
		return err
	}
	return s.wakeChannel(ctx, tx, c.id, next.notBefore)
}

// SweepAlerts wakes the channels whose worker died. A periodic job calls it.
func (s *Service) SweepAlerts(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ids, err := dueChannels(ctx, tx, tx.Now)
		for _, id := range ids {
			if err := s.wakeChannel(ctx, tx, id, tx.Now); err != nil {
				return err
			}
		}
		return err
	})
}

// sendAlert sends an alert. The key is why it did not arrive; an error is ours.
func (s *Service) sendAlert(ctx context.Context, c channel, a alertRow) (key string, err error) {
	locale, err := s.Owners.Locale(ctx, s.DB, c.accountID)
	if err != nil {
		return "", err
	}
	var d alertData
	if err := json.Unmarshal([]byte(a.data), &d); err != nil {
		return "", err
	}
	words := map[string]any{"Name": d.Name, "Reason": "", "Since": i18n.Minute(d.Since), "Until": ""}
	if d.ErrorKey != "" {
		words["Reason"] = d.ErrorKey
		if i18n.Has(locale, "monitor.reason."+d.ErrorKey) {
			words["Reason"] = i18n.T(locale, "monitor.reason."+d.ErrorKey, nil)
		}
	}
	if d.ExpiresAt != nil {
		words["Until"] = d.ExpiresAt.Format("2006-01-02")
	}
	text := i18n.T(locale, "monitor.alert."+string(a.kind), words)
	return s.send(ctx, c, message{
		id: "alert_" + strconv.FormatInt(a.id, 10), typ: "monitor." + string(a.kind), text: text, at: a.createdAt, alert: &d, outageID: a.outageID,
		lang: locale, words: words, page: s.BaseURL + "/panel/monitors/" + strconv.FormatInt(d.MonitorID, 10),
	})
}

// message is what is sent to a channel.
type message struct {
	id, typ, text string
	at            time.Time
	alert         *alertData
	outageID      int64
	code          string
	// Of a mail: its language, what fills its text, and the page that it leads to.
	lang  string
	words map[string]any
	page  string
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind {
	var all []mailer.Kind
	for _, typ := range []string{
		"monitor.down", "monitor.up", "monitor.reminder", "monitor.flapping", "monitor.settled", "monitor.ssl", "monitor.domain", "channel.code", "channel.test",
	} {
		all = append(all, mailOf(typ))
	}
	return all
}

// mailOf is the mail of a type of messages, whose text is monitor.alert.<kind>.
func mailOf(typ string) mailer.Kind {
	_, kind, _ := strings.Cut(typ, ".")
	k := mailer.Kind{ID: typ, Text: "monitor.alert." + kind, Button: "letters.monitor"}
	if typ == "channel.test" {
		k.Button = "letters.monitors"
	}
	return k
}

// sendTimeout bounds one attempt.
const sendTimeout = 15 * time.Second

// send hands a message to whoever delivers it. The key is why it was not taken.
func (s *Service) send(ctx context.Context, c channel, m message) (key string, err error) {
	a, err := s.openAddress(c)
	if err != nil {
		return "", err
	}
	var (
		to     = a.Target
		body   any
		header = http.Header{}
	)
	switch c.typ {
	case byEmail:
		err := s.Mailer.Send(ctx, s.Letters.Write(mailer.Letter{
			Kind: mailOf(m.typ), ID: "monitor-" + strings.ReplaceAll(m.id, "_", "-"), To: a.Target, Lang: m.lang, Words: m.words, Page: m.page,
		}))
		switch {
		case errors.Is(err, mailer.ErrRejected):
			return "rejected", nil
		case err != nil:
			return "connection_failed", nil //nolint:nilerr // the key is the answer
		}
		return "", nil
	case byPush:
		return s.sendPush(ctx, c, m), nil
	case byTelegram:
		to = s.telegram() + "/bot" + a.Token + "/sendMessage"
		body = map[string]any{"chat_id": a.Target, "text": m.text, "disable_web_page_preview": true}
	case bySlack:
		body = map[string]any{"text": escapeSlack(m.text)}
	case byDiscord:
		body = map[string]any{"content": m.text, "allowed_mentions": map[string]any{"parse": []string{}}}
	default:
		body = map[string]any{
			"id": m.id, "type": m.typ, "created_at": m.at, "text": m.text, "monitor": m.alert, "outage_id": db.OrNull(m.outageID), "code": db.OrNull(m.code),
		}
	}
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return "", err
	}
	if c.typ == byWebhook {
		if header, err = webhook.Sign(m.id, s.Clock.Now(), encoded.Bytes(), a.Secret); err != nil {
			return "", err
		}
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "Stead-Monitors/1")
	answer, err := s.outgoing.Post(ctx, to, header, encoded.Bytes())
	switch {
	case err != nil:
		return outgoing.Reason(err), nil
	case answer.Status < 200 || answer.Status > 299:
		return "http_status", nil
	}
	return "", nil
}

// sendPush sends a message to the devices of the channel's account. The first line is its title.
func (s *Service) sendPush(ctx context.Context, c channel, m message) (key string) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	title, body, _ := strings.Cut(m.text, "\n")
	p := push.Message{
		ID: strings.ReplaceAll(m.id, "_", "-"), Kind: strings.ReplaceAll(m.typ, ".", "_"), Title: title, Body: body, Urgency: push.High, TTL: alertAge,
	}
	if m.alert != nil {
		p.Link = "/api/v1/monitors/" + strconv.FormatInt(m.alert.MonitorID, 10)
	}
	took, err := s.Devices.Send(ctx, c.accountID, p)
	switch {
	case err != nil:
		return "connection_failed"
	case took == 0:
		return "no_device"
	}
	return ""
}

// escapeSlack keeps a name that a customer chose from being markup of Slack's.
func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// telegram is where bots are called.
func (s *Service) telegram() string {
	if s.TelegramURL != "" {
		return s.TelegramURL
	}
	return "https://api.telegram.org"
}

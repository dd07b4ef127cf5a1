package app

import (
	"cmp"
	"context"
	"net/url"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/devices"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/push"
	"stead.dev/stead/internal/port/push/fcm"
	"stead.dev/stead/internal/port/push/webpush"
)

// buildDevices makes the section of devices and the adapters that push to them.
func (c *core) buildDevices() error {
	c.devices = devices.New(devices.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Box: c.box, Notices: notes{c.notifications, c.accounts},
	})
	c.devices.SetSender(devices.Web, webpush.New(webpush.Config{
		Keys: c.devices.Keys, Contact: contact(c.cfg), AllowLoopback: c.cfg.AllowLoopbackTargets,
	}))
	if c.cfg.FCMAccount == "" {
		return nil
	}
	phones, err := fcm.New(fcm.Config{Account: []byte(c.cfg.FCMAccount.Reveal())})
	if err != nil {
		return err
	}
	c.devices.SetSender(devices.Android, phones)
	c.devices.SetSender(devices.IOS, phones)
	return nil
}

// contact is the address under which push services reach the operator: an https URL or a mailbox.
func contact(cfg config.Config) string {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return cfg.SupportEmail
	}
	if u.Scheme == "https" {
		return cfg.BaseURL
	}
	return cmp.Or(cfg.SupportEmail, "webmaster@"+u.Hostname())
}

// notes adapts the notifications to the devices.
type notes struct {
	notifications *notifications.Service
	accounts      *account.Service
}

var urgencies = map[notifications.Severity]push.Urgency{
	notifications.Info: push.Low, notifications.Warning: push.Normal, notifications.Critical: push.High,
}

// Notice implements devices.Notices.
func (n notes) Notice(ctx context.Context, q db.Querier, id int64, locale string) (devices.Notice, bool, error) {
	said, found, err := n.notifications.Say(ctx, q, id, locale)
	if err != nil || !found {
		return devices.Notice{}, false, err
	}
	to, err := recipients{n.accounts}.Recipient(ctx, q, said.AccountID)
	if err != nil {
		return devices.Notice{}, false, err
	}
	return devices.Notice{
		AccountID: said.AccountID, Kind: said.Kind, Title: said.Title, Body: said.Body, Link: said.Link,
		Urgency: urgencies[said.Severity], CreatedAt: said.CreatedAt, Wanted: to.Open && !said.Read,
	}, true, nil
}

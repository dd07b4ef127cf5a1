package notifications

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/mailer"
)

// Recipient is the owner of an account, as mails need it.
type Recipient struct {
	Email  string
	Name   string
	Locale string
	Open   bool // neither suspended nor closed
}

// Recipients finds the owners of accounts.
type Recipients interface {
	Recipient(ctx context.Context, q db.Querier, accountID int64) (Recipient, error)
}

// Pushes puts notifications on devices.
type Pushes interface {
	// Announce pushes a new notification, after the transaction that creates it.
	Announce(ctx context.Context, tx *db.Tx, accountID, notificationID int64) error
}

// Config configures the section; all is required.
type Config struct {
	DB         *db.DB
	Queue      jobs.Enqueuer
	Recipients Recipients
	Mailer     mailer.Mailer
	Brand      brand.Source
	Letters    *mailer.Writer
	BaseURL    string // of the installation
	Box        *secret.Box
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Pushes Pushes
}

// NoDevices is the Pushes of who has no devices to put notifications on.
type NoDevices struct{}

// Announce implements Pushes.
func (NoDevices) Announce(context.Context, *db.Tx, int64, int64) error { return nil }

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Follow handles an event and stores the owner's notification.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	n, ok, err := of(e)
	if err != nil || !ok {
		return err
	}
	if n.ends != "" {
		if troubled, err := lasts(ctx, tx, n); err != nil || !troubled {
			return err
		}
	}
	id, err := insert(ctx, tx, n)
	if err != nil || id == 0 {
		return err
	}
	wanted, err := s.preferenceFor(ctx, tx, n)
	if err != nil {
		return err
	}
	if wanted.push && !n.onDevices {
		if err := s.Pushes.Announce(ctx, tx, n.accountID, id); err != nil {
			return err
		}
	}
	if !n.severity.mailed() || !wanted.mail {
		return nil
	}
	return s.Queue.Enqueue(ctx, tx, mailArgs{NotificationID: id}, nil)
}

// mail sends a notification to its owner.
func (s *Service) mail(ctx context.Context, id int64) error {
	n, err := get(ctx, s.DB, id)
	if errors.Is(err, db.ErrNoRows) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	to, err := s.Recipients.Recipient(ctx, s.DB, n.accountID)
	if err != nil || !to.Open {
		return err
	}
	wanted, err := s.preferenceFor(ctx, s.DB, n) // it may have changed since the job was made
	if err != nil || !wanted.mail {
		return err
	}
	text := func(key string, data map[string]any) string { return i18n.T(to.Locale, "notification.mail."+key, data) }
	greeting := "greeting"
	if to.Name == "" {
		greeting = "greeting_plain"
	}
	b := s.Brand()
	l := mailer.Letter{
		Kind: mailOf(n.kind), ID: "notification-" + strconv.FormatInt(id, 10), To: to.Email, Lang: to.Locale, Words: n.data(to.Locale),
		Greeting: text(greeting, map[string]any{"Name": to.Name}), Footer: []string{text("signature", map[string]any{"Company": b.Name})},
	}
	if link := n.link(); link != "" {
		l.Page = s.BaseURL + link
		l.After = []string{text("link", map[string]any{"Link": l.Page})}
	}
	if b.Support != "" {
		l.Footer = append(l.Footer, text("support", map[string]any{"Support": b.Support}))
	}
	if wanted.topic != Essential {
		if l.Unsubscribe, err = s.UnsubscribeLink(n.accountID, wanted.topic); err != nil {
			return err
		}
		l.Links = append(l.Links, l.Unsubscribe)
		topic := i18n.T(to.Locale, "notification.topic."+string(wanted.topic)+".title", nil)
		l.Footer = append(l.Footer, text("unsubscribe", map[string]any{"Topic": topic, "Link": l.Unsubscribe}))
	}
	err = s.Mailer.Send(ctx, s.Letters.Write(l))
	if errors.Is(err, mailer.ErrRejected) {
		return jobs.Cancel(err)
	}
	return err
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind {
	kinds := []string{newsKind}
	for _, r := range rules {
		if r.severity.mailed() {
			kinds = append(kinds, r.kind)
		}
	}
	slices.Sort(kinds)
	var all []mailer.Kind
	for _, kind := range slices.Compact(kinds) {
		all = append(all, mailOf(kind))
	}
	return all
}

// mailOf is the mail of a kind of notifications.
func mailOf(kind string) mailer.Kind {
	return mailer.Kind{
		ID: "notification." + kind, Subject: "notification." + kind + ".title", Text: "notification." + kind + ".body",
		Greeting: "notification.mail.greeting", Footer: []string{"notification.mail.signature", "notification.mail.support"},
	}
}

// most is how many notifications one request can mark.
const most = 100

// markRead marks an account's notifications: those with the ids, or all.
func (s *Service) markRead(ctx context.Context, accountID int64, ids []int64, all bool) (marked int64, err error) {
	switch {
	case all == (len(ids) > 0):
		return 0, fault.Invalid("ids", "notifications_which")
	case len(ids) > most:
		return 0, fault.InvalidData("ids", "too_many", map[string]any{"Max": most})
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		marked, err = read(ctx, tx, accountID, ids)
		return err
	})
	return marked, err
}

func (s *Service) list(ctx context.Context, accountID int64, unread bool, p page.Params) ([]notification, int, int, error) {
	return list(ctx, s.DB, accountID, unread, p)
}

// closed removes the notifications of an account that is closed, and what it has chosen.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := removePreferences(ctx, tx, accountID); err != nil {
		return err
	}
	return removeOf(ctx, tx, accountID)
}

// Clean deletes notifications after their retention. A periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return clean(ctx, tx, tx.Now.Add(-retention)) })
}

package status

import (
	"context"
	"encoding/hex"
	"errors"
	"net/netip"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// Limits bound how often subscriptions are asked for; a policy without a limit bounds nothing.
type Limits struct {
	// Visitor counts by the address that requests come from, Mailbox by the address that gets mails.
	Visitor, Mailbox throttle.Policy
}

// DefaultLimits keep the form from filling the mailbox of a stranger.
func DefaultLimits() Limits {
	return Limits{
		Visitor: throttle.Policy{Name: "status_visitor", Limit: 10, Window: time.Hour},
		Mailbox: throttle.Policy{Name: "status_mailbox", Limit: 3, Window: 24 * time.Hour},
	}
}

// subscriber is an address that gets mails once it is confirmed.
type subscriber struct {
	id              int64
	email, language string
	hash, sealed    []byte // of the token
	confirmedAt     *time.Time
}

// Subscription is what the owner of a link sees.
type Subscription struct {
	Email     string
	Confirmed bool
}

// notice is something that subscribers are told: an update of an incident, or maintenance.
type notice struct {
	updateID, maintenanceID *int64
	cancelled               bool

	incident Incident // with the one update
	planned  Planned
}

// Subscribe asks the owner of an address, which must be normalised, to confirm a subscription. It says the same whether the
// address is known or not, and whether it has got too many mails.
func (s *Service) Subscribe(ctx context.Context, email, lang string, visitor netip.Addr) error {
	r, err := s.take(ctx, network(visitor), s.Limits.Visitor)
	if err != nil {
		return err
	}
	if !r.Allowed {
		return fault.RateLimited.With(fault.Fields{"retry_after": int(r.Reset/time.Second) + 1})
	}
	// The counts outlive a subscription, so they have no address in them.
	r, err = s.take(ctx, hex.EncodeToString(secret.Hash(email)), s.Limits.Mailbox)
	if err != nil || !r.Allowed {
		return err
	}
	token := secret.Token("", 24)
	x := subscriber{email: email, language: lang, hash: secret.Hash(token)}
	if x.sealed, err = s.Box.Seal([]byte(token), tokenAAD(x.hash)); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := putSubscriber(ctx, tx, x)
		if err != nil {
			return err
		}
		return s.Queue.Enqueue(ctx, tx, askArgs{SubscriberID: id, Attempt: tx.Now.UnixMicro()}, nil)
	})
}

func (s *Service) take(ctx context.Context, key string, p throttle.Policy) (throttle.Result, error) {
	if p.Limit <= 0 {
		return throttle.Result{Allowed: true}, nil
	}
	return s.Limiter.Take(ctx, key, p)
}

// network is what counts as one visitor: of IPv6, everybody has at least a /64.
func network(a netip.Addr) string {
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

func tokenAAD(hash []byte) []byte { return append([]byte("status-subscriber:"), hash...) }

// Subscription finds the subscription of a link, or returns fault.NotFound.
func (s *Service) Subscription(ctx context.Context, token string) (Subscription, error) {
	x, err := subscriberByHash(ctx, s.DB, secret.Hash(token))
	return Subscription{x.email, x.confirmedAt != nil}, err
}

// Confirm begins the subscription of a link, or returns fault.NotFound.
func (s *Service) Confirm(ctx context.Context, token string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := confirmSubscriber(ctx, tx, secret.Hash(token))
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// Unsubscribe deletes the address of a link. One that is gone is no error.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return deleteSubscriber(ctx, tx, secret.Hash(token)) })
}

// announce has a notice mailed to all subscribers.
func (s *Service) announce(ctx context.Context, tx *db.Tx, n notice) error {
	id, err := insertNotice(ctx, tx, n)
	if err != nil {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, spreadArgs{NoticeID: id}, nil)
}

// batch is how many mails are prepared in one commit.
const batch = 500

// spread makes the jobs of the next mails of a notice. How far it has come is in the same commit, so no mail gets two jobs.
func (s *Service) spread(ctx context.Context, noticeID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		reached, found, err := lockReached(ctx, tx, noticeID)
		if err != nil || !found || reached == everybody {
			return err
		}
		ids, err := confirmedAfter(ctx, tx, reached, batch)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.Queue.Enqueue(ctx, tx, mailArgs{noticeID, id}, nil); err != nil {
				return err
			}
		}
		if len(ids) < batch {
			return setReached(ctx, tx, noticeID, everybody)
		}
		if err := s.Queue.Enqueue(ctx, tx, spreadArgs{noticeID}, nil); err != nil {
			return err
		}
		return setReached(ctx, tx, noticeID, ids[len(ids)-1])
	})
}

// ask mails the link that confirms a subscription, or says that there is one.
func (s *Service) ask(ctx context.Context, a askArgs) error {
	x, found, err := subscriberByID(ctx, s.DB, a.SubscriberID)
	if err != nil || !found {
		return err
	}
	kind, path := "ask", "/status/subscription/"
	if x.confirmedAt != nil {
		kind, path = "already", "/status/unsubscribe/"
	}
	link, err := s.link(x, path)
	if err != nil {
		return err
	}
	return s.send(ctx, s.Letters.Write(mailer.Letter{
		Kind: mailOf(kind), ID: "status-ask-" + strconv.FormatInt(x.id, 10) + "-" + strconv.FormatInt(a.Attempt, 10), To: x.email, Lang: x.language,
		Words: map[string]any{"Link": link}, Page: link,
	}))
}

// mail sends a notice to a subscriber who is still one.
func (s *Service) mail(ctx context.Context, noticeID, subscriberID int64) error {
	x, found, err := subscriberByID(ctx, s.DB, subscriberID)
	if err != nil || !found || x.confirmedAt == nil {
		return err
	}
	n, found, err := noticeByID(ctx, s.DB, noticeID)
	if err != nil || !found {
		return err
	}
	link, err := s.link(x, "/status/unsubscribe/")
	if err != nil {
		return err
	}
	kind, words := n.words(x.language)
	page := s.BaseURL + "/status?lang=" + x.language
	words["Page"] = page
	return s.send(ctx, s.Letters.Write(mailer.Letter{
		Kind: mailOf(kind), ID: "status-" + strconv.FormatInt(noticeID, 10) + "-" + strconv.FormatInt(subscriberID, 10), To: x.email, Lang: x.language,
		Words: words, Page: page, Footer: []string{i18n.T(x.language, "status.letter.end", map[string]any{"Link": link})}, Links: []string{link},
		Unsubscribe: link,
	}))
}

// Mails are the kinds of mails that the section sends.
func Mails() []mailer.Kind {
	return []mailer.Kind{mailOf("ask"), mailOf("already"), mailOf("incident"), mailOf("maintenance"), mailOf("cancelled")}
}

// mailOf is a kind of mail with its texts.
func mailOf(kind string) mailer.Kind {
	k := mailer.Kind{
		ID: "status." + kind, Subject: "status.letter." + kind + ".subject", Text: "status.letter." + kind + ".text", Button: "letters.status",
		Footer: []string{"status.letter.end"},
	}
	switch kind {
	case "ask":
		k.Button, k.Footer = "letters.confirm_subscription", nil
	case "already":
		k.Button, k.Footer = "letters.unsubscribe", nil
	}
	return k
}

// words are what the texts of a notice need.
func (n notice) words(lang string) (kind string, words map[string]any) {
	if n.updateID != nil {
		u := n.incident.Updates[0]
		return "incident", map[string]any{
			"Title": n.incident.Title.In(lang), "Stage": i18n.T(lang, "status.stage."+string(u.Stage), nil), "Body": u.Body.In(lang), "Time": i18n.Minute(u.CreatedAt),
		}
	}
	kind = "maintenance"
	if n.cancelled {
		kind = "cancelled"
	}
	return kind, map[string]any{"Title": n.planned.Title.In(lang), "From": i18n.Minute(n.planned.StartsAt), "Until": i18n.Minute(n.planned.EndsAt)}
}

// link is a page of the subscription.
func (s *Service) link(x subscriber, path string) (string, error) {
	token, err := s.Box.Open(x.sealed, tokenAAD(x.hash))
	return s.BaseURL + path + string(token), err
}

// send hands a mail to the port. What is refused for good is not tried again.
func (s *Service) send(ctx context.Context, m mailer.Message) error {
	err := s.Mailer.Send(ctx, m)
	if errors.Is(err, mailer.ErrRejected) {
		return jobs.Cancel(err)
	}
	return err
}

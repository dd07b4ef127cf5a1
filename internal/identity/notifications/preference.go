package notifications

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Topic is what notifications are about. Customers choose by topic which of them are mailed and pushed; the list in the panel has all.
type Topic string

// The topics. What is essential warns of loss and theft: nobody can switch it off, and nobody who has taken over a browser either.
const (
	Renewals  Topic = "renewals"
	Payments  Topic = "payments"
	Domains   Topic = "domains"
	Sites     Topic = "sites"
	Monitors  Topic = "monitors"
	Advice    Topic = "advice"
	Resale    Topic = "resale"
	NewsTopic Topic = "news"
	Essential Topic = "essential"
)

// topics are all, in the order in which they are shown.
var topics = []Topic{Renewals, Payments, Domains, Sites, Monitors, Advice, Resale, NewsTopic, Essential}

// topicOf is the topic of each kind.
var topicOf = map[string]Topic{
	"service_expiring": Renewals, "service_renewal_failed": Renewals,
	"order_completed": Payments, "payment_received": Payments, "payment_failed": Payments, "low_balance": Payments,
	"domain_expiring": Domains, "domain_registration_failed": Domains, "domain_transfer_failed": Domains,
	"service_moving": Sites, "service_moved": Sites, "ssl_failed": Sites, "ssl_restored": Sites, "backup_failed": Sites, "backup_works": Sites, "htaccess_ignored": Sites,
	"monitor_down": Monitors, "monitor_up": Monitors, "monitor_ssl": Monitors, "monitor_domain": Monitors,
	"scan_finding": Advice, "insight": Advice, "ai_approval": Advice,
	"webhook_disabled": Resale, "webhook_works": Resale,
	newsKind:            NewsTopic,
	"service_suspended": Essential, "service_resumed": Essential, "service_ending": Essential, "backup_damaged": Essential, "backup_restore_failed": Essential,
	"domain_expired": Essential, "domain_transfer_out": Essential, "domain_transferred": Essential, "domain_displaced": Essential,
	"domain_contested": Essential,
}

// kinds are those of a topic, sorted.
func (t Topic) kinds() (all []string) {
	for kind, of := range topicOf {
		if of == t {
			all = append(all, kind)
		}
	}
	slices.Sort(all)
	return all
}

// preference is how an account is told of a topic, beside the list in the panel.
type preference struct {
	topic      Topic
	mail, push bool
}

// unchosen is the preference of an account that has not chosen: everything.
func unchosen(t Topic) preference { return preference{topic: t, mail: true, push: true} }

// preferences are those of an account for all topics.
func (s *Service) preferences(ctx context.Context, q db.Querier, accountID int64) ([]preference, error) {
	chosen, err := chosenBy(ctx, q, accountID)
	if err != nil {
		return nil, err
	}
	all := make([]preference, len(topics))
	for i, t := range topics {
		all[i] = unchosen(t)
		if j := slices.IndexFunc(chosen, func(p preference) bool { return p.topic == t }); j >= 0 && t != Essential {
			all[i] = chosen[j]
		}
	}
	return all, nil
}

// preferenceFor is how the owner of n is told of it.
func (s *Service) preferenceFor(ctx context.Context, q db.Querier, n notification) (preference, error) {
	all, err := s.preferences(ctx, q, n.accountID)
	if err != nil {
		return preference{}, err
	}
	i := slices.IndexFunc(all, func(p preference) bool { return p.topic == topicOf[n.kind] })
	if i < 0 {
		return unchosen(Essential), nil
	}
	return all[i], nil
}

// choose changes the preferences of an account for the given topics.
func (s *Service) choose(ctx context.Context, accountID int64, wanted []preference) (all []preference, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, p := range wanted {
			if err := putPreference(ctx, tx, accountID, p); err != nil {
				return err
			}
		}
		all, err = s.preferences(ctx, tx, accountID)
		return err
	})
	return all, err
}

// Mailing is what a link in a mail ends: the mails to one account about one topic.
type Mailing struct {
	Email string
	Topic Topic
	On    bool
}

// unsubscribeAAD binds the links of mails to their purpose.
var unsubscribeAAD = []byte("notifications-unsubscribe")

// UnsubscribeLink is the address that ends the mails to an account about a topic (RFC 8058). It is good for ever, and for nothing
// else: mails are kept for years, and forwarded.
func (s *Service) UnsubscribeLink(accountID int64, t Topic) (string, error) {
	sealed, err := s.Box.Seal([]byte(strconv.FormatInt(accountID, 10)+"/"+string(t)), unsubscribeAAD)
	if err != nil {
		return "", err
	}
	return s.BaseURL + "/notifications/unsubscribe/" + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// openLink reads what a link names, or returns fault.NotFound.
func (s *Service) openLink(token string) (accountID int64, t Topic, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, "", fault.NotFound.Wrap(err)
	}
	text, err := s.Box.Open(sealed, unsubscribeAAD)
	if err != nil {
		return 0, "", fault.NotFound.Wrap(err)
	}
	id, topic, _ := strings.Cut(string(text), "/")
	if accountID, err = strconv.ParseInt(id, 10, 64); err != nil || !slices.Contains(topics, Topic(topic)) {
		return 0, "", fault.NotFound.Wrap(fmt.Errorf("notifications: a link names %q", text))
	}
	return accountID, Topic(topic), nil
}

// Mailing finds what a link of a mail ends. fault.NotFound for no link of ours, and when the account is closed.
func (s *Service) Mailing(ctx context.Context, token string) (m Mailing, err error) {
	accountID, t, err := s.openLink(token)
	if err != nil {
		return m, err
	}
	to, err := s.Recipients.Recipient(ctx, s.DB, accountID)
	if err != nil || to.Email == "" {
		return m, fault.NotFound.Wrap(err)
	}
	all, err := s.preferences(ctx, s.DB, accountID)
	i := slices.Index(topics, t)
	return Mailing{Email: to.Email, Topic: t, On: err == nil && all[i].mail}, err
}

// EndMailing ends what a link of a mail names; what has ended is no error.
func (s *Service) EndMailing(ctx context.Context, token string) error {
	accountID, t, err := s.openLink(token)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		all, err := s.preferences(ctx, tx, accountID)
		if err != nil {
			return err
		}
		p := all[slices.Index(topics, t)]
		p.mail = false
		return putPreference(ctx, tx, accountID, p)
	})
}

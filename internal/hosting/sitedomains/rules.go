package sitedomains

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// rulesWire is the data of service.htaccess_ignored.
type rulesWire struct {
	ServiceID int64      `json:"service_id"`
	Domain    string     `json:"domain"`
	Files     []ruleWire `json:"files"` // the first ones
	More      int        `json:"more"`  // further files
	Protects  bool       `json:"protects"`
}

// ruleWire is a .htaccess file with rules that have no effect, by the names of its directives.
type ruleWire struct {
	Path       string   `json:"path"`
	Directives []string `json:"directives"`
}

// toldRules is of which directives the owner was notified, and when last.
type toldRules struct {
	Directives []string  `json:"directives"` // sorted
	At         time.Time `json:"at"`
}

// rulesPause is the least time between two notifications: who adds directives one after the other gets them together.
const rulesPause = 24 * time.Hour

// notifyRules emits service.htaccess_ignored when the account's .htaccess files have a directive without effect of which the owner
// was not notified yet. A directive is told once, however many files have it and whenever they come: what the owner was told of it
// holds for them too.
func (s *Service) notifyRules(ctx context.Context, tx *db.Tx, on site.Site, found *panel.IgnoredRules) error {
	if found == nil || len(found.Directives) == 0 {
		return nil
	}
	rules := found.Checked() // the machine may be in other hands
	told, err := notifiedRules(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	all := slices.Concat(told.Directives, rules.Directives)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == len(told.Directives) || tx.Now.Before(told.At.Add(rulesPause)) {
		return nil
	}
	w := rulesWire{ServiceID: on.ServiceID, Domain: on.Domain, Files: []ruleWire{}, More: rules.More, Protects: rules.Protects}
	for _, f := range rules.Files {
		w.Files = append(w.Files, ruleWire{f.Path, f.Directives})
	}
	err = s.Events.Emit(ctx, tx, outbox.Event{
		Type: "service.htaccess_ignored", AccountID: on.AccountID, Subject: "service", SubjectID: on.ServiceID, Data: w,
	})
	if err != nil {
		return err
	}
	return setNotifiedRules(ctx, tx, on.ServiceID, toldRules{all, tx.Now})
}

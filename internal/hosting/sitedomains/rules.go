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
	Elsewhere namesWire  `json:"elsewhere"`
	Protects  bool       `json:"protects"`
}

// ruleWire is a .htaccess file with rules that have no effect, by the names of its directives.
type ruleWire struct {
	Path string `json:"path"`
	namesWire
}

// namesWire are names of directives that have no effect. In elsewhere are the new ones that no file names.
type namesWire struct {
	Protecting []string `json:"protecting"` // keep visitors from something
	Directives []string `json:"directives"` // others
}

// toldRules is of which directives the owner was notified, and when.
type toldRules struct {
	Protecting []string  `json:"protecting"` // as those that keep visitors from something; sorted
	Directives []string  `json:"directives"` // as others; sorted
	At         time.Time `json:"at"`         // when the last pause began
	Urgent     int       `json:"urgent"`     // notifications since then
}

const (
	// rulesPause is the least time between two notifications: who adds directives one after the other gets them together.
	rulesPause = 24 * time.Hour
	// mostUrgent bounds those of directives that protect something, which do not wait for the pause to end.
	mostUrgent = 3
)

// notifyRules emits service.htaccess_ignored when the account's .htaccess files have a directive without effect of which the owner
// was not notified yet. A directive is told once, however many files have it and whenever they come: what the owner was told of it
// holds for them too. One that was told as harmless is told again when it protects something.
func (s *Service) notifyRules(ctx context.Context, tx *db.Tx, on site.Site, found *panel.IgnoredRules) error {
	if found == nil || found.IsEmpty() {
		return nil
	}
	rules := found.Checked() // the machine may be in other hands
	told, err := notifiedRules(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	protecting := without(rules.Protecting, told.Protecting)
	others := without(rules.Others, told.Directives, told.Protecting)
	switch {
	case len(protecting) == 0 && len(others) == 0:
		return nil
	case !tx.Now.Before(told.At.Add(rulesPause)):
		told.At, told.Urgent = tx.Now, 0
	case len(protecting) > 0 && told.Urgent < mostUrgent:
		told.Urgent++
	default:
		return nil
	}
	w := rulesWire{ServiceID: on.ServiceID, Domain: on.Domain, Files: []ruleWire{}, More: rules.More, Protects: len(rules.Protecting) > 0}
	elsewhere := panel.IgnoredNames{Protecting: protecting, Others: others}
	for _, f := range rules.Files {
		w.Files = append(w.Files, ruleWire{f.Path, wireNames(f.IgnoredNames)})
		elsewhere.Protecting = without(elsewhere.Protecting, f.Protecting)
		elsewhere.Others = without(elsewhere.Others, f.Others)
	}
	w.Elsewhere = wireNames(elsewhere)
	err = s.Events.Emit(ctx, tx, outbox.Event{
		Type: "service.htaccess_ignored", AccountID: on.AccountID, Subject: "service", SubjectID: on.ServiceID, Data: w,
	})
	if err != nil {
		return err
	}
	told.Protecting, told.Directives = joined(told.Protecting, protecting), joined(told.Directives, others)
	return setNotifiedRules(ctx, tx, on.ServiceID, told)
}

func wireNames(n panel.IgnoredNames) namesWire {
	return namesWire{append([]string{}, n.Protecting...), append([]string{}, n.Others...)}
}

// without are the names that none of the lists has.
func without(names []string, lists ...[]string) (rest []string) {
	for _, name := range names {
		if !slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, name) }) {
			rest = append(rest, name)
		}
	}
	return rest
}

// joined are the names of both lists, sorted.
func joined(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

package sitedomains

import (
	"context"
	"errors"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// marks are the percentages of a limit at which the owner of a service is notified (resources, section 25), rising.
var marks = []int64{80, 100}

// slack is how many percent below a mark the use must fall before the owner is notified of that mark again. Use that wavers
// around a mark is reported once.
const slack = 5

// crossed returns the mark to store for a use of so many percent, and whether to notify the owner of it now. told is the mark of
// the last notification, 0 for none.
func crossed(told, percent int64) (mark int64, tell bool) {
	for _, m := range marks {
		switch {
		case percent >= m:
			mark = m
		case m <= told && percent >= m-slack:
			mark = m
		}
	}
	return mark, mark > told
}

// watched are the limits that owners are notified of: those that fill up unnoticed. A request that reaches another limit is
// refused at once.
var watched = []string{"disk_mb", "inodes", "bandwidth_gb"}

// limitWire is a limit in the data of service.limit_reached.
type limitWire struct {
	ServiceID int64  `json:"service_id"`
	Domain    string `json:"domain"`
	Limit     string `json:"limit"`
	Percent   int64  `json:"percent"` // the mark: 80 or 100
	Used      int64  `json:"used"`
	Maximum   int64  `json:"maximum"`
}

// Watch asks the panel what a service uses, and notifies its owner of each limit that it comes near or reaches, and of .htaccess
// rules that have no effect.
func (s *Service) Watch(ctx context.Context, accountID, serviceID int64) error {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil || !on.Online() {
		return err
	}
	counted, ok, err := s.measure(ctx, on)
	if err != nil || !ok {
		return err
	}
	used := countsOf(counted)
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// Of two concurrent runs the second one reads the marks that the first one stored.
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil || !on.Online() {
			return err
		}
		if err := putUsage(ctx, tx, serviceID, used); err != nil {
			return err
		}
		return errors.Join(s.notifyLimits(ctx, tx, on, used), s.notifyRules(ctx, tx, on, counted.Ignored))
	})
}

// notifyLimits emits service.limit_reached for the marks that the use has crossed since the last time.
func (s *Service) notifyLimits(ctx context.Context, tx *db.Tx, on site.Site, used map[string]int64) error {
	told, err := notifiedMarks(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	changed := false
	for _, name := range watched {
		m := meter{limit: on.Limits.Of(name)}
		if n, ok := used[name]; ok {
			m.used = &n
		}
		percent := m.percent()
		if percent == nil {
			changed = changed || told[name] != 0
			delete(told, name)
			continue
		}
		mark, tell := crossed(told[name], *percent)
		changed = changed || mark != told[name]
		told[name] = mark
		if !tell {
			continue
		}
		err = errors.Join(err, s.Events.Emit(ctx, tx, outbox.Event{
			Type: "service.limit_reached", AccountID: on.AccountID, Subject: "service", SubjectID: on.ServiceID,
			Data: limitWire{on.ServiceID, on.Domain, name, mark, *m.used, m.limit},
		}))
	}
	if err != nil || !changed {
		return err
	}
	return setNotifiedMarks(ctx, tx, on.ServiceID, told)
}

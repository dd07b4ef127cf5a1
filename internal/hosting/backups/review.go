package backups

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// isSuspicious tells whether a panel knows of damage, or looks for it.
func isSuspicious(listed map[string]panel.Backup) bool {
	for _, b := range listed {
		if b.Condition != panel.Sound {
			return true
		}
	}
	return false
}

// review marks the backups of a service that its panel found damaged. It comes again while the panel still reads some.
func (s *Service) review(ctx context.Context, accountID, serviceID int64) (time.Duration, error) {
	p, ref, err := s.panelOf(ctx, accountID, serviceID)
	if err != nil {
		return 0, err
	}
	listed, err := p.ListBackups(ctx, ref)
	switch {
	case errors.Is(err, panel.ErrNotFound):
		return 0, nil
	case panel.KindOf(err).Temporary():
		return askLater, nil
	case err != nil:
		return 0, err
	}
	var wait time.Duration
	condition := map[string]panel.Condition{}
	for _, b := range listed {
		condition[b.ID] = b.Condition
		if b.Condition == panel.Suspected {
			wait = askLater
		}
	}
	return wait, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		rows, err := table.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		var ids []int64
		for _, b := range rows {
			if b.status == Completed && condition[b.name()] == panel.Damaged {
				ids = append(ids, b.ID)
			}
		}
		return s.damaged(ctx, tx, on, ids)
	})
}

// reviewSoon has a job review the backups of a service.
func (s *Service) reviewSoon(ctx context.Context, accountID, serviceID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.enqueue(ctx, tx, reviewArgs{accountID, serviceID})
	})
}

// damaged marks complete backups as damaged: the owner is told once, whoever listens to events of each, and the operator by
// the log and the doctor. Where the newest is damaged, another is made at once if the service is online.
func (s *Service) damaged(ctx context.Context, tx *db.Tx, on site.Site, ids []int64) error {
	before, err := newestComplete(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	var n int
	for _, id := range ids {
		moved, err := setDamaged(ctx, tx, id)
		if err != nil {
			return err
		}
		if !moved {
			continue
		}
		n++
		if err := s.emit(ctx, tx, "backup.failed", id, &ErrNotRestorable.Key); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	s.Log.ErrorContext(ctx, "backups of a service are damaged", "service", on.ServiceID, "backups", n, "machine", on.Panel)
	after, err := newestComplete(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	if after == nil || !after.Equal(*before) {
		if err := setDue(ctx, tx, on.ServiceID); err != nil {
			return err
		}
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: "backup.damaged", AccountID: on.AccountID, Subject: "service", SubjectID: on.ServiceID,
		Data: damageWire{on.ServiceID, on.Domain, n, on.Online(), on.Ended(), after != nil},
	})
}

// damageWire is the data of backup.damaged, an event of the platform's own.
type damageWire struct {
	ServiceID int64  `json:"service_id"`
	Domain    string `json:"domain"`
	Backups   int    `json:"backups"`

	// What the owner can do about it depends on whether the service has its data, and whether another backup is whole.
	Online    bool `json:"online"`
	Ended     bool `json:"ended"`
	WholeLeft bool `json:"whole_left"`
}

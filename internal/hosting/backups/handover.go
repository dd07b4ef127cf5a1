package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// askPassport asks the panel for what another machine needs to restore a complete backup, and seals it: it has the
// password of the backup. It is nil where the panel hands nothing over. An error is worth another try.
func (s *Service) askPassport(ctx context.Context, b backup) ([]byte, error) {
	on, err := s.Services.Site(ctx, s.DB, b.AccountID, b.ServiceID)
	if err != nil {
		return nil, err
	}
	p, err := site.On[panel.Handover](s.Panels, on, panel.CapHandover)
	var passport panel.Passport
	if err == nil {
		passport, err = p.BackupPassport(ctx, on.Ref, b.name())
	}
	switch {
	case err == nil:
		return s.Box.Seal(passport, passportPlace(b.ID))
	case ctx.Err() != nil || s.isRetryable(err, b.createdAt):
		return nil, err
	case !errors.Is(err, panel.ErrUnsupported):
		s.Log.WarnContext(ctx, "a backup cannot be restored on another machine", "service", b.ServiceID, "backup", b.ID, "error", err)
	}
	return nil, nil
}

// passportPlace binds a sealed passport to its row.
func passportPlace(id int64) []byte { return fmt.Appendf(nil, "backups/%d/passport", id) }

// Portable is a complete backup that another machine can restore, if it reaches the store.
type Portable struct {
	ID    int64
	Name  string // on the panels
	Parts []panel.BackupPart
	Bytes int64
	At    time.Time // when it was asked for
}

// Portable lists those of a service, the ones with all parts first, then the newest.
func (s *Service) Portable(ctx context.Context, q db.Querier, serviceID int64) ([]Portable, error) {
	rows, err := table.Where(ctx, q, `service_id = $1 AND status IN ('completed', 'restoring') AND passport IS NOT NULL ORDER BY id DESC`, serviceID)
	all := make([]Portable, len(rows))
	for i, b := range rows {
		all[i] = Portable{ID: b.ID, Name: b.name(), Parts: b.partNames(), Bytes: b.size, At: b.createdAt}
	}
	slices.SortStableFunc(all, func(a, b Portable) int { return len(b.Parts) - len(a.Parts) })
	return all, err
}

// Passport opens the passport of a backup that Portable lists.
func (s *Service) Passport(ctx context.Context, q db.Querier, id int64) (panel.Passport, error) {
	sealed, err := passportOf(ctx, q, id)
	if err != nil {
		return nil, err
	}
	return s.Box.Open(sealed, passportPlace(id))
}

// Moved says that another machine has the account of a service since this transaction: what was under way with its backups
// has failed there.
func (s *Service) Moved(ctx context.Context, tx *db.Tx, serviceID int64) error {
	all, err := table.OfService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	ended, err := restores.Where(ctx, tx, `service_id = $1 AND status NOT IN ('completed', 'failed')`, serviceID)
	if err != nil {
		return err
	}
	for _, r := range ended {
		if _, err := endRestore(ctx, tx, r.ID, broken, &fault.PanelUnreachable.Key); err != nil {
			return err
		}
		if _, err := setStatus(ctx, tx, r.backupID, Restoring, Completed); err != nil {
			return err
		}
		if err := s.emit(ctx, tx, "backup.restore_failed", r.backupID, &fault.PanelUnreachable.Key); err != nil {
			return err
		}
	}
	for _, b := range all {
		if b.finishedAt != nil {
			continue
		}
		expires := tx.Now.Add(keptFailed)
		b.status, b.errorKey, b.expiresAt = Failed, &fault.PanelUnreachable.Key, &expires
		if _, err := setEnded(ctx, tx, b); err != nil {
			return err
		}
		if err := s.emit(ctx, tx, "backup.failed", b.ID, b.errorKey); err != nil {
			return err
		}
	}
	return nil
}

// LeftBehind says which backups of a service its machine has, by their names; the others stayed on a former machine, and
// cannot be restored.
func (s *Service) LeftBehind(ctx context.Context, tx *db.Tx, serviceID int64, has map[string]bool) error {
	all, err := table.OfService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.status != Completed || has[b.name()] {
			continue
		}
		if moved, err := setDamaged(ctx, tx, b.ID); err != nil || !moved {
			return err
		}
		if err := s.emit(ctx, tx, "backup.failed", b.ID, &ErrNotRestorable.Key); err != nil {
			return err
		}
	}
	return nil
}

func passportOf(ctx context.Context, q db.Querier, id int64) (sealed []byte, err error) {
	err = q.QueryRow(ctx, `SELECT passport FROM backups WHERE id = $1 AND passport IS NOT NULL`, id).Scan(&sealed)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return sealed, err
}

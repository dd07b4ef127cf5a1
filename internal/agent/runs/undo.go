package runs

import (
	"context"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// undoRun takes back all changes of a run, or with partial those that nothing stands in the way of.
func (s *Service) undoRun(ctx context.Context, accountID, serviceID, runID int64, partial bool) (run, error) {
	r, err := s.find(ctx, accountID, serviceID, runID)
	if err != nil {
		return r, err
	}
	if r.status.open() {
		return r, errInProgress.With(fault.Fields{"run": r.id})
	}
	changes, err := changesOf(ctx, s.DB, runID)
	if err != nil {
		return r, err
	}
	if r.kind == Agent { // what it has undone by itself stays so
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.undoOf != nil })
	}
	return s.undo(ctx, accountID, serviceID, changes, partial)
}

// undoChange takes back one change.
func (s *Service) undoChange(ctx context.Context, accountID, serviceID, changeID int64) (run, error) {
	c, err := changeOf(ctx, s.DB, accountID, serviceID, changeID)
	if err != nil {
		return run{}, orNotFound(err)
	}
	r, err := s.find(ctx, accountID, serviceID, c.runID)
	if err != nil {
		return run{}, err
	}
	if r.status.open() {
		return r, errInProgress.With(fault.Fields{"run": r.id})
	}
	return s.undo(ctx, accountID, serviceID, []change{c}, false)
}

// mostLater bounds how many later changes are searched for who stands in the way.
const mostLater = 1000

// undo plans the taking back of changes by what is there now, and writes it as a run of its own. The run looks again before
// it changes anything.
func (s *Service) undo(ctx context.Context, accountID, serviceID int64, changes []change, partial bool) (r run, err error) {
	oldest := s.Clock.Now().Add(-keptFor) // the contents of older ones are removed
	changes = slices.DeleteFunc(changes, func(c change) bool { return c.status != applied && c.status != prepared || c.createdAt.Before(oldest) })
	if len(changes) == 0 {
		return r, errNothingToDo.New()
	}
	project, err := s.project(ctx, accountID, serviceID)
	if err != nil {
		return r, err
	}
	found, err := project.lookAt(ctx, pathsOf(changes))
	if err != nil {
		return r, site.Refusal(err)
	}
	later, err := changesFrom(ctx, s.DB, serviceID, changes[0].id, mostLater)
	if err != nil {
		return r, err
	}
	inverses, obstacles := planUndo(changes, found, later)
	if len(obstacles) > 0 && (!partial || len(inverses) == 0) {
		return r, errUndoConflict.With(fault.Fields{"conflicts": conflictsWire(obstacles)})
	}
	if len(inverses) == 0 {
		return r, errNothingToDo.New()
	}
	var contents []string
	for i := range inverses {
		if inverses[i].kind.writes() {
			contents = append(contents, inverses[i].before, inverses[i].after)
		}
	}
	err = site.Change[panel.Files](ctx, s.DB, s.Services, s.Panels, panel.CapFiles, accountID, serviceID,
		func(ctx context.Context, tx *db.Tx, _ site.Site) error {
			r = newRun(tx, accountID, serviceID, Undo)
			if err := s.admit(ctx, tx, &r); err != nil {
				return err
			}
			if err := keepBlobs(ctx, tx, serviceID, contents); err != nil {
				return err
			}
			if err := s.journal(ctx, tx, &r, inverses); err != nil {
				return err
			}
			return putRun(ctx, tx, r)
		})
	return r, err
}

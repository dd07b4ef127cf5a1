package admin

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/hold"
	"stead.dev/stead/internal/platform/replicas"
)

// heldRow is the hold as a subject of the audit log.
var heldRow = rowOf("hold", "hold_restored", "archive, made_at, restored_at", "id", int64(1))

// Hold puts a database on hold that was restored by other means than stead restore, to the state that it had at a time: what a restore
// does to the database after it is there. Servers must be stopped.
func (a *Admin) Hold(ctx context.Context, from string, at time.Time) (h hold.Hold, err error) {
	if now := a.Clock.Now(); at.IsZero() || at.After(now) {
		return h, fault.InvalidData("at", "maximum", map[string]any{"Value": now.Format(time.RFC3339)})
	}
	living, err := replicas.Living(ctx, a.DB)
	if err != nil {
		return h, err
	}
	if len(living) > 0 {
		return h, fault.Conflict.Wrap(controlbackup.ErrInUse)
	}
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := a.record(ctx, tx, "hold.put", "", heldRow, func() error { return hold.Put(ctx, tx, from, at) })
		if err == nil {
			h, _, err = hold.Look(ctx, tx)
		}
		return err
	})
	return h, err
}

// ReleaseHold lets the servers of a restored installation work again, and its secondaries take the restored zones.
func (a *Admin) ReleaseHold(ctx context.Context) (h hold.Hold, err error) {
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var held bool
		if h, held, err = hold.Look(ctx, tx); err != nil {
			return err
		}
		if !held {
			return fault.NotFound.Wrapf("the installation is not on hold")
		}
		return a.record(ctx, tx, "hold.release", "", heldRow, func() error {
			return errors.Join(a.Zones.Renumber(ctx, tx), hold.Release(ctx, tx))
		})
	})
	return h, err
}

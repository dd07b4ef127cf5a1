package site

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
)

// Status is how far a panel has followed a row that says what should be.
type Status string

// The states of a row. Every change of a row makes it Pending, raises its revision and inserts a job
// in the same commit; the job calls Follow.
const (
	Pending  Status = "pending"  // the panel has not followed yet
	Active   Status = "active"   // it has
	Failed   Status = "failed"   // it refuses for good; the failure key says why. Any change tries again
	Removing Status = "removing" // it is to go; the row goes when the panel no longer has it
)

// Head is what Follow must know of a row.
type Head struct {
	ID       int64
	Revision int64  // rises with each change of what should be
	Name     string // on the panel, unique within the service
	Status   Status
}

// Outcome is what became of a row on the panel.
type Outcome[P any] struct {
	Head
	Gone bool  // the panel does not have it, as was wanted
	Err  error // the panel refuses it for good
	Now  P     // as the panel has it, when Err is nil and Gone false
}

// Kind is one kind of thing of which a service has several on its panel: what should be are rows of a
// table, what is the panel tells.
type Kind[R, P any] struct {
	// Rows reads all rows of the service.
	Rows func(ctx context.Context, q db.Querier) ([]R, error)
	Head func(R) Head
	// Wish is the row in the words of the panel.
	Wish func(ctx context.Context, r R) (P, error)
	// Same tells whether the panel has it as it is wished.
	Same func(have, wish P) bool

	// List is what the panel has, Set makes or changes one, Remove ends one; one that is gone already
	// is no error to Follow.
	List   func(ctx context.Context) ([]P, error)
	Name   func(P) string
	Set    func(ctx context.Context, p P) (P, error)
	Remove func(ctx context.Context, name string) error

	// Note writes an outcome into the row, unless its revision is another by now, and emits what is to
	// be told. Where the row says so already it writes nothing.
	Note func(ctx context.Context, tx *db.Tx, r R, o Outcome[P]) error
}

// Follow makes the panel as the rows of a service are, and writes into the rows how far it came. It
// looks again after it has acted: of two runs at once, the one that acts last leaves the panel as the
// rows are. The error is what is worth another try.
func Follow[R, P any](ctx context.Context, d *db.DB, k Kind[R, P]) error {
	for {
		rows, outcomes, followErr := k.follow(ctx, d)
		if followErr != nil && rows == nil {
			return followErr
		}
		settled := false
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			now, err := k.Rows(ctx, tx)
			if err != nil {
				return err
			}
			settled = k.unchanged(rows, now)
			for i, o := range outcomes {
				if o.ID == 0 {
					continue
				}
				if err := k.Note(ctx, tx, rows[i], o); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(followErr, err); err != nil || settled {
			return err
		}
	}
}

// Refuse notes of all rows that the panel refuses them for good, because it can do nothing of that kind; what was to go has
// gone.
func (k Kind[R, P]) Refuse(ctx context.Context, d *db.DB, why error) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		rows, err := k.Rows(ctx, tx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			h := k.Head(r)
			if err := k.Note(ctx, tx, r, Outcome[P]{Head: h, Gone: h.Status == Removing, Err: why}); err != nil {
				return err
			}
		}
		return nil
	})
}

// unchanged tells that no row came or changed while the panel was at work.
func (k Kind[R, P]) unchanged(before, now []R) bool {
	known := make(map[[2]int64]bool, len(before))
	for _, r := range before {
		h := k.Head(r)
		known[[2]int64{h.ID, h.Revision}] = true
	}
	for _, r := range now {
		h := k.Head(r)
		if !known[[2]int64{h.ID, h.Revision}] {
			return false
		}
	}
	return true
}

// follow does what distinguishes the panel from the rows. The outcome at i is of the row at i; one
// without an id says nothing, because the panel could not be brought to it this time.
func (k Kind[R, P]) follow(ctx context.Context, d *db.DB) ([]R, []Outcome[P], error) {
	// The panel before the rows: what another run puts there meanwhile has a row here, and is not
	// taken for something that nobody wants.
	have, err := k.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows, err := k.Rows(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	if rows == nil {
		rows = []R{}
	}
	wanted := make(map[string]bool, len(rows))
	for _, r := range rows {
		if h := k.Head(r); h.Status != Removing {
			wanted[h.Name] = true
		}
	}
	// What goes makes room for what comes.
	var failed error
	on := make(map[string]P, len(have))
	for _, p := range have {
		name := k.Name(p)
		if !wanted[name] {
			if err := k.Remove(ctx, name); err != nil && !isGone(err) {
				failed = errors.Join(failed, err)
				on[name] = p
			}
			continue
		}
		on[name] = p
	}
	outcomes := make([]Outcome[P], len(rows))
	for i, r := range rows {
		h := k.Head(r)
		p, there := on[h.Name]
		if h.Status == Removing {
			if !there || wanted[h.Name] {
				outcomes[i] = Outcome[P]{Head: h, Gone: true}
			}
			continue
		}
		wish, err := k.Wish(ctx, r)
		if err == nil && (!there || !k.Same(p, wish)) {
			p, err = k.Set(ctx, wish)
		}
		switch {
		case err == nil:
			outcomes[i] = Outcome[P]{Head: h, Now: p}
		case ForGood(err):
			outcomes[i] = Outcome[P]{Head: h, Err: err}
		default:
			failed = errors.Join(failed, err)
		}
	}
	return rows, outcomes, failed
}

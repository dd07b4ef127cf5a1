package site

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stead.dev/stead/internal/platform/atonce"
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

	// Ref is the service's account on the panel. List is what the panel has there, Set makes or changes one, Remove ends
	// one; one that is gone already is no error to Follow.
	Ref    string
	List   func(ctx context.Context, ref string) ([]P, error)
	Name   func(P) string
	Set    func(ctx context.Context, ref string, p P) (P, error)
	Remove func(ctx context.Context, ref, name string) error

	// Main tells, where it is not nil, the one row without which the panel is left alone: the primary domain among domains. It is
	// set before the others. Last tells of a thing that nobody wants that it can only go when the rows are there, as
	// the former main one.
	Main func(R) bool
	Last func(P) bool
	// AllBeforeLast keeps the things of Last until the panel has all rows as they should be.
	AllBeforeLast bool
	// AtOnce is how many are set at a time, where they are more than a few; one after the other when it is zero. What a
	// panel does for all that wait together, such as having its web server read the sites anew, it then does once for many.
	AtOnce int

	// Note writes an outcome into the row, unless its revision has changed, and emits the events of the change. An
	// outcome that the row has already is not written again.
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

// pass is one pass over the things of a service.
type pass[R, P any] struct {
	Kind[R, P]
	have     []P             // as the panel had it
	on       map[string]P    // what of it is wanted, or could not be removed
	wanted   map[string]bool // by name
	rows     []R
	outcomes []Outcome[P] // by row; one without an id is not written: the panel failed for now
	failed   []error      // by row
}

// follow applies the difference between the rows and the panel. The outcome at i is of the row at i.
func (k Kind[R, P]) follow(ctx context.Context, d *db.DB) ([]R, []Outcome[P], error) {
	// The panel before the rows: what another run puts there meanwhile has a row here, and is not
	// taken for something that nobody wants.
	have, err := k.List(ctx, k.Ref)
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
	if k.Main != nil && !slices.ContainsFunc(rows, k.Main) {
		return nil, nil, fmt.Errorf("site: account %s has no main row", k.Ref)
	}
	p := pass[R, P]{
		Kind: k, have: have, on: make(map[string]P, len(have)), wanted: make(map[string]bool, len(rows)),
		rows: rows, outcomes: make([]Outcome[P], len(rows)), failed: make([]error, len(rows)),
	}
	for _, r := range rows {
		if h := k.Head(r); h.Status != Removing {
			p.wanted[h.Name] = true
		}
	}
	for _, t := range have {
		p.on[k.Name(t)] = t
	}
	// What goes makes room for what comes.
	err = p.remove(ctx, func(t P) bool { return k.Last == nil || !k.Last(t) })
	p.set(ctx)
	if k.Last != nil && (!k.AllBeforeLast || p.complete()) {
		err = errors.Join(err, p.remove(ctx, func(P) bool { return true }))
	}
	for i, r := range rows {
		h := k.Head(r)
		if _, there := p.on[h.Name]; h.Status == Removing && (!there || p.wanted[h.Name]) {
			p.outcomes[i] = Outcome[P]{Head: h, Gone: true}
		}
	}
	return rows, p.outcomes, errors.Join(append(p.failed, err)...)
}

// remove takes from the panel what no row wants, among what which tells.
func (p *pass[R, P]) remove(ctx context.Context, which func(P) bool) (failed error) {
	for _, t := range p.have {
		name := p.Name(t)
		if _, there := p.on[name]; !there || p.wanted[name] || !which(t) {
			continue
		}
		if err := p.Remove(ctx, p.Ref, name); err != nil && !isGone(err) {
			failed = errors.Join(failed, err)
			continue
		}
		delete(p.on, name)
	}
	return failed
}

// complete tells that the panel has all that rows want.
func (p *pass[R, P]) complete() bool {
	return errors.Join(p.failed...) == nil && !slices.ContainsFunc(p.outcomes, func(o Outcome[P]) bool { return o.Err != nil })
}

// few things are set one after the other, in their order: it takes little longer.
const few = 3

// set has the panel make or change what is wanted and is not as it should be.
func (p *pass[R, P]) set(ctx context.Context) {
	var others []int
	for i, r := range p.rows {
		switch {
		case p.Head(r).Status == Removing:
		case p.Main != nil && p.Main(r):
			p.setOne(ctx, i)
		default:
			others = append(others, i)
		}
	}
	if len(others) > few && p.AtOnce > 0 {
		atonce.Each(len(others), p.AtOnce, func(i int) { p.setOne(ctx, others[i]) })
		return
	}
	for _, i := range others {
		p.setOne(ctx, i)
	}
}

// setOne follows the row at i, and writes to nothing but its outcome and failure.
func (p *pass[R, P]) setOne(ctx context.Context, i int) {
	h := p.Head(p.rows[i])
	now, there := p.on[h.Name]
	wish, err := p.Wish(ctx, p.rows[i])
	if err == nil && (!there || !p.Same(now, wish)) {
		now, err = p.Set(ctx, p.Ref, wish)
	}
	switch {
	case err == nil:
		p.outcomes[i] = Outcome[P]{Head: h, Now: now}
	case ForGood(err):
		p.outcomes[i] = Outcome[P]{Head: h, Err: err}
	default:
		p.failed[i] = err
	}
}

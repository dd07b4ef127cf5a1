package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Base is what the sections of services work with; all is needed.
type Base struct {
	DB       *db.DB
	Queue    jobs.Enqueuer
	Services Services
	Panels   Panels
	Outbox   outbox.Events // see Tell
}

// changedWire is the data of the event that tells what became of a thing.
type changedWire struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Status    string `json:"status"` // such as active, failed or removed
}

// Tell emits the event group.changed for who shows a thing of a service: it has come to rest in a state, and nothing else need
// follow. Its subject is the thing and not the service, whose events are numbered without a gap for those that webhooks are sent to.
func (b Base) Tell(ctx context.Context, tx *db.Tx, group string, of Owned, status string) error {
	return b.Outbox.Emit(ctx, tx, outbox.Event{
		Type: group + ".changed", AccountID: of.AccountID, Subject: group, SubjectID: of.ID,
		Data: changedWire{ID: of.ID, ServiceID: of.ServiceID, Status: status},
	})
}

// Target names the service that a job is about. The arguments of a section's job embed it and add their kind.
type Target struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

// Collection is one kind of thing of which a service has several: its cron jobs, its databases. Rows R of the section's table
// say what should be. The service's panel, by its capability C, has the things as P. A section describes its kind of thing once, and the
// collection gives it a Part, the pages and the writing of its rows.
//
// What must hold, whatever line a process dies after:
//
//   - A change is one transaction. It locks the service, writes the row as Pending or Removing with a higher revision, and inserts a
//     job. Insert, Update and SetRemoving write so; Enqueue inserts the job. No panel is asked in a transaction.
//   - The job is level-triggered. Apply compares all rows of the service with what the panel has, and does the difference. It may run
//     twice, also at once, and after a crash at any point.
//   - Apply looks again after it has acted, and writes how far it came only into rows whose revision is still the one that it acted
//     on. So a change that comes while the panel is at work is not lost, and of two runs at once the last leaves the panel as the
//     rows are.
//   - Locks are taken in one order: the service first, then its rows. What Apply writes needs no lock of the service.
type Collection[R Row, C, P any] struct {
	Base
	Table[R]

	Capability panel.Capability // which C is
	Limit      string           // of a plan, how many a service may have; empty where plans do not count
	Event      string           // the group of the event that tells what became of a thing: "mailbox" for mailbox.changed. Empty: none
	// Job returns the arguments of the job that calls Apply.
	Job func(Target) river.JobArgs

	// On describes how a service's panel is made to follow: all of a Kind but Ref, Head and Note. Rows are all rows of the service unless it says others.
	On func(ctx context.Context, on Site, c C) (Kind[R, P], error)
	// Keys are the error keys of what the panel refuses for good, where they are others than FailureKey's. It may be nil.
	Keys map[panel.Kind]*fault.Def

	// The rest is called in the transaction that writes what became of a row on the panel. Each may be nil.

	// Activated is called when the panel has a row's thing for the first time. The table then has a column activated_at.
	Activated func(ctx context.Context, tx *db.Tx, r R) error
	// Observed writes what the panel reports of a thing that it has as it should; where the row says so already it writes nothing.
	Observed func(ctx context.Context, tx *db.Tx, r R, now P) error
	// Removed is called when the panel no longer has the thing, and its row is deleted.
	Removed func(ctx context.Context, tx *db.Tx, r R) error
	// Forget deletes what other tables have of a row: the panel no longer has the thing, or the service has ended.
	Forget func(ctx context.Context, tx *db.Tx, r R) error
}

var _ Part = Collection[Row, any, any]{}

// Change runs f on a service that takes changes and whose panel has the capability. The service is locked.
func (c Collection[R, C, P]) Change(ctx context.Context, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on Site) error,
) error {
	return Change[C](ctx, c.DB, c.Services, c.Panels, c.Capability, accountID, serviceID, f)
}

// ChangeIn is Change in a transaction of the caller's.
func (c Collection[R, C, P]) ChangeIn(ctx context.Context, tx *db.Tx, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on Site) error,
) error {
	return ChangeIn[C](ctx, tx, c.Services, c.Panels, c.Capability, accountID, serviceID, f)
}

// Enqueue has the panel follow a change. Each change has a job of its own: one that is running may have read the rows before it.
func (c Collection[R, C, P]) Enqueue(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return c.Queue.Enqueue(ctx, tx, c.Job(Target{accountID, serviceID}), &river.InsertOpts{Queue: jobs.PanelQueue})
}

// Room refuses with fault.LimitReached when the plan has no room for so many more.
func (c Collection[R, C, P]) Room(ctx context.Context, tx *db.Tx, on Site, more int64) error {
	n, err := c.count(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	return on.Limits.Refuse(c.Limit, n, n+more)
}

// Remove lets a thing of one of the account's services go. One that is on its way out already stays so.
func (c Collection[R, C, P]) Remove(ctx context.Context, accountID, serviceID, id int64) error {
	return c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ Site) error {
		r, err := c.Get(ctx, tx, accountID, serviceID, id)
		if err != nil || r.AsItem().Status == Removing {
			return err
		}
		if err := c.SetRemoving(ctx, tx, id); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
}

// Renew has the panel take something anew that is not in the row, such as a password. It is called in the transaction in which
// that changes, and refuses when the service takes no changes, and with going when the thing is on its way out.
func (c Collection[R, C, P]) Renew(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64, going *fault.Def) error {
	on, err := c.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	if err := on.Changeable(); err != nil {
		return err
	}
	r, err := c.Get(ctx, tx, accountID, serviceID, id)
	if err != nil {
		return err
	}
	if r.AsItem().Status == Removing {
		return going.New()
	}
	if err := c.Update(ctx, tx, id, nil); err != nil {
		return err
	}
	return c.Enqueue(ctx, tx, accountID, serviceID)
}

// Page reads a service of the account and one page of its rows.
func (c Collection[R, C, P]) Page(ctx context.Context, accountID, serviceID int64, p page.Params) (on Site, rows []R, total int, err error) {
	if on, err = c.Services.Site(ctx, c.DB, accountID, serviceID); err != nil {
		return on, nil, 0, err
	}
	rows, total, err = c.List(ctx, c.DB, accountID, serviceID, p)
	return on, rows, total, err
}

// Count implements Part. What is on its way out counts no more.
func (c Collection[R, C, P]) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	if c.Limit == "" {
		return nil
	}
	n, err := c.count(ctx, q, serviceID)
	into[c.Limit] = n
	return err
}

// Export returns what keep makes of each row, for a backup of the service; nil when there is none. What is on its way out is left out.
func (c Collection[R, C, P]) Export(ctx context.Context, q db.Querier, serviceID int64, keep func(R) any) (json.RawMessage, error) {
	rows, err := c.OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, r := range rows {
		if r.AsItem().Status != Removing {
			all = append(all, keep(r))
		}
	}
	if all == nil {
		return nil, nil
	}
	return json.Marshal(all)
}

// ReadDocument reads what a backup has of a section. The machine that keeps the backup answers it, so it may be anything: what cannot be
// read is panel.ErrInvalid, as of a damaged backup.
func ReadDocument(document json.RawMessage, into any) error {
	if err := json.Unmarshal(document, into); err != nil {
		return fmt.Errorf("document of a backup: %w: %w", panel.ErrInvalid, err)
	}
	return nil
}

// Import reads the document of a backup into wanted, and has f write rows of the locked service after it.
func (c Collection[R, C, P]) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, wanted any,
	f func(on Site, rows []R) error,
) error {
	if err := ReadDocument(document, wanted); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	on, err := c.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	rows, err := c.OfService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	if err := f(on, rows); err != nil {
		return err
	}
	return c.Enqueue(ctx, tx, accountID, serviceID)
}

// Apply implements Part.
func (c Collection[R, C, P]) Apply(ctx context.Context, accountID, serviceID int64) error {
	return Apply(ctx, c.DB, c.Services, accountID, serviceID, c.End, c.Follow)
}

// Follow makes the panel as the rows of a service are that is served. Where the panel does not have the capability, rows have failed.
func (c Collection[R, C, P]) Follow(ctx context.Context, on Site) error {
	capability, err := On[C](c.Panels, on, c.Capability)
	if errors.Is(err, panel.ErrUnsupported) {
		return c.kind(Kind[R, P]{}, on).Refuse(ctx, c.DB, fault.UnsupportedOperation.Wrap(err))
	}
	if err != nil {
		return err
	}
	k, err := c.On(ctx, on, capability)
	if err != nil {
		return err
	}
	return Follow(ctx, c.DB, c.kind(k, on))
}

// kind completes what the section says of a service's panel.
func (c Collection[R, C, P]) kind(k Kind[R, P], on Site) Kind[R, P] {
	k.Ref = on.Ref
	if k.Rows == nil {
		k.Rows = func(ctx context.Context, q db.Querier) ([]R, error) { return c.OfService(ctx, q, on.ServiceID) }
	}
	k.Head = func(r R) Head {
		i := r.AsItem()
		return Head{ID: i.ID, Revision: i.Revision, Name: r.PanelName(), Status: i.Status}
	}
	k.Note = c.note
	return k
}

// note writes what became of a row on the panel, unless the row was changed since r was read.
func (c Collection[R, C, P]) note(ctx context.Context, tx *db.Tx, r R, o Outcome[P]) error {
	switch {
	case o.Gone:
		return c.removed(ctx, tx, r)
	case o.Err != nil:
		return c.failed(ctx, tx, r, c.failureKey(o.Err))
	case o.Status != Active:
		changed, err := changedOne(ctx, tx, `UPDATE `+c.Name+` SET status = $1, failure_key = NULL WHERE `+c.key()+` = $2 AND revision = $3 AND status <> $1`,
			Active, o.ID, o.Revision)
		if err != nil || !changed {
			return err
		}
		if err := c.activated(ctx, tx, r); err != nil {
			return err
		}
		if err := c.tell(ctx, tx, r, string(Active)); err != nil {
			return err
		}
	}
	if c.Observed == nil {
		return nil
	}
	return c.Observed(ctx, tx, r, o.Now)
}

// activated notes when the panel first had the thing. Of two runs at once one does.
func (c Collection[R, C, P]) activated(ctx context.Context, tx *db.Tx, r R) error {
	if c.Activated == nil {
		return nil
	}
	first, err := changedOne(ctx, tx, `UPDATE `+c.Name+` SET activated_at = $1 WHERE `+c.key()+` = $2 AND activated_at IS NULL`, tx.Now, r.AsItem().ID)
	if err != nil || !first {
		return err
	}
	return c.Activated(ctx, tx, r)
}

// failed notes that the panel refuses a row for good, where the row does not say so already.
func (c Collection[R, C, P]) failed(ctx context.Context, tx *db.Tx, r R, key string) error {
	i := r.AsItem()
	if i.FailureKey != nil && *i.FailureKey == key {
		return nil
	}
	changed, err := changedOne(ctx, tx, `UPDATE `+c.Name+` SET status = $1, failure_key = $2
		WHERE `+c.key()+` = $3 AND revision = $4 AND (status <> $1 OR failure_key IS NULL OR failure_key <> $2)`,
		Failed, key, i.ID, i.Revision)
	if err != nil || !changed {
		return err
	}
	return c.tell(ctx, tx, r, string(Failed))
}

// tell tells what became of a row's thing.
func (c Collection[R, C, P]) tell(ctx context.Context, tx *db.Tx, r R, status string) error {
	if c.Event == "" {
		return nil
	}
	return c.Tell(ctx, tx, c.Event, r.AsItem().Owned, status)
}

// failureKey is the public key for what the panel refuses for good.
func (c Collection[R, C, P]) failureKey(err error) string {
	if def, ok := c.Keys[panel.KindOf(err)]; ok && !errors.Is(err, fault.UnsupportedOperation) {
		return def.Key
	}
	return FailureKey(err)
}

// removed ends the row of a thing that the panel no longer has.
func (c Collection[R, C, P]) removed(ctx context.Context, tx *db.Tx, r R) error {
	i := r.AsItem()
	gone, err := changedOne(ctx, tx, `DELETE FROM `+c.Name+` WHERE `+c.key()+` = $1 AND revision = $2 AND status = $3`, i.ID, i.Revision, Removing)
	if err != nil || !gone {
		return err
	}
	for _, f := range []func(context.Context, *db.Tx, R) error{c.Forget, c.Removed} {
		if f == nil {
			continue
		}
		if err := f(ctx, tx, r); err != nil {
			return err
		}
	}
	return c.tell(ctx, tx, r, "removed")
}

// End lets everything go that the section has of a service that has ended.
func (c Collection[R, C, P]) End(ctx context.Context, tx *db.Tx, serviceID int64) error {
	if c.Forget != nil {
		rows, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := c.Forget(ctx, tx, r); err != nil {
				return err
			}
		}
	}
	for _, table := range append([]string{c.Name}, c.Others...) {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE service_id = $1`, serviceID); err != nil {
			return err
		}
	}
	return nil
}

package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Damage that becomes known is dealt with in this order, so that a crash in between loses none of it:
//
//  1. The account is suspected: suspected/<ref> has the time.
//  2. The store is abandoned; the next backup begins a new one.
//  3. Every backup that was begun before that time is read whole, in the background, and its record says what was found.
//     Anything that is asked of the account goes before it.
//  4. The suspicion is removed.

func (d *Driver) suspicion(ref string) string { return filepath.Join(d.cfg.Dir, "suspected", ref) }

// suspectedAt is when the backups of an account became suspected; zero when they are not.
func (d *Driver) suspectedAt(ref string) (time.Time, error) {
	text, err := os.ReadFile(d.suspicion(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, fmt.Errorf("backups: %s: %w", d.suspicion(ref), err)
	}
	return at, nil
}

// suspectRead notes that something could not be read outside of the account's tasks, perhaps because one of them removed data
// meanwhile. The examination tells.
func (d *Driver) suspectRead(ref string, cause error) {
	d.note(ref, cause)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.examineSuspected(ref)
}

func (d *Driver) note(ref string, cause error) {
	d.cfg.Log.Error("stored backups of an account are damaged; the next backup begins a new store, and the others are read", "account", ref, "error", cause)
	if err := atomicfile.Write(d.suspicion(ref), []byte(d.cfg.Now().UTC().Format(time.RFC3339Nano)), 0o600); err != nil {
		d.cfg.Log.Error("damage of backups cannot be noted", "account", ref, "error", err)
	}
}

// suspect deals with damage that a task has found in what has the stream of that handle. See Store.Abandon.
func (d *Driver) suspect(ref, handle string, cause error) {
	d.note(ref, cause)
	if err := d.cfg.Store.Abandon(d.life, ref, handle); err != nil {
		d.cfg.Log.Error("damaged backups cannot be abandoned", "account", ref, "error", err)
	}
}

// foundDamaged deals with a backup that a task could not read.
func (d *Driver) foundDamaged(ref, id string, cause error) {
	b, err := d.backup(ref, id)
	if err != nil {
		d.cfg.Log.Error("record of a damaged backup cannot be read", "account", ref, "id", id, "error", err)
		return
	}
	d.suspect(ref, b.handle(), cause)
	if err := d.examined(b, true); err != nil {
		d.cfg.Log.Error("record of a damaged backup cannot be written", "account", ref, "id", id, "error", err)
	}
}

// examined writes what the reading of a whole backup found.
func (d *Driver) examined(b task, damaged bool) error {
	b.ExaminedAt, b.Damaged = d.cfg.Now().UTC(), damaged
	return d.write(b)
}

// handle is that of any of its streams: all are in one place.
func (t task) handle() string {
	if len(t.Parts) == 0 {
		return ""
	}
	return t.Parts[0].Handle
}

func (t task) suspected(at time.Time) bool { return t.StartedAt.Before(at) && t.ExaminedAt.Before(at) }

func (t task) condition(suspected time.Time) panel.Condition {
	switch {
	case t.Damaged:
		return panel.Damaged
	case t.suspected(suspected):
		return panel.Suspected
	}
	return panel.Sound
}

// examineSuspected begins to read the backups of an account that is suspected, unless something else is running; the caller
// holds mu.
func (d *Driver) examineSuspected(ref string) {
	if d.closed || d.active[ref] != nil || !nameForm.MatchString(ref) {
		return
	}
	if _, err := os.Stat(d.suspicion(ref)); err != nil {
		return
	}
	d.launch(task{ID: "examination", Ref: ref, Job: examines})
}

// pauseExamination makes room for what somebody waits for. The examination goes on after it.
func (d *Driver) pauseExamination(ref string) {
	d.mu.Lock()
	r := d.active[ref]
	d.mu.Unlock()
	if r == nil || !r.examination {
		return
	}
	r.cancel()
	<-r.ended
}

// examine reads the suspected backups of an account.
func (d *Driver) examine(ctx context.Context, ref string) error {
	at, err := d.suspectedAt(ref)
	if err != nil || at.IsZero() {
		return err
	}
	all, err := d.tasks(ref)
	if err != nil {
		return err
	}
	for _, b := range all {
		if !b.restorable() || !b.suspected(at) {
			continue
		}
		err := d.readWhole(ctx, b)
		if errors.Is(err, errDamaged) && ctx.Err() == nil {
			if err := d.cfg.Store.Abandon(ctx, ref, b.handle()); err != nil {
				return err
			}
			d.cfg.Log.Error("a backup is damaged", "account", ref, "id", b.ID, "error", err)
		} else if err != nil {
			return err
		}
		if err := d.examined(b, err != nil); err != nil {
			return err
		}
	}
	if again, err := d.suspectedAt(ref); err != nil || !again.Equal(at) {
		return err // there is more, meanwhile
	}
	return os.Remove(d.suspicion(ref))
}

// readWhole reads all streams of a backup.
func (d *Driver) readWhole(ctx context.Context, b task) error {
	for _, p := range b.Parts {
		if err := d.read(ctx, b, p, discard); err != nil {
			return fmt.Errorf("%s: %w", p.Part, err)
		}
	}
	return nil
}

// deleteStreams removes what the store has of a backup.
func (d *Driver) deleteStreams(ctx context.Context, ref, id string) error {
	all, err := d.tasks(ref)
	if err != nil {
		return err
	}
	var rest []string
	for _, t := range all {
		if t.Job != makes || t.ID == id {
			continue
		}
		for _, p := range t.Parts {
			if p.Handle != "" {
				rest = append(rest, p.Handle)
			}
		}
	}
	return d.cfg.Store.Delete(ctx, ref, id, rest)
}

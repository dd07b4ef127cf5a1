package backups

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// job is the work of a task.
type job string

const (
	makes    job = "backup"
	restores job = "restore"
	checks   job = "check"
	examines job = "examine" // of backups that may be damaged; it has no record, see damage.go
)

// task is the record of a backup, a restore or a check.
type task struct {
	ID         string                               `json:"id"`
	Ref        string                               `json:"ref"`
	Job        job                                  `json:"job"`
	Status     panel.TaskStatus                     `json:"status"`
	Failure    panel.Kind                           `json:"failure,omitempty"`
	Parts      []part                               `json:"parts,omitempty"`
	Documents  map[panel.BackupPart]json.RawMessage `json:"documents,omitempty"` // of a backup, until it is complete
	Backup     string                               `json:"backup,omitempty"`    // the one that is restored or checked
	Items      []string                             `json:"items,omitempty"`
	Target     string                               `json:"target,omitempty"`
	Storage    string                               `json:"storage,omitempty"`
	StartedAt  time.Time                            `json:"started_at"`
	FinishedAt time.Time                            `json:"finished_at,omitzero"`
	// Thorough has a check read back more of the account's store than the backup.
	Thorough bool `json:"thorough,omitempty"`
	// ExaminedAt is when a backup was last read whole, Damaged what was found.
	ExaminedAt time.Time `json:"examined_at,omitzero"`
	Damaged    bool      `json:"damaged,omitempty"`
}

// part is one stream of a backup, or one part of a restore.
type part struct {
	Part       panel.BackupPart `json:"part"`
	Status     panel.TaskStatus `json:"status"`
	Bytes      int64            `json:"bytes"`
	Count      int64            `json:"count"`
	Unreadable int64            `json:"unreadable,omitempty"`
	Stream     int64            `json:"stream,omitempty"` // length of the stream
	SHA256     string           `json:"sha256,omitempty"` // of the stream
	Handle     string           `json:"handle,omitempty"` // of the store
}

func (t task) restorable() bool { return t.Job == makes && t.Status == panel.TaskCompleted }

func (t task) find(p panel.BackupPart) *part {
	i := slices.IndexFunc(t.Parts, func(had part) bool { return had.Part == p })
	if i < 0 {
		return nil
	}
	return &t.Parts[i]
}

// answer converts the task to the port's form.
func (t task) answer() panel.BackupTask {
	return panel.BackupTask{
		ID: t.ID, Status: t.Status, Failure: t.Failure, Parts: t.states(), StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
	}
}

func (t task) states() []panel.BackupPartState {
	states := make([]panel.BackupPartState, len(t.Parts))
	for i, p := range t.Parts {
		states[i] = panel.BackupPartState{Part: p.Part, Status: p.Status, Bytes: p.Bytes, Count: p.Count, Unreadable: p.Unreadable}
	}
	return states
}

// task reads a record.
func (d *Driver) task(ref, id string) (t task, err error) {
	if !nameForm.MatchString(id) {
		return t, fmt.Errorf("%w: backup", panel.ErrNotFound)
	}
	data, err := os.ReadFile(d.file(ref, id))
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("%w: backup", panel.ErrNotFound)
	}
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(data, &t)
}

// backup reads the record of a complete backup.
func (d *Driver) backup(ref, id string) (task, error) {
	t, err := d.task(ref, id)
	if err == nil && !t.restorable() {
		err = fmt.Errorf("%w: no complete backup", panel.ErrNotFound)
	}
	return t, err
}

func (d *Driver) tasks(ref string) ([]task, error) {
	entries, err := os.ReadDir(d.dir(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []task
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		t, err := d.task(ref, id)
		if errors.Is(err, panel.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b task) int { return a.StartedAt.Compare(b.StartedAt) })
	return all, nil
}

func (d *Driver) write(t task) error {
	data, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(d.file(t.Ref, t.ID), append(data, '\n'), 0o600)
}

// forgetEnded removes the records of old restores, checks and failures.
func (d *Driver) forgetEnded(ref string) error {
	all, err := d.tasks(ref)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.restorable() || t.Status == panel.TaskRunning || d.cfg.Now().Sub(t.FinishedAt) < keepEnded {
			continue
		}
		if err := os.Remove(d.file(ref, t.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

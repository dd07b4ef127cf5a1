package moves

import (
	"slices"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/port/panel"
)

// Kind says why a service moves.
type Kind string

// The kinds: a move from a dead machine, out of backups, and one from a machine that lives.
const (
	Recover Kind = "recover"
	Live    Kind = "move"
)

// Step is what is done next of a move.
type Step string

// The steps; see the package's documentation.
const (
	Lower   Step = "lower"
	Plan    Step = "plan"
	Save    Step = "save"
	Adopt   Step = "adopt"
	Check   Step = "check"
	Make    Step = "make"
	Hold    Step = "hold"
	Ready   Step = "ready"
	Commit  Step = "commit"
	Fill    Step = "fill"
	Restore Step = "restore"
	Open    Step = "open"
	Undo    Step = "undo"
	Leave   Step = "leave"
	Keep    Step = "keep"
	Closed  Step = "closed"
)

// keptAfter is how long a machine keeps what is left of a service after it was told that the service has left.
const keptAfter = 7 * 24 * time.Hour

// restoreTries is how often a restore is tried. The service is left without then, and the operator told.
const restoreTries = 3

// Target says to which nodes an operator wants a service to move; empty members mean any.
type Target struct {
	Node     string // by its name
	Location string
	Labels   labels.Set
}

func (t Target) any() bool { return t.Node == "" && t.Location == "" && len(t.Labels) == 0 }

// Move is a row of moves_moves.
type Move struct {
	ID, AccountID, ServiceID int64
	Kind                     Kind
	From, To                 string // panels
	Wanted                   Target
	Empty                    bool
	BackupID                 *int64
	BackupAt                 *time.Time // when that backup was asked for, or the one that comes first while none is chosen
	Refused                  []int64    // backups
	Epoch                    *int64
	Step                     Step
	StepAt                   time.Time
	Tries                    int64
	Pinned                   bool
	LoweredUntil             *time.Time
	FailureKey               *string
	Cause                    string
	CreatedAt                time.Time
	HeldAt                   *time.Time // when the last hold began
	CommittedAt, OpenedAt    *time.Time
	LeftAt, ClosedAt         *time.Time
}

// ref is the service's account on every machine.
func (m Move) ref() string { return strconv.FormatInt(m.ServiceID, 10) }

// restoreTask names the restore on the machine: each try is another task.
func (m Move) restoreTask() string {
	return "m" + strconv.FormatInt(m.ID, 10) + "-" + strconv.FormatInt(m.Tries, 10)
}

// checkTask names the reading of the chosen backup on the machine.
func (m Move) checkTask() string {
	of := m.Tries
	if m.BackupID != nil {
		of = *m.BackupID
	}
	return "m" + strconv.FormatInt(m.ID, 10) + "-v" + strconv.FormatInt(of, 10)
}

// copied is the name of the present copy of a service that moves while it lives, among the backups of its machines.
func (m Move) copied() string { return m.copyOf(m.Tries) }

func (m Move) copyOf(try int64) string {
	return "m" + strconv.FormatInt(m.ID, 10) + "-c" + strconv.FormatInt(try, 10)
}

// committed tells that the service is on the other machine.
func (m Move) committed() bool { return m.Epoch != nil }

// Failed tells that the service stayed where it was.
func (m Move) Failed() bool { return m.Step == Closed && !m.committed() }

// restored are the parts of a backup that machines have; the others are rows, which are newer than the backup.
func restored(parts []panel.BackupPart) []panel.BackupPart {
	return slices.DeleteFunc(slices.Clone(parts), func(p panel.BackupPart) bool { return p == panel.PartDNS || p == panel.PartCron })
}

// outcome is what became of one run of a step: the step that comes next, which may be the same after a wait, and what changed.
type outcome struct {
	next   Step
	wait   time.Duration
	anew   bool // the step begins now, also when it is the present one
	change func(m *Move)
}

// on goes on with a step at once.
func on(next Step) outcome { return outcome{next: next} }

// with is the outcome with a change of the move.
func (o outcome) with(change func(m *Move)) outcome {
	o.change = change
	return o
}

// because is the outcome with what is in the way.
func (o outcome) because(key, cause string) outcome {
	return o.with(func(m *Move) { m.FailureKey, m.Cause = &key, cause })
}

// later runs a step again.
func later(m Move, wait time.Duration) outcome { return outcome{next: m.Step, wait: wait} }

// fail undoes a move that has not been committed.
func fail(key, cause string) outcome { return on(Undo).because(key, cause) }

// settled tells that what the move says of a failure is its result: nothing is in the way of a step any more.
func (m Move) settled() bool {
	switch m.Step {
	case Open, Undo, Leave, Keep, Closed:
		return true
	default:
		return false
	}
}

// apply is the move after the outcome of its step.
func (m Move) apply(o outcome, now time.Time) Move {
	if m.settled() && o.next == m.Step {
		return m // it waits, and its result stays
	}
	if !m.settled() {
		m.FailureKey, m.Cause = nil, ""
	}
	if o.next != m.Step || o.anew {
		m.Step, m.StepAt = o.next, now
	}
	if o.change != nil {
		o.change(&m)
	}
	if m.Step == Closed && m.ClosedAt == nil {
		m.ClosedAt = &now
	}
	return m
}

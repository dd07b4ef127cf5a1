package sitetest

import (
	"context"
	"fmt"
	"sync"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Failures has the calls of a panel fail when the test says so. A test's machine embeds it beside the simulated panel, and asks
// Change or Failure first in the methods that it overrides.
type Failures struct {
	mu      sync.Mutex
	fails   error
	changes int
	before  func()
}

// Fail lets all calls fail with err from now on; nil ends that.
func (m *Failures) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

// Before has f called before the next change.
func (m *Failures) Before(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = f
}

// Changes is how many changes were asked for.
func (m *Failures) Changes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

// Failure is the error of a call that is to fail.
func (m *Failures) Failure(operation, ref string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == nil {
		return nil
	}
	return panel.Wrap(operation, ref, m.fails)
}

// Change counts a change, and returns the error of one that is to fail.
func (m *Failures) Change(operation, ref string) error {
	m.mu.Lock()
	before := m.before
	m.before = nil
	m.changes++
	m.mu.Unlock()
	if before != nil {
		before()
	}
	return m.Failure(operation, ref)
}

// Vault keeps passwords in memory, as section credentials does in a table.
type Vault struct {
	mu   sync.Mutex
	all  map[int64][2]string // password and version, by subject
	made int
}

// Put makes a password unless the subject has one.
func (v *Vault) Put(_ context.Context, _ *db.Tx, _, _ int64, kind string, subjectID int64, label string) error {
	if kind == "" || label == "" {
		return fmt.Errorf("a password of nothing: kind %q, label %q", kind, label)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.all[subjectID]; !ok {
		v.renew(subjectID, label)
	}
	return nil
}

// Renew gives a subject another password.
func (v *Vault) Renew(subjectID int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.renew(subjectID, "again")
}

func (v *Vault) renew(subjectID int64, label string) {
	if v.all == nil {
		v.all = map[int64][2]string{}
	}
	v.made++
	v.all[subjectID] = [2]string{fmt.Sprintf("secret password %d of %s", v.made, label), fmt.Sprint("v", v.made)}
}

// Secret returns the password of a subject and its version.
func (v *Vault) Secret(_ context.Context, _ db.Querier, _ string, subjectID int64) (password, version string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.all[subjectID]
	if !ok {
		return "", "", fault.NotFound.New()
	}
	return p[0], p[1], nil
}

// Version returns the version of a subject's password.
func (v *Vault) Version(ctx context.Context, q db.Querier, kind string, subjectID int64) (string, error) {
	_, version, err := v.Secret(ctx, q, kind, subjectID)
	return version, err
}

// Delete forgets a password.
func (v *Vault) Delete(_ context.Context, _ *db.Tx, _ string, subjectID int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, subjectID)
	return nil
}

// Count is how many passwords there are.
func (v *Vault) Count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.all)
}

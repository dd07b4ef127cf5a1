package servicestest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Machine is a panel in memory. Fails is answered as long as it is set; Made stays
// what it is, as on a real machine.
type Machine struct {
	mu      sync.Mutex
	Made    map[string]panel.Account
	Creates int
	Fails   error
	After   func() // called when an account was made, before the answer
	// Deleting is called once when an account is about to be deleted.
	Deleting func()
	Now      func() time.Time
}

// Name is what services know it by.
func (m *Machine) Name() string { return "node" }

// CreateAccount implements panel.Accounts.
func (m *Machine) CreateAccount(_ context.Context, spec panel.AccountSpec) (panel.Account, error) {
	m.mu.Lock()
	m.Creates++
	if m.Fails != nil {
		defer m.mu.Unlock()
		return panel.Account{}, panel.Wrap("accounts.create", spec.Ref, m.Fails)
	}
	a, ok := m.Made[spec.Ref]
	if !ok {
		a = panel.Account{
			Ref: spec.Ref, Username: spec.Username, PrimaryDomain: spec.PrimaryDomain, Limits: spec.Limits,
			Status: panel.AccountActive, CreatedAt: m.Now(), OriginURL: "http://127.0.0.1:8081", IPv4: "203.0.113.7",
			IPv6: "2001:db8::7", Nameservers: []string{"ns1.stead.test", "ns2.stead.test"}, Location: "Tashkent",
			Domains: []panel.Domain{{Name: spec.PrimaryDomain, Primary: true, NoMail: spec.NoMail}},
		}
		m.Made[spec.Ref] = a
	}
	m.mu.Unlock()
	if m.After != nil {
		m.After()
	}
	return a, nil
}

// Account implements panel.Accounts.
func (m *Machine) Account(_ context.Context, ref string) (panel.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.Made[ref]
	if !ok {
		return a, panel.Wrap("accounts.get", ref, panel.ErrNotFound)
	}
	return a, nil
}

// Set changes the account of a service there.
func (m *Machine) Set(ref string, change func(*panel.Account)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.Made[ref]
	if !ok {
		return panel.Wrap("accounts.set", ref, panel.ErrNotFound)
	}
	change(&a)
	m.Made[ref] = a
	return nil
}

// SuspendAccount implements panel.Accounts.
func (m *Machine) SuspendAccount(_ context.Context, ref string) error {
	return m.Set(ref, func(a *panel.Account) { a.Status = panel.AccountSuspended })
}

// UnsuspendAccount implements panel.Accounts.
func (m *Machine) UnsuspendAccount(_ context.Context, ref string) error {
	return m.Set(ref, func(a *panel.Account) { a.Status = panel.AccountActive })
}

// UpdateAccount implements panel.Accounts.
func (m *Machine) UpdateAccount(ctx context.Context, ref string, l panel.Limits) (panel.Account, error) {
	if err := m.Set(ref, func(a *panel.Account) { a.Limits = l }); err != nil {
		return panel.Account{}, err
	}
	return m.Account(ctx, ref)
}

// DeleteAccount implements panel.Accounts.
func (m *Machine) DeleteAccount(_ context.Context, ref string) error {
	if during := m.Deleting; during != nil {
		m.Deleting = nil
		during()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.Made[ref]; !ok {
		return panel.Wrap("accounts.delete", ref, panel.ErrNotFound)
	}
	delete(m.Made, ref)
	return nil
}

// Accounts counts them.
func (m *Machine) Accounts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.Made)
}

// RefOf is the service's name on its panel.
func RefOf(id int64) string { return fmt.Sprint(id) }

// Panels are those of a test, by name.
type Panels map[string]panel.Panel

// Panel finds one.
func (ps Panels) Panel(name string) (panel.Panel, bool) { p, ok := ps[name]; return p, ok }

// Bare is a panel that can do nothing.
type Bare struct{}

// Name is what services know it by.
func (Bare) Name() string { return "bare" }

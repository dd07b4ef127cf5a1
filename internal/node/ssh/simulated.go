package ssh

import (
	"context"
	"path/filepath"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

// Simulated keeps keys without effect, for sandbox customers.
type Simulated struct{ *book }

var (
	_ panel.Shell       = Simulated{}
	_ facility.Facility = Simulated{}
)

// NewSimulated keeps its records below dir; host is what customers are told.
func NewSimulated(dir, host string, lookup facility.Lookup) (Simulated, error) {
	b, err := openBook(filepath.Join(dir, "ssh"), lookup)
	if err != nil {
		return Simulated{}, err
	}
	b.host, b.port = host, 22
	b.fingerprint = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" // of no key
	return Simulated{b}, nil
}

// Capability implements facility.Facility.
func (Simulated) Capability() panel.Capability { return panel.CapShell }

// Apply implements facility.Facility.
func (Simulated) Apply(context.Context, accounts.Account) error { return nil }

// Remove implements facility.Facility.
func (s Simulated) Remove(_ context.Context, a accounts.Account) error {
	return s.records.Delete(a.Name)
}

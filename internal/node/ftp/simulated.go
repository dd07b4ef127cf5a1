package ftp

import (
	"context"
	"path/filepath"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

// Simulated keeps FTP accounts that nobody can sign in to, for sandbox customers.
type Simulated struct{ *book }

var (
	_ panel.FTP         = Simulated{}
	_ facility.Facility = Simulated{}
)

// NewSimulated keeps its records below dir; host is what customers are told.
func NewSimulated(dir, host string, lookup facility.Lookup) (Simulated, error) {
	b, err := openBook(filepath.Join(dir, "ftp"), lookup)
	if err != nil {
		return Simulated{}, err
	}
	b.host, b.port = host, func() int { return 21 }
	return Simulated{b}, nil
}

// Capability implements facility.Facility.
func (Simulated) Capability() panel.Capability { return panel.CapFTP }

// Apply implements facility.Facility.
func (Simulated) Apply(context.Context, accounts.Account) error { return nil }

// Remove implements facility.Facility.
func (s Simulated) Remove(_ context.Context, a accounts.Account) error {
	return s.records.Delete(a.Name)
}

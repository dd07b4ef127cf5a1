package php

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// Simulated stores settings as the driver does and runs nothing.
type Simulated struct {
	lookup  facility.Lookup
	records *record.Store[panel.PHPSettings]
}

var (
	_ panel.PHP         = (*Simulated)(nil)
	_ facility.Facility = (*Simulated)(nil)
)

// The versions and extensions of a simulated machine.
var (
	simulatedVersions = []string{"8.1", "8.2", "8.3"}
	simulatedBuiltIn  = []string{"curl", "gd", "intl", "mbstring", "mysqli", "opcache", "pdo_mysql", "pdo_pgsql", "zip"}
	simulatedOptional = []string{"imagick", "redis", "sockets"}
)

// NewSimulated keeps its records in state.
func NewSimulated(state string, lookup facility.Lookup) (*Simulated, error) {
	records, err := record.Open[panel.PHPSettings](filepath.Join(state, "php"))
	if err != nil {
		return nil, fmt.Errorf("php: %w", err)
	}
	return &Simulated{lookup, records}, nil
}

// Capability implements facility.Facility.
func (s *Simulated) Capability() panel.Capability { return panel.CapPHP }

// Apply implements facility.Facility.
func (s *Simulated) Apply(context.Context, accounts.Account) error { return nil }

// Remove implements facility.Facility.
func (s *Simulated) Remove(_ context.Context, a accounts.Account) error {
	return s.records.Delete(a.Name)
}

// PHPVersions implements panel.Interpreters.
func (*Simulated) PHPVersions() []string { return slices.Clone(simulatedVersions) }

// PHPSettings implements panel.PHP.
func (s *Simulated) PHPSettings(_ context.Context, ref string) (panel.PHPState, error) {
	a, err := s.lookup(ref)
	if err != nil {
		return panel.PHPState{}, panel.Wrap("php.get", ref, err)
	}
	return simulatedState(s.records.Get(a.Name)), nil
}

func simulatedState(set panel.PHPSettings) panel.PHPState {
	if set.Version == "" {
		set.Version = simulatedVersions[len(simulatedVersions)-1]
	}
	state := panel.PHPState{PHPSettings: set, Versions: slices.Clone(simulatedVersions), Choice: map[string][]panel.PHPExtension{}}
	var choice []panel.PHPExtension
	for _, name := range simulatedBuiltIn {
		choice = append(choice, panel.PHPExtension{Name: name, State: panel.PHPBuiltIn})
	}
	for _, name := range simulatedOptional {
		extension := panel.PHPExtension{Name: name, State: panel.PHPDisabled}
		if slices.Contains(set.Extensions, name) {
			extension.State = panel.PHPEnabled
		}
		choice = append(choice, extension)
	}
	for _, version := range simulatedVersions {
		state.Choice[version] = choice
	}
	return state
}

// SetPHPSettings implements panel.PHP.
func (s *Simulated) SetPHPSettings(_ context.Context, ref string, set panel.PHPSettings) (panel.PHPState, error) {
	state, err := s.set(ref, set)
	return state, panel.Wrap("php.set", ref, err)
}

// CheckPHP implements panel.PHP: nothing can tell.
func (s *Simulated) CheckPHP(_ context.Context, ref string, _ []byte) (string, error) {
	_, err := s.lookup(ref)
	if err == nil {
		err = panel.ErrUnsupported
	}
	return "", panel.Wrap("php.check", ref, err)
}

func (s *Simulated) set(ref string, set panel.PHPSettings) (panel.PHPState, error) {
	a, err := s.lookup(ref)
	if err == nil && a.Suspended {
		err = fmt.Errorf("%w: account %s", panel.ErrSuspended, ref)
	}
	if err == nil {
		set, err = set.Canonical()
	}
	if err == nil && set.Version != "" && !slices.Contains(simulatedVersions, set.Version) {
		err = fmt.Errorf("%w: PHP %s is not installed", panel.ErrUnsupported, set.Version)
	}
	for _, name := range set.Extensions {
		if err == nil && !slices.Contains(simulatedOptional, name) {
			err = fmt.Errorf("%w: extension %q cannot be switched on", panel.ErrInvalid, name)
		}
	}
	if err != nil {
		return panel.PHPState{}, err
	}
	_, err = s.records.Update(a.Name, func(now *panel.PHPSettings) error { *now = set; return nil })
	return simulatedState(set), err
}

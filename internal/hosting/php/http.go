package php

import (
	"context"
	"encoding/json"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/port/panel"
)

// wire is how PHP runs (resources, section 22).
type wire struct {
	Version    string                `json:"version"`
	Available  []versionWire         `json:"available" doc:"Versions that can be chosen, the oldest first"`
	Options    map[string]optionWire `json:"options"`
	Extensions []extensionWire       `json:"extensions"`
	Conflicts  []conflictWire        `json:"conflicts" doc:"Options that contradict each other; they are set all the same"`
	Status     site.Status           `json:"status" enum:"pending,active,failed" doc:"How far the hosting server has followed"`
	FailureKey *string               `json:"failure_key" doc:"Why it failed: an error key"`
}

type versionWire struct {
	Version   string  `json:"version"`
	EOL       *string `json:"eol" format:"date" doc:"The day on which its makers end mending its security; null when not known"`
	Supported bool    `json:"supported"`
}

type optionWire struct {
	Value   any                 `json:"value"`
	Default any                 `json:"default"`
	Type    panel.PHPOptionType `json:"type" enum:"integer,size,boolean,choice,timezone" doc:"A size is written 128M"`
	Range   []any               `json:"range" doc:"The least and the greatest value; of a choice all values; empty otherwise"`
	Max     any                 `json:"max" doc:"The greatest value in this plan; null without one"`
}

type extensionWire struct {
	Name  string                  `json:"name"`
	State panel.PHPExtensionState `json:"state" enum:"built_in,enabled,disabled" doc:"What is built in cannot be changed"`
}

type conflictWire struct {
	Options []string `json:"options"`
	Message string   `json:"message"`
}

func wireOf(ctx context.Context, v view, now time.Time) *wire {
	w := &wire{
		Version: v.version, Options: map[string]optionWire{}, Available: []versionWire{}, Extensions: []extensionWire{},
		Conflicts: []conflictWire{}, Status: v.Status, FailureKey: v.FailureKey,
	}
	for _, version := range v.versions {
		until, ok := supported(version, now)
		w.Available = append(w.Available, versionWire{version, until, ok})
	}
	for _, o := range panel.PHPOptions() {
		shown := optionWire{Value: valueOf(o, v.Option(o.Name)), Default: valueOf(o, o.Default), Type: o.Type, Range: []any{}}
		if low, high, ok := bounds(o, 0); ok {
			shown.Range = []any{low, high}
			_, shown.Max, _ = bounds(o, v.most)
		}
		for _, value := range o.Values {
			shown.Range = append(shown.Range, value)
		}
		w.Options[o.Name] = shown
	}
	for _, e := range v.extensions[v.version] {
		shown := extensionWire{Name: e.Name, State: e.State}
		for _, name := range v.Extensions {
			if name == e.Name && e.State != panel.PHPBuiltIn {
				shown.State = panel.PHPEnabled
			}
		}
		w.Extensions = append(w.Extensions, shown)
	}
	for _, c := range conflicts(v.PHPSettings) {
		w.Conflicts = append(w.Conflicts, conflictWire{c.options, i18n.T(i18n.Lang(ctx), "php.conflict."+c.text, nil)})
	}
	return w
}

type updateIn struct {
	site.ServiceIn
	Body struct {
		Version    *string                    `json:"version,omitempty" pattern:"^[0-9]{1,2}\\.[0-9]{1,2}$" example:"8.2"`
		Options    map[string]json.RawMessage `json:"options,omitempty" doc:"Those that are to change, by name; null is the default"`
		Extensions []extensionIn              `json:"extensions,omitempty" maxItems:"100" doc:"Those that are to change"`
	}
}

type extensionIn struct {
	Name  string                  `json:"name" pattern:"^[a-z][a-z0-9_]{0,31}$"`
	State panel.PHPExtensionState `json:"state" enum:"enabled,disabled"`
}

const path = "/api/v1/services/{service}/php"

// Operations are this section's part of the specification's section "Service management"; resources,
// section 22.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, section "Service management": PHP.
		site.Read(api.Operation[site.ServiceIn, wire]{
			ID: "php.get", Path: path, Summary: "See the PHP version, options and extensions of a service",
			Description: "The version and the options in effect, the versions that the service's machine has, and its extensions.",
			Errors:      []*fault.Def{fault.NotFound, fault.UnsupportedOperation, fault.PanelUnreachable, fault.PanelBusy, fault.ServiceNotActive},
			Handle: func(ctx context.Context, p auth.Principal, in *site.ServiceIn) (*wire, error) {
				v, err := s.get(ctx, p.AccountID, in.Service)
				if err != nil {
					return nil, err
				}
				return wireOf(ctx, v, s.Clock.Now()), nil
			},
		}),
		site.Update(api.Operation[updateIn, wire]{
			ID: "php.update", Path: path, Summary: "Change the PHP version, options and extensions of a service",
			Example: `{"version": "8.2", "options": {"memory_limit": "256M"}}`,
			Description: "The answer is `pending` until the hosting server has followed, which takes seconds; requests that run are finished. " +
				"A change of `failed` settings tries them again.",
			Errors: []*fault.Def{ErrVersion, ErrRange},
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*wire, error) {
				c := change{version: in.Body.Version, options: in.Body.Options}
				for _, e := range in.Body.Extensions {
					c.extensions = append(c.extensions, extension{e.Name, e.State == panel.PHPEnabled})
				}
				v, err := s.update(ctx, p.AccountID, in.Service, c)
				if err != nil {
					return nil, err
				}
				return wireOf(ctx, v, s.Clock.Now()), nil
			},
		}),
	}
}

package php

import (
	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "php", Routes: s.Operations(), Workers: s.Register, Needs: []any{s.Config},
		Export: []module.Export{{File: "services/{service}/php", Operation: "php.get", Text: "exports.file.services_php", Of: "services"}},
	}
}

// Register adds the section's worker.
func (s *Service) Register(w *river.Workers) { site.Work[applyArgs](w, s.Apply) }

type applyArgs struct{ site.Target }

func (applyArgs) Kind() string { return "php.apply" }

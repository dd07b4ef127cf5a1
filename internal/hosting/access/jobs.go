package access

import (
	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
)

// Register adds the section's worker.
func (s *Service) Register(w *river.Workers) { site.Work[applyArgs](w, s.Apply) }

type applyArgs struct{ site.Target }

func (applyArgs) Kind() string { return "access.apply" }

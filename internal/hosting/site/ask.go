package site

import (
	"context"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// patience is how long a page waits for a panel.
const patience = 3 * time.Second

// Ask asks the panel for what a page shows in addition to the rows of a service, and returns it by name. It returns nothing when
// the panel does not answer soon.
func Ask[C, T any](ctx context.Context, panels Panels, on Site, capability panel.Capability,
	list func(c C, ctx context.Context, ref string) ([]T, error), name func(T) string,
) map[string]T {
	if on.Ref == "" {
		return nil
	}
	c, err := On[C](panels, on, capability)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := list(c, ctx, on.Ref)
	if err != nil {
		return nil
	}
	answers := make(map[string]T, len(all))
	for _, t := range all {
		answers[name(t)] = t
	}
	return answers
}

package site

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Progress is how far a panel has followed the rows of a service.
type Progress struct {
	Pending bool              // some have not been followed yet
	Failed  map[string]string // by name: the error key of what the panel refuses
}

// Progress reads how far the panel has followed the rows of a service.
func (c Collection[R, C, P]) Progress(ctx context.Context, q db.Querier, serviceID int64) (p Progress, err error) {
	rows, err := c.OfService(ctx, q, serviceID)
	p.Failed = map[string]string{}
	for _, r := range rows {
		switch i := r.AsItem(); i.Status {
		case Pending:
			p.Pending = true
		case Failed:
			p.Failed[r.PanelName()] = *i.FailureKey
		case Active, Removing:
		}
	}
	return p, err
}

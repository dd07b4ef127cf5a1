package notifications

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// Said is a notification rendered in a language.
type Said struct {
	AccountID   int64
	Kind        string
	Severity    Severity
	Title, Body string
	Link        string // path of its object; empty without
	CreatedAt   time.Time
	Read        bool
}

// Say reads a notification in a language; false when it no longer exists.
func (s *Service) Say(ctx context.Context, q db.Querier, id int64, lang string) (Said, bool, error) {
	n, err := get(ctx, q, id)
	if errors.Is(err, db.ErrNoRows) {
		return Said{}, false, nil
	}
	if err != nil {
		return Said{}, false, err
	}
	return Said{
		AccountID: n.accountID, Kind: n.kind, Severity: n.severity, Title: n.title(lang), Body: n.body(lang), Link: n.link(),
		CreatedAt: n.createdAt, Read: n.readAt != nil,
	}, true, nil
}

package access

import (
	"context"
	"errors"
	"io"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// ticketLife is how long a ticket opens a terminal: the page uses it at once.
const ticketLife = 30 * time.Second

// ticket is what a ticket is for.
type ticket struct{ accountID, serviceID, holder int64 }

// terminals finds the panel that has the terminal of one of the account's services. fault.FeatureNotInPlan
// where the plan has no shell; fault.UnsupportedOperation where none is switched on, or the panel has none.
func (s *Service) terminals(ctx context.Context, q db.Querier, accountID, serviceID int64) (panel.Terminal, site.Site, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil {
		return nil, on, err
	}
	if err := on.Changeable(); err != nil {
		return nil, on, err
	}
	if on.Limits.Of(shellLimit) == 0 {
		return nil, on, fault.FeatureNotInPlan.New()
	}
	row, err := s.shellOf(ctx, q, serviceID)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return nil, on, err
	}
	if !row.enabled {
		return nil, on, fault.UnsupportedOperation.New()
	}
	p, err := site.On[panel.Terminal](s.Panels, on, panel.CapTerminal)
	return p, on, site.Refusal(err)
}

// Ticket makes a ticket for a terminal of one of the account's services. It works once, within seconds, for the browser whose
// session holder names; below zero, it names the visit of a reseller's client.
func (s *Service) Ticket(ctx context.Context, accountID, serviceID, holder int64) (token string, err error) {
	token = secret.Token("st_te_", 32)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, _, err := s.terminals(ctx, tx, accountID, serviceID); err != nil {
			return err
		}
		return insertTicket(ctx, tx, secret.Hash(token), ticket{accountID, serviceID, holder}, tx.Now.Add(ticketLife))
	})
	return token, err
}

// UseTicket uses a ticket up. ErrTicket when it is not for this, or was used, or is too old: it is used up
// nevertheless.
func (s *Service) UseTicket(ctx context.Context, token string, accountID, serviceID, holder int64) error {
	good := false
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		good = false
		t, expires, err := takeTicket(ctx, tx, secret.Hash(token))
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		good = t == ticket{accountID, serviceID, holder} && tx.Now.Before(expires)
		return nil
	})
	if err == nil && !good {
		return ErrTicket.New()
	}
	return err
}

// OpenTerminal opens a terminal of one of the account's services: see panel.Terminal.
func (s *Service) OpenTerminal(ctx context.Context, accountID, serviceID int64, size panel.TerminalSize, input io.Reader) (io.ReadCloser, error) {
	p, on, err := s.terminals(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	out, err := p.OpenTerminal(ctx, on.Ref, size, input)
	return out, site.Refusal(err)
}

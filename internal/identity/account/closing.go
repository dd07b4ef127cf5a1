package account

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/money"
)

// Obstacles registers f, which tells what of another section keeps an account from being closed by its owner.
func (s *Service) Obstacles(f func(ctx context.Context, q db.Querier, accountID int64) ([]module.Obstacle, error)) {
	s.obstacles = append(s.obstacles, f)
}

// obstacleStaff keeps a member of staff from closing the account: the company's owner takes the role first.
const obstacleStaff = "staff"

// Closing tells what keeps an account from being closed by its owner. What is Waivable keeps it from that until it is given up.
func (s *Service) Closing(ctx context.Context, q db.Querier, id int64) (all []module.Obstacle, err error) {
	p, err := profile(ctx, q, id)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		all = append(all, module.Obstacle{Kind: obstacleStaff, Count: 1})
	}
	for _, f := range s.obstacles {
		more, err := f(ctx, q, id)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// CloseOwn closes an account for its owner, who has written its address, and gives up what is left in the wallet: given must be
// that amount. The address gets a last mail.
func (s *Service) CloseOwn(ctx context.Context, id int64, email string, given money.USDCents) error {
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		p, err := profile(ctx, tx, id)
		if err != nil {
			return err
		}
		if written, ok := NormalizeEmail(email); !ok || written != p.Email {
			return fault.Invalid("email", "account_email_other")
		}
		if err := s.unobstructed(ctx, tx, id, given); err != nil {
			return err
		}
		if err := s.close(ctx, tx, id); err != nil {
			return err
		}
		if err := s.unobstructed(ctx, tx, id, given); err != nil { // the wallet is locked now
			return err
		}
		if err := s.notifyAt(ctx, tx, mailClosed, id, p.Email, Client{}); err != nil {
			return err
		}
		s.Log.InfoContext(ctx, "an account is closed by its owner", "account", id)
		return nil
	})
}

// unobstructed refuses to close an account that something keeps from it.
func (s *Service) unobstructed(ctx context.Context, tx *db.Tx, id int64, given money.USDCents) error {
	found, err := s.Closing(ctx, tx, id)
	if err != nil {
		return err
	}
	var kinds []string
	for _, o := range found {
		if !o.Waivable || o.Amount != given {
			kinds = append(kinds, o.Kind)
		}
	}
	if len(kinds) > 0 {
		return ErrNotClosable.With(fault.Fields{"obstacles": kinds})
	}
	return nil
}

type closingWire struct {
	CanClose  bool           `json:"can_close" doc:"Whether nothing but a balance that you may give up keeps the account open"`
	Balance   money.Money    `json:"balance" doc:"What closing the account gives up; write to support to have it paid back instead"`
	Obstacles []obstacleWire `json:"obstacles" doc:"What has to end before"`
}

type obstacleWire struct {
	Kind   string       `json:"kind" doc:"services, domains, payments, reserved, debt or staff; more may be added" example:"services"`
	Count  int          `json:"count" doc:"How many there are"`
	Amount *money.Money `json:"amount" doc:"Of reserved and debt"`
}

type closeIn struct {
	Body struct {
		Email  string         `json:"email" minLength:"1" maxLength:"254" doc:"The account's address, so that nobody closes it by mistake"`
		GiveUp money.USDCents `json:"give_up_usd_cents,omitempty" minimum:"0" doc:"The balance that is given up; it must be what is in the wallet, nothing when that is empty"`
	}
}

func (s *Service) closingOperations() []api.Route {
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[struct{}, closingWire]{
			ID: "account.closing", Method: http.MethodGet, Path: "/api/v1/me/closing", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary: "What closing the account would take", Description: "What must end before the account can be closed, and the balance that would be given up.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*closingWire, error) {
				found, err := s.Closing(ctx, s.DB, p.AccountID)
				w := &closingWire{CanClose: true, Balance: money.Wire(ctx, 0), Obstacles: []obstacleWire{}}
				for _, o := range found {
					if o.Waivable {
						w.Balance = money.Wire(ctx, o.Amount)
						continue
					}
					one := obstacleWire{Kind: o.Kind, Count: o.Count}
					if o.Amount != 0 {
						amount := money.Wire(ctx, o.Amount)
						one.Amount = &amount
					}
					w.CanClose, w.Obstacles = false, append(w.Obstacles, one)
				}
				return w, err
			},
		},
		api.Operation[closeIn, api.Empty]{
			ID: "account.close", Method: http.MethodPost, Path: "/api/v1/me/close", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Close the account, for good",
			Description: "Nobody can sign in any more; sessions, tokens, keys, devices and mails end, and what names you is removed. Orders, " +
				"invoices and the ledger are kept as the law says. Nothing brings the account back.",
			Example: `{"email": "anna@example.com", "give_up_usd_cents": 0}`, Errors: []*fault.Def{ErrNotClosable, fault.InUse},
			Handle: func(ctx context.Context, p auth.Principal, in *closeIn) (*api.Empty, error) {
				return nil, s.CloseOwn(ctx, p.AccountID, in.Body.Email, in.Body.GiveUp)
			},
		},
	}
}

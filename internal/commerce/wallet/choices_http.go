package wallet

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// choices are the operations by which customers choose how their wallet behaves.
func (s *Service) choices() []api.Route {
	return []api.Route{
		// Resources, section 3: low_balance_threshold and auto_topup.
		api.Operation[updateWalletIn, choicesWire]{
			ID: "wallet.update", MovesMoney: true, Method: http.MethodPatch, Path: "/api/v1/wallet", Section: api.Wallet, Auth: api.Token,
			Example: `{"low_balance_threshold_usd_cents": 1000}`,
			Scopes:  []string{auth.ScopeWalletWrite}, Summary: "Low-balance notice and automatic top-up", Handle: s.updateWallet,
			Description: "A balance that falls below `low_balance_threshold_usd_cents` is told as `wallet.low_balance`, once until it has been " +
				"above again. With `auto_topup` it is topped up from a means of payment that the gateway keeps: make a top-up with " +
				"`save_method` first. Members that are not sent stay as they are. Where the balance is below already, both happen at once.",
			Errors: []*fault.Def{ErrAmountTooSmall, ErrAmountTooLarge, ErrGatewayUnavailable, ErrPaymentMethodRequired},
		},
		// Added to the contract: what automatic top-ups are taken from.
		api.Operation[methodsIn, page.List[methodWire]]{
			ID: "wallet.methods", Method: http.MethodGet, Path: "/api/v1/wallet/methods", Section: api.Wallet, Auth: api.Token,
			Description: "Cards and accounts that a gateway keeps for automatic top-ups, as much of them as may be shown. We never store " +
				"their numbers.",
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Means of payment that gateways keep", Handle: s.listMethods,
		},
		// Added to the contract.
		api.Operation[methodIn, api.Empty]{
			ID: "wallet.methods.delete", OwnerOnly: true, Method: http.MethodDelete, Path: "/api/v1/wallet/methods/{gateway}", Section: api.Wallet, Auth: api.Token,
			Scopes: []string{auth.ScopeWalletWrite}, Summary: "Forget a means of payment",
			Description: "Automatic top-ups from it end.", Handle: s.deleteMethod,
		},
	}
}

type updateWalletIn struct {
	Body struct {
		LowBalanceThreshold *money.USDCents `json:"low_balance_threshold_usd_cents,omitempty" minimum:"0" maximum:"1000000000" doc:"Zero switches the notice off."`
		AutoTopup           *struct {
			Enabled   *bool           `json:"enabled,omitempty"`
			Gateway   *string         `json:"gateway,omitempty" maxLength:"32" doc:"Key of a gateway whose saves_methods is true."`
			Amount    *money.USDCents `json:"amount_usd_cents,omitempty" minimum:"1" maximum:"1000000000" doc:"At least the threshold."`
			Threshold *money.USDCents `json:"threshold_usd_cents,omitempty" minimum:"1" maximum:"1000000000"`
			MaxPerDay *money.USDCents `json:"max_per_day_usd_cents,omitempty" minimum:"1" maximum:"10000000000" doc:"At least the amount; three times the amount when it was never said."`
		} `json:"auto_topup,omitempty"`
	}
}

type choicesWire struct {
	LowBalanceThreshold *money.Money  `json:"low_balance_threshold" doc:"null: no warning is set."`
	AutoTopup           autoTopupWire `json:"auto_topup"`
}

func (s *Service) updateWallet(ctx context.Context, p auth.Principal, in *updateWalletIn) (*choicesWire, error) {
	c := settingsChange{LowBalance: in.Body.LowBalanceThreshold}
	if a := in.Body.AutoTopup; a != nil {
		c.Auto = &autoChange{Enabled: a.Enabled, Gateway: a.Gateway, Amount: a.Amount, Threshold: a.Threshold, MaxPerDay: a.MaxPerDay}
	}
	var now settings
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := s.change(ctx, tx, p.AccountID, c); err != nil {
			return err
		}
		var err error
		now, err = readSettings(ctx, tx, p.AccountID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &choicesWire{LowBalanceThreshold: positive(ctx, now.LowBalance), AutoTopup: wireAutomatic(ctx, now.Auto)}, nil
}

func wireAutomatic(ctx context.Context, a automatic) autoTopupWire {
	return autoTopupWire{
		Enabled: a.Enabled, Gateway: optional(a.Gateway), Amount: positive(ctx, a.Amount), Threshold: positive(ctx, a.Threshold),
		MaxPerDay: positive(ctx, a.MaxPerDay),
	}
}

// positive is nil for an amount that is not set.
func positive(ctx context.Context, c money.USDCents) *money.Money {
	if c == 0 {
		return nil
	}
	shown := money.Wire(ctx, c)
	return &shown
}

type methodsIn struct{ page.Params }

type methodWire struct {
	Gateway string `json:"gateway"`
	Name    string `json:"name" doc:"The gateway's name, in the caller's language."`
	Label   string `json:"label" doc:"What it is known by, such as Visa 4242; empty where the gateway does not say."`
}

func (s *Service) listMethods(ctx context.Context, p auth.Principal, in *methodsIn) (*page.List[methodWire], error) {
	all, err := methods(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	var rows []methodWire
	first := min(in.Offset(), len(all))
	for _, m := range all[first:min(first+in.Limit(), len(all))] {
		rows = append(rows, methodWire{Gateway: m.Gateway, Name: i18n.T(i18n.Lang(ctx), "gateway."+m.Gateway+".name", nil), Label: m.Label})
	}
	return page.Of(in.Params, len(all), rows), nil
}

type methodIn struct {
	Gateway string `path:"gateway" minLength:"1" maxLength:"32" doc:"Key of the gateway, as in GET /wallet/gateways"`
}

func (s *Service) deleteMethod(ctx context.Context, p auth.Principal, in *methodIn) (*api.Empty, error) {
	return nil, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.dropMethod(ctx, tx, p.AccountID, in.Gateway) })
}

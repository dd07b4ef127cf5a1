package wallet

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/gateway"
)

// Operations of the section (specification, "Orders and wallet").
func (s *Service) Operations() []api.Route {
	return slices.Concat(s.histories(), s.choices(), []api.Route{
		// Specification, "Orders and wallet": GET /api/v1/wallet.
		api.Operation[walletIn, walletWire]{
			ID: "wallet.get", Method: http.MethodGet, Path: "/api/v1/wallet", Section: api.Wallet, Auth: api.Token,
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Balance and transaction history", Handle: s.get,
			Description: "The history is a page of a list, newest first: `data` and `meta` are the list envelope, and `transactions` " +
				"is the same page under the wallet's own name for it.",
		},
		// Wallet: available gateways.
		api.Operation[gatewaysIn, page.List[gatewayWire]]{
			ID: "wallet.gateways", Method: http.MethodGet, Path: "/api/v1/wallet/gateways", Section: api.Wallet, Auth: api.Token,
			Description: "Where money can come from: the smallest and the largest amount in cents of USD, and whether the gateway keeps a " +
				"means of payment for automatic top-ups.",
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Payment gateways for top-ups", Handle: s.listGateways,
		},
		// Wallet: top-ups.
		api.Operation[createTopupIn, topupWire]{
			ID: "wallet.topups.create", Method: http.MethodPost, Path: "/api/v1/wallet/topups", Section: api.Wallet, Auth: api.Token,
			Example: `{"amount_usd_cents": 1000, "gateway": "demo"}`,
			Scopes:  []string{auth.ScopeWalletWrite}, Status: http.StatusCreated, Summary: "Top up the wallet", Commit: s.createTopup,
			Description: "Send the customer to `checkout_url`; the top-up then goes pending → processing → succeeded, failed, " +
				"cancelled or expired. Follow it at GET /api/v1/wallet/topups/{topup}. An account has at most 100 that are not paid; those begun " +
				"within a day that got no money count (`limit_reached`).",
			Errors: []*fault.Def{ErrAmountTooSmall, ErrAmountTooLarge, ErrGatewayUnavailable, ErrWalletLimitExceeded, fault.LimitReached},
		},
		// Added to the contract: clients need to follow a top-up's state.
		api.Operation[topupIn, topupWire]{
			ID: "wallet.topups.get", Method: http.MethodGet, Path: "/api/v1/wallet/topups/{topup}", Section: api.Wallet, Auth: api.Token,
			Description: "Follow it after the customer was sent to `checkout_url`: `pending`, `processing`, then `succeeded`, `failed`, " +
				"`cancelled` or `expired`. An address that leads back proves nothing; this state does.",
			Scopes: []string{auth.ScopeWalletRead, auth.ScopeWalletWrite}, Summary: "One top-up", Handle: s.getTopup,
		},
	})
}

type walletIn struct{ page.Params }

type walletWire struct {
	Balance             money.Money       `json:"balance" doc:"What can be spent."`
	Held                money.Money       `json:"held" doc:"Set aside for orders in processing."`
	Available           money.Money       `json:"available" doc:"The same as balance: what is held is not in it."`
	Debt                money.Money       `json:"debt" doc:"Owed after a charge-back of money already spent; the next money that comes in repays it."`
	LowBalanceThreshold *money.Money      `json:"low_balance_threshold" doc:"null: no warning is set."`
	AutoTopup           autoTopupWire     `json:"auto_topup"`
	UpcomingRenewals    renewalsWire      `json:"upcoming_renewals"`
	Transactions        []transactionWire `json:"transactions" doc:"The same page as data."`
	Data                []transactionWire `json:"data"`
	Meta                page.Meta         `json:"meta"`
}

type autoTopupWire struct {
	Enabled   bool         `json:"enabled" doc:"False: nothing is topped up by itself. What is not chosen yet is null."`
	Gateway   *string      `json:"gateway"`
	Amount    *money.Money `json:"amount" doc:"What one top-up brings."`
	Threshold *money.Money `json:"threshold" doc:"A balance that falls below it is topped up, once until it has been above again."`
	MaxPerDay *money.Money `json:"max_per_day" doc:"At most this is topped up by itself in 24 hours."`
}

type renewalsWire struct {
	Next30d money.Money `json:"next_30d" doc:"What the automatic renewals of the next 30 days will cost."`
	Covered bool        `json:"covered" doc:"The balance covers them."`
}

type transactionWire struct {
	ID           int64         `json:"id"`
	Type         string        `json:"type" doc:"topup, charge, refund, adjustment, bonus, sla_credit, referral_reward, chargeback, reversal, repayment; others may come."`
	Status       string        `json:"status" doc:"completed: the ledger holds what has happened. A top-up under way is at its own address."`
	Amount       money.Money   `json:"amount" doc:"Signed: + came in, − went out."`
	BalanceAfter money.Money   `json:"balance_after"`
	Description  string        `json:"description"`
	Reference    referenceWire `json:"reference"`
	ClientRef    *string       `json:"client_ref"`
	CreatedAt    time.Time     `json:"created_at"`
}

type referenceWire struct {
	Type string `json:"type"`
	ID   int64  `json:"id"`
}

func (s *Service) get(ctx context.Context, p auth.Principal, in *walletIn) (*walletWire, error) {
	b, err := readBalance(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	total, err := countHistory(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	rows, err := history(ctx, s.DB, p.AccountID, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	due, err := s.Renewals.DueRenewals(ctx, s.DB, p.AccountID, 30)
	if err != nil {
		return nil, err
	}
	chosen, err := readSettings(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	transactions := wireTransactions(ctx, rows)
	return &walletWire{
		Balance: money.Wire(ctx, b.Spendable), Held: money.Wire(ctx, b.Held), Available: money.Wire(ctx, b.Spendable),
		Debt: money.Wire(ctx, b.Debt), UpcomingRenewals: renewalsWire{Next30d: money.Wire(ctx, due), Covered: b.Spendable >= due},
		LowBalanceThreshold: positive(ctx, chosen.LowBalance), AutoTopup: wireAutomatic(ctx, chosen.Auto),
		Transactions: transactions, Data: transactions, Meta: page.MetaOf(in.Params, total),
	}, nil
}

func wireTransaction(ctx context.Context, t transaction) transactionWire {
	w := transactionWire{
		ID: t.ID, Type: string(t.Type), Status: "completed", Amount: money.Wire(ctx, t.Amount),
		BalanceAfter: money.Wire(ctx, t.BalanceAfter), Description: t.words(ctx),
		Reference: referenceWire{Type: t.Reference.Type, ID: t.Reference.ID}, ClientRef: t.ClientRef, CreatedAt: t.CreatedAt,
	}
	return w
}

type gatewaysIn struct{ page.Params }

type gatewayWire struct {
	Key          string      `json:"key"`
	Name         string      `json:"name" doc:"In the caller's language."`
	IconURL      *string     `json:"icon_url"`
	Currencies   []string    `json:"currencies"`
	Min          money.Money `json:"min"`
	Max          money.Money `json:"max"`
	FeePercentBP int64       `json:"fee_percent_bp" doc:"Paid on top of the amount, in basis points (1/100 percent)."`
	FeeFixed     money.Money `json:"fee_fixed"`
	Kind         string      `json:"kind" doc:"redirect, card, bank_transfer, crypto; others may come."`
	Enabled      bool        `json:"enabled"`
	SavesMethods bool        `json:"saves_methods" doc:"It can keep the means of payment, and wallets can top themselves up through it."`
}

func (s *Service) listGateways(ctx context.Context, p auth.Principal, in *gatewaysIn) (*page.List[gatewayWire], error) {
	sandbox, err := isSandbox(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	var offered []gateway.Gateway
	for _, g := range s.Gateways {
		if _, ok := s.gatewayFor(g.Info().Key, sandbox); ok {
			offered = append(offered, g)
		}
	}
	var rows []gatewayWire
	first := min(in.Offset(), len(offered))
	for _, g := range offered[first:min(first+in.Limit(), len(offered))] {
		rows = append(rows, wireGateway(ctx, g))
	}
	return page.Of(in.Params, len(offered), rows), nil
}

func wireGateway(ctx context.Context, g gateway.Gateway) gatewayWire {
	i := g.Info()
	_, saving := g.(gateway.Saving)
	return gatewayWire{
		Key: i.Key, Name: i18n.T(i18n.Lang(ctx), "gateway."+i.Key+".name", nil), IconURL: optional(i.IconURL), Currencies: i.Currencies,
		Min: money.Wire(ctx, i.Min), Max: money.Wire(ctx, i.Max), FeePercentBP: i.FeeBasisPoints,
		FeeFixed: money.Wire(ctx, i.FeeFixed), Kind: string(i.Kind), Enabled: true, SavesMethods: saving,
	}
}

type createTopupIn struct {
	Body struct {
		AmountUSDCents money.USDCents `json:"amount_usd_cents" minimum:"1" doc:"What is credited, in US cents. The gateway's fee is paid on top."`
		Gateway        string         `json:"gateway" minLength:"1" maxLength:"32" doc:"Key of a gateway."`
		ReturnURL      string         `json:"return_url,omitempty" maxLength:"2000" doc:"Where the payment page leads back to: https, or http on the customer's own machine."`
		SaveMethod     bool           `json:"save_method,omitempty" doc:"Keep the means of payment for automatic top-ups; of gateways whose saves_methods is true."`
	}
}

type topupIn struct {
	Topup int64 `path:"topup" minimum:"1" doc:"Id of the top-up"`
}

type topupWire struct {
	ID               int64       `json:"id"`
	Gateway          string      `json:"gateway"`
	Amount           money.Money `json:"amount" doc:"What is credited."`
	Fee              money.Money `json:"fee" doc:"What is paid on top."`
	Status           string      `json:"status" doc:"pending, processing, succeeded, failed, cancelled, expired, refunded, charged_back."`
	Automatic        bool        `json:"automatic" doc:"The wallet topped itself up."`
	CheckoutURL      string      `json:"checkout_url" doc:"The payment page. Whoever has it can pay and see the state, and nothing else."`
	ReturnURL        *string     `json:"return_url"`
	GatewayReference *string     `json:"gateway_reference"`
	FailureKey       *string     `json:"failure_key"`
	CreatedAt        time.Time   `json:"created_at"`
	ExpiresAt        time.Time   `json:"expires_at" doc:"When it is given up if no money has come."`
	CompletedAt      *time.Time  `json:"completed_at"`
}

func (s *Service) createTopup(ctx context.Context, tx *db.Tx, p auth.Principal, in *createTopupIn) (*topupWire, error) {
	t, err := s.create(ctx, tx, p.AccountID, in.Body.Gateway, in.Body.AmountUSDCents, in.Body.ReturnURL, in.Body.SaveMethod)
	if err != nil {
		return nil, err
	}
	return s.wireTopup(ctx, t)
}

func (s *Service) getTopup(ctx context.Context, p auth.Principal, in *topupIn) (*topupWire, error) {
	t, err := findTopup(ctx, s.DB, p.AccountID, in.Topup)
	if errors.Is(err, db.ErrNoRows) {
		return nil, fault.NotFound.New()
	}
	if err != nil {
		return nil, err
	}
	return s.wireTopup(ctx, t)
}

func (s *Service) wireTopup(ctx context.Context, t topup) (*topupWire, error) {
	checkout, err := s.checkoutURL(t)
	if err != nil {
		return nil, err
	}
	return &topupWire{
		ID: t.ID, Gateway: t.Gateway, Amount: money.Wire(ctx, t.Amount), Fee: money.Wire(ctx, t.Fee), Status: string(t.Status),
		Automatic: t.Automatic, CheckoutURL: checkout, ReturnURL: optional(t.ReturnURL), GatewayReference: t.Reference, FailureKey: optional(t.FailureKey),
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, CompletedAt: t.CompletedAt,
	}, nil
}

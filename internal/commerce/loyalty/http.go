package loyalty

import (
	"context"
	"net/http"
	"slices"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Operations of the section (specification, "Account").
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Account": GET /api/v1/me/loyalty.
		api.Operation[struct{}, loyaltyWire]{
			ID: "loyalty.get", Method: http.MethodGet, Path: "/api/v1/me/loyalty", Section: api.Account, Auth: api.Token,
			Scopes: []string{auth.ScopeProfile}, Summary: "Tier, next tier, days to it", Handle: s.getLoyalty,
			Description: "The tier follows from what was paid, without taxes and refunds, for orders completed within the last 365 days.",
		},
		// Specification, "Account": GET /api/v1/me/referral.
		api.Operation[struct{}, referralWire]{
			ID: "loyalty.referral", Method: http.MethodGet, Path: "/api/v1/me/referral", Section: api.Account, Auth: api.Token,
			Scopes: []string{auth.ScopeProfile}, Summary: "Referral code, share link, conversion statistics", Handle: s.getReferral,
			Description: "Whoever registers by the link is referred; the first order that they pay and keep converts them, and the referrer gets " +
				"a part of it in the wallet (`referral_reward`). What is refunded of that order is taken back of the reward.",
		},
	}
}

type tierWire struct {
	Key                 string      `json:"key"`
	Name                string      `json:"name" doc:"In the caller's language"`
	From                money.Money `json:"from" doc:"What has to be spent for it within 365 days"`
	CashbackBasisPoints int64       `json:"cashback_basis_points" doc:"The part of what is bought that comes back as a bonus, in hundredths of a percent"`
}

type loyaltyWire struct {
	Tier       tierWire     `json:"tier"`
	NextTier   *tierWire    `json:"next_tier" doc:"null: there is none above"`
	Spent      money.Money  `json:"spent" doc:"Within the last 365 days"`
	Remaining  *money.Money `json:"remaining" doc:"What is to be spent for the next tier"`
	DaysToNext *int         `json:"days_to_next" doc:"Days to the next tier if spending goes on as in the last 90 days; null where it does not get there within a year"`
	Tiers      []tierWire   `json:"tiers" doc:"All of them, the lowest first"`
}

// translated are the tiers whose names have texts; an operator's own are called by their key.
var translated = []string{"bronze", "silver", "gold", "platinum"}

func wireTier(ctx context.Context, t Tier) tierWire {
	name := t.Key
	if slices.Contains(translated, t.Key) {
		name = i18n.T(i18n.Lang(ctx), "loyalty.tier."+t.Key, nil)
	}
	return tierWire{Key: t.Key, Name: name, From: money.Wire(ctx, t.From), CashbackBasisPoints: t.Cashback}
}

func (s *Service) getLoyalty(ctx context.Context, p auth.Principal, _ *struct{}) (*loyaltyWire, error) {
	spent, recent, err := s.spent(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	at := s.Program.standingOf(spent, recent)
	w := &loyaltyWire{Tier: wireTier(ctx, at.Tier), Spent: money.Wire(ctx, at.Spent), DaysToNext: at.Days, Tiers: []tierWire{}}
	if at.Next != nil {
		next, remaining := wireTier(ctx, *at.Next), money.Wire(ctx, at.Next.From-at.Spent)
		w.NextTier, w.Remaining = &next, &remaining
	}
	for _, t := range s.Program.Tiers {
		w.Tiers = append(w.Tiers, wireTier(ctx, t))
	}
	return w, nil
}

type referralWire struct {
	Code              string       `json:"code"`
	ShareLink         string       `json:"share_link"`
	RewardBasisPoints int64        `json:"reward_basis_points" doc:"The part of a referred customer's first order that the referrer gets, in hundredths of a percent"`
	RewardMax         *money.Money `json:"reward_max" doc:"At most this for one of them; null: no bound"`
	Statistics        struct {
		Registered        int         `json:"registered" doc:"Accounts made by the link"`
		Converted         int         `json:"converted" doc:"Those of them that have bought"`
		Pending           int         `json:"pending" doc:"Those that have not yet"`
		ConversionPercent int         `json:"conversion_percent" doc:"Converted of registered, rounded down"`
		Earned            money.Money `json:"earned" doc:"Rewards, less what was taken back of them"`
	} `json:"statistics"`
}

func (s *Service) getReferral(ctx context.Context, p auth.Principal, _ *struct{}) (*referralWire, error) {
	code, err := s.code(ctx, p.AccountID)
	if err != nil {
		return nil, err
	}
	n, err := statisticsOf(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	w := &referralWire{Code: code, ShareLink: s.BaseURL + "/register?ref=" + code, RewardBasisPoints: s.Program.Referral}
	if s.Program.ReferralMax > 0 {
		most := money.Wire(ctx, s.Program.ReferralMax)
		w.RewardMax = &most
	}
	w.Statistics.Registered, w.Statistics.Converted, w.Statistics.Pending = n.registered, n.converted, n.registered-n.converted
	if n.registered > 0 {
		w.Statistics.ConversionPercent = 100 * n.converted / n.registered
	}
	w.Statistics.Earned = money.Wire(ctx, n.earned)
	return w, nil
}

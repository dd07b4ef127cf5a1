package currencies

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// currencyWire is a display currency (specification, "Other resources": rate per 1 USD).
type currencyWire struct {
	Code     money.Currency `json:"code" doc:"ISO 4217" example:"UZS"`
	Name     string         `json:"name" doc:"In the reader's language"`
	Decimals int            `json:"decimals" doc:"Digits after the decimal mark of amounts that are shown"`
	Rate     float64        `json:"rate" doc:"What one US dollar is worth, with at most six decimals" example:"12650.5"`
	RatedOn  *string        `json:"rated_on" doc:"The day for which the source gave the rate, as 2026-11-24; null for USD"`
	Source   *string        `json:"source" doc:"Who gave it: operator, cbu (Central Bank of Uzbekistan) or ecb (European Central Bank); null for USD"`
	Shown    bool           `json:"shown" doc:"Whether prices are shown in it: the rate is younger than a week. Otherwise they are shown in USD"`
}

type listIn struct {
	page.Params
	Lang string `query:"lang" maxLength:"35" doc:"uz, ru or en: the language of the names."`
}

// Operations of the section (specification, "Content").
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Content": GET /api/v1/currencies.
		api.Operation[listIn, page.List[currencyWire]]{
			ID: "content.currencies", Method: http.MethodGet, Path: "/api/v1/currencies", Section: api.Content, Auth: api.Open,
			Summary:     "Display currencies with their rates",
			Description: "Prices are in US dollars; other currencies are for display. Those that have a rate are listed, and USD.",
			Handle: func(ctx context.Context, _ auth.Principal, in *listIn) (*page.List[currencyWire], error) {
				all := s.list(ctx)
				from := min(in.Offset(), len(all))
				return page.Of(in.Params, len(all), all[from:min(from+in.Limit(), len(all))]), nil
			},
		},
	}
}

// list is all currencies, USD first. It is answered from memory, as prices are.
func (s *Service) list(ctx context.Context) []currencyWire {
	wire := func(c money.Currency) currencyWire {
		return currencyWire{Code: c, Name: i18n.T(i18n.Lang(ctx), "currencies."+string(c), nil), Decimals: c.Decimals(), Rate: 1, Shown: true}
	}
	now, all := s.Clock.Now(), []currencyWire{wire(money.USD)}
	for _, r := range s.table.Get() {
		w, on := wire(r.Currency), r.On.Format(time.DateOnly)
		w.Rate, w.RatedOn, w.Source, w.Shown = float64(r.PerUSD)/money.MicrosPerUnit, &on, &r.Source, r.isFresh(now)
		all = append(all, w)
	}
	return all
}

package staffapi

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	usd "stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type ordersIn struct {
	page.Params
	Account int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Status  string `query:"status" enum:"pending,paid,processing,completed,failed,refunded,cancelled,expired" doc:"Only orders in this state."`
	Kind    string `query:"kind" maxLength:"30" doc:"Only orders of this kind, such as service or domain_registration."`
	// Attention is a kind of the dashboard.
	Attention string `query:"attention" enum:"orders_processing" doc:"Only those that the dashboard counts under this kind."`
}

type orderIn struct {
	Order int64 `path:"order" minimum:"1" doc:"Id of the order."`
}

type orderReasonIn struct {
	orderIn
	Body reasonBody
}

type refundIn struct {
	orderIn
	Body struct {
		Amount *int64 `json:"amount_usd_cents,omitempty" minimum:"1" doc:"Without it, all that is left."`
		Reason string `json:"reason" minLength:"1" maxLength:"200" doc:"It stands on the credit note."`
	}
}

type documentsIn struct {
	page.Params
	Account int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Kind    string `query:"kind" enum:"invoice,credit_note,receipt" doc:"Only documents of this kind."`
}

type topupsIn struct {
	page.Params
	Attention string `query:"attention" enum:"topups_waiting" doc:"Only those that the dashboard counts under this kind: bank transfers."`
}

type topupIn struct {
	Topup int64 `path:"topup" minimum:"1" doc:"Id of the top-up."`
	Body  struct {
		Received int64 `json:"received_usd_cents" minimum:"1" doc:"What arrived; it must be what was to be paid."`
	}
}

type fileWire struct {
	File string `json:"file" doc:"The YAML file."`
}

type importIn struct {
	DryRun bool `query:"dry_run" doc:"Checks the file and says what would change, and changes nothing."`
	Body   struct {
		File string `json:"file" minLength:"1" maxLength:"1000000" doc:"The YAML file."`
	}
}

type couponIn struct {
	Code string `path:"code" maxLength:"60" doc:"The coupon's code."`
}

type newCouponIn struct {
	Body struct {
		Code       string     `json:"code" minLength:"1" maxLength:"40"`
		Percent    int        `json:"percent_basis_points,omitempty" minimum:"0" maximum:"10000" doc:"Hundredths of a percent; or an amount."`
		Amount     int64      `json:"amount_usd_cents,omitempty" minimum:"0"`
		MaxTotal   int        `json:"max_total,omitempty" minimum:"0" doc:"How often it is accepted; 0 for no bound."`
		MaxEach    int        `json:"max_each,omitempty" minimum:"0" doc:"How often from one customer; 0 for no bound."`
		FirstOrder bool       `json:"first_order,omitempty" doc:"Only for the first order."`
		Products   []string   `json:"products,omitempty" maxItems:"50" doc:"Slugs of products and plans; none for all."`
		MinMonths  int        `json:"min_months,omitempty" minimum:"0" maximum:"120"`
		StartsAt   *time.Time `json:"starts_at,omitempty"`
		EndsAt     *time.Time `json:"ends_at,omitempty"`
		Note       string     `json:"note,omitempty" maxLength:"300"`
	}
}

type addonIn struct {
	Addon int64 `path:"addon" minimum:"1" doc:"Id of the add-on of a service."`
}

type makeAddonIn struct {
	addonIn
	Body struct {
		Value string `json:"value,omitempty" maxLength:"200" doc:"What the customer sees, such as the address."`
	}
}

type rateIn struct {
	Currency string `path:"currency" minLength:"3" maxLength:"3" doc:"Currency, by its ISO 4217 code."`
	Body     struct {
		Rate string `json:"rate" minLength:"1" maxLength:"30" doc:"What a dollar is worth, such as 12650.5."`
	}
}

// sales are the operations about what is sold and paid.
func (s *Service) sales() []api.Route {
	a := s.Admin
	coupon := change("coupons.create", http.MethodPost, "/coupons", "Make a coupon", money, func(ctx context.Context, in *newCouponIn) (*admin.Coupon, error) {
		b := in.Body
		return pointer(a.CreateCoupon(ctx, admin.NewCoupon{
			Code: b.Code, PercentBasisPoints: b.Percent, Amount: usd.USDCents(b.Amount), MaxTotal: b.MaxTotal, MaxEach: b.MaxEach, FirstOrder: b.FirstOrder,
			Products: b.Products, MinMonths: b.MinMonths, StartsAt: b.StartsAt, EndsAt: b.EndsAt, Note: b.Note,
		}))
	})
	coupon.Status = http.StatusCreated
	return []api.Route{
		read("orders.list", "/orders", "The orders, the newest first", everyone, func(ctx context.Context, in *ordersIn) (*page.List[admin.Order], error) {
			return a.Orders(ctx, admin.OrderFilter{AccountID: in.Account, Status: in.Status, Kind: in.Kind, Attention: in.Attention}, in.Params)
		}),
		read("orders.get", "/orders/{order}", "An order with its lines", everyone, func(ctx context.Context, in *orderIn) (*admin.OrderView, error) {
			return pointer(a.OrderView(ctx, in.Order))
		}),
		pay("orders.refund", "/orders/{order}/refund", "Refund an order, or a part of it, to the customer's wallet", money,
			func(ctx context.Context, tx *db.Tx, in *refundIn) (*admin.Refund, error) {
				return pointer(a.RefundOrderIn(ctx, tx, in.Order, (*usd.USDCents)(in.Body.Amount), in.Body.Reason))
			}),
		change("orders.retry", http.MethodPost, "/orders/{order}/retry", "Deliver an order at once instead of at the next attempt", machines,
			func(ctx context.Context, in *orderReasonIn) (*admin.OrderView, error) {
				return pointer(a.RetryOrder(admin.Because(ctx, in.Body.Reason), in.Order))
			}),
		read("documents.list", "/invoices", "Invoices, credit notes and receipts, the newest first", everyone,
			func(ctx context.Context, in *documentsIn) (*page.List[admin.Document], error) {
				return a.Documents(ctx, admin.DocumentFilter{AccountID: in.Account, Kind: in.Kind}, in.Params)
			}),
		read("topups.waiting", "/topups", "The top-ups that wait for their money", everyone, func(ctx context.Context, in *topupsIn) (*page.List[admin.Topup], error) {
			return a.OpenTopups(ctx, in.Attention, in.Params)
		}),
		dangerous(change("topups.confirm", http.MethodPost, "/topups/{topup}/confirm", "Credit a top-up by bank transfer whose money has arrived", money,
			func(ctx context.Context, in *topupIn) (*api.Empty, error) {
				return nil, a.ConfirmTopup(ctx, in.Topup, usd.USDCents(in.Body.Received))
			})),
		read("catalog.export", "/catalog", "The catalogue as a YAML file", everyone, func(ctx context.Context, _ *struct{}) (*fileWire, error) {
			text, err := a.ExportCatalog(ctx)
			return &fileWire{string(text)}, err
		}),
		change("catalog.import", http.MethodPut, "/catalog", "Make the catalogue what a YAML file says; plans that it does not name are taken off sale", money,
			func(ctx context.Context, in *importIn) (*catalog.Report, error) {
				return pointer(a.TryCatalog(ctx, []byte(in.Body.File), in.DryRun))
			}),
		read("domain_prices.export", "/domain-prices", "The price book of domains as a YAML file", everyone, func(ctx context.Context, _ *struct{}) (*fileWire, error) {
			text, err := a.ExportDomains(ctx)
			return &fileWire{string(text)}, err
		}),
		change("domain_prices.import", http.MethodPut, "/domain-prices", "Make the price book of domains what a YAML file says", money,
			func(ctx context.Context, in *importIn) (*domains.Report, error) {
				return pointer(a.TryDomains(ctx, []byte(in.Body.File), in.DryRun))
			}),
		read("coupons.list", "/coupons", "The coupons with what they gave, the newest first", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.Coupon], error) {
			return listed(a.ListCoupons(ctx))
		}),
		coupon,
		change("coupons.disable", http.MethodPost, "/coupons/{code}/disable", "End a coupon", money, func(ctx context.Context, in *couponIn) (*admin.Coupon, error) {
			return pointer(a.DisableCoupon(ctx, in.Code))
		}),
		read("addons.waiting", "/addons", "The add-ons that staff must set up, the oldest first", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.WaitingAddon], error) {
			return listed(a.WaitingAddons(ctx))
		}),
		change("addons.make", http.MethodPost, "/addons/{addon}/make", "Say that an add-on is set up", machines, func(ctx context.Context, in *makeAddonIn) (*api.Empty, error) {
			return nil, a.MakeAddon(ctx, in.Addon, in.Body.Value)
		}),
		change("addons.refuse", http.MethodPost, "/addons/{addon}/refuse", "Refuse an add-on and refund its money", machines, func(ctx context.Context, in *addonIn) (*api.Empty, error) {
			return nil, a.RefuseAddon(ctx, in.Addon)
		}),
		read("currencies.list", "/currencies", "The rates by which prices are shown", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.CurrencyRate], error) {
			return listed(a.ListCurrencyRates(ctx))
		}),
		change("currencies.set", http.MethodPut, "/currencies/{currency}", "Set the rate of a currency, as of today", money,
			func(ctx context.Context, in *rateIn) (*admin.CurrencyRate, error) {
				return pointer(a.SetCurrencyRate(ctx, in.Currency, in.Body.Rate, time.Time{}))
			}),
	}
}

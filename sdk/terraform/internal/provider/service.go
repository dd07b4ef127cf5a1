package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type serviceModel struct {
	ID           types.Int64  `tfsdk:"id"`
	PlanID       types.Int64  `tfsdk:"plan_id"`
	Domain       types.String `tfsdk:"domain"`
	PeriodMonths types.Int64  `tfsdk:"period_months"`
	CouponCode   types.String `tfsdk:"coupon_code"`
	MaxUSDCents  types.Int64  `tfsdk:"max_usd_cents"`
	Label        types.String `tfsdk:"label"`
	AutoRenew    types.Bool   `tfsdk:"auto_renew"`
	Status       types.String `tfsdk:"status"`
	IPv4         types.String `tfsdk:"ipv4"`
	IPv6         types.String `tfsdk:"ipv6"`
	Nameservers  types.Set    `tfsdk:"nameservers"`
	OriginURL    types.String `tfsdk:"origin_url"`
	ExpiresAt    types.String `tfsdk:"expires_at"`
}

func (m *serviceModel) ident() types.Int64 { return m.ID }

func (m *serviceModel) set(s *stead.Service) {
	m.ID, m.PlanID = types.Int64Value(s.ID), types.Int64Value(s.Plan.ID)
	m.Domain = spelled(m.Domain, s.Domain, normalName)
	m.PeriodMonths = types.Int64Value(s.PeriodMonths)
	m.Label, m.AutoRenew, m.Status = spelled(m.Label, &s.Label, strings.TrimSpace), types.BoolValue(s.AutoRenew), types.StringValue(s.Status)
	m.IPv4, m.IPv6, m.OriginURL = types.StringPointerValue(s.IPv4), types.StringPointerValue(s.IPv6), types.StringPointerValue(s.OriginURL)
	m.Nameservers, m.ExpiresAt = stringSet(s.Nameservers), moment(s.ExpiresAt)
}

var service = kind[serviceModel, *serviceModel]{
	name: "service", imported: []string{"id"},
	schema: schema.Schema{
		Description: "A hosting service, bought from the wallet. What is paid for is not ended by destroying the resource: the service then " +
			"does not renew and runs until it expires.",
		Attributes: map[string]schema.Attribute{
			"id":      number(computed, ""),
			"plan_id": number(required, "See the data source stead_plan. Another plan is changed to at once, and its difference is charged or given back."),
			"domain":  text(fixed, "The domain to host, or a subdomain. Another one is another service, which is bought."),
			"period_months": number(chosen, "One of the plan's periods; the shortest by default. Another one is another service, which is bought: "+
				"renew for another period in the panel."),
			"coupon_code": schema.StringAttribute{Optional: true, Description: "Takes something off the first period. Used when the service is bought, and never again."},
			"max_usd_cents": schema.Int64Attribute{
				Optional:    true,
				Description: "The most that one purchase or change of plan may take from the wallet, in US cents with tax. One that costs more is not paid.",
			},
			"label":       text(optional, "Your name for the service; the domain by default."),
			"auto_renew":  flag("Renew from the wallet."),
			"status":      text(moving, "Such as active or suspended."),
			"ipv4":        text(moving, ""),
			"ipv6":        text(moving, ""),
			"nameservers": set(types.StringType, moving, "What the domain is delegated to when Stead serves its DNS."),
			"origin_url":  text(moving, "Shows the site before DNS leads there."),
			"expires_at":  text(moving, "RFC 3339."),
		},
	},

	create: func(ctx context.Context, c *clients, plan, _ *serviceModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		order, err := api.Orders.Create(ctx, stead.OrdersCreateBody{
			PlanID: plan.PlanID.ValueInt64(), Domain: plan.Domain.ValueString(), PeriodMonths: int64Of(plan.PeriodMonths),
			CouponCode: stringOf(plan.CouponCode), Label: stringOf(plan.Label),
		})
		if err != nil {
			return "", err
		}
		if err := affordable(plan.MaxUSDCents, order.Total.USDCents); err != nil {
			_, cancelled := api.Orders.Cancel(ctx, order.ID)
			return "", errors.Join(err, cancelled)
		}
		// The order is paid once however often it is tried, also by the next run after this one was killed.
		if order, err = api.Orders.Pay(ctx, order.ID, stead.WithIdempotencyKey(fmt.Sprintf("terraform pays order %d", order.ID))); err != nil {
			return "", err
		}
		var bought *stead.Service
		err = until(ctx, func(ctx context.Context) (bool, error) {
			if order.ServiceID == nil {
				if order, err = api.Orders.Get(ctx, order.ID); err != nil || order.ServiceID == nil {
					return false, err
				}
			}
			s, err := api.Services.Get(ctx, *order.ServiceID)
			if err != nil {
				return false, err
			}
			bought = s
			if s.Status == stead.ServiceStatusFailed || s.Status == stead.ServiceStatusCancelled {
				err = failure(s.FailureKey)
			}
			return s.Status == stead.ServiceStatusActive, err
		})
		late := ""
		if errors.Is(err, errLate) && bought != nil { // it is paid for: an error would have Terraform buy another one
			late, err = fmt.Sprintf("Service %d is paid, and %v. Apply again later.", bought.ID, errLate), nil
		}
		if err != nil {
			return "", err
		}
		if want := boolOf(plan.AutoRenew); want != nil && *want != bought.AutoRenew {
			changed, err := api.Services.Update(ctx, bought.ID, stead.ServicesUpdateBody{AutoRenew: want})
			if err != nil {
				late += fmt.Sprintf("Service %d is bought, and auto_renew could not be set: %v. Apply again.", bought.ID, err)
			} else {
				bought = changed
			}
		}
		plan.set(bought)
		return late, nil
	},

	read: func(ctx context.Context, c *clients, state *serviceModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		s, err := api.Services.Get(ctx, state.ID.ValueInt64())
		if err != nil {
			return err
		}
		switch s.Status {
		case stead.ServiceStatusTerminated, stead.ServiceStatusFailed, stead.ServiceStatusCancelled:
			return errGone
		}
		state.set(s)
		return nil
	},

	update: func(ctx context.Context, c *clients, state, plan, _ *serviceModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		id := state.ID.ValueInt64()
		if !plan.PlanID.Equal(state.PlanID) {
			to := stead.ServicesTariffBody{PlanID: plan.PlanID.ValueInt64(), When: stead.Ptr("now"), DryRun: stead.Ptr(true)}
			shown, err := api.Services.Tariff(ctx, id, to)
			if err != nil {
				return "", err
			}
			charge := shown.Tariff.Charge.USDCents
			if err := affordable(plan.MaxUSDCents, charge); err != nil {
				return "", err
			}
			to.DryRun, to.ExpectedUSDCents = nil, &charge
			if _, err := api.Services.Tariff(ctx, id, to); err != nil {
				return "", err
			}
		}
		s, err := api.Services.Update(ctx, id, stead.ServicesUpdateBody{Label: stringOf(plan.Label), AutoRenew: boolOf(plan.AutoRenew)})
		if err != nil {
			return "", err
		}
		plan.set(s)
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *serviceModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		s, err := api.Services.Update(ctx, state.ID.ValueInt64(), stead.ServicesUpdateBody{AutoRenew: stead.Ptr(false)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Service %d is paid for and runs until %s. It does not renew, and Terraform forgets it.", s.ID, moment(s.ExpiresAt).ValueString()), nil
	},
}

// affordable refuses what costs more than the configuration allows, in cents.
func affordable(most types.Int64, costs int64) error {
	if most.IsNull() || costs <= most.ValueInt64() {
		return nil
	}
	return fmt.Errorf("it costs %.2f USD, and max_usd_cents allows %.2f: nothing was paid", float64(costs)/100, float64(most.ValueInt64())/100)
}

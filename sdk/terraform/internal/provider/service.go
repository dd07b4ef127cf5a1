package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type serviceModel struct {
	ID           types.Int64  `tfsdk:"id"`
	PlanID       types.Int64  `tfsdk:"plan_id"`
	Domain       types.String `tfsdk:"domain"`
	Primary      types.String `tfsdk:"primary_domain"`
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
	m.Domain, m.Primary = spelled(m.Domain, s.Domain, normalName), types.StringPointerValue(s.Domain)
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
			"domain": schema.StringAttribute{
				Required:    true,
				Description: "The domain to host, or a subdomain. Another one is refused, unless it was made the primary domain in the panel.",
				PlanModifiers: []planmodifier.String{
					unchangeable{"Make another of its domains the primary one in the panel, or add another stead_service."},
				},
			},
			"primary_domain": text(moving, "Its primary domain in ASCII: another one than domain when that was changed in the panel."),
			"period_months": schema.Int64Attribute{
				Optional: true, Computed: true,
				Description: "One of the plan's periods; the shortest by default. Another one is refused: renew for another period in the panel.",
				PlanModifiers: []planmodifier.Int64{
					unchangeable{"Renew it for another period in the panel, or add another stead_service."}, int64planmodifier.UseStateForUnknown(),
				},
			},
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
		if isOver(s) {
			return errGone
		}
		domain := state.Domain
		state.set(s)
		if domain.IsNull() || domain.Equal(state.Domain) {
			return nil
		}
		// Another of its domains is the primary one. The service is still that of the domain for which it was bought.
		switch _, err := findHosted(ctx, api, s.ID, domain.ValueString()); {
		case err == nil:
			state.Domain = domain
		case !gone(err):
			return err
		}
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

// isOver tells whether a service has ended, or never began.
func isOver(s *stead.Service) bool {
	switch s.Status {
	case stead.ServiceStatusTerminated, stead.ServiceStatusFailed, stead.ServiceStatusCancelled:
		return true
	}
	return false
}

// unchangeable is a plan modifier that refuses another value than the state's. To replace a service would buy a second one while the
// first has the domain, and would delete all that depends on it. Instead says what can be done.
type unchangeable struct{ instead string }

func (u unchangeable) Description(context.Context) string {
	return "Another value is refused. " + u.instead
}

func (u unchangeable) MarkdownDescription(ctx context.Context) string { return u.Description(ctx) }

func (u unchangeable) PlanModifyInt64(_ context.Context, request planmodifier.Int64Request, answer *planmodifier.Int64Response) {
	have, want := request.StateValue, request.ConfigValue
	if have.IsNull() || want.IsNull() || want.IsUnknown() || have.Equal(want) {
		return
	}
	u.refuse(&answer.Diagnostics, request.Path, have.String(), want.String())
}

// PlanModifyString is for the domain, which may be written anew as the one that is the primary domain by now.
func (u unchangeable) PlanModifyString(ctx context.Context, request planmodifier.StringRequest, answer *planmodifier.StringResponse) {
	have, want := request.StateValue, request.ConfigValue
	if have.IsNull() || want.IsNull() || want.IsUnknown() || normalName(have.ValueString()) == normalName(want.ValueString()) {
		return
	}
	var primary types.String
	answer.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("primary_domain"), &primary)...)
	if isSpelled(want, primary.ValueStringPointer(), normalName) {
		return
	}
	u.refuse(&answer.Diagnostics, request.Path, have.String(), want.String())
}

func (u unchangeable) refuse(diagnostics *diag.Diagnostics, at path.Path, have, want string) {
	diagnostics.AddAttributeError(at, "The "+at.String()+" of a service cannot be changed",
		fmt.Sprintf("The service has %s, and the configuration %s. It is not replaced: that would delete what depends on it. %s", have, want, u.instead))
}

// affordable refuses what costs more than the configuration allows, in cents.
func affordable(most types.Int64, costs int64) error {
	if most.IsNull() || costs <= most.ValueInt64() {
		return nil
	}
	return fmt.Errorf("it costs %.2f USD, and max_usd_cents allows %.2f: nothing was paid", float64(costs)/100, float64(most.ValueInt64())/100)
}

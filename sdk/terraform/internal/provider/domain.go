package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type domainModel struct {
	ID          types.Int64  `tfsdk:"id"`
	Name        types.String `tfsdk:"name"`
	Years       types.Int64  `tfsdk:"years"`
	MaxUSDCents types.Int64  `tfsdk:"max_usd_cents"`
	Contact     *contact     `tfsdk:"contact_wo"`
	Nameservers types.Set    `tfsdk:"nameservers"`
	AutoRenew   types.Bool   `tfsdk:"auto_renew"`
	Locked      types.Bool   `tfsdk:"locked"`
	Privacy     types.Bool   `tfsdk:"privacy"`
	Status      types.String `tfsdk:"status"`
	ExpiresAt   types.String `tfsdk:"expires_at"`
}

type contact struct {
	Name         types.String `tfsdk:"name"`
	Organization types.String `tfsdk:"organization"`
	Email        types.String `tfsdk:"email"`
	Phone        types.String `tfsdk:"phone"`
	Street       types.String `tfsdk:"street"`
	City         types.String `tfsdk:"city"`
	Region       types.String `tfsdk:"region"`
	PostalCode   types.String `tfsdk:"postal_code"`
	Country      types.String `tfsdk:"country"`
}

func (m *domainModel) ident() types.Int64 { return m.ID }

func (m *domainModel) set(ctx context.Context, d *stead.Domain) {
	m.ID, m.Name = types.Int64Value(d.ID), spelled(m.Name, &d.Name, normalName)
	m.Nameservers, m.AutoRenew = spelledSet(ctx, m.Nameservers, d.Nameservers, normalName), types.BoolValue(d.AutoRenew)
	m.Locked, m.Privacy = types.BoolValue(d.Locked), types.BoolValue(d.Privacy)
	m.Status, m.ExpiresAt = types.StringValue(d.Status), moment(d.ExpiresAt)
}

var domain = kind[domainModel, *domainModel]{
	name: "domain", imported: []string{"id"},
	schema: schema.Schema{
		Description: "The registration of a domain, bought from the wallet. What is paid for is not ended by destroying the resource: the " +
			"domain then does not renew and stays registered until it expires.",
		Attributes: map[string]schema.Attribute{
			"id":   number(computed, ""),
			"name": text(fixed, "In Unicode or ASCII. Another one is another domain, which is bought."),
			"years": schema.Int64Attribute{
				Optional: true, Description: "Of the registration; the zone's shortest period by default. Used when the domain is bought, and never again.",
			},
			"max_usd_cents": schema.Int64Attribute{
				Optional: true, Description: "The most that the shortest registration may cost, in US cents without tax. One that costs more is not bought.",
			},
			"contact_wo": schema.SingleNestedAttribute{
				Required: true, WriteOnly: true,
				Description: "The registrant. It is handed to the registrar when the domain is bought, and kept nowhere (Terraform 1.11).",
				Attributes: map[string]schema.Attribute{
					"name":         secret(true, ""),
					"organization": secret(false, ""),
					"email":        secret(true, ""),
					"phone":        secret(true, "E.164."),
					"street":       secret(true, ""),
					"city":         secret(true, ""),
					"region":       secret(false, ""),
					"postal_code":  secret(false, ""),
					"country":      secret(true, "ISO 3166-1 alpha-2."),
				},
			},
			"nameservers": set(types.StringType, optional, "The company's by default."),
			"auto_renew":  flag("Renew from the wallet."),
			"locked":      flag("A locked domain cannot be transferred."),
			"privacy":     flag("The registrant is not shown to the public."),
			"status":      text(moving, ""),
			"expires_at":  text(moving, "RFC 3339."),
		},
	},

	create: func(ctx context.Context, c *clients, plan, config *domainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		if !plan.MaxUSDCents.IsNull() {
			check, err := api.Domains.Check(ctx, stead.DomainsCheckQuery{Domain: plan.Name.ValueString()})
			if err != nil {
				return "", err
			}
			if check.Price != nil { // without one, the order is refused for the reason
				if err := affordable(plan.MaxUSDCents, check.Price.USDCents); err != nil {
					return "", err
				}
			}
		}
		who := config.Contact
		d, err := api.Domains.Order(ctx, stead.DomainsOrderBody{
			Domain: plan.Name.ValueString(), Years: int64Of(plan.Years), AutoRenew: boolOf(plan.AutoRenew), Privacy: boolOf(plan.Privacy),
			Nameservers: itemsOf[string](ctx, plan.Nameservers),
			Contact: &stead.DomainsContact{
				Name: who.Name.ValueString(), Organization: stringOf(who.Organization), Email: who.Email.ValueString(), Phone: who.Phone.ValueString(),
				Street: who.Street.ValueString(), City: who.City.ValueString(), Region: stringOf(who.Region), PostalCode: stringOf(who.PostalCode),
				Country: who.Country.ValueString(),
			},
		})
		if err != nil {
			return "", err
		}
		late := ""
		err = until(ctx, func(ctx context.Context) (bool, error) {
			if d, err = api.Domains.Get(ctx, d.ID); err != nil {
				return false, err
			}
			switch d.Status {
			case stead.DomainStatusActive:
				return true, nil
			case stead.DomainStatusPendingVerification:
				late = "The registry waits for the registrant, who has a mail with what to do."
				return true, nil
			case stead.DomainStatusFailed, stead.DomainStatusCancelled:
				return false, fmt.Errorf("the domain is %s, and what was paid is given back", d.Status)
			}
			return false, nil
		})
		if err != nil {
			return "", err
		}
		if want := boolOf(plan.Locked); want != nil && *want != d.Locked {
			if changed, err := api.Domains.Update(ctx, d.ID, stead.DomainsUpdateBody{Locked: want}); err != nil {
				late += fmt.Sprintf("The domain is registered, and locked could not be set: %v. Apply again.", err)
			} else {
				d = changed
			}
		}
		plan.set(ctx, d)
		return late, nil
	},

	read: func(ctx context.Context, c *clients, state *domainModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		d, err := api.Domains.Get(ctx, state.ID.ValueInt64())
		if err != nil {
			return err
		}
		switch d.Status {
		case stead.DomainStatusTransferredOut, stead.DomainStatusCancelled, stead.DomainStatusFailed, stead.DomainStatusPendingDelete:
			return errGone
		}
		state.set(ctx, d)
		return nil
	},

	update: func(ctx context.Context, c *clients, state, plan, _ *domainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		id := state.ID.ValueInt64()
		d, err := api.Domains.Update(ctx, id, stead.DomainsUpdateBody{
			AutoRenew: boolOf(plan.AutoRenew), Locked: boolOf(plan.Locked), Privacy: boolOf(plan.Privacy),
		})
		if err == nil && !plan.Nameservers.IsUnknown() && !plan.Nameservers.Equal(state.Nameservers) {
			d, err = api.Domains.Nameservers(ctx, id, stead.DomainsNameserversBody{Nameservers: itemsOf[string](ctx, plan.Nameservers)})
		}
		if err != nil {
			return "", err
		}
		plan.set(ctx, d)
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *domainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		d, err := api.Domains.Update(ctx, state.ID.ValueInt64(), stead.DomainsUpdateBody{AutoRenew: stead.Ptr(false)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s is registered until %s. It does not renew, and Terraform forgets it.", d.Name, moment(d.ExpiresAt).ValueString()), nil
	},
}

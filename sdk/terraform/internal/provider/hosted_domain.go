package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type hostedDomainModel struct {
	ID           types.Int64  `tfsdk:"id"`
	ServiceID    types.Int64  `tfsdk:"service_id"`
	Name         types.String `tfsdk:"name"`
	Kind         types.String `tfsdk:"kind"`
	DocumentRoot types.String `tfsdk:"document_root"`
	RedirectTo   types.String `tfsdk:"redirect_to"`
	ForceHTTPS   types.Bool   `tfsdk:"force_https"`
	Status       types.String `tfsdk:"status"`
	Verification types.String `tfsdk:"verification"`
}

func (m *hostedDomainModel) ident() types.Int64 { return m.ID }

func (m *hostedDomainModel) service() types.Int64 { return m.ServiceID }

func (m *hostedDomainModel) set(d stead.HostingDomain) {
	m.ID = types.Int64Value(d.ID)
	if !isSpelled(m.Name, d.DisplacedName, normalName) { // a domain that has a stand-in for its name is the same one
		m.Name = spelled(m.Name, &d.Name, normalName)
	}
	if m.Kind.IsNull() || d.Kind != stead.HostingDomainKindPrimary { // one that was made the primary domain is the same one
		m.Kind = types.StringValue(d.Kind)
	}
	m.DocumentRoot, m.ForceHTTPS = spelled(m.DocumentRoot, d.DocumentRoot, normalRoot), types.BoolValue(d.ForceHTTPS)
	m.RedirectTo = spelled(m.RedirectTo, d.RedirectTo, normalURL)
	m.Status, m.Verification = types.StringValue(d.Status), types.StringValue(d.Verification.State)
}

func (m *hostedDomainModel) get(ctx context.Context, api *stead.Client) (stead.HostingDomain, error) {
	return find(api.Hosting.Domains.All(ctx, m.ServiceID.ValueInt64(), stead.HostingDomainsQuery{PerPage: perPage}),
		func(d stead.HostingDomain) bool { return d.ID == m.ID.ValueInt64() })
}

// findHosted returns the domain of a service that has a name, or had it before it got a stand-in; errGone where there is none.
func findHosted(ctx context.Context, api *stead.Client, service int64, name string) (stead.HostingDomain, error) {
	name = normalName(name)
	return find(api.Hosting.Domains.All(ctx, service, stead.HostingDomainsQuery{PerPage: perPage}), func(d stead.HostingDomain) bool {
		return d.Name == name || d.DisplacedName != nil && *d.DisplacedName == name
	})
}

// ready waits until the hosting server has followed.
func (m *hostedDomainModel) ready(ctx context.Context, api *stead.Client) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		d, err := m.get(ctx, api)
		if err != nil {
			return false, err
		}
		m.set(d)
		if d.Status == stead.HostingDomainStatusFailed {
			return false, failure(d.FailureKey)
		}
		return d.Status == stead.HostingDomainStatusActive, nil
	})
}

// tlsActive is the status of a domain that has a valid certificate.
const tlsActive = "active"

// forceHTTPS turns force_https on, which the server refuses while the domain has no valid certificate. One is waited for where the DNS
// leads to the server, or was not looked at yet: elsewhere none comes. The domain works without, so a failure is a warning.
func (m *hostedDomainModel) forceHTTPS(ctx context.Context, api *stead.Client) (warning string) {
	err := until(ctx, func(ctx context.Context) (bool, error) {
		d, err := m.get(ctx, api)
		if err != nil {
			return false, err
		}
		m.set(d)
		isComing := d.DNS.Status == stead.HostingDNSStatusPointed || d.DNS.CheckedAt == nil
		return d.TLS.Status == tlsActive || !isComing, nil
	})
	if err == nil || errors.Is(err, errLate) {
		var d *stead.HostingDomain
		if d, err = api.Hosting.Domains.Update(ctx, m.ServiceID.ValueInt64(), m.ID.ValueInt64(), stead.HostingUpdateBody{ForceHTTPS: stead.Ptr(true)}); err == nil {
			m.set(*d)
			err = m.ready(ctx, api)
		}
	}
	switch {
	case err == nil:
		return ""
	case stead.HasKey(err, stead.KeyUnsupportedOperation):
		return fmt.Sprintf("%s has no valid certificate yet, so force_https is still off. Point the domain to the server's addresses, and apply again.", m.Name.ValueString())
	default:
		return fmt.Sprintf("force_https of %s could not be turned on: %v. Apply again.", m.Name.ValueString(), err)
	}
}

var hostedDomain = kind[hostedDomainModel, *hostedDomainModel]{
	name: "hosted_domain", imported: []string{"service_id", "id"},
	schema: schema.Schema{
		Description: "A further domain of a hosting service: with a site of its own, or as another name of the primary domain's.",
		Attributes: map[string]schema.Attribute{
			"id":            number(computed, ""),
			"service_id":    number(fixed, ""),
			"name":          text(fixed, "In Unicode or ASCII."),
			"kind":          text(fixed, "addon, alias or subdomain. An alias shows the primary domain's site."),
			"document_root": text(optional, "Path in the service's home; below /sites by default."),
			"redirect_to":   schema.StringAttribute{Optional: true, Description: "An http or https URL that visitors are sent to."},
			"force_https":   flag("Turned on as soon as the domain has a valid certificate. Where its DNS does not lead to the server, there is a warning: apply again later."),
			"status":        text(moving, "How far the hosting server has followed."),
			"verification":  text(moving, "Whether the domain is known to be yours, such as verified or unverified."),
		},
	},

	create: func(ctx context.Context, c *clients, plan, _ *hostedDomainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		d, err := api.Hosting.Domains.Create(ctx, plan.ServiceID.ValueInt64(), stead.HostingCreateBody{
			Name: plan.Name.ValueString(), Kind: plan.Kind.ValueString(), DocumentRoot: stringOf(plan.DocumentRoot), RedirectTo: stringOf(plan.RedirectTo),
		})
		if err != nil {
			return "", err
		}
		isForced := plan.ForceHTTPS.ValueBool()
		plan.set(*d)
		if err := plan.ready(ctx, api); err != nil || !isForced {
			return "", err
		}
		return plan.forceHTTPS(ctx, api), nil
	},

	read: func(ctx context.Context, c *clients, state *hostedDomainModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		d, err := state.get(ctx, api)
		if err != nil || d.Status == stead.HostingDomainStatusRemoving {
			return errGoneOr(err)
		}
		state.set(d)
		return nil
	},

	update: func(ctx context.Context, c *clients, state, plan, _ *hostedDomainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		change := stead.HostingUpdateBody{DocumentRoot: changed(state.DocumentRoot, plan.DocumentRoot)}
		isForced := plan.ForceHTTPS.ValueBool() && !state.ForceHTTPS.ValueBool()
		if !isForced {
			change.ForceHTTPS = boolOf(plan.ForceHTTPS)
		}
		if !plan.RedirectTo.Equal(state.RedirectTo) {
			change.RedirectTo = stead.Ptr(plan.RedirectTo.ValueString()) // empty ends it
		}
		d, err := api.Hosting.Domains.Update(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64(), change)
		if err != nil {
			return "", err
		}
		plan.set(*d)
		if err := plan.ready(ctx, api); err != nil || !isForced {
			return "", err
		}
		return plan.forceHTTPS(ctx, api), nil
	},

	remove: func(ctx context.Context, c *clients, state *hostedDomainModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		if err := api.Hosting.Domains.Delete(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64()); err != nil {
			return "", err
		}
		return "", untilGone(ctx, func(ctx context.Context) error {
			_, err := state.get(ctx, api)
			return err
		})
	},
}

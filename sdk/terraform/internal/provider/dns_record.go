package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type dnsRecordModel struct {
	ID        types.Int64  `tfsdk:"id"`
	ServiceID types.Int64  `tfsdk:"service_id"`
	Type      types.String `tfsdk:"type"`
	Name      types.String `tfsdk:"name"`
	Value     types.String `tfsdk:"value"`
	TTL       types.Int64  `tfsdk:"ttl"`
	Priority  types.Int64  `tfsdk:"priority"`
	Weight    types.Int64  `tfsdk:"weight"`
	Port      types.Int64  `tfsdk:"port"`
	Flags     types.Int64  `tfsdk:"flags"`
	Tag       types.String `tfsdk:"tag"`
	Disabled  types.Bool   `tfsdk:"disabled"`

	Zone           types.String `tfsdk:"zone"`
	AliasStatus    types.String `tfsdk:"alias_status"`
	AliasAddresses types.Set    `tfsdk:"alias_addresses"`
	AliasCheckedAt types.String `tfsdk:"alias_checked_at"`
}

func (m *dnsRecordModel) ident() types.Int64 { return m.ID }

func (m *dnsRecordModel) service() types.Int64 { return m.ServiceID }

// set takes what the server has. zone is the name of the record's zone, which some spellings of names have to be compared with; it
// may be empty.
func (m *dnsRecordModel) set(r stead.DNSRecord, zone string) {
	m.ID, m.Type, m.TTL, m.Disabled = types.Int64Value(r.ID), spelled(m.Type, &r.Type, strings.ToUpper), types.Int64Value(r.TTL), types.BoolValue(r.Disabled)
	m.Name, m.Value = spelled(m.Name, &r.Name, normalOwner(zone)), spelled(m.Value, &r.Value, normalData(r.Type, zone))
	m.Priority, m.Weight, m.Port = types.Int64PointerValue(r.Priority), types.Int64PointerValue(r.Weight), types.Int64PointerValue(r.Port)
	m.Flags, m.Tag = types.Int64PointerValue(r.Flags), spelled(m.Tag, r.Tag, strings.ToLower)
	m.AliasStatus, m.AliasAddresses, m.AliasCheckedAt = types.StringNull(), types.SetNull(types.StringType), types.StringNull()
	if alias := r.Alias; alias != nil {
		m.AliasStatus, m.AliasAddresses, m.AliasCheckedAt = types.StringValue(alias.Status), stringSet(alias.Addresses), moment(alias.CheckedAt)
	}
}

// zoneName is the name of the zone in which a record was found: by default that of the primary domain, for which the server is asked
// where the names in the record have to be compared with it.
func (m *dnsRecordModel) zoneName(ctx context.Context, api *stead.Client, r stead.DNSRecord, found string) (string, error) {
	if found != "" {
		return normalName(found), nil
	}
	if m.Name.IsNull() || isSpelled(m.Name, &r.Name, normalOwner("")) && isSpelled(m.Value, &r.Value, normalData(r.Type, "")) {
		return "", nil
	}
	s, err := api.Services.Get(ctx, m.ServiceID.ValueInt64())
	if err != nil || s.Domain == nil {
		return "", err
	}
	return *s.Domain, nil
}

// find finds a record and its zone, which is empty for that of the primary domain. One without a zone of its own may be in any zone of
// its service: another domain may be the primary one by now, and of one that was imported nothing is known. Its zone is noted then.
func (m *dnsRecordModel) find(ctx context.Context, api *stead.Client) (r stead.DNSRecord, zone string, err error) {
	service := m.ServiceID.ValueInt64()
	in := func(zone string) (stead.DNSRecord, string, error) {
		r, err := find(api.DNS.All(ctx, service, stead.DNSQuery{Zone: zone, Type: strings.ToUpper(m.Type.ValueString()), PerPage: perPage}),
			func(r stead.DNSRecord) bool { return r.ID == m.ID.ValueInt64() })
		return r, zone, err
	}
	r, zone, err = in(m.Zone.ValueString())
	if !m.Zone.IsNull() && stead.HasKey(err, stead.KeyDNSRecordInvalid) { // the service has no zone of the name
		d, lookErr := findHosted(ctx, api, service, zone)
		switch {
		case lookErr != nil:
			return r, zone, lookErr
		case d.Kind == stead.HostingDomainKindSubdomain: // the name came back as one, which has no zone
			return r, zone, errGone
		case d.Name != normalName(zone): // its zone is kept under a stand-in
			return in(d.Name)
		}
		return r, zone, err
	}
	if !errors.Is(err, errGone) || !m.Zone.IsNull() {
		return r, zone, err
	}
	for d, err := range api.Hosting.Domains.All(ctx, service, stead.HostingDomainsQuery{PerPage: perPage}) {
		if err != nil {
			return r, "", err
		}
		if d.Kind != stead.HostingDomainKindAddon && d.Kind != stead.HostingDomainKindAlias {
			continue
		}
		if r, zone, err = in(d.Name); err == nil && m.Type.IsNull() { // it is imported
			m.Zone = types.StringValue(d.Name)
		}
		if !errors.Is(err, errGone) {
			return r, zone, err
		}
	}
	return r, "", errGone
}

var dnsRecord = kind[dnsRecordModel, *dnsRecordModel]{
	name: "dns_record", imported: []string{"service_id", "id"},
	schema: schema.Schema{
		Description: "A record of a zone that Stead serves for a domain of a hosting service.",
		Attributes: map[string]schema.Attribute{
			"id":         number(computed, ""),
			"service_id": number(fixed, ""),
			"type":       text(fixed, "Such as A, AAAA, ALIAS, CAA, CNAME, MX, SRV or TXT."),
			"name":       text(required, "Relative to the zone; @ is the zone itself."),
			"value":      text(required, "An address, a name, a text, or data."),
			"ttl":        number(optional, "Seconds; 3600 by default."),
			"priority":   number(optional, "Of MX and SRV."),
			"weight":     number(optional, "Of SRV."),
			"port":       number(optional, "Of SRV."),
			"flags":      number(optional, "Of CAA."),
			"tag":        text(optional, "Of CAA."),
			"disabled":   flag("Kept but not served."),
			"zone": schema.StringAttribute{
				Optional: true, Description: "The addon or alias domain of the service in whose zone it is; the primary domain's by default.",
				PlanModifiers: []planmodifier.String{replacedByOther()},
			},
			"alias_status":     text(moving, "Of ALIAS: pending, resolved or unresolved."),
			"alias_addresses":  set(types.StringType, moving, "Of ALIAS: the addresses that are served."),
			"alias_checked_at": text(moving, "Of ALIAS: when its target was last looked up."),
		},
	},

	create: func(ctx context.Context, c *clients, plan, _ *dnsRecordModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		made, err := api.DNS.Create(ctx, plan.ServiceID.ValueInt64(), stead.DNSCreateBody{
			Type: stringOf(plan.Type), Name: stringOf(plan.Name), Value: stringOf(plan.Value), TTL: int64Of(plan.TTL),
			Priority: int64Of(plan.Priority), Weight: int64Of(plan.Weight), Port: int64Of(plan.Port), Flags: int64Of(plan.Flags),
			Tag: stringOf(plan.Tag), Disabled: boolOf(plan.Disabled),
		}, stead.DNSCreateQuery{Zone: plan.Zone.ValueString()})
		if err != nil {
			return "", err
		}
		if made.DNSRecord == nil {
			return "", errors.New("the server answered no record")
		}
		plan.set(*made.DNSRecord, "")
		return "", nil
	},

	read: func(ctx context.Context, c *clients, state *dnsRecordModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		r, found, err := state.find(ctx, api)
		if err != nil {
			return err
		}
		zone, err := state.zoneName(ctx, api, r, found)
		if err != nil {
			return err
		}
		state.set(r, zone)
		return nil
	},

	update: func(ctx context.Context, c *clients, state, plan, _ *dnsRecordModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		r, err := api.DNS.Update(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64(), stead.DNSUpdateBody{
			Name: stringOf(plan.Name), Value: stringOf(plan.Value), TTL: int64Of(plan.TTL), Priority: int64Of(plan.Priority),
			Weight: int64Of(plan.Weight), Port: int64Of(plan.Port), Flags: int64Of(plan.Flags), Tag: stringOf(plan.Tag), Disabled: boolOf(plan.Disabled),
		})
		if err != nil {
			return "", err
		}
		plan.set(*r, "")
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *dnsRecordModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		return "", api.DNS.Delete(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64())
	},
}

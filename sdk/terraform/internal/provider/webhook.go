package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type webhookModel struct {
	ID          types.Int64  `tfsdk:"id"`
	URL         types.String `tfsdk:"url"`
	Events      types.Set    `tfsdk:"events"`
	Description types.String `tfsdk:"description"`
	Enabled     types.Bool   `tfsdk:"enabled"`
	Secret      types.String `tfsdk:"secret"`
	Status      types.String `tfsdk:"status"`
}

func (m *webhookModel) ident() types.Int64 { return m.ID }

func (m *webhookModel) set(e stead.WebhooksEndpoint) {
	m.ID, m.URL, m.Events = types.Int64Value(e.ID), types.StringValue(e.URL), stringSet(e.Events)
	m.Description, m.Enabled, m.Status = spelled(m.Description, &e.Description, strings.TrimSpace), types.BoolValue(e.Enabled), types.StringValue(e.Status)
}

var webhook = kind[webhookModel, *webhookModel]{
	name: "webhook", imported: []string{"id"},
	schema: schema.Schema{
		Description: "A webhook of a reseller. It needs the provider's reseller_key.",
		Attributes: map[string]schema.Attribute{
			"id":          number(computed, ""),
			"url":         text(required, "An https address that is public."),
			"events":      set(types.StringType, optional, "Types of events; service.* is all of a group, * is all; all by default."),
			"description": text(optional, ""),
			"enabled":     flag("False pauses it. True also enables one that the server has disabled."),
			"secret": schema.StringAttribute{
				Computed: true, Sensitive: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
				Description: "What signs the deliveries. The server shows it once, so it stands in the state; after an import it is not known.",
			},
			"status": text(moving, "active, paused or disabled."),
		},
	},

	create: func(ctx context.Context, c *clients, plan, _ *webhookModel) (string, error) {
		api, err := c.reseller()
		if err != nil {
			return "", err
		}
		made, err := api.Webhooks.Create(ctx, stead.WebhooksCreateBody{
			URL: plan.URL.ValueString(), Events: itemsOf[string](ctx, plan.Events), Description: stringOf(plan.Description),
		})
		if err != nil {
			return "", err
		}
		plan.Secret = types.StringValue(made.Secret)
		want := boolOf(plan.Enabled)
		plan.set(stead.WebhooksEndpoint{
			ID: made.ID, URL: made.URL, Events: made.Events, Description: made.Description, Enabled: made.Enabled, Status: made.Status,
		})
		if want == nil || *want == made.Enabled {
			return "", nil
		}
		e, err := api.Webhooks.Update(ctx, made.ID, stead.WebhooksUpdateBody{Enabled: want})
		if err != nil {
			return "", err
		}
		plan.set(*e)
		return "", nil
	},

	read: func(ctx context.Context, c *clients, state *webhookModel) error {
		api, err := c.reseller()
		if err != nil {
			return err
		}
		e, err := find(api.Webhooks.All(ctx, stead.ResellerWebhooksQuery{PerPage: perPage}), func(e stead.WebhooksEndpoint) bool { return e.ID == state.ID.ValueInt64() })
		if err == nil {
			state.set(e)
		}
		return err
	},

	update: func(ctx context.Context, c *clients, state, plan, _ *webhookModel) (string, error) {
		api, err := c.reseller()
		if err != nil {
			return "", err
		}
		e, err := api.Webhooks.Update(ctx, state.ID.ValueInt64(), stead.WebhooksUpdateBody{
			URL: stringOf(plan.URL), Events: itemsOf[string](ctx, plan.Events), Description: stringOf(plan.Description), Enabled: boolOf(plan.Enabled),
		})
		if err != nil {
			return "", err
		}
		plan.set(*e)
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *webhookModel) (string, error) {
		api, err := c.reseller()
		if err != nil {
			return "", err
		}
		return "", api.Webhooks.Delete(ctx, state.ID.ValueInt64())
	},
}

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

// plan is the data source that finds a plan of the catalogue by its slug.
type plan struct{ clients *clients }

func newPlan() datasource.DataSource { return &plan{} }

type planModel struct {
	Product   types.String `tfsdk:"product"`
	Slug      types.String `tfsdk:"slug"`
	ID        types.Int64  `tfsdk:"id"`
	Available types.Bool   `tfsdk:"available"`
	Prices    types.Map    `tfsdk:"usd_cents"`
}

func (*plan) Metadata(_ context.Context, _ datasource.MetadataRequest, answer *datasource.MetadataResponse) {
	answer.TypeName = "stead_plan"
}

func (*plan) Schema(_ context.Context, _ datasource.SchemaRequest, answer *datasource.SchemaResponse) {
	answer.Schema = schema.Schema{
		Description: "A plan of the company's catalogue.",
		Attributes: map[string]schema.Attribute{
			"product":   schema.StringAttribute{Optional: true, Description: "The slug of its product, where two products have a plan of the slug."},
			"slug":      schema.StringAttribute{Required: true},
			"id":        schema.Int64Attribute{Computed: true, Description: "The plan_id of a stead_service."},
			"available": schema.BoolAttribute{Computed: true, Description: "Whether it can be ordered now."},
			"usd_cents": schema.MapAttribute{
				ElementType: types.Int64Type, Computed: true, Description: "The price of each period, by its number of months, in US cents.",
			},
		},
	}
}

func (p *plan) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if request.ProviderData != nil {
		p.clients = request.ProviderData.(*clients)
	}
}

func (p *plan) Read(ctx context.Context, request datasource.ReadRequest, answer *datasource.ReadResponse) {
	var m planModel
	answer.Diagnostics.Append(request.Config.Get(ctx, &m)...)
	if answer.Diagnostics.HasError() {
		return
	}
	api, err := p.clients.customer()
	if err != nil {
		tell(&answer.Diagnostics, "read", "", err)
		return
	}
	var found []stead.CatalogPlan
	slugs := ""
	for product, err := range api.Catalog.All(ctx, stead.CatalogQuery{PerPage: perPage}) {
		if err != nil {
			tell(&answer.Diagnostics, "read", "", err)
			return
		}
		for _, one := range product.Plans {
			slugs += " " + product.Slug + "/" + one.Slug
			if one.Slug == m.Slug.ValueString() && (m.Product.IsNull() || m.Product.ValueString() == product.Slug) {
				found = append(found, one)
			}
		}
	}
	switch len(found) {
	case 0:
		answer.Diagnostics.AddError("The company sells no such plan", "Plans, each as product/slug:"+slugs+".")
		return
	case 1:
	default:
		answer.Diagnostics.AddError("Several products have a plan of this slug", "Set product. Plans, each as product/slug:"+slugs+".")
		return
	}
	prices := map[string]int64{}
	for _, price := range found[0].Prices {
		prices[types.Int64Value(price.PeriodMonths).String()] = price.Price.USDCents
	}
	m.ID, m.Available = types.Int64Value(found[0].ID), types.BoolValue(found[0].Available)
	values, problems := types.MapValueFrom(ctx, types.Int64Type, prices)
	answer.Diagnostics.Append(problems...)
	m.Prices = values
	answer.Diagnostics.Append(answer.State.Set(ctx, &m)...)
}

// Package provider is Stead's provider for Terraform: resources that are operations of the API, called by the Go SDK.
//
// A resource is a value of [kind]: its schema and what it does with the API. One adapter, [adapter], makes it what the
// plugin framework wants.
package provider

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

// Address is the name of the provider in a configuration of Terraform.
const Address = "registry.terraform.io/stead/stead"

// New makes the provider.
func New() provider.Provider { return steadProvider{} }

type steadProvider struct{}

type settings struct {
	Address     types.String `tfsdk:"address"`
	Token       types.String `tfsdk:"token"`
	ResellerKey types.String `tfsdk:"reseller_key"`
}

// clients call the API; each is nil where the configuration has no secret for it.
type clients struct {
	customers *stead.Client
	resellers *stead.Reseller
}

func (c *clients) customer() (*stead.Client, error) {
	if c.customers == nil {
		return nil, errors.New("this resource is a customer's: set the provider's token, or STEAD_TOKEN")
	}
	return c.customers, nil
}

func (c *clients) reseller() (*stead.Reseller, error) {
	if c.resellers == nil {
		return nil, errors.New("this resource is a reseller's: set the provider's reseller_key, or STEAD_API_KEY")
	}
	return c.resellers, nil
}

func (steadProvider) Metadata(_ context.Context, _ provider.MetadataRequest, answer *provider.MetadataResponse) {
	answer.TypeName, answer.Version = "stead", stead.Version
}

func (steadProvider) Schema(_ context.Context, _ provider.SchemaRequest, answer *provider.SchemaResponse) {
	answer.Schema = schema.Schema{
		Description: "Hosting, domains and monitoring at a company that runs Stead.",
		Attributes: map[string]schema.Attribute{
			"address": schema.StringAttribute{Optional: true, Description: "Of the company's server, such as https://my.example.com. Default: STEAD_URL."},
			"token": schema.StringAttribute{
				Optional: true, Sensitive: true,
				Description: "An access token of a customer. Default: STEAD_TOKEN.",
			},
			"reseller_key": schema.StringAttribute{
				Optional: true, Sensitive: true,
				Description: "An API key of a reseller, for the resources that are a reseller's. Default: STEAD_API_KEY.",
			},
		},
	}
}

func (steadProvider) Configure(ctx context.Context, request provider.ConfigureRequest, answer *provider.ConfigureResponse) {
	var s settings
	answer.Diagnostics.Append(request.Config.Get(ctx, &s)...)
	if answer.Diagnostics.HasError() {
		return
	}
	setting := func(name, variable string, v types.String) string {
		switch {
		case v.IsUnknown():
			answer.Diagnostics.AddAttributeError(path.Root(name), "The value is not known yet",
				"It comes from a resource that is made in the same run. Use a variable, or "+variable+".")
			return ""
		case v.IsNull():
			return os.Getenv(variable)
		}
		return v.ValueString()
	}
	address, token, key := setting("address", "STEAD_URL", s.Address), setting("token", "STEAD_TOKEN", s.Token), setting("reseller_key", "STEAD_API_KEY", s.ResellerKey)
	if answer.Diagnostics.HasError() {
		return
	}
	agent := stead.WithUserAgent("terraform-provider-stead/" + stead.Version)
	var c clients
	var err error
	if token != "" {
		c.customers, err = stead.New(address, stead.WithToken(token), agent)
	}
	if key != "" && err == nil {
		c.resellers, err = stead.NewReseller(address, key, agent)
	}
	switch {
	case err != nil:
		answer.Diagnostics.AddAttributeError(path.Root("address"), "The address of the server is wrong", err.Error())
	case token == "" && key == "":
		answer.Diagnostics.AddError("There is no secret to sign in with", "Set token or STEAD_TOKEN, or as a reseller reseller_key or STEAD_API_KEY.")
	}
	answer.ResourceData, answer.DataSourceData = &c, &c
}

func (steadProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		service.resource, hostedDomain.resource, dnsRecord.resource, database.resource, mailbox.resource,
		monitor.resource, domain.resource, webhook.resource,
	}
}

func (steadProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newPlan}
}

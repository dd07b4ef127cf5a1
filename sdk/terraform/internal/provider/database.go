package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type databaseModel struct {
	ID        types.Int64  `tfsdk:"id"`
	ServiceID types.Int64  `tfsdk:"service_id"`
	Name      types.String `tfsdk:"name"`
	Engine    types.String `tfsdk:"engine"`
	Charset   types.String `tfsdk:"charset"`
	FullName  types.String `tfsdk:"full_name"`
	Host      types.String `tfsdk:"host"`
	Port      types.Int64  `tfsdk:"port"`
	Status    types.String `tfsdk:"status"`
}

func (m *databaseModel) ident() types.Int64 { return m.ID }

func (m *databaseModel) service() types.Int64 { return m.ServiceID }

func (m *databaseModel) set(d stead.Database) {
	m.ID, m.Engine = types.Int64Value(d.ID), types.StringValue(d.Engine)
	if !strings.EqualFold(m.Charset.ValueString(), d.Charset) {
		m.Charset = types.StringValue(d.Charset)
	}
	if m.Name.IsNull() { // after an import: what stands behind the user name of the service's account
		m.Name = types.StringValue(afterUser(d.Name))
	}
	m.FullName, m.Host, m.Port = types.StringValue(d.Name), types.StringPointerValue(d.Host), types.Int64PointerValue(d.Port)
	m.Status = types.StringValue(d.Status)
}

func (m *databaseModel) get(ctx context.Context, api *stead.Client) (stead.Database, error) {
	return find(api.Databases.All(ctx, m.ServiceID.ValueInt64(), stead.DatabasesQuery{PerPage: perPage}),
		func(d stead.Database) bool { return d.ID == m.ID.ValueInt64() })
}

var database = kind[databaseModel, *databaseModel]{
	name: "database", imported: []string{"service_id", "id"},
	schema: schema.Schema{
		Description: "A database of a hosting service, with a user of its name. Its password is shown in the panel alone.",
		Attributes: map[string]schema.Attribute{
			"id":         number(computed, ""),
			"service_id": number(fixed, ""),
			"name":       text(fixed, "1 to 24 of a-z, 0-9 and the underscore."),
			"engine":     text(fixed, "mysql, mariadb or postgresql."),
			"charset":    text(chosen, ""),
			"full_name":  text(computed, "On the hosting server: the user name of the service's account stands before it. The name of the user, too."),
			"host":       text(moving, "Where the service's own programs reach it."),
			"port":       number(moving, ""),
			"status":     text(moving, ""),
		},
	},

	create: func(ctx context.Context, c *clients, plan, _ *databaseModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		made, err := api.Databases.Create(ctx, plan.ServiceID.ValueInt64(), stead.DatabasesCreateBody{
			Name: plan.Name.ValueString(), Engine: plan.Engine.ValueString(), Charset: stringOf(plan.Charset),
		})
		if err != nil {
			return "", err
		}
		plan.set(*made)
		return "", until(ctx, func(ctx context.Context) (bool, error) {
			d, err := plan.get(ctx, api)
			if err != nil {
				return false, err
			}
			plan.set(d)
			if d.Status == stead.DatabaseStatusFailed {
				return false, failure(d.FailureKey)
			}
			return d.Status == stead.DatabaseStatusActive, nil
		})
	},

	read: func(ctx context.Context, c *clients, state *databaseModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		d, err := state.get(ctx, api)
		if err != nil || d.Status == stead.DatabaseStatusRemoving {
			return errGoneOr(err)
		}
		state.set(d)
		return nil
	},

	// Every attribute that can be written replaces the database, unless it is written in another spelling.
	update: func(ctx context.Context, c *clients, _, plan, _ *databaseModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		d, err := plan.get(ctx, api)
		if err != nil {
			return "", err
		}
		plan.set(d)
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *databaseModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		if err := api.Databases.Delete(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64()); err != nil {
			return "", err
		}
		return "", untilGone(ctx, func(ctx context.Context) error {
			_, err := state.get(ctx, api)
			return err
		})
	},
}

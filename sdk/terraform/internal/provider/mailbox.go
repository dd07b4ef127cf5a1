package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type mailboxModel struct {
	ID              types.Int64  `tfsdk:"id"`
	ServiceID       types.Int64  `tfsdk:"service_id"`
	LocalPart       types.String `tfsdk:"local_part"`
	Domain          types.String `tfsdk:"domain"`
	Password        types.String `tfsdk:"password_wo"`
	PasswordVersion types.Int64  `tfsdk:"password_wo_version"`
	QuotaMB         types.Int64  `tfsdk:"quota_mb"`
	Aliases         types.Set    `tfsdk:"aliases"`
	ForwardTo       types.Set    `tfsdk:"forward_to"`
	KeepCopy        types.Bool   `tfsdk:"keep_copy"`
	CatchAll        types.Bool   `tfsdk:"catch_all"`
	SpamThreshold   types.Int64  `tfsdk:"spam_threshold"`
	SendLimit       types.Int64  `tfsdk:"send_limit_per_hour"`
	Address         types.String `tfsdk:"address"`
	Status          types.String `tfsdk:"status"`
}

func (m *mailboxModel) ident() types.Int64 { return m.ID }

func (m *mailboxModel) service() types.Int64 { return m.ServiceID }

func (m *mailboxModel) set(ctx context.Context, b stead.Mailbox) {
	local, domain := cut(b.Address)
	m.ID, m.Address, m.Status = types.Int64Value(b.ID), types.StringValue(b.Address), types.StringValue(b.Status)
	m.LocalPart, m.Domain = spelled(m.LocalPart, &local, strings.ToLower), spelled(m.Domain, &domain, normalName)
	m.QuotaMB, m.SpamThreshold, m.SendLimit = types.Int64Value(b.QuotaMB), types.Int64Value(b.SpamThreshold), types.Int64Value(b.SendLimitPerHour)
	m.Aliases, m.ForwardTo = spelledSet(ctx, m.Aliases, b.Aliases, normalAlias), spelledSet(ctx, m.ForwardTo, b.ForwardTo, normalForward)
	// Without addresses to forward to, all mail is kept, and the server says false whatever was written.
	if m.KeepCopy.IsNull() || m.KeepCopy.IsUnknown() || len(b.ForwardTo) > 0 {
		m.KeepCopy = types.BoolValue(b.KeepCopy)
	}
	m.CatchAll = types.BoolValue(b.CatchAll)
}

func (m *mailboxModel) get(ctx context.Context, api *stead.Client) (stead.Mailbox, error) {
	return find(api.Mail.Mailboxes.All(ctx, m.ServiceID.ValueInt64(), stead.MailMailboxesQuery{PerPage: perPage}),
		func(b stead.Mailbox) bool { return b.ID == m.ID.ValueInt64() })
}

// ready waits until the mail server has followed.
func (m *mailboxModel) ready(ctx context.Context, api *stead.Client) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		b, err := m.get(ctx, api)
		if err != nil {
			return false, err
		}
		m.set(ctx, b)
		if b.Status == stead.MailboxStatusFailed {
			return false, failure(b.StatusReason)
		}
		return b.Status != stead.MailboxStatusPending, nil
	})
}

var mailbox = kind[mailboxModel, *mailboxModel]{
	name: "mailbox", imported: []string{"service_id", "id"},
	schema: schema.Schema{
		Description: "A mailbox of a hosting service. Destroying it deletes its mail.",
		Attributes: map[string]schema.Attribute{
			"id":                  number(computed, ""),
			"service_id":          number(fixed, ""),
			"local_part":          text(fixed, "What stands before the @."),
			"domain":              text(fixed, "One of the service's domains."),
			"password_wo":         secret(true, "10 to 72 characters. Sent and kept nowhere (Terraform 1.11)."),
			"password_wo_version": version("password_wo"),
			"quota_mb":            number(optional, "Mebibytes; 1024 by default."),
			"aliases":             set(types.StringType, optional, "Further addresses, of the service's domains."),
			"forward_to":          set(types.StringType, optional, "Addresses anywhere."),
			"keep_copy":           flag("Forwarded mail is kept in the mailbox too."),
			"catch_all":           flag("Mail to addresses of the domain that nobody has comes here."),
			"spam_threshold":      number(optional, "Score from which on mail goes to the folder Junk; 0 for none."),
			"send_limit_per_hour": number(optional, "Recipients in an hour."),
			"address":             text(computed, ""),
			"status":              text(moving, ""),
		},
	},

	create: func(ctx context.Context, c *clients, plan, config *mailboxModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		made, err := api.Mail.Mailboxes.Create(ctx, plan.ServiceID.ValueInt64(), stead.MailCreateBody{
			LocalPart: plan.LocalPart.ValueString(), Domain: plan.Domain.ValueString(), Password: config.Password.ValueString(),
			QuotaMB: int64Of(plan.QuotaMB), Aliases: itemsOf[string](ctx, plan.Aliases), ForwardTo: itemsOf[string](ctx, plan.ForwardTo),
			KeepCopy: boolOf(plan.KeepCopy), CatchAll: boolOf(plan.CatchAll), SpamThreshold: int64Of(plan.SpamThreshold),
			SendLimitPerHour: int64Of(plan.SendLimit),
		})
		if err != nil {
			return "", err
		}
		plan.set(ctx, *made)
		return "", plan.ready(ctx, api)
	},

	read: func(ctx context.Context, c *clients, state *mailboxModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		b, err := state.get(ctx, api)
		if err != nil || b.Status == stead.MailboxStatusRemoving {
			return errGoneOr(err)
		}
		state.set(ctx, b)
		return nil
	},

	update: func(ctx context.Context, c *clients, state, plan, config *mailboxModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		change := stead.MailUpdateBody{
			QuotaMB: int64Of(plan.QuotaMB), Aliases: itemsOf[string](ctx, plan.Aliases), ForwardTo: itemsOf[string](ctx, plan.ForwardTo),
			KeepCopy: boolOf(plan.KeepCopy), CatchAll: boolOf(plan.CatchAll), SpamThreshold: int64Of(plan.SpamThreshold),
			SendLimitPerHour: int64Of(plan.SendLimit),
		}
		if !plan.PasswordVersion.Equal(state.PasswordVersion) {
			change.Password = stringOf(config.Password)
		}
		b, err := api.Mail.Mailboxes.Update(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64(), change)
		if err != nil {
			return "", err
		}
		plan.set(ctx, *b)
		return "", plan.ready(ctx, api)
	},

	remove: func(ctx context.Context, c *clients, state *mailboxModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		if err := api.Mail.Mailboxes.Delete(ctx, state.ServiceID.ValueInt64(), state.ID.ValueInt64()); err != nil {
			return "", err
		}
		return "", untilGone(ctx, func(ctx context.Context) error {
			_, err := state.get(ctx, api)
			return err
		})
	},
}

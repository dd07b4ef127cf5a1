package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

type monitorModel struct {
	ID               types.Int64  `tfsdk:"id"`
	Name             types.String `tfsdk:"name"`
	Type             types.String `tfsdk:"type"`
	URL              types.String `tfsdk:"url"`
	Host             types.String `tfsdk:"host"`
	Port             types.Int64  `tfsdk:"port"`
	ServiceID        types.Int64  `tfsdk:"service_id"`
	Method           types.String `tfsdk:"method"`
	Body             types.String `tfsdk:"body"`
	Headers          types.Map    `tfsdk:"headers_wo"`
	HeadersVersion   types.Int64  `tfsdk:"headers_wo_version"`
	ExpectedStatuses types.Set    `tfsdk:"expected_statuses"`
	FollowRedirects  types.Bool   `tfsdk:"follow_redirects"`
	VerifyTLS        types.Bool   `tfsdk:"verify_tls"`
	Keyword          types.String `tfsdk:"keyword"`
	KeywordMode      types.String `tfsdk:"keyword_mode"`
	JSONPath         types.String `tfsdk:"json_path"`
	JSONExpected     types.String `tfsdk:"json_expected"`
	DNSType          types.String `tfsdk:"dns_type"`
	DNSExpected      types.String `tfsdk:"dns_expected"`
	SSLExpiryDays    types.Set    `tfsdk:"ssl_expiry_days"`
	DomainExpiryDays types.Set    `tfsdk:"domain_expiry_days"`
	IntervalS        types.Int64  `tfsdk:"interval_s"`
	TimeoutMS        types.Int64  `tfsdk:"timeout_ms"`
	MaxResponseMS    types.Int64  `tfsdk:"max_response_ms"`
	Retries          types.Int64  `tfsdk:"retries"`
	RetryIntervalS   types.Int64  `tfsdk:"retry_interval_s"`
	Regions          types.Set    `tfsdk:"regions"`
	Quorum           types.Int64  `tfsdk:"quorum"`
	Channels         types.Set    `tfsdk:"channels"`
	AlertAfterS      types.Int64  `tfsdk:"alert_after_s"`
	ReminderEveryS   types.Int64  `tfsdk:"reminder_every_s"`
	Tags             types.Set    `tfsdk:"tags"`
	Paused           types.Bool   `tfsdk:"paused"`
	PushURL          types.String `tfsdk:"push_url"`
	BadgeURL         types.String `tfsdk:"badge_url"`
}

func (m *monitorModel) ident() types.Int64 { return m.ID }

func (m *monitorModel) set(ctx context.Context, o *stead.Monitor) {
	m.ID, m.Name, m.Type = types.Int64Value(o.ID), spelled(m.Name, &o.Name, strings.TrimSpace), spelled(m.Type, &o.Type, strings.ToLower)
	if m.Type.ValueString() == "tls" { // another word for it
		m.Type = types.StringValue(o.Type)
	}
	if o.URL == nil || m.URL.IsNull() || m.URL.IsUnknown() || normalURL(m.URL.ValueString()) != normalURL(*o.URL) {
		m.URL = types.StringPointerValue(o.URL)
	}
	m.Host, m.Port = spelled(m.Host, o.Host, normalName), types.Int64PointerValue(o.Port)
	m.ServiceID, m.Method, m.Body = types.Int64PointerValue(o.ServiceID), types.StringPointerValue(o.Method), types.StringPointerValue(o.Body)
	m.ExpectedStatuses, m.FollowRedirects, m.VerifyTLS = stringSet(o.ExpectedStatuses), types.BoolValue(o.FollowRedirects), types.BoolValue(o.VerifyTLS)
	m.Keyword, m.KeywordMode = types.StringPointerValue(o.Keyword), types.StringPointerValue(o.KeywordMode)
	m.JSONPath, m.JSONExpected = types.StringPointerValue(o.JSONPath), types.StringPointerValue(o.JSONExpected)
	m.DNSType, m.DNSExpected = spelled(m.DNSType, o.DNSType, strings.ToUpper), types.StringPointerValue(o.DNSExpected)
	m.SSLExpiryDays, m.DomainExpiryDays = numberSet(o.SSLExpiryDays), numberSet(o.DomainExpiryDays)
	m.IntervalS, m.TimeoutMS, m.MaxResponseMS = types.Int64Value(o.IntervalS), types.Int64Value(o.TimeoutMS), types.Int64PointerValue(o.MaxResponseMS)
	m.Retries, m.RetryIntervalS = types.Int64Value(o.Retries), types.Int64Value(o.RetryIntervalS)
	m.Regions, m.Quorum, m.Channels = stringSet(o.Regions), types.Int64PointerValue(o.Quorum), numberSet(o.Channels)
	m.AlertAfterS, m.ReminderEveryS = types.Int64Value(o.AlertAfterS), types.Int64Value(o.ReminderEveryS)
	m.Tags, m.Paused = spelledSet(ctx, m.Tags, o.Tags, strings.TrimSpace), types.BoolValue(o.Paused)
	m.PushURL, m.BadgeURL = types.StringPointerValue(o.PushURL), types.StringValue(o.BadgeURL)
}

// settings are what is written of the monitor, without its type, which never changes.
func (m *monitorModel) settings(ctx context.Context, headers types.Map) stead.MonitorsSettingsIn {
	in := stead.MonitorsSettingsIn{
		Name: stringOf(m.Name), URL: stringOf(m.URL), Host: stringOf(m.Host), Port: int64Of(m.Port), ServiceID: int64Of(m.ServiceID),
		Method: stringOf(m.Method), Body: stringOf(m.Body), ExpectedStatuses: itemsOf[string](ctx, m.ExpectedStatuses),
		FollowRedirects: boolOf(m.FollowRedirects), VerifyTLS: boolOf(m.VerifyTLS), Keyword: stringOf(m.Keyword), KeywordMode: stringOf(m.KeywordMode),
		JSONPath: stringOf(m.JSONPath), JSONExpected: stringOf(m.JSONExpected), DNSType: stringOf(m.DNSType), DNSExpected: stringOf(m.DNSExpected),
		SSLExpiryDays: itemsOf[int64](ctx, m.SSLExpiryDays), DomainExpiryDays: itemsOf[int64](ctx, m.DomainExpiryDays),
		IntervalS: int64Of(m.IntervalS), TimeoutMS: int64Of(m.TimeoutMS), MaxResponseMS: int64Of(m.MaxResponseMS),
		Retries: int64Of(m.Retries), RetryIntervalS: int64Of(m.RetryIntervalS), Regions: itemsOf[string](ctx, m.Regions), Quorum: int64Of(m.Quorum),
		Channels: itemsOf[int64](ctx, m.Channels), AlertAfterS: int64Of(m.AlertAfterS), ReminderEveryS: int64Of(m.ReminderEveryS),
		Tags: itemsOf[string](ctx, m.Tags), Paused: boolOf(m.Paused),
	}
	if !headers.IsNull() && !headers.IsUnknown() {
		in.Headers = map[string]*string{}
		headers.ElementsAs(ctx, &in.Headers, false) // the schema says the type
	}
	return in
}

var monitor = kind[monitorModel, *monitorModel]{
	name: "monitor", imported: []string{"id"},
	schema: schema.Schema{
		Description: "A monitor of a site, a server, a domain or a job.",
		Attributes: map[string]schema.Attribute{
			"id":               number(computed, ""),
			"name":             text(optional, "The address by default."),
			"type":             text(fixed, "http, keyword, json, ping, tcp, dns, ssl, domain or heartbeat."),
			"url":              text(optional, "Of http, keyword and json."),
			"host":             text(optional, "Of ping, tcp, dns, ssl and domain."),
			"port":             number(optional, "Of tcp; 443 for ssl by default."),
			"service_id":       number(optional, "A service of yours that it is about."),
			"method":           text(optional, "GET by default."),
			"body":             text(optional, "What is sent."),
			"follow_redirects": flag("True by default."),
			"verify_tls":       flag("True by default."),
			"headers_wo": schema.MapAttribute{
				ElementType: types.StringType, Optional: true, WriteOnly: true,
				Description: "Headers that are sent, to the origin of the address only. Sent to Stead and kept nowhere else (Terraform 1.11).",
			},
			"headers_wo_version": version("headers_wo"),
			"expected_statuses":  set(types.StringType, optional, "Codes and ranges; 200-299 by default."),
			"keyword":            text(optional, "Of keyword."),
			"keyword_mode":       text(optional, "present or absent."),
			"json_path":          text(optional, "Of json: RFC 9535."),
			"json_expected":      text(optional, "As text; any value by default."),
			"dns_type":           text(optional, "A by default."),
			"dns_expected":       text(optional, "One of the records; any by default."),
			"ssl_expiry_days":    set(types.Int64Type, optional, "When to warn of the end of the certificate."),
			"domain_expiry_days": set(types.Int64Type, optional, "When to warn of the end of the registration."),
			"interval_s":         number(optional, "60, 120, 300, 600, 1800 or 3600."),
			"timeout_ms":         number(optional, "10000 by default."),
			"max_response_ms":    number(optional, "Slower answers are degraded; 0 for no bound."),
			"retries":            number(optional, "How many failures in a row are forgiven."),
			"retry_interval_s":   number(optional, "Time to the next try after a failure, and how late a heartbeat may be."),
			"regions":            set(types.StringType, optional, "Where it is checked from."),
			"quorum":             number(optional, "How many regions must agree that it is down."),
			"channels":           set(types.Int64Type, optional, "Ids of alert channels."),
			"alert_after_s":      number(optional, "How long it is down before anybody is told."),
			"reminder_every_s":   number(optional, "0 for no reminders."),
			"tags":               set(types.StringType, optional, ""),
			"paused":             flag(""),
			"push_url":           schema.StringAttribute{Computed: true, Sensitive: true, Description: "What a heartbeat calls."},
			"badge_url":          text(computed, ""),
		},
	},

	create: func(ctx context.Context, c *clients, plan, config *monitorModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		in := plan.settings(ctx, config.Headers)
		made, err := api.Monitors.Create(ctx, stead.MonitorsCreateBody{
			Type: plan.Type.ValueString(), Name: in.Name, URL: in.URL, Host: in.Host, Port: in.Port, ServiceID: in.ServiceID, Method: in.Method,
			Body: in.Body, Headers: in.Headers, ExpectedStatuses: in.ExpectedStatuses, FollowRedirects: in.FollowRedirects, VerifyTLS: in.VerifyTLS,
			Keyword: in.Keyword, KeywordMode: in.KeywordMode, JSONPath: in.JSONPath, JSONExpected: in.JSONExpected, DNSType: in.DNSType,
			DNSExpected: in.DNSExpected, SSLExpiryDays: in.SSLExpiryDays, DomainExpiryDays: in.DomainExpiryDays, IntervalS: in.IntervalS,
			TimeoutMS: in.TimeoutMS, MaxResponseMS: in.MaxResponseMS, Retries: in.Retries, RetryIntervalS: in.RetryIntervalS, Regions: in.Regions,
			Quorum: in.Quorum, Channels: in.Channels, AlertAfterS: in.AlertAfterS, ReminderEveryS: in.ReminderEveryS, Tags: in.Tags, Paused: in.Paused,
		})
		if err != nil {
			return "", err
		}
		plan.set(ctx, made)
		return "", nil
	},

	read: func(ctx context.Context, c *clients, state *monitorModel) error {
		api, err := c.customer()
		if err != nil {
			return err
		}
		// The list: a single monitor comes with its history.
		o, err := find(api.Monitors.All(ctx, stead.MonitorsQuery{PerPage: perPage}), func(o stead.Monitor) bool { return o.ID == state.ID.ValueInt64() })
		if err == nil {
			state.set(ctx, &o)
		}
		return err
	},

	update: func(ctx context.Context, c *clients, state, plan, config *monitorModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		headers := types.MapNull(types.StringType)
		if !plan.HeadersVersion.Equal(state.HeadersVersion) {
			headers = config.Headers
		}
		o, err := api.Monitors.Update(ctx, state.ID.ValueInt64(), plan.settings(ctx, headers))
		if err != nil {
			return "", err
		}
		plan.set(ctx, o)
		return "", nil
	},

	remove: func(ctx context.Context, c *clients, state *monitorModel) (string, error) {
		api, err := c.customer()
		if err != nil {
			return "", err
		}
		return "", api.Monitors.Delete(ctx, state.ID.ValueInt64())
	},
}

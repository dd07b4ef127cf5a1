package api

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// sampler makes examples of answers from their schemas.
type sampler struct {
	registry huma.Registry
	open     []string // the schemas that an example of is being made: a type may contain itself
}

// sample is an example of a schema: the member's own example, its first allowed value or its default, what samples has under
// the member's name, or a value of its type. Members come in the order of their names, as encoding/json writes maps.
func (m *sampler) sample(s *huma.Schema, member string) any {
	if s.Ref != "" {
		if slices.Contains(m.open, s.Ref) {
			return nil
		}
		m.open = append(m.open, s.Ref)
		defer func() { m.open = m.open[:len(m.open)-1] }()
		return m.sample(m.registry.SchemaFromRef(s.Ref), member)
	}
	switch {
	case s.Nullable && slices.Contains(usuallyNull, member):
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return usual(s.Enum)
	case s.Default != nil:
		return s.Default
	}
	if len(s.AnyOf) > 0 && slices.Contains(usuallyNull, member) {
		return nil // allowNull
	}
	for _, choices := range [][]*huma.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(choices) > 0 {
			return m.sample(choices[0], member)
		}
	}
	switch s.Type {
	case huma.TypeObject:
		return m.object(s, member)
	case huma.TypeArray:
		if one := m.sample(s.Items, member); one != nil {
			return []any{one}
		}
		return []any{}
	case huma.TypeString:
		return text(s, member)
	case huma.TypeInteger, huma.TypeNumber:
		return number(s, member)
	case huma.TypeBoolean:
		return !slices.Contains(rarelyTrue, member)
	default:
		return nil // any value
	}
}

func (m *sampler) object(s *huma.Schema, member string) any {
	all := map[string]any{}
	for name, of := range s.Properties {
		if of.WriteOnly || m.endless(of) {
			continue
		}
		all[name] = m.sample(of, name)
	}
	if of, ok := s.AdditionalProperties.(*huma.Schema); ok {
		all["name"] = m.sample(of, member)
	}
	return all
}

// endless reports whether a member is of a type that an example is being made of already.
func (m *sampler) endless(s *huma.Schema) bool {
	if s.Ref == "" && len(s.AnyOf) > 0 {
		s = s.AnyOf[0]
	}
	return s.Ref != "" && slices.Contains(m.open, s.Ref)
}

func text(s *huma.Schema, member string) any {
	switch s.Format {
	case "date-time":
		if slices.Contains(later, member) {
			return "2027-11-21T10:00:00Z"
		}
		return "2026-11-21T10:00:00Z"
	case "date":
		return "2026-11-21"
	}
	if known, ok := samples[member]; ok {
		return known
	}
	switch {
	case strings.HasSuffix(member, "_url"), strings.HasSuffix(member, "_endpoint"), s.Format == "uri":
		return "https://panel.example.com/" + strings.TrimSuffix(member, "_url")
	case strings.HasSuffix(member, "_key"):
		return "panel_unreachable"
	}
	return strings.ReplaceAll(member, "_", " ")
}

func number(s *huma.Schema, member string) any {
	value := 1
	for suffix, typical := range numbers {
		if member == suffix || strings.HasSuffix(member, "_"+suffix) {
			value = typical
		}
	}
	if s.Minimum != nil && float64(value) < *s.Minimum {
		return *s.Minimum
	}
	if s.Maximum != nil && float64(value) > *s.Maximum {
		return *s.Maximum
	}
	return value
}

// usual is the state in which most things are, or the first of the values.
func usual(values []any) any {
	for _, v := range []any{"active", "completed", "succeeded", "up"} {
		if slices.Contains(values, v) {
			return v
		}
	}
	return values[0]
}

// usuallyNull are members that have a value when something is wrong or over, where they can be null.
var usuallyNull = []string{
	"failure_key", "error_key", "last_error", "last_error_key", "status_reason", "suspend_reason", "suspend_note", "suspended_at", "terminates_at",
	"grace_until", "redemption_until", "cancelled_at", "pending_change", "dismissed_at", "dismiss_reason", "disabled_reason", "displaced_name", "coupon_code",
}

// later are the times that usually lie ahead.
var later = []string{"expires_at", "ends_at", "next_renewal_attempt_at", "next_run_at", "takes_at"}

// rarelyTrue are the members whose usual value is false.
var rarelyTrue = []string{"sandbox", "truncated", "paused", "disabled", "displaced", "handover", "read_only", "readonly", "system", "catch_all", "suspended", "overlap", "maintenance"}

// numbers are typical values of numbers by the end of their member's name.
var numbers = map[string]int{
	"usd_cents": 1000, "mb": 512, "bytes": 20480, "ms": 180, "s": 60, "seconds": 60, "months": 12, "minute": 60, "port": 443, "ttl": 3600,
	"status": 200, "score": 92, "percent": 10, "points": 1000, "days": 30, "years": 1, "per_page": 20,
}

// samples are typical texts by the name of their member, for those that have no example of their own.
var samples = map[string]string{ //nolint:gosec // no secrets: made-up values
	"access_token": "sta_…", "action": "edit_file", "address": "203.0.113.7", "addresses": "203.0.113.7", "aliases": "sales@shop.example.com",
	"allowed_paths": "/public_html", "app_version": "2.4.0", "arguments": `{"path": "/public_html/index.html"}`, "aud": "https://panel.example.com",
	"auth_code": "Xy7-pq2R", "author": "Anna K.", "available_actions": "renew", "badge_token": "b7c1f0", "body": "Half a year without a single fault.",
	"category": "guides", "cause": "connect_timeout", "charset": "utf8mb4", "checkout_url": "https://panel.example.com/pay/7f3c", "city": "Tashkent",
	"client_id": "app_4c1d9e", "client_ref": "client-42", "client_secret": "sts_…", "code": "ANNA-7", "color": "#1c4ed8", "command": "php ~/public_html/cron.php",
	"common_name": "shop.example.com", "content": "<h1>Hello</h1>", "country": "UZ", "coupon_code": "AUTUMN", "currencies": "USD", "currency": "UZS",
	"denied_paths": "/public_html/private", "description": "Hosting for a shop", "diff": "-9:00-18:00\n+9:00-19:00\n", "digest": "1F6F8A29C2B7A7E1",
	"directory": "/public_html", "displaced_name": "shop.example.com", "dns_expected": "192.0.2.7", "dns_type": "A", "document_root": "/public_html",
	"domain": "shop.example.com", "domains": "shop.example.com", "email": "anna@example.com", "engine": "html", "error": "The name does not resolve.",
	"error_key": "connect_timeout", "etag": "5f2c1a", "event_id": "evt_01JD", "events": "service.*", "evidence": "Strict-Transport-Security: (none)",
	"excerpt": "opening hours: 9-18", "expected": "192.0.2.7", "expected_statuses": "200-299", "expression": "*/15 * * * *", "failure_key": "panel_unreachable",
	"fingerprint": "SHA256:9QvV8tqk", "fingerprint_sha256": "SHA256:9QvV8tqk", "forward_to": "anna@elsewhere.example.com", "found": "192.0.2.7",
	"gateway": "stripe", "gateway_reference": "cs_7f3c", "grade": "A", "hint": "…9f3c", "home": "/public_html", "host": "node1.example.com",
	"hostname": "vps1.example.com", "id": "evt_01JD", "ipv4": "203.0.113.7", "ipv6": "2001:db8::7", "iss": "https://panel.example.com", "issuer": "Let's Encrypt", "items": "/public_html/index.html",
	"json_expected": "ok", "json_path": "$.status", "kept_in": "/.stead-replaced/2026-11-21", "key": "extra_disk", "key_name": "Billing server",
	"keyword": "Welcome", "kind": "hosting", "label": "Shop of Anna", "lang": "en", "languages": "en", "last_output": "done\n", "link": "/services/7",
	"locale": "en", "location": "tashkent", "locations": "tashkent", "message": "The hosting server does not answer.", "method": "GET",
	"mime": "text/html", "mode": "0644", "model": "small", "models": "small", "modules": "services", "month": "2026-11", "name": "Shop of Anna",
	"names": "shop.example.com", "nameservers": "ns1.example.net", "note": "before the update", "number": "INV-2026-000123", "operation": "services.renew",
	"organization": "Example LLC", "owner": "s7", "password": "…", "path": "/public_html/index.html", "paths": "/public_html", "php_version": "8.2",
	"php_versions": "8.2", "plans": "start", "postal_code": "100000", "privileges": "ALL", "product": "Start", "protocols": "ftps",
	"public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5…", "reason": "unpaid", "redirect_to": "https://www.example.com", "redirect_uris": "https://app.example.com/callback",
	"refresh_token": "str_…", "region": "tashkent", "regions": "tashkent", "remote_hosts": "203.0.113.7", "request_id": "req_01JD", "required_fields": "phone",
	"sans": "www.shop.example.com", "scope": "services:read", "scopes": "services:read", "scopes_supported": "services:read", "secret": "whsec_…",
	"slug": "start", "source": "cbu", "ssl": "active", "status": "active", "storage": "local", "street": "Navoiy 1", "sub": "12", "subject": "/team.jpg",
	"support": "support@example.com", "suspend_reason": "unpaid", "tags": "shop", "target": "o…@example.com", "tax_name": "VAT", "tax_number": "301234567",
	"template": "restaurant", "tier": "gold", "timezone": "Asia/Tashkent", "title": "Start, 12 months", "tld": "com", "token_type": "Bearer",
	"tool": "edit_file", "tools": "read_file", "type": "hosting", "unicode_domain": "shop.example.com", "unicode_name": "shop.example.com", "unicode_tld": "com",
	"uptime": "99.98", "url": "https://shop.example.com/", "user_agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "username": "s7",
	"usernames": "deploy", "value": "192.0.2.7", "version": "8.2",
}

// sample is the example of an answer with the schema.
func (e *Edge) sample(s *huma.Schema) any { return (&sampler{registry: e.registry}).sample(s, "") }

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	stead "stead.dev/stead/sdk/go"
)

// The tests below call the adapters against answers that the real server gives in states which are hard to bring about.

// values are attributes of a resource by their names.
type values map[string]any

// answers are what a fake server answers, by method and path.
type answers map[string]func(w http.ResponseWriter, r *http.Request)

// fake is a server of the answers and the provider's clients of it.
func fake(t *testing.T, all answers) *clients {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, answer := range all {
		mux.HandleFunc(pattern, answer)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := stead.New(server.URL, stead.WithToken("any"), stead.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return &clients{customers: c}
}

// gives is an answer of a value as JSON.
func gives(value any) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
}

// lists is an answer of a list of one page.
func lists[T any](items ...T) func(http.ResponseWriter, *http.Request) {
	return gives(map[string]any{"data": items, "meta": map[string]any{"last_page": 1, "page": 1, "per_page": perPage, "total": len(items)}})
}

// refuses is an answer of an error.
func refuses(status int, key string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": key, "message": "No."})
	}
}

// raw is a resource with the attributes and no others.
func raw[T any, M interface {
	*T
	model
}](t *testing.T, k kind[T, M], attributes values,
) tftypes.Value {
	t.Helper()
	empty := map[string]tftypes.Value{}
	object := k.schema.Type().TerraformType(t.Context()).(tftypes.Object)
	for name, of := range object.AttributeTypes {
		empty[name] = tftypes.NewValue(of, nil)
	}
	plan := tfsdk.Plan{Schema: k.schema, Raw: tftypes.NewValue(object, empty)}
	for name, value := range attributes {
		fail(t, plan.SetAttribute(t.Context(), path.Root(name), value))
	}
	return plan.Raw
}

func fail(t *testing.T, all diag.Diagnostics) {
	t.Helper()
	for _, d := range all.Errors() {
		t.Fatalf("%s: %s", d.Summary(), d.Detail())
	}
}

// create makes a resource with the attributes; all others are the server's to choose.
func create[T any, M interface {
	*T
	model
}](t *testing.T, k kind[T, M], c *clients, attributes values,
) (*T, diag.Diagnostics) {
	t.Helper()
	written := raw(t, k, attributes)
	planned := map[string]tftypes.Value{}
	if err := written.As(&planned); err != nil {
		t.Fatal(err)
	}
	for name, value := range planned {
		if value.IsNull() && k.schema.Attributes[name].IsComputed() {
			planned[name] = tftypes.NewValue(value.Type(), tftypes.UnknownValue)
		}
	}
	a := adapter[T, M]{kind: k, clients: c}
	answer := resource.CreateResponse{State: tfsdk.State{Schema: k.schema, Raw: tftypes.NewValue(written.Type(), nil)}}
	a.Create(t.Context(), resource.CreateRequest{
		Plan: tfsdk.Plan{Schema: k.schema, Raw: tftypes.NewValue(written.Type(), planned)}, Config: tfsdk.Config{Schema: k.schema, Raw: written},
	}, &answer)
	made := new(T)
	fail(t, answer.State.Get(t.Context(), made))
	return made, answer.Diagnostics
}

// refresh reads a resource again; nil when it is not there any more.
func refresh[T any, M interface {
	*T
	model
}](t *testing.T, k kind[T, M], c *clients, of *T,
) (*T, diag.Diagnostics) {
	t.Helper()
	state := tfsdk.State{Schema: k.schema, Raw: tftypes.NewValue(k.schema.Type().TerraformType(t.Context()), nil)}
	fail(t, state.Set(t.Context(), of))
	answer := resource.ReadResponse{State: state}
	a := adapter[T, M]{kind: k, clients: c}
	a.Read(t.Context(), resource.ReadRequest{State: state}, &answer)
	if answer.State.Raw.IsNull() {
		return nil, answer.Diagnostics
	}
	read := new(T)
	fail(t, answer.State.Get(t.Context(), read))
	return read, answer.Diagnostics
}

// known is a resource of the state with the attributes.
func known[T any, M interface {
	*T
	model
}](t *testing.T, k kind[T, M], attributes values,
) *T {
	t.Helper()
	state := tfsdk.State{Schema: k.schema, Raw: raw(t, k, attributes)}
	m := new(T)
	fail(t, state.Get(t.Context(), m))
	return m
}

func TestAMailboxIsKeptAsItIsWritten(t *testing.T) {
	made := stead.Mailbox{
		ID: 9, Address: "anna@xn--80aaa2c.example", Status: stead.MailboxStatusActive, Aliases: []string{"info@xn--80aaa2c.example"},
		ForwardTo: []string{"Anna@example.net"}, KeepCopy: true,
	}
	withoutForwards := made
	withoutForwards.ForwardTo, withoutForwards.KeepCopy = []string{}, false
	domain := "XN--80aaa2c.example."
	for name, one := range map[string]struct {
		has     stead.Mailbox
		written values
	}{
		"other spellings": {made, values{
			"local_part": "Anna", "domain": domain, "aliases": []string{"Info@" + domain, "info@xn--80aaa2c.example"}, "forward_to": []string{"Anna@EXAMPLE.net"}, "keep_copy": true,
		}},
		"a copy without forwards": {withoutForwards, values{
			"local_part": "anna", "domain": domain, "aliases": []string{"info@xn--80aaa2c.example"}, "keep_copy": true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t, answers{"POST /api/v1/services/5/mailboxes": gives(one.has), "GET /api/v1/services/5/mailboxes": lists(one.has)})
			one.written["service_id"] = 5
			first, problems := create(t, mailbox, c, one.written)
			fail(t, problems)
			if !first.KeepCopy.ValueBool() || first.Domain.ValueString() != domain || len(first.Aliases.Elements()) != len(one.written["aliases"].([]string)) {
				t.Errorf("made %+v; Terraform would delete it with its mail", first)
			}
			again, problems := refresh(t, mailbox, c, first)
			fail(t, problems)
			if !again.Aliases.Equal(first.Aliases) || !again.ForwardTo.Equal(first.ForwardTo) || !again.KeepCopy.Equal(first.KeepCopy) ||
				!again.Domain.Equal(first.Domain) || !again.LocalPart.Equal(first.LocalPart) {
				t.Errorf("the refresh shows a drift:\n%+v\n%+v", again, first)
			}
		})
	}

	c := fake(t, answers{"GET /api/v1/services/5/mailboxes": lists(made)})
	was := known(t, mailbox, values{
		"id": 9, "service_id": 5, "aliases": []string{"Info@" + domain, "other@" + domain}, "forward_to": []string{"anna@example.net"}, "keep_copy": false,
	})
	is, problems := refresh(t, mailbox, c, was)
	fail(t, problems)
	if len(is.Aliases.Elements()) != 1 || is.ForwardTo.Equal(was.ForwardTo) || !is.KeepCopy.ValueBool() {
		t.Errorf("what differs is not shown: %+v", is)
	}
}

func TestARefusedLockStaysPlanned(t *testing.T) {
	is := stead.Domain{ID: 3, Name: "shop.uz", Status: stead.DomainStatusActive, Nameservers: []string{"ns1.example.net", "ns2.example.net"}}
	c := fake(t, answers{
		"POST /api/v1/domains": gives(is), "GET /api/v1/domains/3": gives(is), "PATCH /api/v1/domains/3": refuses(http.StatusUnprocessableEntity, "unsupported_operation"),
	})
	person := contact{Name: types.StringValue("Anna"), Country: types.StringValue("UZ")}
	first, problems := create(t, domain, c, values{"name": "Shop.uz", "locked": true, "nameservers": []string{"NS1.Example.net.", "ns2.example.net"}, "contact_wo": person})
	fail(t, problems)
	if len(problems) != 1 || !first.Locked.ValueBool() {
		t.Errorf("locked is %v, with %v; it was planned, so Terraform would register the domain anew", first.Locked, problems)
	}
	again, problems := refresh(t, domain, c, first)
	fail(t, problems)
	if again.Locked.ValueBool() || !again.Nameservers.Equal(first.Nameservers) || !again.Name.Equal(first.Name) {
		t.Errorf("the refresh shows %+v", again)
	}
}

func TestForceHTTPSWaitsForTheCertificate(t *testing.T) {
	at := time.Now()
	root := "/sites/x"
	for name, one := range map[string]struct {
		dns   stead.HostingDNS
		comes bool
	}{
		"the DNS leads here":    {stead.HostingDNS{Status: stead.HostingDNSStatusPointed, CheckedAt: &at}, true},
		"the DNS leads nowhere": {stead.HostingDNS{Status: stead.HostingDNSStatusUnknown, CheckedAt: &at}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := stead.HostingDomain{
				ID: 9, Name: "shop.example", Kind: stead.HostingDomainKindAddon, Status: stead.HostingDomainStatusActive, DNS: one.dns, DocumentRoot: &root,
				TLS: stead.HostingTLS{Status: "none"},
			}
			looks := 0
			c := fake(t, answers{
				"POST /api/v1/services/5/domains": gives(d),
				"GET /api/v1/services/5/domains": func(w http.ResponseWriter, r *http.Request) {
					if looks++; one.comes && looks > 2 { // sleeps: the third look comes a second later
						d.TLS.Status = tlsActive
					}
					lists(d)(w, r)
				},
				"PATCH /api/v1/services/5/domains/9": func(w http.ResponseWriter, r *http.Request) {
					if d.TLS.Status != tlsActive {
						refuses(http.StatusUnprocessableEntity, stead.KeyUnsupportedOperation)(w, r)
						return
					}
					d.ForceHTTPS = true
					gives(d)(w, r)
				},
			})
			first, problems := create(t, hostedDomain, c, values{
				"service_id": 5, "name": "shop.example", "kind": "addon", "force_https": true, "document_root": "sites/x",
			})
			fail(t, problems)
			if !first.ForceHTTPS.ValueBool() || first.DocumentRoot.ValueString() != "sites/x" {
				t.Errorf("made %+v; Terraform would delete it", first)
			}
			if d.ForceHTTPS != one.comes || (len(problems) == 0) != one.comes {
				t.Errorf("force_https is %v on the server, with %v", d.ForceHTTPS, problems)
			}
			again, problems := refresh(t, hostedDomain, c, first)
			fail(t, problems)
			if again.ForceHTTPS.ValueBool() != one.comes || !again.DocumentRoot.Equal(first.DocumentRoot) {
				t.Errorf("the refresh shows %+v", again)
			}
		})
	}
}

func TestADomainStaysTheSameWhenItsRoleChanges(t *testing.T) {
	displaced := "Shop.example"
	lower := strings.ToLower(displaced)
	for name, d := range map[string]stead.HostingDomain{
		"made the primary one": {ID: 9, Name: lower, Kind: stead.HostingDomainKindPrimary},
		"displaced":            {ID: 9, Name: "s5.stand-in.example", DisplacedName: &lower, Kind: stead.HostingDomainKindAddon},
	} {
		c := fake(t, answers{"GET /api/v1/services/5/domains": lists(d)})
		is, problems := refresh(t, hostedDomain, c, known(t, hostedDomain, values{"id": 9, "service_id": 5, "name": displaced, "kind": "addon"}))
		fail(t, problems)
		if is.Kind.ValueString() != "addon" || is.Name.ValueString() != displaced {
			t.Errorf("%s: %v, %v; Terraform would delete it", name, is.Kind, is.Name)
		}
	}
}

func TestAServiceKeepsADomainThatItHosts(t *testing.T) {
	primary, displaced := "other.example", "shop.example"
	hosted := func(all ...stead.HostingDomain) answers {
		return answers{
			"GET /api/v1/services/5":         gives(stead.Service{ID: 5, Domain: &primary, Status: stead.ServiceStatusActive}),
			"GET /api/v1/services/5/domains": lists(all...),
		}
	}
	for name, one := range map[string]struct {
		answers answers
		want    string
	}{
		"as an addon":       {hosted(stead.HostingDomain{Name: primary}, stead.HostingDomain{Name: "shop.example"}), "Shop.Example"},
		"under a stand-in":  {hosted(stead.HostingDomain{Name: primary, DisplacedName: &displaced}), "Shop.Example"},
		"not any more":      {hosted(stead.HostingDomain{Name: primary}), primary},
		"as it was written": {hosted(), "Other.Example"},
	} {
		written := "Shop.Example"
		if name == "as it was written" {
			written = "Other.Example"
		}
		is, problems := refresh(t, service, fake(t, one.answers), known(t, service, values{"id": 5, "domain": written}))
		fail(t, problems)
		if is.Domain.ValueString() != one.want || is.Primary.ValueString() != primary {
			t.Errorf("%s: %v, of which %v is primary", name, is.Domain, is.Primary)
		}
	}
}

func TestAServiceIsNotReplaced(t *testing.T) {
	state := tfsdk.State{Schema: service.schema, Raw: raw(t, service, values{"id": 5, "domain": "shop.example", "primary_domain": "xn--80aaa2c.example"})}
	for written, isRefused := range map[string]bool{
		"shop.example": false, "Shop.Example.": false, "XN--80aaa2c.example": false, "other.example": true,
	} {
		answer := planmodifier.StringResponse{}
		service.schema.Attributes["domain"].(interface {
			StringPlanModifiers() []planmodifier.String
		}).StringPlanModifiers()[0].PlanModifyString(t.Context(), planmodifier.StringRequest{
			Path: path.Root("domain"), State: state, StateValue: types.StringValue("shop.example"), ConfigValue: types.StringValue(written),
		}, &answer)
		if answer.Diagnostics.HasError() != isRefused || answer.RequiresReplace {
			t.Errorf("%s: %v, replaced: %v", written, answer.Diagnostics, answer.RequiresReplace)
		}
	}
}

func TestOnlyWhatTheServerDoesNotHaveIsGone(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<h1>Not Found</h1>"))
	}
	for name, one := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		isGone bool
	}{
		"not there":             {refuses(http.StatusNotFound, stead.KeyNotFound), true},
		"section off":           {refuses(http.StatusNotFound, stead.KeySectionDisabled), false},
		"another server's page": {page, false},
	} {
		c := fake(t, answers{"GET /api/v1/services/5/databases": one.answer, "DELETE /api/v1/services/5/databases/9": one.answer})
		was := known(t, database, values{"id": 9, "service_id": 5, "name": "shop"})
		is, problems := refresh(t, database, c, was)
		if (is == nil) != one.isGone || problems.HasError() == one.isGone {
			t.Errorf("%s: the refresh has %+v, %v", name, is, problems)
		}
		state := tfsdk.State{Schema: database.schema, Raw: raw(t, database, values{"id": 9, "service_id": 5})}
		answer := resource.DeleteResponse{State: state}
		a := adapter[databaseModel, *databaseModel]{kind: database, clients: c}
		if a.Delete(t.Context(), resource.DeleteRequest{State: state}, &answer); answer.Diagnostics.HasError() == one.isGone {
			t.Errorf("%s: deleting it says %v", name, answer.Diagnostics)
		}
	}
}

func TestWhatWasOfAnEndedServiceIsGone(t *testing.T) {
	for status, isGone := range map[string]bool{
		stead.ServiceStatusTerminated: true, stead.ServiceStatusFailed: true, stead.ServiceStatusProvisioning: false, stead.ServiceStatusTerminating: false,
	} {
		refused := refuses(http.StatusUnprocessableEntity, stead.KeyServiceNotActive)
		c := fake(t, answers{
			"GET /api/v1/services/5": gives(stead.Service{ID: 5, Status: status}), "GET /api/v1/services/5/dns": refused, "DELETE /api/v1/services/5/dns/9": refused,
		})
		is, problems := refresh(t, dnsRecord, c, known(t, dnsRecord, values{"id": 9, "service_id": 5, "type": "A"}))
		if (is == nil) != isGone || problems.HasError() == isGone {
			t.Errorf("%s: the refresh has %+v, %v", status, is, problems)
		}
		state := tfsdk.State{Schema: dnsRecord.schema, Raw: raw(t, dnsRecord, values{"id": 9, "service_id": 5})}
		answer := resource.DeleteResponse{State: state}
		a := adapter[dnsRecordModel, *dnsRecordModel]{kind: dnsRecord, clients: c}
		if a.Delete(t.Context(), resource.DeleteRequest{State: state}, &answer); answer.Diagnostics.HasError() == isGone {
			t.Errorf("%s: deleting it says %v", status, answer.Diagnostics)
		}
	}
}

func TestARecordOfARemovedZoneIsGone(t *testing.T) {
	name := "old.example"
	for what, one := range map[string]struct {
		domains       []stead.HostingDomain
		isGone, fails bool
	}{
		"the domain is removed":           {nil, true, false},
		"it came back as a subdomain":     {[]stead.HostingDomain{{Name: name, Kind: stead.HostingDomainKindSubdomain}}, true, false},
		"the zone is about to be made":    {[]stead.HostingDomain{{Name: name, Kind: stead.HostingDomainKindAddon}}, false, true},
		"the zone has a name for a while": {[]stead.HostingDomain{{Name: "s5.stand-in.example", DisplacedName: &name, Kind: stead.HostingDomainKindAddon}}, false, false},
	} {
		c := fake(t, answers{
			"GET /api/v1/services/5/domains": lists(one.domains...),
			"GET /api/v1/services/5/dns": func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("zone") == name {
					refuses(http.StatusUnprocessableEntity, stead.KeyDNSRecordInvalid)(w, r)
					return
				}
				lists(stead.DNSRecord{ID: 9, Type: "A", Name: "www", Value: "192.0.2.1"})(w, r)
			},
		})
		is, problems := refresh(t, dnsRecord, c, known(t, dnsRecord, values{"id": 9, "service_id": 5, "type": "A", "name": "www", "value": "192.0.2.1", "zone": name}))
		if (is == nil) != one.isGone || problems.HasError() != one.fails {
			t.Errorf("%s: %+v, %v", what, is, problems)
		}
	}
}

func TestARecordStaysWhenAnotherDomainIsPromoted(t *testing.T) {
	c := fake(t, answers{
		"GET /api/v1/services/5/domains": lists(stead.HostingDomain{Name: "new.example", Kind: stead.HostingDomainKindPrimary}, stead.HostingDomain{Name: "old.example", Kind: stead.HostingDomainKindAddon}),
		"GET /api/v1/services/5/dns": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("zone") != "old.example" {
				lists[stead.DNSRecord]()(w, r)
				return
			}
			lists(stead.DNSRecord{ID: 9, Type: "A", Name: "www", Value: "192.0.2.1"})(w, r)
		},
	})
	is, problems := refresh(t, dnsRecord, c, known(t, dnsRecord, values{"id": 9, "service_id": 5, "type": "A", "name": "www.old.example.", "value": "192.0.2.1"}))
	fail(t, problems)
	if is == nil || !is.Zone.IsNull() || is.Name.ValueString() != "www.old.example." {
		t.Errorf("it became %+v", is)
	}
}

func TestARecordIsKeptAsItIsWritten(t *testing.T) {
	zone := "shop.example"
	for written, has := range map[[3]string]stead.DNSRecord{
		{"cname", "News", "hosts"}:                     {Type: "CNAME", Name: "news", Value: "hosts.shop.example"},
		{"CNAME", "news.shop.example.", "@"}:           {Type: "CNAME", Name: "news", Value: "shop.example"},
		{"CNAME", "news.shop.example", "Example.net."}: {Type: "CNAME", Name: "news", Value: "example.net"},
		{"A", "shop.example.", "192.0.2.1 "}:           {Type: "A", Name: "@", Value: "192.0.2.1"},
		{"AAAA", "@", "2001:DB8:0::1"}:                 {Type: "AAAA", Name: "@", Value: "2001:db8::1"},
		{"SSHFP", "@", "4 2 AB cd"}:                    {Type: "SSHFP", Name: "@", Value: "4 2 abcd"},
		{"TXT", "@", "Hello"}:                          {Type: "TXT", Name: "@", Value: "Hello"},
		{"MX", "none", "."}:                            {Type: "MX", Name: "none", Value: "."},
	} {
		has.ID = 9
		c := fake(t, answers{
			"GET /api/v1/services/5": gives(stead.Service{ID: 5, Domain: &zone}),
			"GET /api/v1/services/5/dns": func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("type") != has.Type {
					refuses(http.StatusUnprocessableEntity, "validation_failed")(w, r)
					return
				}
				lists(has)(w, r)
			},
		})
		is, problems := refresh(t, dnsRecord, c, known(t, dnsRecord, values{"id": 9, "service_id": 5, "type": written[0], "name": written[1], "value": written[2]}))
		fail(t, problems)
		if got := [3]string{is.Type.ValueString(), is.Name.ValueString(), is.Value.ValueString()}; got != written {
			t.Errorf("%q becomes %q", written, got)
		}
	}
	c := fake(t, answers{"GET /api/v1/services/5": gives(stead.Service{ID: 5, Domain: &zone}), "GET /api/v1/services/5/dns": lists(stead.DNSRecord{ID: 9, Type: "TXT", Name: "@", Value: "Hello"})})
	is, problems := refresh(t, dnsRecord, c, known(t, dnsRecord, values{"id": 9, "service_id": 5, "type": "TXT", "name": "@", "value": "hello"}))
	fail(t, problems)
	if is.Value.ValueString() != "Hello" {
		t.Errorf("another text is not shown: %v", is.Value)
	}
}

func TestAnotherSpellingReplacesNothing(t *testing.T) {
	for written, isReplaced := range map[string]bool{"xn--80aaa2c.example": false, "XN--80aaa2c.Example.": false, "other.example": true} {
		plan := tfsdk.Plan{Schema: mailbox.schema, Raw: raw(t, mailbox, values{"domain": written})}
		answer := planmodifier.StringResponse{}
		replacedByOther().PlanModifyString(t.Context(), planmodifier.StringRequest{
			Path: path.Root("domain"), Plan: plan, State: tfsdk.State{Schema: mailbox.schema, Raw: raw(t, mailbox, values{"domain": "xn--80aaa2c.example"})},
			PlanValue: types.StringValue(written), ConfigValue: types.StringValue(written), StateValue: types.StringValue("xn--80aaa2c.example"),
		}, &answer)
		if answer.RequiresReplace != isReplaced {
			t.Errorf("%s: %v", written, answer.RequiresReplace)
		}
	}
	if a, b := normalName("Магазин.uz."), normalName("магазин.uz"); a != b || !strings.HasPrefix(a, "xn--") {
		t.Errorf("%q, %q", a, b)
	}
	if a := normalURL("HTTPS://Example.net:8443/?q=1"); a != "https://example.net:8443/?q=1" {
		t.Error(a)
	}
	if a, b := normalURL("https://example.net/"), normalURL("https://EXAMPLE.net"); a != b || a != "https://example.net" {
		t.Errorf("%q, %q", a, b)
	}
}

// TestFindSearchesAgain has the only list that has the item be the second one: in the first one it went to a page that was read.
func TestFindSearchesAgain(t *testing.T) {
	searches := 0
	var items iter.Seq2[int, error] = func(yield func(int, error) bool) {
		if searches++; searches > 1 {
			yield(7, nil)
		}
	}
	if n, err := find(items, func(n int) bool { return n == 7 }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := find(items, func(n int) bool { return n == 8 }); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

func TestACallEndsWithThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := until(t.Context(), func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		})
		if !errors.Is(err, errLate) || time.Since(began) != patience {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

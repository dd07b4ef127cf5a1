package provider

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
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
			if again.ForceHTTPS.ValueBool() != one.comes {
				t.Errorf("the refresh shows %+v", again)
			}
		})
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

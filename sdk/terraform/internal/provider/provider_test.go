package provider

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	stead "stead.dev/stead/sdk/go"
)

var factories = map[string]func() (tfprotov6.ProviderServer, error){"stead": providerserver.NewProtocol6WithError(New())}

func TestTheSchemasAreSound(t *testing.T) {
	server, err := factories["stead"]()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range answer.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	if n := len(answer.ResourceSchemas); n != 8 {
		t.Errorf("%d resources", n)
	}
	for name, s := range answer.ResourceSchemas {
		if s.Block.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

// The tests below run Terraform against a server; internal/e2e starts it. Every step ends with a second plan, which has to be
// empty.

// api is a client of the server, for what happens behind Terraform's back.
func api(t *testing.T) *stead.Client {
	t.Helper()
	c, err := stead.New(os.Getenv("STEAD_URL"), stead.WithToken(os.Getenv("STEAD_TOKEN")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: factories, Steps: steps})
}

// The plans of the demonstration that the tests buy.
const (
	small = "start"
	large = "business"
)

// site is a service of the test.
func site(plan, domain, more string) string {
	return fmt.Sprintf(`
		data "stead_plan" "it" { slug = %q }
		resource "stead_service" "site" {
			plan_id = data.stead_plan.it.id
			domain  = %q
			%s
		}
	`, plan, domain, more)
}

func imported(name string, ignored ...string) resource.TestStep {
	return resource.TestStep{
		ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: ignored,
		ImportStateIdFunc: func(s *terraform.State) (string, error) {
			attributes := s.RootModule().Resources[name].Primary.Attributes
			if service, ok := attributes["service_id"]; ok && name != "stead_monitor.it" {
				return service + "/" + attributes["id"], nil
			}
			return attributes["id"], nil
		},
	}
}

// id returns a number of a resource's state, when the steps before have run.
func id(into *int64, name, attribute string) resource.TestCheckFunc {
	return func(s *terraform.State) error {
		_, err := fmt.Sscan(s.RootModule().Resources[name].Primary.Attributes[attribute], into)
		return err
	}
}

func has(name string, attributes ...string) resource.TestCheckFunc {
	var checks []resource.TestCheckFunc
	for i := 0; i < len(attributes); i += 2 {
		checks = append(checks, resource.TestCheckResourceAttr(name, attributes[i], attributes[i+1]))
	}
	return resource.ComposeAggregateTestCheckFunc(checks...)
}

func TestAService(t *testing.T) {
	var service int64
	run(t,
		resource.TestStep{
			Config:      site(small, "dear.example.com", "max_usd_cents = 1"),
			ExpectError: regexp.MustCompile(`nothing was paid`),
		},
		resource.TestStep{
			Config: site(small, "tf-service.example.com", "label = \"Anna's shop\"\nauto_renew = false\nmax_usd_cents = 100000"),
			Check: resource.ComposeTestCheckFunc(
				has("stead_service.site", "status", "active", "label", "Anna's shop", "auto_renew", "false"),
				id(&service, "stead_service.site", "id"),
			),
		},
		imported("stead_service.site", "max_usd_cents"),
		resource.TestStep{ // changed in place
			Config: site(small, "tf-service.example.com", `label = "Another"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_service.site", plancheck.ResourceActionUpdate),
			}},
			Check: has("stead_service.site", "label", "Another", "auto_renew", "false"),
		},
		resource.TestStep{ // changed behind Terraform's back, and put right
			PreConfig: func() {
				if _, err := api(t).Services.Update(context.Background(), service, stead.ServicesUpdateBody{Label: stead.Ptr("Mallory's")}); err != nil {
					t.Fatal(err)
				}
			},
			Config: site(small, "tf-service.example.com", `label = "Another"`),
			Check:  has("stead_service.site", "label", "Another"),
		},
		resource.TestStep{ // a service is not replaced
			Config:      site(small, "tf-service.example.com", "label = \"Another\"\nperiod_months = 999"),
			ExpectError: regexp.MustCompile(`period_months of a service cannot be changed`),
		},
		resource.TestStep{
			Config:      site(small, "tf-another.example.com", `label = "Another"`),
			ExpectError: regexp.MustCompile(`domain of a service cannot be changed`),
		},
		resource.TestStep{ // another spelling of the domain is the same one
			Config: site(small, "TF-service.example.com", `label = "Another"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_service.site", plancheck.ResourceActionUpdate),
			}},
		},
		resource.TestStep{ // the wallet is asked before a change of the plan, too
			Config:      site(large, "tf-service.example.com", "max_usd_cents = 1"),
			ExpectError: regexp.MustCompile(`nothing was paid`),
		},
		resource.TestStep{
			Config: site(large, "tf-service.example.com", ""),
			Check:  resource.TestCheckResourceAttrPair("stead_service.site", "plan_id", "data.stead_plan.it", "id"),
		},
	)
	s, err := api(t).Services.Get(t.Context(), service)
	if err != nil || s.AutoRenew || s.Status != stead.ServiceStatusActive {
		t.Errorf("destroyed: %+v, %v; it is paid for, so it stays and does not renew", s, err)
	}
}

func TestWhatAServiceConsistsOf(t *testing.T) {
	base := site(large, "tf-parts.example.com", "")
	parts := base + `
		resource "stead_hosted_domain" "it" {
			service_id = stead_service.site.id
			name       = "tf-addon.example.org"
			kind       = "addon"

			document_root = "sites/tf-addon"
		}
		resource "stead_dns_record" "it" {
			service_id = stead_service.site.id
			type       = "MX"
			name       = "lists"
			value      = "Mail.example.net."
			priority   = 10
		}
		resource "stead_dns_record" "text" {
			service_id = stead_service.site.id
			type       = "TXT"
			name       = "@"
			value      = "Hello; there."
			ttl        = 300
		}
		resource "stead_dns_record" "elsewhere" {
			service_id = stead_service.site.id
			zone       = stead_hosted_domain.it.name
			type       = "ALIAS"
			name       = "shop.TF-addon.example.org."
			value      = "target.invalid"
		}
		resource "stead_database" "it" {
			service_id = stead_service.site.id
			name       = "shop_1"
			engine     = "mariadb"
		}
		resource "stead_mailbox" "it" {
			service_id          = stead_service.site.id
			local_part          = "anna"
			domain              = stead_service.site.domain
			password_wo         = "a long enough one"
			password_wo_version = 1
			quota_mb            = 512
			aliases             = ["Info@TF-parts.example.com"]
			forward_to          = ["Anna@Example.net", "b@example.net"]
		}
	`
	changed := base + `
		resource "stead_hosted_domain" "it" {
			service_id  = stead_service.site.id
			name        = "tf-addon.example.org"
			kind        = "addon"
			redirect_to = "https://example.net/"
		}
		resource "stead_dns_record" "it" {
			service_id = stead_service.site.id
			type       = "MX"
			name       = "lists"
			value      = "mail.example.net"
			priority   = 20
			ttl        = 600
		}
		resource "stead_mailbox" "it" {
			service_id          = stead_service.site.id
			local_part          = "anna"
			domain              = stead_service.site.domain
			password_wo         = "another long one"
			password_wo_version = 2
			quota_mb            = 768
			forward_to          = []
			keep_copy           = true
		}
	`
	var service, record int64
	run(t,
		resource.TestStep{
			Config: parts,
			Check: resource.ComposeTestCheckFunc(
				has("stead_hosted_domain.it", "status", "active"),
				has("stead_dns_record.it", "value", "Mail.example.net.", "ttl", "3600"),
				has("stead_dns_record.elsewhere", "zone", "tf-addon.example.org", "alias_addresses.#", "0"),
				resource.TestMatchResourceAttr("stead_dns_record.elsewhere", "alias_status", regexp.MustCompile(`^(pending|unresolved)$`)),
				resource.TestCheckNoResourceAttr("stead_dns_record.it", "alias_status"),
				has("stead_database.it", "status", "active"),
				resource.TestMatchResourceAttr("stead_database.it", "full_name", regexp.MustCompile(`^[a-z0-9]+_shop_1$`)),
				has("stead_mailbox.it", "address", "anna@tf-parts.example.com", "quota_mb", "512", "forward_to.#", "2"),
				resource.TestCheckNoResourceAttr("stead_mailbox.it", "password_wo"),
				id(&service, "stead_service.site", "id"), id(&record, "stead_dns_record.text", "id"),
			),
		},
		imported("stead_hosted_domain.it", "document_root"), // as it is written
		imported("stead_dns_record.it", "value"),
		imported("stead_dns_record.text"),
		imported("stead_dns_record.elsewhere", "name", "alias_status", "alias_checked_at"), // its target may be looked up meanwhile
		imported("stead_database.it"),
		imported("stead_mailbox.it", "password_wo_version", "aliases", "forward_to"),
		resource.TestStep{
			ResourceName: "stead_dns_record.it", ImportState: true, ImportStateId: "12", ExpectError: regexp.MustCompile(`service_id/id`),
		},
		resource.TestStep{ // one that somebody has deleted is made again
			PreConfig: func() {
				if err := api(t).DNS.Delete(context.Background(), service, record); err != nil {
					t.Fatal(err)
				}
			},
			Config: parts,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_dns_record.text", plancheck.ResourceActionCreate),
				plancheck.ExpectResourceAction("stead_mailbox.it", plancheck.ResourceActionNoop),
			}},
		},
		resource.TestStep{
			Config: changed,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_dns_record.it", plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction("stead_database.it", plancheck.ResourceActionDestroy),
			}},
			Check: resource.ComposeTestCheckFunc(
				has("stead_hosted_domain.it", "redirect_to", "https://example.net/"),
				has("stead_dns_record.it", "priority", "20", "ttl", "600"),
				has("stead_mailbox.it", "quota_mb", "768", "forward_to.#", "0", "keep_copy", "true"),
			),
		},
		resource.TestStep{ // what the server refuses is told at the attribute, and changes nothing
			Config: base + `
				resource "stead_dns_record" "wrong" {
					service_id = stead_service.site.id
					type       = "A"
					name       = "www"
					value      = "no address"
				}`,
			ExpectError: regexp.MustCompile(`(?s)value\s+=\s+"no address"`),
		},
	)
}

func TestAnotherDomainIsPromoted(t *testing.T) {
	config := func(domain string) string {
		return site(large, domain, "") + `
			resource "stead_hosted_domain" "it" {
				service_id = stead_service.site.id
				name       = "tf-second.example.org"
				kind       = "addon"
			}
			resource "stead_dns_record" "it" {
				service_id = stead_service.site.id
				type       = "TXT"
				name       = "@"
				value      = "Hello"
			}
			resource "stead_mailbox" "it" {
				service_id  = stead_service.site.id
				local_part  = "anna"
				domain      = "tf-first.example.com"
				password_wo = "a long enough one"
				keep_copy   = true
			}`
	}
	var service int64
	// promote makes a domain the primary one in the panel, and waits until the server has followed.
	promote := func(name string) func() {
		return func() {
			for start := time.Now(); ; time.Sleep(100 * time.Millisecond) { // sleeps: until the server has followed
				d, err := findHosted(t.Context(), api(t), service, name)
				if err == nil && d.Primary && d.Status == stead.HostingDomainStatusActive {
					return
				}
				if err == nil && !d.Primary {
					_, err = api(t).Hosting.Domains.Update(t.Context(), service, d.ID, stead.HostingUpdateBody{Primary: stead.Ptr(true)})
				}
				if time.Since(start) > time.Minute {
					t.Fatalf("%s is not promoted: %+v, %v", name, d, err)
				}
			}
		}
	}
	unchanged := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	run(t,
		resource.TestStep{Config: config("tf-first.example.com"), Check: id(&service, "stead_service.site", "id")},
		resource.TestStep{
			PreConfig: promote("tf-second.example.org"), Config: config("tf-first.example.com"), ConfigPlanChecks: unchanged,
			Check: has("stead_service.site", "domain", "tf-first.example.com", "primary_domain", "tf-second.example.org"),
		},
		resource.TestStep{
			Config: config("tf-second.example.org"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_service.site", plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction("stead_mailbox.it", plancheck.ResourceActionNoop),
				plancheck.ExpectResourceAction("stead_dns_record.it", plancheck.ResourceActionNoop),
			}},
		},
		resource.TestStep{ // an addon can be removed
			PreConfig: promote("tf-first.example.com"), Config: config("tf-second.example.org"), ConfigPlanChecks: unchanged,
		},
	)
}

func TestAMonitor(t *testing.T) {
	run(t,
		resource.TestStep{
			Config: `
				resource "stead_monitor" "it" {
					type               = "keyword"
					name               = "Shop"
					url                = "https://shop.example.com/"
					keyword            = "Welcome"
					headers_wo         = { Authorization = "Bearer x" }
					headers_wo_version = 1
					interval_s         = 600
					tags               = ["shop"]
				}`,
			Check: resource.ComposeTestCheckFunc(
				has("stead_monitor.it", "keyword_mode", "present", "interval_s", "600", "retries", "1"),
				resource.TestCheckNoResourceAttr("stead_monitor.it", "headers_wo.%"),
			),
		},
		imported("stead_monitor.it", "headers_wo_version"),
		resource.TestStep{
			Config: `
				resource "stead_monitor" "it" {
					type   = "keyword"
					name   = "Shop"
					url    = "https://shop.example.com/"
					keyword = "Sale"
					paused = true
					tags   = []
				}`,
			Check: has("stead_monitor.it", "keyword", "Sale", "paused", "true", "tags.#", "0"),
		},
		resource.TestStep{
			Config: `resource "stead_monitor" "it" { type = "heartbeat" }`,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("stead_monitor.it", plancheck.ResourceActionDestroyBeforeCreate),
			}},
			Check: resource.TestMatchResourceAttr("stead_monitor.it", "push_url", regexp.MustCompile(`/heartbeat/`)),
		},
	)
}

func TestADomain(t *testing.T) {
	config := func(more string) string {
		return `
			resource "stead_domain" "it" {
				name = "tf-registered.com"
				contact_wo = {
					name = "Anna Karimova", email = "anna@example.net", phone = "+998711234567", street = "Amir Temur 1", city = "Toshkent",
					postal_code = "100000", country = "UZ"
				}
				` + more + `
			}`
	}
	var domain int64
	run(t,
		resource.TestStep{Config: config(`max_usd_cents = 1`), ExpectError: regexp.MustCompile(`nothing was paid`)},
		resource.TestStep{
			Config: config(`auto_renew = true`),
			Check: resource.ComposeTestCheckFunc(
				has("stead_domain.it", "status", "active", "auto_renew", "true"),
				id(&domain, "stead_domain.it", "id"),
			),
		},
		imported("stead_domain.it"),
		resource.TestStep{
			Config: config("nameservers = [\"NS1.Example.net\", \"ns2.example.net\"]\nlocked = false"),
			Check:  has("stead_domain.it", "nameservers.#", "2", "locked", "false", "auto_renew", "true"),
		},
	)
	d, err := api(t).Domains.Get(t.Context(), domain)
	if err != nil || d.AutoRenew || d.Status != stead.DomainStatusActive {
		t.Errorf("destroyed: %+v, %v; it is paid for, so it stays and does not renew", d, err)
	}
}

func TestAWebhook(t *testing.T) {
	run(t,
		resource.TestStep{
			Config: `resource "stead_webhook" "it" {
				url    = "https://hooks.example.com/stead"
				events = ["service.*"]
			}`,
			Check: resource.ComposeTestCheckFunc(
				has("stead_webhook.it", "status", "active", "events.#", "1"),
				resource.TestMatchResourceAttr("stead_webhook.it", "secret", regexp.MustCompile(`^whsec_`)),
			),
		},
		imported("stead_webhook.it", "secret"),
		resource.TestStep{
			Config: `resource "stead_webhook" "it" {
				url         = "https://hooks.example.com/stead"
				events      = ["service.*", "invoice.issued"]
				description = "Books"
				enabled     = false
			}`,
			Check: resource.ComposeTestCheckFunc(
				has("stead_webhook.it", "status", "paused", "events.#", "2", "description", "Books"),
				resource.TestMatchResourceAttr("stead_webhook.it", "secret", regexp.MustCompile(`^whsec_`)),
			),
		},
	)
}

func TestWhatTheProviderNeedsIsSaid(t *testing.T) {
	t.Setenv("STEAD_API_KEY", "")
	run(t, resource.TestStep{
		Config:      `resource "stead_webhook" "it" { url = "https://hooks.example.com/stead" }`,
		ExpectError: regexp.MustCompile(`STEAD_API_KEY`),
	})
	t.Setenv("STEAD_TOKEN", "")
	run(t, resource.TestStep{
		Config:      `resource "stead_monitor" "it" { type = "heartbeat" }`,
		ExpectError: regexp.MustCompile(`(?s)STEAD_TOKEN.*STEAD_API_KEY`),
	})
}

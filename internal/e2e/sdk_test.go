package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
	stead "stead.dev/stead/sdk/go"
)

// sdk is a client of the SDK for the customer.
func (c *customer) sdk() *stead.Client {
	c.t.Helper()
	client, err := stead.New(c.base, stead.WithToken(c.token))
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// example runs a program of sdk/go/examples as its comment says.
func example(t *testing.T, name string, env []string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append([]string{"run", "./examples/" + name}, args...)...)
	c.Dir = "../../sdk/go"
	c.Env = append(append(c.Environ(), "CGO_ENABLED=0"), env...)
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("example %s: %v\n%s", name, err, output)
	}
	return string(output)
}

func TestTheGoSDK(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	p := in.serve(t, "--demo")
	customer := p.signIn(t)
	c := customer.sdk()
	ctx := t.Context()

	output := example(t, "buy", []string{"STEAD_URL=" + p.url, "STEAD_TOKEN=" + customer.token}, "sdk.example.com")
	if !strings.Contains(output, "published sdk.example.com") {
		t.Errorf("buy printed %s", output)
	}
	var service stead.Service
	for s, err := range c.Services.All(ctx, stead.ServicesQuery{Q: "sdk.example.com", PerPage: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		service = s
	}
	if service.Domain == nil || *service.Domain != "sdk.example.com" || service.SuspendedAt != nil || service.CreatedAt.IsZero() {
		t.Fatalf("service: %+v", service)
	}

	// Members that are left out of a change stay as they are.
	changed, err := c.Services.Update(ctx, service.ID, stead.ServicesUpdateBody{Label: stead.Ptr("Anna's shop")})
	if err != nil || changed.Label != "Anna's shop" || changed.AutoRenew != service.AutoRenew {
		t.Errorf("changed: %+v, %v", changed, err)
	}
	// A list that was read to its end over pages of one item is the list.
	record := func(name string) stead.DNSCreateBody {
		return stead.DNSCreateBody{Type: stead.Ptr("TXT"), Name: stead.Ptr(name), Value: stead.Ptr("hello")}
	}
	created, err := c.DNS.Create(ctx, service.ID, record("one"), stead.DNSCreateQuery{})
	if err != nil || created.DNSRecord == nil || created.DNSImport != nil {
		t.Fatalf("record: %+v, %v", created, err)
	}
	imported, err := c.DNS.Create(ctx, service.ID, stead.DNSCreateBody{Bind: stead.Ptr("two 300 IN TXT \"hello\"\n")}, stead.DNSCreateQuery{})
	if err != nil || imported.DNSImport == nil {
		t.Fatalf("import: %+v, %v", imported, err)
	}
	names := map[string]bool{}
	for r, err := range c.DNS.All(ctx, service.ID, stead.DNSQuery{PerPage: 1, Type: "TXT"}) {
		if err != nil {
			t.Fatal(err)
		}
		names[r.Name] = true
	}
	if !names["one"] || !names["two"] {
		t.Errorf("records: %v", names)
	}

	// Refusals are branched on by their keys, in any language.
	russian, err := stead.New(p.url, stead.WithToken(customer.token), stead.WithLanguage("ru"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = russian.Databases.Create(ctx, service.ID, stead.DatabasesCreateBody{})
	if !stead.HasKey(err, stead.KeyValidationFailed) || !strings.ContainsAny(err.Error(), "абвгдежзиклмнопрстуф") {
		t.Errorf("refused: %v", err)
	}
	if _, err := c.Services.Get(ctx, 1<<40); !stead.HasKey(err, stead.KeyNotFound) {
		t.Errorf("a service that is not there: %v", err)
	}
	unknown, err := stead.New(p.url, stead.WithToken("sta_wrong"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unknown.Account.Get(ctx); err == nil {
		t.Error("a wrong token is taken")
	}

	// A payment that is repeated with its key is not charged again.
	order, err := c.Orders.Create(ctx, stead.OrdersCreateBody{PlanID: customer.plan(), Domain: "twice.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		paid, err := c.Orders.Pay(ctx, order.ID, stead.WithIdempotencyKey("once"))
		if err != nil || paid.Status == stead.OrderStatusPending {
			t.Fatalf("paid: %+v, %v", paid, err)
		}
	}
	if byOrder, _, _ := customer.charges(); byOrder[order.ID] != 1 {
		t.Errorf("%d charges", byOrder[order.ID])
	}

	// A folder becomes the site, and what it was before is brought back.
	folder := t.TempDir()
	deployed := func(text, want string, args ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		output := example(t, "deploy", []string{"STEAD_URL=" + p.url, "STEAD_TOKEN=" + customer.token}, args...)
		content, err := c.Files.Read(ctx, service.ID, stead.FilesReadQuery{Path: "/public_html/index.html"})
		if err != nil || content.Content != want {
			t.Errorf("deploy printed %s and the page is %+v, %v", output, content, err)
		}
	}
	deployed("first", "first", "sdk.example.com", folder)
	deployed("second", "second", "-delete", "sdk.example.com", folder)
	deployed("never sent", "first", "-rollback", "sdk.example.com")

	in.must(t, &struct{}{}, "admin", "resellers", "appoint", demoEmail, "--tier", "gold", "--discount", "10")
	var key struct{ Key string }
	in.must(t, &key, "admin", "resellers", "add-key", demoEmail, "--name", "sdk")
	testkit.Eventually(t, heard, func() bool {
		r, err := stead.NewReseller(p.url, key.Key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Me.Get(ctx)
		return err == nil
	}, "the key is known")
	output = example(t, "resell", []string{"STEAD_URL=" + p.url, "STEAD_API_KEY=" + key.Key}, "client-42", "resold.example.com")
	if !strings.Contains(output, "for client-42") || !strings.Contains(output, "map[invoice:2026-117]") {
		t.Errorf("resell printed %s", output)
	}
}

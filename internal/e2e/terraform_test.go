package e2e

import (
	"os/exec"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
	stead "stead.dev/stead/sdk/go"
)

// TestTheTerraformProvider runs the acceptance tests of sdk/terraform: Terraform itself, with the provider, against a server
// whose machine and registry are simulated. scripts/test builds OpenTofu where
// there is no Terraform.
func TestTheTerraformProvider(t *testing.T) {
	t.Parallel()
	registry := "registry.terraform.io"
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		registry = "registry.opentofu.org"
		if terraform, err = exec.LookPath("tofu"); err != nil {
			t.Fatalf("%v: run the tests with `make test`, which builds it", err)
		}
	}
	in := newInstallation(t, "STEAD_PANEL=sandbox")
	p := in.serve(t, "--demo")
	customer := p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "1000", "--reason", "test")
	in.must(t, &struct{}{}, "admin", "resellers", "appoint", demoEmail, "--tier", "gold", "--discount", "10")
	var key struct{ Key string }
	in.must(t, &key, "admin", "resellers", "add-key", demoEmail, "--name", "terraform")
	testkit.Eventually(t, heard, func() bool {
		r, err := stead.NewReseller(p.url, key.Key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Me.Get(t.Context())
		return err == nil
	}, "the key is known")

	c := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "./...")
	c.Dir = "../../sdk/terraform"
	c.Env = append(c.Environ(), "CGO_ENABLED=0", "GOWORK=off", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH="+terraform, "TF_ACC_PROVIDER_HOST="+registry, "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=/dev/null",
		"STEAD_URL="+p.url, "STEAD_TOKEN="+customer.token, "STEAD_API_KEY="+key.Key)
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

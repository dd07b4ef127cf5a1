// Command terraform-provider-stead manages what a customer or a reseller has at a company that runs Stead, with Terraform
// or OpenTofu. See docs/terraform.md.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"stead.dev/stead/sdk/terraform/internal/provider"
)

func main() {
	if err := providerserver.Serve(context.Background(), provider.New, providerserver.ServeOpts{Address: provider.Address}); err != nil {
		log.Fatal(err)
	}
}

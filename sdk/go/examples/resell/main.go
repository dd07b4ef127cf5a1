// Command resell quotes, buys and lists services of a reseller by an API key:
//
//	STEAD_URL=https://my.example.com STEAD_API_KEY=rsk_… go run ./examples/resell client-42 shop.example.com
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	stead "stead.dev/stead/sdk/go"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: resell CLIENT DOMAIN")
	}
	r, err := stead.NewReseller(os.Getenv("STEAD_URL"), os.Getenv("STEAD_API_KEY"), stead.WithLanguage("en"))
	if err == nil {
		err = resell(context.Background(), r, os.Args[1], os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func resell(ctx context.Context, r *stead.Reseller, client, domain string) error {
	var plan stead.CatalogResoldPlan
	for product, err := range r.Catalog.All(ctx, stead.ResellerCatalogQuery{}) {
		if err != nil {
			return err
		}
		if product.Type == "hosting" && len(product.Plans) > 0 {
			plan = product.Plans[0]
			break
		}
	}
	service, err := r.Services.Create(ctx, stead.ResellerCreateBody{
		PlanID: plan.ID, Domain: domain, ClientRef: stead.Ptr(client), Metadata: map[string]string{"invoice": "2026-117"},
	})
	if err != nil {
		return err
	}
	fmt.Println("bought", plan.Name, "as service", service.ID, "for", *service.ClientRef)
	for s, err := range r.Services.All(ctx, stead.ResellerServicesQuery{ClientRef: client}) {
		if err != nil {
			return err
		}
		fmt.Println(s.ID, s.Status, s.Metadata)
	}
	return nil
}

// Command buy orders hosting for a domain, pays it from the wallet, waits until it serves and publishes a page:
//
//	STEAD_URL=https://my.example.com STEAD_TOKEN=sta_… go run ./examples/buy shop.example.com
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	stead "stead.dev/stead/sdk/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: buy DOMAIN")
	}
	c, err := stead.New(os.Getenv("STEAD_URL"), stead.WithToken(os.Getenv("STEAD_TOKEN")))
	if err == nil {
		err = buy(ctx, c, os.Args[1])
	}
	switch {
	case stead.HasKey(err, stead.KeyInsufficientFunds):
		log.Fatal("top up the wallet first: ", err)
	case err != nil:
		log.Fatal(err)
	}
}

func buy(ctx context.Context, c *stead.Client, domain string) error {
	plan, err := cheapest(ctx, c)
	if err != nil {
		return err
	}
	order, err := c.Orders.Create(ctx, stead.OrdersCreateBody{PlanID: plan, Domain: domain})
	if err != nil {
		return err
	}
	// A key of ours: should this program die and begin again, the order is still paid once.
	order, err = c.Orders.Pay(ctx, order.ID, stead.WithIdempotencyKey(fmt.Sprintf("pay order %d", order.ID)))
	if err != nil {
		return err
	}
	fmt.Println("paid", order.Total.Display)
	service, err := waitFor(ctx, c, order.ID)
	if err != nil {
		return err
	}
	page := stead.UploadFile{Name: "index.html", Content: strings.NewReader("<h1>Open soon</h1>")}
	if _, err := c.Files.Upload(ctx, service.ID, stead.FilesUploadQuery{Path: "/public_html", Overwrite: true}, page); err != nil {
		return err
	}
	fmt.Println("published", *service.Domain)
	return nil
}

// cheapest returns the first plan for hosting on sale.
func cheapest(ctx context.Context, c *stead.Client) (plan int64, err error) {
	for product, err := range c.Catalog.All(ctx, stead.CatalogQuery{}) {
		if err != nil {
			return 0, err
		}
		if product.Type == "hosting" && len(product.Plans) > 0 {
			return product.Plans[0].ID, nil
		}
	}
	return 0, errors.New("nothing is on sale")
}

// waitFor waits until the order's service is active.
func waitFor(ctx context.Context, c *stead.Client, order int64) (*stead.Service, error) {
	for {
		for s, err := range c.Services.All(ctx, stead.ServicesQuery{}) {
			switch {
			case err != nil:
				return nil, err
			case s.OrderID != order:
			case s.Status == stead.ServiceStatusActive:
				return &s, nil
			case s.Status == stead.ServiceStatusFailed:
				return nil, fmt.Errorf("it could not be made: %v", s.FailureKey)
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

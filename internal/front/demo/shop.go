package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

type money struct {
	USDCents int64 `json:"usd_cents"`
}

type plan struct {
	ID        int64  `json:"id"`
	Slug      string `json:"slug"`
	Available bool   `json:"available"`
	Limits    struct {
		DiskMB int64 `json:"disk_mb"`
	} `json:"limits"`
	Prices []struct {
		PeriodMonths     int    `json:"period_months"`
		Price            money  `json:"price"`
		FirstPeriodPrice *money `json:"first_period_price"`
		Setup            money  `json:"setup"`
	} `json:"prices"`
}

// enoughDisk is the space that the site and its archive need, in MB.
const enoughDisk = 200

// readCatalog selects the first web hosting plan that is on sale and has room for the site.
func (d *demonstration) readCatalog(ctx context.Context) error {
	var catalog struct {
		Data []struct {
			Type  string `json:"type"`
			Plans []plan `json:"plans"`
		} `json:"data"`
	}
	if _, err := d.call(ctx, http.MethodGet, "/api/v1/catalog?type=hosting&lang=en", nil, &catalog); err != nil {
		return err
	}
	for _, product := range catalog.Data {
		for _, p := range product.Plans {
			if p.Available && len(p.Prices) > 0 && (p.Limits.DiskMB < 0 || p.Limits.DiskMB >= enoughDisk) {
				d.plan = p
				d.report.note("plan %q: %d cents now, %d cents every %d month(s)", p.Slug, p.price(), p.Prices[0].Price.USDCents, p.Prices[0].PeriodMonths)
				return nil
			}
		}
	}
	return errors.New("no web hosting is for sale: import a catalog first (stead admin catalog import)")
}

// price is the price of the first period of the plan.
func (p plan) price() int64 {
	first := p.Prices[0]
	cents := first.Price.USDCents
	if first.FirstPeriodPrice != nil {
		cents = first.FirstPeriodPrice.USDCents
	}
	return cents + first.Setup.USDCents
}

func (d *demonstration) readBalance(ctx context.Context) (int64, error) {
	var wallet struct {
		Balance money `json:"balance"`
	}
	_, err := d.call(ctx, http.MethodGet, "/api/v1/wallet?per_page=1", nil, &wallet)
	return wallet.Balance.USDCents, err
}

// topUp pays enough for the purchases into the wallet.
func (d *demonstration) topUp(ctx context.Context) error {
	before, err := d.readBalance(ctx)
	if err != nil {
		return err
	}
	amount := max(d.plan.price()*int64(d.purchases)+agentBudget, 1000)
	var topup struct {
		ID          int64   `json:"id"`
		Status      string  `json:"status"`
		CheckoutURL string  `json:"checkout_url"`
		FailureKey  *string `json:"failure_key"`
	}
	_, err = d.call(ctx, http.MethodPost, "/api/v1/wallet/topups",
		map[string]any{"gateway": "demo", "amount_usd_cents": amount}, &topup, "Idempotency-Key", "topup-"+randomName())
	if err != nil {
		return err
	}
	if topup.Status != "pending" {
		return fmt.Errorf("a new top-up is %s, not pending", topup.Status)
	}
	p, err := d.browser.open(ctx, topup.CheckoutURL)
	if err != nil {
		return err
	}
	f, err := p.button("pay")
	if err != nil {
		return err
	}
	if _, err := d.browser.submit(ctx, f, "pay", nil); err != nil {
		return err
	}
	err = d.await(ctx, "the payment", func(ctx context.Context) (bool, error) {
		_, err := d.call(ctx, http.MethodGet, "/api/v1/wallet/topups/"+strconv.FormatInt(topup.ID, 10), nil, &topup)
		if err == nil && topup.Status != "pending" && topup.Status != "processing" && topup.Status != "succeeded" {
			err = fmt.Errorf("the top-up is %s", topup.Status)
		}
		return topup.Status == "succeeded", err
	})
	if err != nil {
		return err
	}
	if d.balance, err = d.readBalance(ctx); err != nil {
		return err
	}
	if d.balance != before+amount {
		return fmt.Errorf("a top-up of %d cents took the balance from %d to %d", amount, before, d.balance)
	}
	return nil
}

type order struct {
	ID        int64  `json:"id"`
	Status    string `json:"status"`
	Total     money  `json:"total"`
	ServiceID *int64 `json:"service_id"`
}

func (d *demonstration) createOrder(ctx context.Context) error {
	var o order
	_, err := d.call(ctx, http.MethodPost, "/api/v1/orders", map[string]any{
		"plan_id": d.plan.ID, "domain": d.domain, "period_months": d.plan.Prices[0].PeriodMonths,
	}, &o, "Idempotency-Key", "order-"+randomName())
	if err != nil {
		return err
	}
	if o.Status != "pending" || o.Total.USDCents != d.plan.price() {
		return fmt.Errorf("the order is %s and costs %d cents, the catalog says %d", o.Status, o.Total.USDCents, d.plan.price())
	}
	d.order = o.ID
	d.report.note("order %d for %s", o.ID, d.domain)
	return nil
}

// payOrder sends one payment; header says whether the answer was a replay.
func (d *demonstration) payOrder(ctx context.Context, key string) (o order, header http.Header, err error) {
	header, err = d.call(ctx, http.MethodPost, "/api/v1/orders/"+strconv.FormatInt(d.order, 10)+"/pay", nil, &o, "Idempotency-Key", key)
	if err == nil && o.ServiceID == nil {
		err = errors.New("the paid order names no service")
	}
	return o, header, err
}

// pay sends the same payment twice, like a client that has lost the first answer.
func (d *demonstration) pay(ctx context.Context) error {
	key := "pay-" + randomName()
	d.paidAt = now()
	first, _, err := d.payOrder(ctx, key)
	if err != nil {
		return err
	}
	d.service = *first.ServiceID
	again, header, err := d.payOrder(ctx, key)
	if err != nil {
		return err
	}
	if header.Get("Idempotency-Replayed") != "true" || first.ID != again.ID || first.Status != again.Status {
		return errors.New("the second call was not answered as the first")
	}
	balance, err := d.readBalance(ctx)
	if err != nil {
		return err
	}
	if want := d.balance - d.plan.price(); balance != want {
		return fmt.Errorf("the balance is %d cents after paying, not %d", balance, want)
	}
	_, _, err = d.payOrder(ctx, "pay-"+randomName())
	return expect(err, "already_paid", "paying once more with another key")
}

// awaitService waits until the service is active.
func (d *demonstration) awaitService(ctx context.Context) error {
	var s struct {
		Status    string  `json:"status"`
		Domain    string  `json:"domain"`
		OriginURL *string `json:"origin_url"`
	}
	path := "/api/v1/services/" + strconv.FormatInt(d.service, 10)
	err := d.await(ctx, "provisioning", func(ctx context.Context) (bool, error) {
		_, err := d.call(ctx, http.MethodGet, path, nil, &s)
		if err == nil && s.Status != "pending" && s.Status != "provisioning" && s.Status != "active" {
			err = fmt.Errorf("the service is %s", s.Status)
		}
		return s.Status == "active", err
	})
	if err != nil {
		return err
	}
	address := d.NodeURL
	if address == "" && s.OriginURL != nil {
		address = *s.OriginURL
	}
	if s.Domain != d.domain || address == "" {
		return fmt.Errorf("the service is for %q and served at %q", s.Domain, address)
	}
	d.origin, err = newOrigin(address, d.domain, d.network, d.Timeout)
	return err
}

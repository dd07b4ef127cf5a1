package app

import (
	"context"
	"fmt"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// TestWhoHearsOfANewServiceFindsItsDomain: that it was provisioned is told before any job has looked at what it consists
// of, and an integrator may ask for a mailbox at once.
func TestWhoHearsOfANewServiceFindsItsDomain(t *testing.T) {
	a, err := New(t.Context(), testConfig(t, map[string]string{"panel": "sandbox", "demo": "true"}), quietly())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan []site.Domain, 1)
	a.outbox.Subscribe("service.provisioned", func(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
		found, err := a.hosting.Hosted(ctx, tx, e.AccountID, e.SubjectID)
		heard <- found
		return err
	})
	run(t, a)
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 100_000)
	w.plan = w.aPlan()
	id := w.newOrder(w.owner, "new.example.com")
	if r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", id), "{}"); r.status != 200 {
		t.Fatal(r)
	}
	if found := <-heard; len(found) != 1 || found[0].Name != "new.example.com" || !found[0].Served {
		t.Errorf("%+v", found)
	}
}

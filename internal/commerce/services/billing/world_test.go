package billing

import (
	"context"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// world is the package with services, and everything around them.
type world struct {
	*servicestest.World
	*Service
	prov *provisioning.Service
}

// lost keeps nothing of services that end.
type lost struct{ services.Keeper }

func (lost) Keep(context.Context, int64, int64) (bool, error) { return true, nil }

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	w := &world{World: servicestest.New(t, d, clk)}
	s := services.New(services.Config{DB: d, Queue: w.Queue, Events: w.Events, Clock: clk})
	w.Service = New(Config{DB: d, Clock: clk, Services: s})
	w.prov = provisioning.New(provisioning.Config{DB: d, Queue: w.Queue, Panels: w.Panels(), Clock: clk, SandboxPanel: "node"})
	w.prov.Connect(provisioning.Needs{Services: s, Domains: servicestest.Senders{}, Keeper: lost{}, Placer: provisioning.OnePanel("node")})
	s.Connect(services.Needs{
		Billing: w.Service, Plans: servicestest.Plans{}, Payments: &w.Used, Orders: w.World, Addons: services.NoAddons{}, Names: &w.Names,
		Keeper: lost{}, Provisioner: w.prov, Worlds: &w.Used, Clocks: sale.RealTime{}, Monitors: services.Unwatched{},
	})
	w.Connect(Needs{
		Orders: w.World, Plans: servicestest.Plans{}, Addons: services.NoAddons{}, Balances: servicestest.Balances{1: 500}, Rates: sale.Retail{},
		Taxes: sale.Untaxed{}, Usages: &w.Used, Provisioner: w.prov,
	})
	s.Register(w.Queue.Workers())
	w.Register(w.Queue.Workers())
	w.prov.Register(w.Queue.Workers())
	w.Serve(append(s.Operations(), w.Operations()...)...)
	return w
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

// active is a service that is paid and has its account.
func (w *world) active(n sale.Reservation) (id int64) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) (err error) {
		if id, err = w.Services.Reserve(ctx, tx, n); err == nil {
			err = w.Services.Provision(ctx, tx, id)
		}
		return err
	})
	if err := w.prov.Provision(w.T.Context(), id, 1); err != nil {
		w.T.Fatal(err)
	}
	return id
}

// record is a service as it is.
func (w *world) record(id int64) (r services.Row) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = w.Services.Lock(ctx, tx, id)
		return err
	})
	return r
}

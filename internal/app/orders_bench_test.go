package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// The steady load of BenchmarkOrders: orders that come in a second, and for how long.
const (
	steadyOrders = 24
	steadyTime   = 20 * time.Second
)

// rushOrders is how many orders BenchmarkOrders makes as fast as they can be sold.
const rushOrders = 1500

// BenchmarkOrders measures how long customers wait from the answer to their payment until their service is active, on the
// simulated panel, with everything that follows from an order: first while orders come at a steady rate, whoever waits; then
// how many orders a second are made, paid and active when the clients order as fast as they can. Each order is two calls
// over HTTP, with a token and the throttle.
func BenchmarkOrders(b *testing.B) {
	// The simulated panel's files are none that anybody waits for on a real one.
	dir, err := os.MkdirTemp(os.Getenv("STEAD_TEST_DATA"), "stead-orders-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := benchApp(b, map[string]string{"throttle_public": "1000000000", "data_dir": dir})
	runBench(b, a)
	p := newPayers(b, a, a.application(b, false), false)
	b.Run("steady", func(b *testing.B) {
		for b.Loop() {
			p.reportWaits(b, func() map[int64]time.Time { return p.steady(b) })
		}
	})
	b.Run("rush", func(b *testing.B) {
		for b.Loop() {
			began := time.Now()
			p.reportWaits(b, func() map[int64]time.Time { return p.rush(b) })
			b.ReportMetric(rushOrders/p.lastActive.Sub(began).Seconds(), "active/s")
			p.settle(b)
			b.ReportMetric(rushOrders/time.Since(began).Seconds(), "settled/s")
		}
	})
}

// steady starts an order at each tick, whether the ones before are done or not, and returns when each was paid.
func (p *payers) steady(b *testing.B) map[int64]time.Time {
	b.Helper()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		paid = map[int64]time.Time{}
	)
	tick := time.NewTicker(time.Second / steadyOrders)
	defer tick.Stop()
	for n := range int(steadyTime.Seconds()) * steadyOrders {
		<-tick.C // sleeps: orders come at a rate
		wg.Go(func() {
			id := p.buy(b, n)
			mu.Lock()
			defer mu.Unlock()
			paid[id] = time.Now()
		})
	}
	wg.Wait()
	return paid
}

// rush has the clients order as fast as they can.
func (p *payers) rush(b *testing.B) map[int64]time.Time {
	b.Helper()
	var mu sync.Mutex
	paid := map[int64]time.Time{}
	b.ReportMetric(eachOf(b, rushOrders, func(n int) error {
		id := p.buy(b, n)
		mu.Lock()
		defer mu.Unlock()
		paid[id] = time.Now()
		return nil
	}), "sold/s")
	return paid
}

// buy orders a domain and pays, and returns the order.
func (p *payers) buy(b *testing.B, n int) int64 {
	id := p.orderOne(b, n)
	if err := p.pay(b.Context(), n, id); err != nil {
		b.Error(err)
	}
	return id
}

// reportWaits reports how long the services of orders took from being paid to being active. What has become active is read
// every few milliseconds.
func (p *payers) reportWaits(b *testing.B, orders func() map[int64]time.Time) {
	b.Helper()
	var after int64
	if err := p.a.db.QueryRow(b.Context(), `SELECT COALESCE(MAX(id), 0) FROM orders`).Scan(&after); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	active := map[int64]time.Time{}
	var mu sync.Mutex
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			ids, err := db.Collect(ctx, p.a.db, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) },
				`SELECT order_id FROM services WHERE order_id > $1 AND status = 'active'`, after)
			if err != nil && ctx.Err() == nil {
				b.Error(err)
				return
			}
			now := time.Now()
			mu.Lock()
			for _, id := range ids {
				if _, known := active[id]; !known {
					active[id] = now
				}
			}
			mu.Unlock()
			time.Sleep(20 * time.Millisecond) // sleeps: the rest is for the server
		}
	})
	paid := orders()
	testkit.Eventually(b, 5*time.Minute, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(active) == len(paid)
	}, "all services are active")
	stop()
	watching.Wait()
	waits := make([]time.Duration, 0, len(paid))
	p.lastActive = time.Time{}
	for id, at := range paid {
		waits = append(waits, max(0, active[id].Sub(at)))
		if active[id].After(p.lastActive) {
			p.lastActive = active[id]
		}
	}
	slices.Sort(waits)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(float64(waits[(len(waits)-1)*percent/100])/float64(time.Millisecond), fmt.Sprintf("p%d-ms", percent))
	}
	b.ReportMetric(0, "ns/op")
}

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// payWallets is how many wallets pay, payClients how many clients call at a time, and payOrders how many orders they pay in a
// round; payRounds rounds are made.
const (
	payWallets = 96
	payClients = 16
	payOrders  = 96 // an account may leave no more than 100 unpaid
	payRounds  = 10
)

// BenchmarkPay measures POST /orders/{order}/pay over HTTP with everything that belongs to it: the token, the throttle, an
// Idempotency-Key, and the answer in JSON. Beside it, in turns, stands the floor, a bare transfer: two rows changed in one
// transaction, by as many workers through the same pool. Once each client pays from another wallet and once all from
// the same one; once nobody works the jobs of the payments, and once they are worked meanwhile.
func BenchmarkPay(b *testing.B) {
	for _, working := range []bool{false, true} {
		a := benchApp(b, map[string]string{"throttle_public": "1000000000"})
		name := "stopped"
		if working {
			name = "running"
			runBench(b, a)
		} else {
			serveBench(b, a)
		}
		c := a.application(b, false)
		for _, hot := range []bool{false, true} {
			wallets := "many"
			if hot {
				wallets = "hot"
			}
			b.Run(name+"/"+wallets, func(b *testing.B) {
				p := newPayers(b, a, c, hot)
				for b.Loop() {
					var paid, bare, ratios []float64
					for range payRounds {
						orders := p.order(b)
						if working {
							p.settle(b)
						}
						y := eachOf(b, payOrders, func(n int) error {
							return a.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error { return benchTransfer(ctx, tx, n, hot) })
						})
						x := eachOf(b, payOrders, func(n int) error { return p.pay(b.Context(), n, orders[n]) })
						paid, bare, ratios = append(paid, x), append(bare, y), append(ratios, x/y)
					}
					for unit, all := range map[string][]float64{"payments/s": paid, "transfers/s": bare, "ratio": ratios} {
						slices.Sort(all)
						b.ReportMetric(all[len(all)/2], unit)
					}
				}
				b.ReportMetric(0, "ns/op")
				if found, err := a.wallet.Recompute(b.Context()); err != nil || len(found) > 0 {
					b.Errorf("the books: %v, %v", found, err)
				}
			})
		}
	}
}

// serveBench serves the public address of a until the benchmark ends, with what a server has in its memory, and nobody works
// jobs.
func serveBench(tb testing.TB, a *App) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var running sync.WaitGroup
	running.Go(func() { a.hub.Run(ctx) })
	running.Go(func() {
		if err := a.site.serve(); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		stop()
		if err := a.site.srv.Close(); err != nil {
			tb.Error(err)
		}
		running.Wait()
	})
}

// runBench runs all of a until the benchmark ends.
func runBench(tb testing.TB, a *App) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		// Jobs of the last payments may still be many: then they are left, as by a server that stops.
		if err := <-ended; err != nil && !errors.Is(err, context.DeadlineExceeded) {
			tb.Error(err)
		}
	})
}

// payers are customers who order and pay.
type payers struct {
	a      *App
	client *http.Client
	plan   int64
	all    []customer
	named  atomic.Int64 // the number of domains that were ordered

	lastActive time.Time // when the last service of some orders became active
}

func newPayers(b *testing.B, a *App, c client, hot bool) *payers {
	b.Helper()
	p := &payers{a: a, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: payClients}}}
	b.Cleanup(p.client.CloseIdleConnections)
	n := payWallets
	if hot {
		n = 1
	}
	for range n {
		p.all = append(p.all, a.customer(b, c, wallet.DefaultMaxBalance))
	}
	err := a.db.InTx(b.Context(), benchAccounts)
	if err == nil {
		err = a.db.QueryRow(b.Context(), `SELECT MIN(id) FROM catalog_plans WHERE available AND stock IS NULL`).Scan(&p.plan)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// payer is the customer whose turn it is.
func (p *payers) payer(n int) customer { return p.all[n%len(p.all)] }

// order makes the orders of a round.
func (p *payers) order(b *testing.B) []int64 {
	b.Helper()
	ids := make([]int64, payOrders)
	eachOf(b, payOrders, func(n int) error {
		ids[n] = p.orderOne(b, n)
		return nil
	})
	return ids
}

func (p *payers) orderOne(b *testing.B, n int) int64 {
	b.Helper()
	body := fmt.Sprintf(`{"plan_id": %d, "domain": "%s-%d.com"}`, p.plan, unique("pay"), p.named.Add(1))
	made := p.a.post(b, p.payer(n).token, "/api/v1/orders", body)
	var o struct {
		ID int64 `json:"id"`
	}
	made.decode(b, &o)
	return o.ID
}

func (p *payers) pay(ctx context.Context, n int, order int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/api/v1/orders/%d/pay", p.a.local(), order), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.payer(n).token)
	r.Header.Set("Idempotency-Key", fmt.Sprintf("order-%d", order))
	res, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("order %d: %d %s", order, res.StatusCode, strings.TrimSpace(string(body)))
	}
	return err
}

// settle waits until no job and no event is left that could be worked now.
func (p *payers) settle(b *testing.B) {
	b.Helper()
	testkit.Eventually(b, time.Minute, func() bool {
		var left int
		err := p.a.db.QueryRow(b.Context(), `SELECT (SELECT COUNT(*) FROM river_job WHERE state IN ('available', 'running'))
			+ (SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL)`).Scan(&left)
		return err == nil && left == 0
	}, "the jobs are done")
}

// eachOf has the clients do something for each number below n, and returns how many were done in a second.
func eachOf(b *testing.B, n int, do func(n int) error) float64 {
	b.Helper()
	var (
		wg   sync.WaitGroup
		next atomic.Int64
	)
	began := time.Now()
	for range payClients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !b.Failed(); i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(began).Seconds()
}

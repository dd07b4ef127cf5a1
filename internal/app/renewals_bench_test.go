package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// benchServices is how many services are renewed, benchWorkers how many renewals go on at once (as jobs do), and benchRound how
// long one measurement takes; benchRounds of each are made in turns.
const (
	benchServices = 240
	benchWorkers  = 192
	benchRound    = 1500 * time.Millisecond
	benchRounds   = 5
)

// BenchmarkRenewals is how many renewals are paid in a second, as the jobs of services make them, which are done together
// when they run at the same time: the order with its item, charge and capture in the ledger, the invoice, the service's
// next period and all events with their jobs. Beside it, in turns, is the least
// that moving money takes: two rows changed in one transaction, by as many workers through the same pool. Once
// everybody has a wallet of their own, once all have the same one.
func BenchmarkRenewals(b *testing.B) {
	a := benchApp(b, nil)
	together, ctx := a.db.NewGroup(), context.Background()
	for _, hot := range []bool{false, true} {
		name := "many"
		if hot {
			name = "hot"
		}
		b.Run(name, func(b *testing.B) {
			owned := benchOwned(b, a, hot)
			for b.Loop() {
				var renewed, bare, ratios []float64
				for range benchRounds {
					x := benchRate(b, func(n int) error {
						s := owned[n%len(owned)]
						return together.InTx(ctx, s.account, s.id, func(ctx context.Context, tx *db.Tx) error {
							_, err := a.services.Renew(ctx, tx, s.account, s.id)
							return err
						})
					})
					y := benchRate(b, func(n int) error {
						return a.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return benchTransfer(ctx, tx, n, hot) })
					})
					renewed, bare, ratios = append(renewed, x), append(bare, y), append(ratios, x/y)
				}
				for unit, all := range map[string][]float64{"renewals/s": renewed, "transfers/s": bare, "ratio": ratios} {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], unit)
				}
			}
			b.ReportMetric(0, "ns/op")
			if found, err := a.wallet.Recompute(ctx); err != nil || len(found) > 0 {
				b.Errorf("the books: %v, %v", found, err)
			}
		})
	}
}

// benchApp is a server that does not run: nobody works the jobs meanwhile.
func benchApp(b *testing.B, settings map[string]string) *App {
	b.Helper()
	all := map[string]string{
		"data_dir": b.TempDir(), "listen": "127.0.0.1:0", "node_listen": config.Off, "ops_listen": config.Off, "dns_listen": config.Off,
		"panel": config.PanelSandbox, "demo": "true", "database_url": testkit.PostgresURL(b),
	}
	maps.Copy(all, settings)
	cfg, err := config.Load(config.Input{CommandLine: all})
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(b.Context(), *cfg, quietly())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Close(); err != nil {
			b.Error(err)
		}
	})
	return a
}

type benchService struct{ account, id int64 }

// benchOwned makes services that can be renewed a hundred times, and money for it: an account for each, or one for all.
func benchOwned(b *testing.B, a *App, hot bool) []benchService {
	b.Helper()
	world := 1_000
	if hot {
		world = 2_000
	}
	owned := make([]benchService, benchServices)
	err := a.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		if err := benchAccounts(ctx, tx); err != nil {
			return err
		}
		for i := range owned {
			owned[i] = benchService{account: int64(world + i), id: int64(world + i)}
			if hot {
				owned[i].account = int64(world)
			}
			name := fmt.Sprintf("bench-%d.example.com", owned[i].id)
			_, err := tx.Exec(ctx, `INSERT INTO services (id, account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name,
					limits, period_months, auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at)
				SELECT $1, $2, 0, 'hosting', $3, 'active', $3, $3, MIN(id), 'start', 'Start', '{}', 1, TRUE, 300, 'sandbox', $3, $3, $4, $4, $4, $5
				FROM catalog_plans`, owned[i].id, owned[i].account, name, tx.Now, tx.Now.AddDate(0, 1, 0))
			if err != nil {
				return err
			}
			if hot && i > 0 {
				continue
			}
			_, err = tx.Exec(ctx, `INSERT INTO account_users (id, email, password_hash, password_changed_at, name, locale, currency, admin, passkey_handle, created_at)
				VALUES ($1, $2, '', $3, 'Bench', 'en', 'USD', FALSE, $4, $3)`, owned[i].account, "a@"+name, tx.Now, []byte(name))
			if err != nil {
				return err
			}
			credit := wallet.Credit{AccountID: owned[i].account, Amount: wallet.DefaultMaxBalance, Type: wallet.TypeBonus}
			if err := a.wallet.Credit(ctx, tx, credit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return owned
}

// benchAccounts makes the rows of the bare transfer.
func benchAccounts(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS bench_accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)`)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO bench_accounts SELECT n, 1000000000 FROM generate_series(1, $1) n ON CONFLICT DO NOTHING`, 2*benchServices)
	}
	return err
}

// benchTransfer is the bare transfer: from one of the accounts, or from the one that is hot.
func benchTransfer(ctx context.Context, tx *db.Tx, n int, hot bool) error {
	from, to := int64(n%benchServices+1), int64(benchServices+n%benchServices+1)
	if hot {
		from = 1
	}
	if _, err := tx.Exec(ctx, `UPDATE bench_accounts SET balance = balance - 1 WHERE id = $1 AND balance >= 1`, from); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE bench_accounts SET balance = balance + 1 WHERE id = $1`, to)
	return err
}

// benchRate has the workers do something again and again, and answers how often a second.
func benchRate(b *testing.B, do func(n int) error) float64 {
	b.Helper()
	var (
		wg   sync.WaitGroup
		done atomic.Int64
		next atomic.Int64
	)
	began := time.Now()
	for range benchWorkers {
		wg.Go(func() {
			for time.Since(began) < benchRound && !b.Failed() {
				n := int(next.Add(1))
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}

package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// benchServices is how many services are renewed, benchWorkers how many bare transfers go on at once, and benchRound how
// long one measurement of these takes; benchRounds of each are made in turns.
const (
	benchServices = 2400
	benchWorkers  = 192
	benchRound    = 1500 * time.Millisecond
	benchRounds   = 5
)

// BenchmarkRenewals measures how many renewals are paid in a second, as the jobs of services make them, a job for each
// share: the order with its item, charge and capture in the ledger, the invoice, the service's next period, all events
// with their jobs, and the look at what is due next. Beside it, in turns, is the least that moving money takes: two rows
// changed in one transaction, by benchWorkers through the same pool. Once everybody has a wallet of their own, once all
// have the same one.
func BenchmarkRenewals(b *testing.B) {
	a, ctx := benchApp(b, nil), context.Background()
	for _, hot := range []bool{false, true} {
		name := "many"
		if hot {
			name = "hot"
		}
		b.Run(name, func(b *testing.B) {
			owned := benchOwned(b, a, hot)
			for b.Loop() {
				var renewed, bare, ratios, used []float64
				for range benchRounds {
					benchDue(b, a, owned)
					processor := processorTime(b)
					began := time.Now()
					benchShares(b, a)
					x := float64(len(owned)) / time.Since(began).Seconds()
					used = append(used, float64((processorTime(b)-processor).Microseconds())/float64(len(owned)))
					y := benchRate(b, func(n int) error {
						return a.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return benchTransfer(ctx, tx, n, hot) })
					})
					renewed, bare, ratios = append(renewed, x), append(bare, y), append(ratios, x/y)
				}
				for unit, all := range map[string][]float64{"renewals/s": renewed, "transfers/s": bare, "ratio": ratios, "cpu-µs/renewal": used} {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], unit)
				}
			}
			b.ReportMetric(0, "ns/op")
			paid := len(owned) * benchRounds
			var orders int
			if err := a.db.QueryRow(ctx, `SELECT COUNT(*) FROM orders WHERE account_id BETWEEN $1 AND $2`,
				owned[0].account, owned[len(owned)-1].account).Scan(&orders); err != nil || orders < paid {
				b.Errorf("%d orders of at least %d, %v", orders, paid, err)
			}
			if found, err := a.wallet.Recompute(ctx); err != nil || len(found) > 0 {
				b.Errorf("the books: %v, %v", found, err)
			}
		})
	}
}

// benchDue has all services renewed next.
func benchDue(b *testing.B, a *App, owned []benchService) {
	b.Helper()
	err := a.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE services SET next_renewal_attempt_at = $1, step_at = $1 WHERE id BETWEEN $2 AND $3`,
			tx.Now, owned[0].id, owned[len(owned)-1].id)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// benchShares works at all shares side by side, as their jobs do.
func benchShares(b *testing.B, a *App) {
	b.Helper()
	var wg sync.WaitGroup
	for share := range services.Shares {
		wg.Go(func() {
			for more := true; more; {
				var err error
				if more, err = a.services.StepShare(context.Background(), share); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// processorTime is what this process has used. PostgreSQL's is not in it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
	world := 10_000
	if hot {
		world = 20_000
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

package bench

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

// resellersServices is how many services the reseller has.
const resellersServices = 100_000

// BenchmarkResellerServices is GET /reseller/services of a reseller with 100,000 services, by one client over HTTP with a
// key: the first and the last page, and each filter. It reports the median and the 99th percentile.
func BenchmarkResellerServices(b *testing.B) {
	url := testkit.PostgresURL(b)
	a := start(b, map[string]string{"database_url": url, "panel": config.PanelSandbox})
	key := fill(b, url)
	last := resellersServices / 50
	for name, query := range map[string]string{
		"first":           "per_page=50",
		"last":            fmt.Sprintf("per_page=50&page=%d", last),
		"middle":          fmt.Sprintf("per_page=50&page=%d", last/2),
		"client_ref":      "per_page=50&client_ref=client-77",
		"status":          "per_page=50&status=active&page=900",
		"status_few":      "per_page=50&status=suspended",
		"plan_id":         "per_page=50&plan_id=2&page=500",
		"renews_before":   "per_page=50&renews_before=2027-01-01T00:00:00Z&page=20",
		"q":               "per_page=50&q=shop77",
		"q_one":           "per_page=50&q=shop77777.example",
		"q_all_last":      fmt.Sprintf("per_page=50&q=shop&page=%d", last),
		"client_ref_last": "per_page=50&client_ref=client-77&page=2",
	} {
		b.Run(name, func(b *testing.B) {
			for range 20 {
				list(b, a, key, query)
			}
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for range b.N {
				began := time.Now()
				list(b, a, key, query)
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func list(b *testing.B, a *app.App, key, query string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, a.URL()+"/api/v1/reseller/services?"+query, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		b.Fatalf("answered %d, %v", res.StatusCode, err)
	}
}

// fill makes the demonstration's customer a reseller, answers a key of it, and gives it its services: half of them renew by
// themselves, one in a hundred is suspended, each tag is on a hundred. Its money pays for half of the renewals that are to come, which
// is the most work to find out. Then the tables are as autovacuum leaves them.
func fill(b *testing.B, url string) string {
	b.Helper()
	c, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(b.Context()) }()
	key := secret.Token("rsk_", 32)
	_, err = c.Exec(b.Context(), `INSERT INTO reseller_accounts (account_id, sandbox_id, tier, discount_bp, created_at)
		SELECT MIN(id), -1, 'gold', 2000, 1 FROM account_users`)
	if err == nil {
		_, err = c.Exec(b.Context(), `INSERT INTO reseller_keys (account_id, hash, name, hint, sandbox, read_only, addresses, created_at)
			SELECT account_id, $1, 'Bench', 'none', FALSE, FALSE, '[]', 1 FROM reseller_accounts`, secret.Hash(key))
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range []string{
		`INSERT INTO services (account_id, order_id, type, label, status, domain, client_ref, search, plan_id, plan_slug, plan_name, limits,
			period_months, auto_renew, renew_price, first_price, created_at, provisioned_at, expires_at, panel, panel_ref, suspend_reason, suspended_at)
		SELECT r.account_id, i, 'hosting', 'Shop ' || i, CASE WHEN i % 100 = 0 THEN 'suspended' ELSE 'active' END, 'shop' || i || '.example.com',
			'client-' || i % 1000, 'shop ' || i || E'\nshop' || i || '.example.com', i % 3 + 1, 'plan', 'Plan',
			'{"disk_mb":1024}', 1, i % 2 = 0, 500, 500, 1790000000000000 + i, 1790000000000000 + i,
			1795219200000000 + i::BIGINT * 300000000, 'sandbox', i::TEXT, CASE WHEN i % 100 = 0 THEN 'unpaid' END, CASE WHEN i % 100 = 0 THEN 1 END
		FROM reseller_accounts r CROSS JOIN generate_series(1, ` + fmt.Sprint(resellersServices) + `) AS i`,
		// Half of the renewals, of half of the services, for 500 each.
		`UPDATE wallet_ledger_accounts SET balance = 500 * ` + fmt.Sprint(resellersServices/4) + ` FROM reseller_accounts r WHERE kind = 'customer' AND owner_id = r.account_id`,
	} {
		if _, err := c.Exec(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	// What runs beside, in any database of the server, keeps a vacuum from saying that all rows are visible to everybody.
	testkit.Eventually(b, time.Minute, func() bool {
		var seen bool
		_, err := c.Exec(b.Context(), `VACUUM ANALYZE services`)
		if err == nil {
			err = c.QueryRow(b.Context(), `SELECT relallvisible = relpages FROM pg_class WHERE relname = 'services'`).Scan(&seen)
		}
		return err == nil && seen
	}, "all rows are visible")
	return key
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// seenUptime is the uptime of a service as tests look at it.
type seenUptime struct {
	Final    bool
	Uptime   *string `json:"uptime_percent"`
	SLA      *string `json:"sla_percent"`
	Down     int64   `json:"downtime_s"`
	Excluded int64   `json:"excluded_maintenance_s"`
	Outages  []struct {
		Cause  string
		Counts bool
	}
	Compensation struct {
		Eligible    bool
		Percent     int64
		Status      string
		Reason      *string
		Transaction *int64 `json:"transaction_id"`
		Amount      struct {
			Cents int64 `json:"usd_cents"`
		}
	}
}

func (w *world) uptime(month string) (u seenUptime) {
	w.t.Helper()
	r := w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/uptime?month=%s", w.service, month))
	if r.status != http.StatusOK {
		w.t.Fatal(r)
	}
	if err := json.Unmarshal(r.body, &u); err != nil {
		w.t.Fatal(err)
	}
	return u
}

// TestAMonthThatBrokeThePromiseIsCredited: a service that was there last month and was down gets its money in the wallet, once,
// with its events, its transaction and what it tells its owner.
func TestAMonthThatBrokeThePromiseIsCredited(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox"}, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		testkit.Eventually(t, time.Minute, func() bool {
			return a.number(t, `SELECT COUNT(*) FROM sla_services WHERE service_id = $1`, w.service) == 1 &&
				a.number(t, `SELECT COUNT(*) FROM sla_plans WHERE service_id = $1`, w.service) == 1
		}, "the service is followed")
		now := a.clock.Now().UTC()
		end := time.Date(now.Year(), now.Month()-2, 1, 0, 0, 0, 0, time.UTC)
		start := end.AddDate(0, -1, 0)
		month := start.Format("2006-01")
		length := int64(end.Sub(start) / time.Second)
		// Time is turned back: the service was paid and watched in that month, and down for three hours.
		var monitor int64
		err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			err := tx.QueryRow(ctx, `INSERT INTO monitors (account_id, service_id, built_in, shard, name, type, settings, paused, status, memory,
					badge_token, created_at)
				VALUES ($1, $2, TRUE, 1, 'own', 'http', '{}', FALSE, 'up', '{}', $3, $4) RETURNING id`, w.owner.id, w.service, unique("badge"), start).Scan(&monitor)
			if err != nil {
				return err
			}
			for _, s := range []struct {
				text string
				args []any
			}{
				{`UPDATE sla_services SET month = $1, close_at = $2 WHERE service_id = $3`, []any{start, end.Add(24 * time.Hour), w.service}},
				{`UPDATE sla_plans SET since = $1 WHERE service_id = $2`, []any{start, w.service}},
				{`INSERT INTO services_periods (service_id, starts_at, ends_at, amount) VALUES ($1, $2, $3, 1000)`, []any{w.service, start, end}},
				{
					`INSERT INTO status_maintenance (title, components, starts_at, ends_at, created_at) VALUES ('{}', '["hosting"]', $1, $2, $1)`,
					[]any{start, start.Add(time.Hour)},
				},
				{
					`INSERT INTO monitors_outages (monitor_id, started_at, ended_at, cause, regions, confirmed_by) VALUES ($1, $2, $3, 'connect_timeout', '[]', 1)`,
					[]any{monitor, start, start.Add(4 * time.Hour)},
				},
				{
					`INSERT INTO monitors_outages (monitor_id, started_at, ended_at, cause, regions, confirmed_by) VALUES ($1, $2, $3, 'http_status', '[]', 1)`,
					[]any{monitor, start.Add(100 * time.Hour), start.Add(101 * time.Hour)},
				},
				{
					`INSERT INTO monitors_days (monitor_id, region, start, checks, failures, up_ms, degraded_ms, down_ms, maintenance_ms, unknown_ms, responses,
						response_sum, response_min, response_max) VALUES ($1, 0, $2, 9, 9, $3, 0, 0, 0, 0, 0, 0, 0, 0)`,
					[]any{monitor, start, length * 1000},
				},
			} {
				if _, err := tx.Exec(ctx, s.text, s.args...); err != nil {
					return fmt.Errorf("%s: %w", s.text, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		before := w.uptime(month)
		if before.Final || before.Compensation.Status != "none" || !before.Compensation.Eligible || before.Excluded != 3600 || before.Down != 3*3600 {
			t.Errorf("before it is closed: %+v", before)
		}
		balance := w.balance(w.owner)
		for range 2 {
			if err := a.sla.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := a.sla.Pay(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		u := w.uptime(month)
		served := length - 3600
		want := fmt.Sprintf("%d.%03d", (served-3*3600)*100/served, (served-3*3600)*100_000/served%1000)
		if !u.Final || u.Uptime == nil || *u.Uptime != want || u.SLA == nil || *u.SLA != "99.900" || u.Down != 3*3600 || len(u.Outages) != 2 ||
			!u.Outages[0].Counts || u.Outages[1].Counts || u.Compensation.Status != "credited" || u.Compensation.Percent != 10 ||
			u.Compensation.Amount.Cents != 100 || u.Compensation.Transaction == nil {
			t.Fatalf("%+v, want %s", u, want)
		}
		if now := w.balance(w.owner); now != balance+100 {
			t.Errorf("the balance was %d and is %d", balance, now)
		}
		r := a.get(t, w.owner.token, "/api/v1/wallet/transactions?type=sla_credit")
		var moves struct {
			Data []struct{ ID int64 }
		}
		r.decode(t, &moves)
		if len(moves.Data) != 1 || moves.Data[0].ID != *u.Compensation.Transaction {
			t.Errorf("%s", r)
		}
		told := map[string]int{}
		events, err := a.outbox.Of(t.Context(), "service", w.service)
		for _, e := range events {
			told[e.Type]++
		}
		if err != nil || told["sla.breached"] != 1 || told["sla.compensated"] != 1 {
			t.Errorf("%v %v", told, err)
		}
		if n := a.number(t, `SELECT COUNT(*) FROM invoices_mentions WHERE account_id = $1 AND kind = 'sla_credit' AND amount = 100 AND domain <> ''`, w.owner.id); n != 1 {
			t.Errorf("%d credits wait for the next invoice", n)
		}
		all, err := a.admin.ListSLA(t.Context(), "credited", page.Params{})
		if err != nil || len(all.Data) != 1 || all.Data[0].Month != month || all.Data[0].Amount != 100 {
			t.Errorf("%v %+v", err, all)
		}
		// What is not there: the month after it has nothing that was paid; other months of the future and of others are refused.
		stranger := a.customer(t, a.application(t, false), 0)
		for path, status := range map[string]int{
			fmt.Sprintf("/api/v1/services/%d/uptime", w.service):               http.StatusOK,
			fmt.Sprintf("/api/v1/services/%d/uptime?month=2999-01", w.service): http.StatusUnprocessableEntity,
			fmt.Sprintf("/api/v1/services/%d/uptime?month=2026-13", w.service): http.StatusUnprocessableEntity,
			"/api/v1/services/999999/uptime":                                   http.StatusNotFound,
		} {
			if r := a.get(t, w.owner.token, path); r.status != status {
				t.Errorf("%s: %s", path, r)
			}
		}
		if r := a.get(t, stranger.token, fmt.Sprintf("/api/v1/services/%d/uptime", w.service)); r.status != http.StatusNotFound {
			t.Errorf("a stranger: %s", r)
		}
	})
}

package addons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// world is the section with everything around it. Service 1 is of account 1, paid for 30 days; it has 1000 cents.
type world struct {
	t    *testing.T
	db   *db.DB
	clk  *clock.Fake
	shop *shop
	*Service
	events *outbox.Outbox
	edge   http.Handler
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	w := &world{t: t, db: d, clk: clk, events: outbox.New(d), shop: &shop{price: 100}}
	w.Service = New(Config{DB: d, Clock: clk, Events: w.events})
	w.Connect(Needs{Catalog: w.shop, Services: yard{clk}, Billing: yard{clk}, Orders: purse{}, Rates: rates{}})
	w.exec(`CREATE TABLE test_purse (account_id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0))`)
	w.exec(`CREATE TABLE test_orders (id BIGINT PRIMARY KEY, account_id BIGINT NOT NULL, amount BIGINT NOT NULL, quantity BIGINT NOT NULL, state TEXT NOT NULL)`)
	w.exec(`CREATE TABLE test_services (id BIGINT PRIMARY KEY, account_id BIGINT NOT NULL, status TEXT NOT NULL, expires_at BIGINT NOT NULL,
		price BIGINT NOT NULL DEFAULT 0, raises TEXT NOT NULL DEFAULT '{}', used BIGINT NOT NULL DEFAULT 0)`)
	w.exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, 1000), (2, 1000), (3, 1000)`)
	for id := range 3 {
		w.exec(`INSERT INTO test_services (id, account_id, status, expires_at) VALUES ($1, $1, 'active', $2)`, id+1, clk.Now().Add(30*day))
	}
	scopes := []string{"services:read", "services:write"}
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":      {AccountID: 1, ApplicationID: 1, Scopes: scopes},
		"other":    {AccountID: 2, ApplicationID: 1, Scopes: scopes},
		"reseller": {AccountID: 3, ApplicationID: 1, Scopes: scopes},
	}, w.Operations())
	return w
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) number(query string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// call answers the status and the body.
func (w *world) call(token, method, path, body string) (int, map[string]any) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body)
	content, err := io.ReadAll(rec.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	answer := map[string]any{}
	if len(content) > 0 {
		if err := json.Unmarshal(content, &answer); err != nil {
			w.t.Fatalf("%s: %v", content, err)
		}
	}
	return rec.Code, answer
}

func cents(v any) int64 { return int64(v.(map[string]any)["usd_cents"].(float64)) }

// bought buys and answers the id.
func (w *world) bought(token, service, body string) int64 {
	w.t.Helper()
	status, answer := w.call(token, http.MethodPost, "/api/v1/services/"+service+"/addons", body)
	if status != http.StatusCreated {
		w.t.Fatalf("buy %s: %d %v", body, status, answer)
	}
	return int64(answer["id"].(float64))
}

func (w *world) in(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// told are the kinds of events of a service, in order.
func (w *world) told(service int64) (kinds []string) {
	w.t.Helper()
	all, err := w.events.Of(w.t.Context(), "service", service)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all {
		kinds = append(kinds, e.Type)
	}
	return kinds
}

// shop sells disk (which raises a limit), advice (which does nothing) and an address (which an operator makes).
type shop struct {
	mu    sync.Mutex
	price money.USDCents
	off   bool
}

func (s *shop) Addons(context.Context, db.Querier) ([]Product, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Product{
		{
			Key: "disk", Name: i18n.Text{"en": "Disk", "ru": "Диск", "uz": "Disk"}, MaxQuantity: 4, Raises: map[string]int64{"disk_mb": 1024},
			Prices: []Price{{1, s.price}, {6, 5 * s.price}, {12, 9 * s.price}}, OnSale: !s.off,
		},
		{Key: "advice", Name: i18n.Text{"en": "Advice"}, MaxQuantity: 1, Prices: []Price{{1, 30}}, OnSale: !s.off},
		{Key: "address", Name: i18n.Text{"en": "Address"}, MaxQuantity: 2, Prices: []Price{{1, 60}}, Manual: true, OnSale: !s.off},
		{Key: "elsewhere", Name: i18n.Text{"en": "Not for this plan"}, MaxQuantity: 2, Prices: []Price{{1, 60}}, OnSale: !s.off},
	}
	return all, nil
}

func (s *shop) Addon(ctx context.Context, q db.Querier, key string) (Product, bool, error) {
	all, err := s.Addons(ctx, q)
	i := slices.IndexFunc(all, func(p Product) bool { return p.Key == key })
	if i < 0 {
		return Product{}, false, err
	}
	return all[i], true, err
}

func (s *shop) PlanAddons(context.Context, db.Querier, int64) ([]string, error) {
	return []string{"disk", "advice", "address"}, nil
}

// rates: account 3 sells on at half of the price.
type rates struct{}

func (rates) Wholesale(_ context.Context, _ db.Querier, accountID int64) (int, bool, error) {
	return 5000, accountID == 3, nil
}

// yard keeps services in a table: a plan of 1024 MB, for a month of 30 days.
type yard struct{ clk *clock.Fake }

func (y yard) find(ctx context.Context, q db.Querier, accountID, id int64, lock string) (c sale.Contract, err error) {
	c.PlanID, c.PeriodMonths = 1, 1
	domain := "shop.test"
	c.Domain = &domain
	var expires time.Time
	err = q.QueryRow(ctx, `SELECT status, expires_at FROM test_services WHERE id = $1 AND account_id = $2`+lock, id, accountID).Scan(&c.Status, &expires)
	c.ExpiresAt = &expires
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return c, err
}

func (y yard) Contract(ctx context.Context, q db.Querier, accountID, id int64) (sale.Contract, error) {
	return y.find(ctx, q, accountID, id, "")
}

func (y yard) LockContract(ctx context.Context, tx *db.Tx, accountID, id int64) (sale.Contract, error) {
	return y.find(ctx, tx, accountID, id, tx.ForUpdate())
}

func (y yard) Cost(price money.USDCents, months int, from, end time.Time) (money.USDCents, error) {
	period := time.Duration(months) * 30 * day
	n := int64(end.Sub(from)) * int64(price)
	return money.USDCents((n + int64(period) - 1) / int64(period)), nil
}

func (y yard) Extend(ctx context.Context, tx *db.Tx, id int64, price money.USDCents, raises map[string]int64) (bool, error) {
	text, err := raisesText(raises)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE test_services SET price = $1, raises = $2 WHERE id = $3`, price, text, id)
	}
	return true, err
}

func (y yard) CheckExtend(ctx context.Context, q db.Querier, accountID, id int64, raises map[string]int64) error {
	var used int64
	err := q.QueryRow(ctx, `SELECT used FROM test_services WHERE id = $1 AND account_id = $2`, id, accountID).Scan(&used)
	if err == nil && used > 1024+raises["disk_mb"] {
		err = fault.DowngradeExceeds.New()
	}
	return err
}

func (yard) Enter(ctx context.Context, tx *db.Tx, id int64) (func(), error) {
	return sale.RealTime{}.Enter(ctx, tx, id)
}

func (y yard) Now(context.Context, db.Querier, int64) (time.Time, error) { return y.clk.Now(), nil }

// purse keeps balances in a table, with the guard in the statement.
type purse struct{}

func (purse) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (id int64, err error) {
	n, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance - $1 WHERE account_id = $2 AND balance >= $1`, p.Price, p.AccountID)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fault.InsufficientFunds.With(fault.Fields{"required": money.Wire(ctx, p.Price)})
	}
	err = tx.QueryRow(ctx, `INSERT INTO test_orders (id, account_id, amount, quantity, state)
		SELECT COALESCE(MAX(id), 0) + 1 + $1 * 1000, $1, $2, $3, 'held' FROM test_orders WHERE account_id = $1 RETURNING id`,
		p.AccountID, p.Price, p.Quantity).Scan(&id)
	return id, err
}

func (purse) Complete(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE test_orders SET state = 'taken' WHERE id = $1 AND state = 'held'`, id)
	return err
}

func (purse) Fail(ctx context.Context, tx *db.Tx, id int64, _ string) error {
	var account, amount int64
	err := tx.QueryRow(ctx, `UPDATE test_orders SET state = 'back' WHERE id = $1 AND state = 'held' RETURNING account_id, amount`, id).Scan(&account, &amount)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE test_purse SET balance = balance + $1 WHERE account_id = $2`, amount, account)
	}
	return err
}

func (w *world) balance(account int64) int64 {
	w.t.Helper()
	return w.number(`SELECT balance FROM test_purse WHERE account_id = $1`, account)
}

func (w *world) terms(service int64) (price int64, raises string) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), `SELECT price, raises FROM test_services WHERE id = $1`, service).Scan(&price, &raises); err != nil {
		w.t.Fatal(err)
	}
	return price, raises
}

func TestAnAddonIsPaidForTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		clk.Advance(14*day + time.Hour) // 15 days and 23 hours are left: 16 that have begun
		status, offers := w.call("own", http.MethodGet, "/api/v1/services/1/addons/offers", "")
		if status != http.StatusOK || len(offers["data"].([]any)) != 3 {
			t.Fatalf("offers: %d %v", status, offers)
		}
		offer := offers["data"].([]any)[0].(map[string]any)
		if offer["key"] != "disk" || cents(offer["charge"]) != 54 || cents(offer["unit_price"]) != 100 || offer["left"] != 4.0 {
			t.Errorf("offer: %v", offer)
		}

		for body, want := range map[string]string{
			`{"key": "disk", "expected_usd_cents": 53}`: "price_changed", `{"key": "elsewhere"}`: "feature_not_in_plan",
			`{"key": "nothing"}`: "addon_unavailable", `{"key": "disk", "quantity": 5}`: "limit_reached",
			`{"key": "disk", "quantity": 0}`: "validation_failed", `{}`: "validation_failed",
		} {
			if status, answer := w.call("own", http.MethodPost, "/api/v1/services/1/addons", body); status != 422 || answer["error"] != want {
				t.Errorf("%s: %d %v", body, status, answer)
			}
		}
		if w.balance(1) != 1000 || len(w.told(1)) != 0 {
			t.Errorf("a refusal left something: %d, %v", w.balance(1), w.told(1))
		}

		id := w.bought("own", "1", `{"key": "disk", "quantity": 2, "expected_usd_cents": 108}`)
		price, raises := w.terms(1)
		if w.balance(1) != 892 || price != 200 || raises != `{"disk_mb":2048}` {
			t.Errorf("balance %d, renewed for %d, raises %s", w.balance(1), price, raises)
		}
		if n := w.number(`SELECT quantity FROM test_orders WHERE state = 'taken'`); n != 2 {
			t.Errorf("an order of %d", n)
		}
		status, list := w.call("own", http.MethodGet, "/api/v1/services/1/addons", "")
		row := list["data"].([]any)[0].(map[string]any)
		if status != http.StatusOK || row["id"] != float64(id) || row["status"] != "active" || row["auto_renew"] != true || cents(row["price"]) != 200 ||
			row["renews_at"] == nil || row["ends_at"] != nil {
			t.Errorf("list: %d %v", status, list)
		}
		if diff := cmp.Diff([]string{"addon.created", "addon.activated"}, w.told(1)); diff != "" {
			t.Error(diff)
		}
		w.exec(`UPDATE test_services SET status = 'suspended'`)
		_, list = w.call("own", http.MethodGet, "/api/v1/services/1/addons", "")
		if row := list["data"].([]any)[0].(map[string]any); row["status"] != "suspended" {
			t.Errorf("of a suspended service: %v", row)
		}
		if status, answer := w.call("own", http.MethodPost, "/api/v1/services/1/addons", `{"key": "advice"}`); status != 422 || answer["error"] != "service_suspended" {
			t.Errorf("%d %v", status, answer)
		}
	})
}

func TestNobodySeesAnothersAddons(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.bought("own", "1", `{"key": "disk"}`)
		for _, c := range [][3]string{
			{http.MethodGet, "/api/v1/services/1/addons", ""},
			{http.MethodGet, "/api/v1/services/1/addons/offers", ""},
			{http.MethodPost, "/api/v1/services/1/addons", `{"key": "disk"}`},
			{http.MethodDelete, fmt.Sprintf("/api/v1/services/1/addons/%d", id), ""},
			{http.MethodDelete, fmt.Sprintf("/api/v1/services/2/addons/%d", id), ""},
		} {
			if status, answer := w.call("other", c[0], c[1], c[2]); status != http.StatusNotFound {
				t.Errorf("%s %s: %d %v", c[0], c[1], status, answer)
			}
		}
		if w.balance(2) != 1000 {
			t.Error("the stranger paid")
		}
	})
}

// renewalOf is what is renewed with one service.
func (w *world) renewalOf(q db.Querier, accountID, serviceID int64, months int, own bool) ([]sale.Extra, error) {
	all, err := w.Renewals(w.t.Context(), q, []sale.Renewal{{AccountID: accountID, ServiceID: serviceID, Months: months, Own: own}})
	return all[serviceID], err
}

func TestAResellerPaysWholesale(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		status, list := w.call("reseller", http.MethodGet, "/api/v1/catalog/addons?per_page=1", "")
		price := list["data"].([]any)[0].(map[string]any)["prices"].([]any)[0].(map[string]any)
		if status != http.StatusOK || cents(price["price"]) != 50 || cents(price["retail"]) != 100 || list["meta"].(map[string]any)["total"] != 4.0 {
			t.Errorf("%d %v", status, list)
		}
		w.bought("reseller", "3", `{"key": "disk", "expected_usd_cents": 50}`)
		if w.balance(3) != 950 {
			t.Errorf("balance %d", w.balance(3))
		}
		for months, want := range map[int]money.USDCents{6: 250, 12: 450, 18: 750, 2: 100} {
			lines, err := w.renewalOf(d, 3, 3, months, false)
			if err != nil || len(lines) != 1 || lines[0].UnitPrice != want {
				t.Errorf("%d months: %v, %v", months, lines, err)
			}
		}
		w.shop.mu.Lock()
		w.shop.price = 900
		w.shop.mu.Unlock()
		lines, err := w.renewalOf(d, 3, 3, 1, true)
		if diff := cmp.Diff([]sale.Extra{{Title: "Disk", Quantity: 1, UnitPrice: 50}}, lines); err != nil || diff != "" {
			t.Errorf("for its own period: %v %s", err, diff)
		}
	})
}

func TestWhatIsCancelledStaysUntilItsPaidTimeIsOver(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.bought("own", "1", `{"key": "disk", "quantity": 2}`)
		kept := w.bought("own", "1", `{"key": "advice"}`)
		path := fmt.Sprintf("/api/v1/services/1/addons/%d", id)
		w.exec(`UPDATE test_services SET used = 2000`)
		if status, answer := w.call("own", http.MethodDelete, path, ""); status != 422 || answer["error"] != "downgrade_exceeds_usage" {
			t.Fatalf("of what is used: %d %v", status, answer)
		}
		w.exec(`UPDATE test_services SET used = 900`)
		for range 2 { // the second time nothing more happens
			status, answer := w.call("own", http.MethodDelete, path, "")
			if status != http.StatusOK || answer["status"] != "cancelling" || answer["ends_at"] == nil || answer["renews_at"] != nil || answer["auto_renew"] != false {
				t.Fatalf("%d %v", status, answer)
			}
		}
		if price, raises := w.terms(1); price != 30 || raises != `{"disk_mb":2048}` {
			t.Errorf("while it is paid for: %d, %s", price, raises)
		}
		if lines, err := w.renewalOf(d, 1, 1, 1, true); err != nil || len(lines) != 1 || lines[0].Title != "Advice" {
			t.Errorf("renewed: %v, %v", lines, err)
		}
		// The service is renewed before its time is over; what is cancelled is not.
		until := clk.Now().Add(60 * day)
		w.exec(`UPDATE test_services SET expires_at = $1`, until)
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Renewed(ctx, tx, 1, until) })
		if err := w.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.number(`SELECT count(*) FROM addons WHERE status = 'cancelling'`); n != 1 {
			t.Errorf("%d are cancelled and paid for", n)
		}
		clk.Advance(30*day + time.Minute)
		if err := w.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if price, raises := w.terms(1); price != 30 || raises != `{}` {
			t.Errorf("afterwards: %d, %s", price, raises)
		}
		if n := w.number(`SELECT count(*) FROM addons WHERE status = 'cancelled' AND id = $1`, id); n != 1 {
			t.Error("it is not over")
		}
		if n := w.number(`SELECT count(*) FROM addons WHERE status = 'active' AND paid_until = $1 AND id = $2`, until, kept); n != 1 {
			t.Error("the other one was not renewed")
		}
		if status, answer := w.call("own", http.MethodDelete, path, ""); status != 422 || answer["error"] != "addon_not_cancellable" {
			t.Errorf("of what is over: %d %v", status, answer)
		}
		want := []string{"addon.created", "addon.activated", "addon.created", "addon.activated", "addon.cancelled", "addon.renewed"}
		if diff := cmp.Diff(want, w.told(1)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnOperatorMakesWhatIsMadeByHand(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		made, refused, orphan := w.bought("own", "1", `{"key": "address"}`), w.bought("own", "1", `{"key": "address"}`), w.bought("other", "2", `{"key": "address"}`)
		if price, _ := w.terms(1); price != 0 || w.balance(1) != 880 {
			t.Errorf("renewed for %d, balance %d", price, w.balance(1))
		}
		if status, answer := w.call("own", http.MethodPost, "/api/v1/services/1/addons", `{"key": "address"}`); answer["error"] != "limit_reached" {
			t.Errorf("beyond the limit: %d %v", status, answer)
		}
		if status, answer := w.call("own", http.MethodDelete, fmt.Sprintf("/api/v1/services/1/addons/%d", made), ""); answer["error"] != "addon_not_cancellable" {
			t.Errorf("of what is being made: %d %v", status, answer)
		}
		waiting, err := w.Waiting(t.Context())
		if err != nil || len(waiting) != 3 || waiting[0].ID != made {
			t.Errorf("%v, %v", waiting, err)
		}
		if err := w.Make(t.Context(), made, "192.0.2.7\nand more"); !errors.Is(err, fault.Validation) {
			t.Errorf("a value of two lines: %v", err)
		}
		// Of two operators at once one makes it.
		var wg sync.WaitGroup
		results := make([]error, 4)
		for i := range results {
			wg.Go(func() { results[i] = w.Make(t.Context(), made, "192.0.2.7") })
		}
		wg.Wait()
		n := 0
		for _, err := range results {
			if err == nil {
				n++
			} else if !errors.Is(err, ErrNotPending) {
				t.Error(err)
			}
		}
		if price, _ := w.terms(1); n != 1 || price != 60 {
			t.Errorf("%d made it, renewed for %d", n, price)
		}
		if err := w.Refuse(t.Context(), refused); err != nil || w.balance(1) != 940 {
			t.Errorf("%v, balance %d", err, w.balance(1))
		}
		if err := w.Refuse(t.Context(), refused); !errors.Is(err, ErrNotPending) {
			t.Errorf("again: %v", err)
		}
		// What waits for a service that is over is refused by itself.
		w.exec(`UPDATE test_services SET status = 'terminated' WHERE id = 2`)
		if err := w.Make(t.Context(), orphan, ""); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("for a service that is over: %v", err)
		}
		if err := w.Settle(t.Context()); err != nil || w.balance(2) != 1000 {
			t.Errorf("%v, balance %d", err, w.balance(2))
		}
		_, list := w.call("own", http.MethodGet, "/api/v1/services/1/addons", "")
		rows := list["data"].([]any)
		if a := rows[1].(map[string]any); a["status"] != "active" || a["value"] != "192.0.2.7" {
			t.Errorf("%v", a)
		}
		if a := rows[0].(map[string]any); a["status"] != "failed" || a["failure_key"] != "addon_unavailable" {
			t.Errorf("%v", a)
		}
		want := []string{"addon.created", "addon.created", "addon.activated", "addon.failed"}
		if diff := cmp.Diff(want, w.told(1)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatIsMadeAfterARenewalIsPaidToItsEnd(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.bought("own", "1", `{"key": "address"}`)
		before := w.balance(1)
		renewed := w.number(`SELECT expires_at FROM test_services WHERE id = 1`) + int64(60*day/time.Microsecond)
		w.exec(`UPDATE test_services SET expires_at = $1 WHERE id = 1`, renewed)
		w.exec(`UPDATE test_purse SET balance = 119 WHERE account_id = 1`)
		if err := w.Make(t.Context(), id, ""); !errors.Is(err, fault.InsufficientFunds) || w.balance(1) != 119 {
			t.Errorf("without the money: %v, balance %d", err, w.balance(1))
		}
		w.exec(`UPDATE test_purse SET balance = $1 WHERE account_id = 1`, before)
		if err := w.Make(t.Context(), id, ""); err != nil || w.balance(1) != before-120 {
			t.Errorf("%v, balance %d of %d", err, w.balance(1), before)
		}
		if until := w.number(`SELECT paid_until FROM addons WHERE id = $1`, id); until != renewed {
			t.Errorf("paid until %d, not %d", until, renewed)
		}
	})
}

func TestAddonsEndAndReturnWithTheirService(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		stays, goes := w.bought("own", "1", `{"key": "disk"}`), w.bought("own", "1", `{"key": "disk"}`)
		if status, answer := w.call("own", http.MethodDelete, fmt.Sprintf("/api/v1/services/1/addons/%d", goes), ""); status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Ended(ctx, tx, 1) })
		if price, raises := w.terms(1); price != 100 || raises != `{"disk_mb":2048}` {
			t.Errorf("what comes back is forgotten: %d, %s", price, raises)
		}
		if n := w.number(`SELECT count(*) FROM addons WHERE status = 'cancelled'`); n != 2 {
			t.Errorf("%d ended", n)
		}
		for range 2 { // the second time there is nothing to return
			w.in(func(ctx context.Context, tx *db.Tx) error { return w.Returned(ctx, tx, 1) })
		}
		if price, raises := w.terms(1); price != 100 || raises != `{"disk_mb":1024}` {
			t.Errorf("back: %d, %s", price, raises)
		}
		if n := w.number(`SELECT count(*) FROM addons WHERE status = 'active' AND id = $1`, stays); n != 1 {
			t.Error("it is not back")
		}
		want := []string{"addon.created", "addon.activated", "addon.created", "addon.activated", "addon.cancelled", "addon.cancelled", "addon.activated"}
		if diff := cmp.Diff(want, w.told(1)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestManyAtOnceStayWithinTheLimitAndTheMoney(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			made int
		)
		for range 10 {
			wg.Go(func() {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					_, _, err := w.buy(ctx, tx, 1, 1, wish{key: "disk", quantity: 1})
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case !errors.Is(err, fault.LimitReached) && !errors.Is(err, fault.Conflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		price, raises := w.terms(1)
		if made == 0 || made > 4 || w.balance(1) != 1000-int64(made)*100 || price != int64(made)*100 || raises != fmt.Sprintf(`{"disk_mb":%d}`, made*1024) {
			t.Errorf("%d made, balance %d, renewed for %d, raises %s", made, w.balance(1), price, raises)
		}
	})
}

func TestNoQueryReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.bought("own", "1", `{"key": "disk"}`)
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, _, err := list(t.Context(), q, 1, 1, catalogIn{}.Params)
			for _, ask := range []func() error{
				func() error { _, err := get(t.Context(), q, 1); return err },
				func() error { _, err := getOwn(t.Context(), q, 1, 1, 1); return err },
				func() error { _, err := ofService(t.Context(), q, 1); return err },
				func() error { _, err := waiting(t.Context(), q, 0, 10); return err },
				func() error { _, err := over(t.Context(), q, clk.Now(), 10); return err },
				func() error { _, err := overOf(t.Context(), q, 1, clk.Now()); return err },
				func() error { _, err := firstOver(t.Context(), q, 1, clk.Now()); return err },
			} {
				if err == nil {
					err = ask()
				}
			}
			return err
		})
	})
}

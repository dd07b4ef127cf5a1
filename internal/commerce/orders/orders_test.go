package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// world is the section with everything around it.
type world struct {
	t  *testing.T
	db *db.DB
	*Service
	edge http.Handler
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	w := &world{t: t, db: d}
	w.Service = New(Config{
		DB: d, Events: outbox.New(d), ReservedDomains: []string{"stead.test"},
	})
	w.Connect(Needs{
		Catalog: shelf{}, Payer: purse{}, Services: yard{}, Billing: yard{}, Rates: sale.Retail{}, Taxes: sale.Untaxed{}, Books: NoBooks{}, Coupons: NoCoupons{},
		Clocks: sale.RealTime{},
	})
	w.exec(`CREATE TABLE test_purse (account_id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0))`)
	w.exec(`CREATE TABLE test_held (order_id BIGINT PRIMARY KEY, account_id BIGINT NOT NULL, amount BIGINT NOT NULL, state TEXT NOT NULL)`)
	w.exec(`CREATE TABLE test_stock (plan_id BIGINT PRIMARY KEY, sold BIGINT NOT NULL, stock BIGINT NOT NULL)`)
	w.exec(`CREATE TABLE test_services (id BIGINT PRIMARY KEY, domain TEXT NOT NULL, status TEXT NOT NULL)`)
	w.exec(`INSERT INTO test_stock (plan_id, sold, stock) VALUES (1, 0, 1000), (2, 0, 1), (4, 0, 1000)`)
	scopes := []string{"orders:read", "orders:write"}
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":   {AccountID: 1, ApplicationID: 1, Scopes: scopes},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
	}, w.Operations())
	return w
}

// shelf sells plan 1 (for 1 or 12 months), plan 2 (a single one, cheap at first), plan 3
// (off sale) and plan 4 (free).
type shelf struct{}

func (shelf) Offer(ctx context.Context, q db.Querier, planID int64, months int) (sale.Offer, error) {
	o := sale.Offer{
		PlanID: planID, PlanSlug: "start", PlanName: "Start", ProductType: "hosting", PeriodMonths: max(1, months),
		Price: 500, Limits: json.RawMessage(`{"disk_mb":1024}`), Available: true,
	}
	if months == 12 {
		o.Price = 5000
	}
	switch planID {
	case 1:
	case 2:
		first := money.USDCents(100)
		o.PlanSlug, o.PlanName, o.FirstPeriodPrice, o.Setup = "pro", "Pro", &first, 250
		var sold int
		if err := q.QueryRow(ctx, `SELECT sold FROM test_stock WHERE plan_id = 2`).Scan(&sold); err != nil {
			return o, err
		}
		o.Available, o.SoldOut = sold == 0, sold > 0
	case 3:
		o.Available = false
	case 4:
		o.Price = 0
	default:
		return o, fault.Invalid("plan_id", "value")
	}
	return o, nil
}

func (shelf) Take(ctx context.Context, tx *db.Tx, _, planID, _ int64) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE test_stock SET sold = sold + 1 WHERE plan_id = $1 AND sold < stock`, planID)
	return n == 1, err
}

func (shelf) Return(ctx context.Context, tx *db.Tx, planID, _ int64) error {
	_, err := tx.Exec(ctx, `UPDATE test_stock SET sold = sold - 1 WHERE plan_id = $1`, planID)
	return err
}

// purse keeps balances in a table, with the guard in the statement.
type purse struct{}

func (purse) Charge(ctx context.Context, tx *db.Tx, c sale.Charge) error {
	n, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance - $1 WHERE account_id = $2 AND balance >= $1`, c.Amount, c.AccountID)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.InsufficientFunds.With(fault.Fields{"required": money.Wire(ctx, c.Amount)})
	}
	_, err = tx.Exec(ctx, `INSERT INTO test_held (order_id, account_id, amount, state) VALUES ($1, $2, $3, 'held')
		ON CONFLICT (order_id) DO NOTHING`, c.Reference.ID, c.AccountID, c.Amount)
	return err
}

func (p purse) Pay(ctx context.Context, tx *db.Tx, all []sale.Charge) (refused []error, err error) {
	refused = make([]error, len(all))
	for i, c := range all {
		err := p.Charge(ctx, tx, c)
		if errors.Is(err, fault.InsufficientFunds) {
			refused[i], err = err, nil
		} else if err == nil {
			err = p.Capture(ctx, tx, c.Reference)
		}
		if err != nil {
			return nil, err
		}
	}
	return refused, nil
}

func (purse) Capture(ctx context.Context, tx *db.Tx, what sale.Reference) error {
	_, err := tx.Exec(ctx, `UPDATE test_held SET state = 'captured' WHERE order_id = $1 AND state = 'held'`, what.ID)
	return err
}

func (purse) Release(ctx context.Context, tx *db.Tx, what sale.Reference, _ string) error {
	var account, amount int64
	err := tx.QueryRow(ctx, `UPDATE test_held SET state = 'released' WHERE order_id = $1 AND state = 'held'
		RETURNING account_id, amount`, what.ID).Scan(&account, &amount)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE test_purse SET balance = balance + $1 WHERE account_id = $2`, amount, account)
	return err
}

func (purse) Refund(ctx context.Context, tx *db.Tx, c sale.Charge) error {
	_, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance + $1 WHERE account_id = $2`, c.Amount, c.AccountID)
	return err
}

// yard keeps services in a table; a service has its order's id and 1000 more.
type yard struct{}

func (yard) Reserve(ctx context.Context, tx *db.Tx, r sale.Reservation) (int64, error) {
	id := r.OrderID + 1000
	_, err := tx.Exec(ctx, `INSERT INTO test_services (id, domain, status) VALUES ($1, $2, 'pending')`, id, r.Domain)
	return id, err
}

func (yard) Provision(ctx context.Context, tx *db.Tx, id int64) error {
	var taken bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM test_services a JOIN test_services b ON a.domain = b.domain
		WHERE a.id = $1 AND b.status = 'provisioning')`, id).Scan(&taken)
	if err == nil && taken {
		return fault.DomainUnavailable.New()
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE test_services SET status = 'provisioning' WHERE id = $1`, id)
	return err
}

func (y yard) TakeOver(ctx context.Context, tx *db.Tx, r sale.Reservation, _ sale.Takeover) (int64, error) {
	id, err := y.Reserve(ctx, tx, r)
	if err != nil {
		return 0, err
	}
	return id, y.Provision(ctx, tx, id)
}

func (yard) CancelPending(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET status = 'cancelled' WHERE id = $1 AND status = 'pending'`, id)
	return err
}

func (yard) TakeBack(ctx context.Context, tx *db.Tx, id, _ int64, price money.USDCents) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET domain = domain || ' less ' || $1 WHERE id = $2`, price.String(), id)
	return err
}

func (w *world) in(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// sell sells one thing; a refusal is an error.
func (w *world) sell(ctx context.Context, tx *db.Tx, s sale.Sale) (int64, error) {
	sold, err := w.Sell(ctx, tx, []sale.Sale{s})
	if err != nil {
		return 0, err
	}
	return sold[0].OrderID, sold[0].Refusal
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	w.in(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

func (w *world) number(query string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) give(cents int64) {
	w.t.Helper()
	w.exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, $1)`, cents)
}

func (w *world) balance() int64 {
	return w.number(`SELECT balance FROM test_purse WHERE account_id = 1`)
}

func (w *world) same(what string, want, got any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// call sends a request; header are pairs of names and values.
func (w *world) call(token, method, path, body string, header ...string) (int, []byte) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body, header...)
	return rec.Code, rec.Body.Bytes()
}

// key is the error key of an answer.
func key(body []byte) string {
	var e struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(body, &e)
	return e.Error
}

// order makes an order of plan 1.
func (w *world) order(domain string) int64 {
	w.t.Helper()
	return w.orderOf(1, domain)
}

func (w *world) orderOf(planID int64, domain string) int64 {
	w.t.Helper()
	status, body := w.call("own", "POST", "/api/v1/orders", fmt.Sprintf(`{"plan_id":%d,"domain":%q}`, planID, domain))
	if status != http.StatusCreated {
		w.t.Fatalf("order %s: %d %s", domain, status, body)
	}
	var o struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		w.t.Fatal(err)
	}
	return o.ID
}

func (w *world) pay(id int64, header ...string) (int, string) {
	w.t.Helper()
	status, body := w.call("own", "POST", fmt.Sprintf("/api/v1/orders/%d/pay", id), "", header...)
	return status, key(body)
}

func (w *world) paid(id int64) {
	w.t.Helper()
	if status, key := w.pay(id); status != http.StatusOK {
		w.t.Fatalf("pay %d: %d %s", id, status, key)
	}
}

func (w *world) state(id int64) Status {
	w.t.Helper()
	o, err := get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range o.items {
		want := string(o.status)
		if o.status == Cancelled || o.status == Expired {
			want = string(Pending)
		}
		w.same("the item's status", want, i.status)
	}
	return o.status
}

// told are the types of an order's events.
func (w *world) told(id int64) []string {
	w.t.Helper()
	out, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (s string, err error) {
		err = r.Scan(&s)
		return s, err
	}, `SELECT type FROM outbox_events WHERE subject = 'order' AND subject_id = $1 ORDER BY sequence`, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) golden(name string, body []byte) {
	w.t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.same(name, string(want), pretty.String())
}

func TestTheAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		for _, c := range []struct {
			name, method, path, body string
			status                   int
			header                   []string
		}{
			{"created", "POST", "/api/v1/orders", `{"plan_id":2,"domain":"Домен.test","label":"Shop"}`, 201, []string{"Idempotency-Key", "k1"}},
			{"created_yearly", "POST", "/api/v1/orders", `{"plan_id":1,"domain":"shop.test","period_months":12}`, 201, nil},
			{"got", "GET", "/api/v1/orders/1", "", 200, nil},
			{"paid", "POST", "/api/v1/orders/1/pay", "", 200, nil},
			{"poor", "POST", "/api/v1/orders/2/pay", "", 422, nil},
			{"paid_again", "POST", "/api/v1/orders/1/pay", "", 422, nil},
			{"not_cancellable", "POST", "/api/v1/orders/1/cancel", "", 422, nil},
			{"cancelled", "POST", "/api/v1/orders/2/cancel", "", 200, nil},
			{"not_payable", "POST", "/api/v1/orders/2/pay", "", 422, nil},
			{"list", "GET", "/api/v1/orders?per_page=1", "", 200, nil},
			{"list_processing", "GET", "/api/v1/orders?status=processing", "", 200, nil},
		} {
			status, body := w.call("own", c.method, c.path, c.body, c.header...)
			if status != c.status {
				t.Errorf("%s: %d %s", c.name, status, body)
			}
			w.golden(c.name, body)
			clk.Advance(time.Minute)
		}
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, 1) })
		_, body := w.call("own", "GET", "/api/v1/orders/1", "")
		w.golden("completed", body)
	})
}

func TestAStrangerSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		id := w.order("shop.test")
		for _, c := range [][2]string{{"GET", ""}, {"POST", "/pay"}, {"POST", "/cancel"}} {
			if status, body := w.call("other", c[0], fmt.Sprintf("/api/v1/orders/%d%s", id, c[1]), ""); status != http.StatusNotFound {
				t.Errorf("%v: %d %s", c, status, body)
			}
		}
		w.same("status", Pending, w.state(id))
		w.same("balance", int64(1000), w.balance())
		_, body := w.call("other", "GET", "/api/v1/orders", "")
		w.golden("list_of_another", body)
	})
}

func TestOrdersThatCannotBeMade(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		w.paid(w.orderOf(2, "only.test"))
		for body, want := range map[string]string{
			`{"plan_id":1,"domain":"not a domain"}`:                         "domain_invalid",
			`{"plan_id":1,"domain":"127.0.0.1"}`:                            "domain_invalid",
			`{"plan_id":1,"domain":"www.stead.test"}`:                       "domain_unavailable",
			`{"plan_id":3,"domain":"shop.test"}`:                            "plan_unavailable",
			`{"plan_id":2,"domain":"shop.test"}`:                            "out_of_stock",
			`{"plan_id":99,"domain":"shop.test"}`:                           "validation_failed",
			`{"plan_id":0,"domain":"shop.test"}`:                            "validation_failed",
			`{"domain":"shop.test"}`:                                        "validation_failed",
			`{"plan_id":1}`:                                                 "validation_failed",
			`{"plan_id":"1","domain":"shop.test"}`:                          "validation_failed",
			`{"plan_id":1,"domain":"shop.test","period_months":0}`:          "validation_failed",
			`{"plan_id":1,"domain":"` + strings.Repeat("a.", 200) + `com"}`: "domain_invalid",
		} {
			status, answer := w.call("own", "POST", "/api/v1/orders", body)
			if status != http.StatusUnprocessableEntity || key(answer) != want {
				t.Errorf("%s: %d %s, want %s", body, status, answer, want)
			}
		}
		w.same("orders", int64(1), w.number(`SELECT count(*) FROM orders`))
	})
}

// Thirty clients pay at once, each an order of its own, from a balance that covers ten.
func TestThirtyAtOnceSpendNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(10 * 500)
		var ids []int64
		for n := range 30 {
			ids = append(ids, w.order(fmt.Sprintf("shop%d.test", n)))
		}
		answers := w.atOnce(len(ids), func(n int) (int, string) { return w.pay(ids[n]) })
		w.same("answers", map[string]int{"200 ": 10, "422 insufficient_funds": 20}, answers)
		w.same("balance", int64(0), w.balance())
		w.same("held", int64(5000), w.number(`SELECT sum(amount) FROM test_held WHERE state = 'held'`))
		w.same("paid orders", int64(10), w.number(`SELECT count(*) FROM orders WHERE status = 'processing'`))
		w.same("services begun", int64(10), w.number(`SELECT count(*) FROM test_services WHERE status = 'provisioning'`))
		w.same("events", int64(10), w.number(`SELECT count(*) FROM outbox_events WHERE type = 'order.paid'`))
	})
}

func TestOneOrderPaidByManyAtOnceIsChargedOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(100 * 500)
		id := w.order("rich.test")
		answers := w.atOnce(8, func(int) (int, string) { return w.pay(id) })
		w.same("answers", map[string]int{"200 ": 1, "422 already_paid": 7}, answers)
		w.same("balance", int64(99*500), w.balance())

		// The same when the money suffices for one payment only: the others must
		// hear that the order is paid, not that they are poor.
		w.exec(`UPDATE test_purse SET balance = 500`)
		id = w.order("poor.test")
		answers = w.atOnce(8, func(int) (int, string) { return w.pay(id) })
		w.same("answers", map[string]int{"200 ": 1, "422 already_paid": 7}, answers)
		w.same("balance", int64(0), w.balance())
	})
}

func TestPayingAndCancellingAtOnceDoesOneOfTheTwo(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(5 * 500)
		for n := range 5 {
			id := w.order(fmt.Sprintf("shop%d.test", n))
			before := w.balance()
			answers := w.atOnce(2, func(n int) (int, string) {
				if n == 0 {
					return w.pay(id)
				}
				status, body := w.call("own", "POST", fmt.Sprintf("/api/v1/orders/%d/cancel", id), "")
				return status, key(body)
			})
			if w.state(id) == Cancelled {
				w.same("answers", map[string]int{"200 ": 1, "422 order_not_payable": 1}, answers)
				w.same("balance", before, w.balance())
			} else {
				w.same("answers", map[string]int{"200 ": 1, "422 order_not_cancellable": 1}, answers)
				w.same("balance", before-500, w.balance())
			}
		}
	})
}

// atOnce counts the answers of n calls that run at the same time.
func (w *world) atOnce(n int, call func(n int) (int, string)) map[string]int {
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		answers = map[string]int{}
		begin   = make(chan struct{})
	)
	for i := range n {
		all.Go(func() {
			<-begin
			status, key := call(i)
			mu.Lock()
			defer mu.Unlock()
			answers[fmt.Sprintf("%d %s", status, key)]++
		})
	}
	close(begin)
	all.Wait()
	return answers
}

func TestTheSameKeyPaysOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		id := w.order("shop.test")
		for range 3 {
			if status, key := w.pay(id, "Idempotency-Key", "once"); status != http.StatusOK {
				t.Errorf("%d %s", status, key)
			}
		}
		w.same("balance", int64(500), w.balance())
		w.same("events", []string{"order.created", "order.paid"}, w.told(id))
	})
}

func TestACompletedOrderTakesTheMoneyOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(500)
		id := w.order("shop.test")
		w.paid(id)
		for range 2 {
			w.in(func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, id) })
		}
		w.same("status", Completed, w.state(id))
		w.same("captured", int64(500), w.number(`SELECT sum(amount) FROM test_held WHERE state = 'captured'`))
		w.same("events", []string{"order.created", "order.paid", "order.completed"}, w.told(id))
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Fail(ctx, tx, id, "panel_busy") })
		if err == nil {
			t.Error("a completed order failed")
		}
		w.same("balance", int64(0), w.balance())
	})
}

func TestAFailedOrderGivesTheMoneyBackOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(500)
		id := w.orderOf(2, "shop.test")
		w.paid(id)
		w.same("balance while held", int64(150), w.balance())
		held := func(ids ...int64) []int64 {
			found, err := w.Held(t.Context(), d, ids)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		w.same("held", []int64{id}, held(id, w.order("unpaid.test")))
		for range 2 {
			w.in(func(ctx context.Context, tx *db.Tx) error { return w.Fail(ctx, tx, id, "panel_unreachable") })
		}
		w.same("status", Refunded, w.state(id))
		w.same("held when it failed", 0, len(held(id)))
		w.same("balance", int64(500), w.balance())
		w.same("sold", int64(0), w.number(`SELECT sold FROM test_stock WHERE plan_id = 2`))
		w.same("events", []string{"order.created", "order.paid", "order.failed", "order.refunded"}, w.told(id))
		o, err := get(t.Context(), d, id)
		if err != nil {
			t.Fatal(err)
		}
		w.same("refunded", money.USDCents(350), wire(t.Context(), o).Refunded.USDCents)
		w.same("failure", "panel_unreachable", *o.failureKey)
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, id) }); err == nil {
			t.Error("a refunded order completed")
		}
	})
}

func TestAFreeOrderNeedsNoMoneyAndReturnsNone(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		done, failed := w.orderOf(4, "done.test"), w.orderOf(4, "failed.test")
		w.paid(done)
		w.paid(failed)
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, done) })
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Fail(ctx, tx, failed, "disk_full") })
		w.same("done", Completed, w.state(done))
		w.same("failed", Failed, w.state(failed))
		w.same("charges", int64(0), w.number(`SELECT count(*) FROM test_held`))
	})
}

// What is refused after the money was set aside undoes that, with a key and without.
func TestARefusedPaymentMovesNoMoney(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(5000)
		first, second, third := w.order("shop.test"), w.order("shop.test"), w.orderOf(2, "a.test")
		fourth := w.orderOf(2, "b.test")
		w.paid(first)
		w.paid(third)
		before := w.balance()
		for id, want := range map[int64]string{second: "domain_unavailable", fourth: "out_of_stock"} {
			for _, header := range [][]string{nil, {"Idempotency-Key", "k"}} {
				if status, key := w.pay(id, header...); status != http.StatusUnprocessableEntity || key != want {
					t.Errorf("order %d: %d %s, want %s", id, status, key, want)
				}
			}
			w.same("status", Pending, w.state(id))
			w.same("events", []string{"order.created"}, w.told(id))
		}
		w.same("balance", before, w.balance())
	})
}

func TestOrdersThatAreNotPaidInTimeExpire(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(5000)
		old, paid := w.order("old.test"), w.order("paid.test")
		w.paid(paid)
		clk.Advance(24 * time.Hour)
		young := w.order("young.test")
		w.exec(`INSERT INTO orders (account_id, kind, status, subtotal, discount, tax, total, idempotency_key_used, expires_at, created_at)
			SELECT account_id, kind, status, subtotal, discount, tax, total, idempotency_key_used, expires_at, created_at
			FROM orders CROSS JOIN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n) x
			WHERE id = $2`, 2*expireBatch, old)
		w.exec(`INSERT INTO orders_items (order_id, kind, status, title, quantity, unit_price, setup, discount, tax, total)
			SELECT id, 'new', 'pending', 'Start', 1, total, 0, 0, 0, total FROM orders WHERE id NOT IN (SELECT order_id FROM orders_items)`)
		clk.Advance(6 * 24 * time.Hour)
		if status, key := w.pay(old); status != http.StatusUnprocessableEntity || key != "order_not_payable" {
			t.Errorf("paid too late: %d %s", status, key)
		}
		w.same("until it is swept", Pending, w.state(old))
		for range 2 {
			if err := w.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.same("old", Expired, w.state(old))
		w.same("paid", Processing, w.state(paid))
		w.same("young", Pending, w.state(young))
		w.same("expired", int64(1+2*expireBatch), w.number(`SELECT count(*) FROM orders WHERE status = 'expired'`))
		w.same("events", []string{"order.created", "order.expired"}, w.told(old))
		w.same("services", int64(1), w.number(`SELECT count(*) FROM test_services WHERE status = 'cancelled'`))
		if status, key := w.pay(old); key != "order_not_payable" {
			t.Errorf("an expired order: %d %s", status, key)
		}
	})
}

func TestJobsAtOnceCompleteOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(500)
		id := w.order("shop.test")
		w.paid(id)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, id) })
				if err != nil && !errors.Is(err, errMoved) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.same("status", Completed, w.state(id))
		w.same("events", []string{"order.created", "order.paid", "order.completed"}, w.told(id))
	})
}

package reseller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// purse is what every account can spend.
type purse struct{ *world }

func (p purse) Spendable(context.Context, db.Querier, int64) (money.USDCents, error) {
	return p.balance, nil
}

// keepsNothing has no final backups.
type keepsNothing struct{ services.Keeper }

func (keepsNothing) Kept(context.Context, db.Querier, []int64) ([]int64, error) { return nil, nil }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	err := w.DB.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// aService writes an active service of an account and answers its id.
func (w *world) aService(accountID int64, domain, tag string) (id int64) {
	w.t.Helper()
	if w.Services == nil {
		w.Services = services.New(services.Config{DB: w.DB, Clock: w.clk})
		w.Services.Connect(services.Needs{
			Monitors: services.Unwatched{}, Keeper: keepsNothing{}, Addons: services.NoAddons{}, Clocks: sale.RealTime{},
		})
		w.Billing = billing.New(billing.Config{DB: w.DB, Clock: w.clk, Services: w.Services})
		w.Billing.Connect(billing.Needs{Balances: purse{w}, Rates: sale.Retail{}, Taxes: sale.Untaxed{}, Addons: services.NoAddons{}})
	}
	w.exec(`INSERT INTO services (account_id, order_id, type, label, status, domain, client_ref, search, plan_id, plan_slug, plan_name, limits, period_months,
			auto_renew, renew_price, first_price, created_at, provisioned_at, expires_at, panel, panel_ref, metadata)
		VALUES ($1, 1, 'hosting', $2, 'active', $2, $3, $2, 1, 'start', 'Start', '{}', 1, TRUE, 500, 500, $4, $4, $5, 'node', '1', '{}')`,
		accountID, domain, tag, w.clk.Now(), w.clk.Now().AddDate(0, 1, 0))
	if err := w.DB.QueryRow(w.t.Context(), `SELECT id FROM services WHERE domain = $1`, domain).Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) aDomain(accountID int64, name, tag, status string) {
	w.t.Helper()
	w.exec(`INSERT INTO domains (account_id, sandbox, name, tld, status, wholesale, auto_renew, privacy, locked, transfer_out, expires_at, nameservers,
		registry, client_ref, created_at) VALUES ($1, FALSE, $2, 'example', $3, TRUE, TRUE, FALSE, FALSE, FALSE, $4, '[]', '{}', $5, $6)`,
		accountID, name, status, w.clk.Now().AddDate(1, 0, 0), tag, w.clk.Now())
}

func TestTagsAreThoseOfServicesAndDomains(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.clk.Now().AddDate(0, 1, 0)
		w.aService(w.AccountID, "a.test", "acme")
		w.clk.Advance(time.Hour)
		w.aService(w.AccountID, "b.test", "acme")
		w.aService(w.AccountID, "c.test", "zoo")
		w.exec(`UPDATE services SET status = 'terminated', auto_renew = FALSE WHERE domain = 'c.test'`)
		w.aService(w.AccountID, "d.test", "100%_\\")
		w.aService(w.SandboxID, "e.test", "sandboxed")
		w.exec(`UPDATE services SET client_ref = NULL WHERE domain = 'd.test'`)
		w.aDomain(w.AccountID, "a.example", "acme", "active")
		w.aDomain(w.AccountID, "b.example", "only-a-domain", "active")
		w.aDomain(w.AccountID, "c.example", "only-a-domain", "transferred_out")

		list := func(query string, p page.Params) (names []string, total int) {
			t.Helper()
			l, err := w.clientsOperation(t.Context(), auth.Principal{AccountID: w.AccountID}, &clientsIn{Query: query, Params: p})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range l.Data {
				names = append(names, c.ClientRef)
			}
			return names, l.Meta.Total
		}
		for _, c := range []struct {
			query string
			p     page.Params
			want  string
			total int
		}{
			{"", page.Params{}, "[acme only-a-domain zoo]", 3},
			{"", page.Params{Page: 2, PerPage: 2}, "[zoo]", 3},
			{"ac", page.Params{}, "[acme]", 1},
			{"%", page.Params{}, "[]", 0},
			{"sandbox", page.Params{}, "[]", 0},
		} {
			if names, total := list(c.query, c.p); fmt.Sprint(names) != c.want || total != c.total {
				t.Errorf("%q %+v: %v of %d, want %s of %d", c.query, c.p, names, total, c.want, c.total)
			}
		}
		one := func(tag string) (*clientOneWire, error) {
			return w.clientOperation(t.Context(), auth.Principal{AccountID: w.AccountID}, &clientIn{ClientRef: tag})
		}
		acme, err := one("acme")
		if err != nil || acme.Services != 2 || acme.Active != 2 || acme.Ended != 0 || acme.Domains != 1 || acme.RenewalCost.USDCents != 1000 ||
			acme.NextRenewalAt == nil || !acme.NextRenewalAt.Equal(first) || len(acme.ServiceList) != 2 || len(acme.DomainList) != 1 {
			t.Errorf("%+v, %v", acme, err)
		}
		if zoo, err := one("zoo"); err != nil || zoo.Services != 0 || zoo.Ended != 1 || zoo.NextRenewalAt != nil {
			t.Errorf("%+v, %v", zoo, err)
		}
		if only, err := one("only-a-domain"); err != nil || only.Domains != 1 || len(only.DomainList) != 2 || only.Services != 0 {
			t.Errorf("%+v, %v", only, err)
		}
		for _, none := range []string{"sandboxed", "nobody", "", "ACME"} {
			if _, err := one(none); !errors.Is(err, fault.NotFound) {
				t.Errorf("%q: %v", none, err)
			}
		}
	})
}

func TestTheTrailOfKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, _ := w.key(NewKey{})
		other, _ := w.key(NewKey{})
		call := func(k Key, account int64, operation string) int64 {
			t.Helper()
			id, err := w.Began(t.Context(), api.Call{
				Principal: auth.Principal{AccountID: account, KeyID: k.ID}, Operation: operation, Method: http.MethodPost,
				Path: "/api/v1/reseller/quotes", RequestID: "req_1", From: here,
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		done, cut := call(k, w.AccountID, "one"), call(other, w.AccountID, "two")
		w.clk.Advance(time.Hour)
		refused := call(k, w.AccountID, "three")
		call(k, w.SandboxID, "elsewhere")
		panel := call(Key{}, w.AccountID, "four")
		if err := errors.Join(w.Ended(t.Context(), done, 201, ""), w.Ended(t.Context(), refused, 422, "out_of_stock")); err != nil {
			t.Fatal(err)
		}
		list := func(in auditIn) []callWire {
			t.Helper()
			l, err := w.auditOperation(t.Context(), auth.Principal{AccountID: w.AccountID}, &in)
			if err != nil || l.Meta.Total != len(l.Data) {
				t.Fatalf("%+v, %v", l, err)
			}
			return l.Data
		}
		all := list(auditIn{})
		if len(all) != 4 || all[0].ID != panel || all[0].KeyID != nil || all[0].KeyName != "" {
			t.Fatalf("what was done in the panel: %+v", all)
		}
		if all = all[1:]; all[0].ID != refused || *all[0].KeyID != k.ID || *all[0].Status != 422 || *all[0].ErrorKey != "out_of_stock" || all[1].ID != cut || all[1].Status != nil ||
			*all[2].Status != 201 || all[2].ErrorKey != nil || all[2].Address != here.String() || all[2].KeyName != "Test" {
			t.Errorf("%+v", all)
		}
		if of := list(auditIn{KeyID: other.ID}); len(of) != 1 || of[0].ID != cut {
			t.Errorf("of one key: %+v", of)
		}
		now := w.clk.Now().Format(time.RFC3339)
		if since, until := list(auditIn{From: now}), list(auditIn{To: now}); len(since) != 2 || len(until) != 2 {
			t.Errorf("%d since, %d until", len(since), len(until))
		}
		w.clk.Advance(callsKept)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := list(auditIn{}); len(left) != 2 || left[1].ID != refused {
			t.Errorf("after %s: %+v", callsKept, left)
		}
	})
}

func TestKeysAreListedInTheirWorld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		live, _ := w.key(NewKey{})
		gone, _ := w.key(NewKey{})
		test, _ := w.key(NewKey{Sandbox: true})
		if err := w.RevokeKey(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		for account, want := range map[int64]int64{w.AccountID: live.ID, w.SandboxID: test.ID} {
			l, err := w.keysOperation(t.Context(), auth.Principal{AccountID: account}, &page.Params{Page: 1, PerPage: 20})
			if err != nil || len(l.Data) != 1 || l.Data[0].ID != want || l.Meta.Total != 1 {
				t.Errorf("account %d: %+v, %v", account, l, err)
			}
		}
	})
}

func TestALinkLetsOneClientInOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, _ := w.key(NewKey{})
		w.BaseURL = "https://stead.test"
		id := w.aService(w.AccountID, "shop.test", "acme")
		p := auth.Principal{AccountID: w.AccountID, KeyID: k.ID}
		link := func() string {
			t.Helper()
			var made *linkWire
			err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				made, err = w.makeLink(ctx, tx, p, id)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			token, ok := strings.CutPrefix(made.URL, "https://stead.test/client/")
			if !ok || !made.ExpiresAt.Equal(w.clk.Now().Add(linkLife)) {
				t.Fatalf("%+v", made)
			}
			return token
		}
		waits := func(token string, want bool) {
			t.Helper()
			if got, err := w.Link(t.Context(), token); err != nil || got.Waits != want {
				t.Errorf("it waits: %t, %v", got.Waits, err)
			}
		}
		token := link()
		waits(token, true)
		waits(token, true) // looking uses nothing up
		waits(token+"x", false)
		visit, err := w.Enter(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		waits(token, false)
		if _, err := w.Enter(t.Context(), token); !errors.Is(err, fault.NotFound) {
			t.Errorf("twice: %v", err)
		}
		in := func(visit string) error {
			v, err := w.Visit(t.Context(), visit)
			if err == nil && (v.ServiceID != id || v.AccountID != w.AccountID || v.Domain != "shop.test") {
				t.Errorf("%+v", v)
			}
			return err
		}
		if err := in(visit); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"", token, visit + "x"} {
			if err := in(wrong); !errors.Is(err, fault.NotFound) {
				t.Errorf("with %q: %v", wrong, err)
			}
		}
		// What ends a visit while it lasts.
		for name, c := range map[string]struct{ end, undo string }{
			"the service ended":   {`UPDATE services SET status = 'terminated' WHERE domain = 'shop.test'`, `UPDATE services SET status = 'active' WHERE domain = 'shop.test'`},
			"the key was revoked": {`UPDATE reseller_keys SET revoked_at = 1`, `UPDATE reseller_keys SET revoked_at = NULL`},
		} {
			w.exec(c.end)
			if err := in(visit); !errors.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
			w.exec(c.undo)
			if err := in(visit); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
		w.clk.Advance(visitLife)
		if err := in(visit); !errors.Is(err, fault.NotFound) {
			t.Errorf("after its time: %v", err)
		}
		late := link()
		w.clk.Advance(linkLife)
		waits(late, false)
		if _, err := w.Enter(t.Context(), late); !errors.Is(err, fault.NotFound) {
			t.Errorf("too late: %v", err)
		}
		left, err := w.Enter(t.Context(), link())
		if err == nil {
			err = w.Leave(t.Context(), left)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := in(left); !errors.Is(err, fault.NotFound) {
			t.Errorf("after leaving: %v", err)
		}
		var kept int
		hashes, err := db.Collect(t.Context(), w.DB, func(row db.Row) (h string, err error) {
			var a, b []byte
			err = row.Scan(&a, &b)
			return string(a) + string(b), err
		}, `SELECT token_hash, COALESCE(visit_hash, token_hash) FROM reseller_links`)
		for _, h := range hashes {
			if strings.Contains(h, token) || strings.Contains(h, visit) {
				t.Error("the table has a token itself")
			}
		}
		w.clk.Advance(linkLife + visitLife)
		if err = errors.Join(err, w.Clean(t.Context())); err == nil {
			err = w.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM reseller_links`).Scan(&kept)
		}
		if err != nil || kept > 1 {
			t.Errorf("%d links are kept, %v", kept, err)
		}

		// No link into what is not there, is another's, or is offline.
		for status, want := range map[string]*fault.Def{"terminated": fault.ServiceNotActive, "provisioning": fault.ServiceNotActive} {
			w.exec(`UPDATE services SET status = $1, provisioning_at = 1 WHERE domain = 'shop.test'`, status)
			err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.makeLink(ctx, tx, p, id)
				return err
			})
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", status, err)
			}
		}
		err = w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := w.makeLink(ctx, tx, auth.Principal{AccountID: w.SandboxID, KeyID: k.ID}, id)
			return err
		})
		if !errors.Is(err, fault.NotFound) {
			t.Errorf("from the sandbox: %v", err)
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now := clk.Now()
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			_, ofTags := countTags(ctx, q, 1, "a")
			_, listed := listTags(ctx, q, 1, "a", 20, 0)
			_, ofClients := clientsOf(ctx, q, 1, []string{"a", "b"})
			_, ofDomains := taggedDomains(ctx, q, 1, "a")
			err = errors.Join(ofTags, listed, ofClients, ofDomains)
			for _, f := range []callFilter{{accountID: 1}, {accountID: 1, keyID: 2}, {accountID: 1, from: &now, to: &now}} {
				_, _, ofCalls := listCalls(ctx, q, f, page.Params{})
				err = errors.Join(err, ofCalls)
			}
			_, ofKeys := listKeys(ctx, q, 1)
			_, _, found := findKey(ctx, q, []byte("x"))
			if errors.Is(found, db.ErrNoRows) {
				found = nil
			}
			return errors.Join(err, ofKeys, found)
		})
	})
}

func TestAResellerIsToldOfItsKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		live, _ := w.key(NewKey{ReadOnly: true})
		sandbox, _ := w.key(NewKey{Sandbox: true})
		for range 2 { // revoked once
			if err := w.RevokeKey(t.Context(), live.ID); err != nil {
				t.Fatal(err)
			}
		}
		told, err := db.Collect(t.Context(), w.DB, func(row db.Row) (s string, err error) {
			var account, key int64
			var typ, data string
			err = row.Scan(&typ, &account, &key, &data)
			return fmt.Sprintf("%s of %d to %d: %s", typ, key, account, data), err
		}, `SELECT type, account_id, subject_id, data FROM outbox_events WHERE subject = 'api_key' ORDER BY id`)
		want := []string{
			fmt.Sprintf(`api_key.created of %d to %d: {"id":%[1]d,"name":"Test","sandbox":false,"read_only":true}`, live.ID, w.AccountID),
			fmt.Sprintf(`api_key.created of %d to %d: {"id":%[1]d,"name":"Test","sandbox":true,"read_only":false}`, sandbox.ID, w.SandboxID),
			fmt.Sprintf(`api_key.revoked of %d to %d: {"id":%[1]d,"name":"Test","sandbox":false,"read_only":true}`, live.ID, w.AccountID),
		}
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("%v\n%q, want\n%q", err, told, want)
		}
	})
}

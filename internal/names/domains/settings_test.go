package domains

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/sandbox"
)

// registered is a domain that the registry has.
func (w *world) registered(name string) int64 {
	w.t.Helper()
	id := w.order(name, "")
	for range 3 { // the sandbox may lose an answer
		if w.Work(w.t.Context(), w.op()) == nil {
			break
		}
	}
	w.same("registered", Active, w.status(id))
	return id
}

// put calls an operation on a domain of the owner and wants its answer to hold each text.
func (w *world) put(method string, id int64, path, body string, want ...string) {
	w.t.Helper()
	status, answer := w.call("own", method, fmt.Sprintf("/api/v1/domains/%d%s", id, path), body)
	for _, text := range want {
		if status != http.StatusOK || !strings.Contains(answer, text) {
			w.t.Errorf("%s %s %s: %d, no %s in %s", method, path, body, status, text, answer)
		}
	}
}

func (w *world) refused(token, method, path, body, want string) {
	w.t.Helper()
	if status, answer := w.call(token, method, path, body); status < 400 || key(answer) != want {
		w.t.Errorf("%s %s %s: %d %s, want %s", method, path, body, status, answer, want)
	}
}

func TestWhatAnOwnerChanges(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.registered("shop.com")
		const ds = `{"ds_records":[{"key_tag":7,"algorithm":13,"digest_type":2,"digest":"` + "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" + `"}]}`
		for range 2 { // the second time nothing changes, and nothing is told but of contacts
			w.put("PATCH", id, "", `{"locked":true,"privacy":true,"auto_renew":false,"client_ref":"a"}`,
				`"locked":true`, `"privacy":true`, `"auto_renew":false`, `"client_ref":"a"`)
			w.put("PUT", id, "/nameservers", `{"nameservers":["ns1.shop.com","ns.host.example"],"glue_hosts":[{"name":"NS1.shop.com","addresses":["203.0.113.1","2001:db8::1"]}]}`,
				`"nameservers":["ns1.shop.com","ns.host.example"]`, `"203.0.113.1"`)
			w.put("PUT", id, "/dnssec", ds, `"enabled":true`, `"key_tag":7`, "ABCDEF")
			w.put("PUT", id, "/contacts", `{"admin":`+anna+`}`, `"contacts":{`)
		}
		w.put("PATCH", id, "", `{"client_ref":""}`, `"client_ref":null`)
		info, err := w.registry.Info(t.Context(), "shop.com")
		if err != nil || !info.Locked || !info.Privacy || len(info.Nameservers) != 2 || len(info.Hosts) != 1 || len(info.DS) != 1 {
			t.Errorf("the registry: %+v %v", info, err)
		}
		if a, o := info.Contacts[registrar.Admin], info.Contacts[registrar.Owner]; a == o || a != o+"A" || len(a) > 16 {
			t.Errorf("contacts: %v", info.Contacts)
		}
		for kind, n := range map[string]int64{"lock": 1, "privacy": 1, "nameservers": 2, "contacts": 2} {
			w.same(kind, n, w.told("domain."+kind+"_changed"))
		}
		w.same("previous", `{"locked":false}`, w.text(`SELECT CAST(previous AS TEXT) FROM outbox_events WHERE type = 'domain.lock_changed'`))
		if w.number(`SELECT count(*) FROM outbox_events WHERE CAST(data AS TEXT) LIKE '%Anna%'`)+w.number(`SELECT count(*) FROM domains WHERE registry LIKE '%Anna%'`) > 0 {
			t.Error("a contact is kept")
		}
		// The registry's own change is found and told, too.
		if err := w.registry.SetLock(t.Context(), "shop.com", false); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		w.same("told", 2, w.told("domain.lock_changed"))
		w.put("PUT", id, "/nameservers", `{"nameservers":["ns1.host.example","ns2.host.example"],"glue_hosts":[]}`, `"glue_hosts":[]`)
		w.put("PUT", id, "/dnssec", `{"ds_records":[]}`, `"enabled":false`)
	})
}

func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		uz, com, pending := w.registered("shop.uz"), w.registered("shop.com"), w.order("later.com", "")
		path := func(id int64, more string) string { return fmt.Sprintf("/api/v1/domains/%d%s", id, more) }
		ns := func(hosts, glue string) string { return `{"nameservers":[` + hosts + `],"glue_hosts":[` + glue + `]}` }
		for _, c := range []struct{ method, path, body, want string }{
			{"PATCH", path(uz, ""), `{"privacy":true}`, "privacy_unsupported"},
			{"PATCH", path(com, ""), `{"client_ref":"` + strings.Repeat("x", 65) + `"}`, "client_ref_too_long"},
			{"PATCH", path(com, ""), `{"client_ref":"a\nb"}`, "validation_failed"},
			{"PATCH", path(pending, ""), `{"locked":true}`, "domain_not_active"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example"`, ``), "nameserver_invalid"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example","ONE.example."`, ``), "nameserver_invalid"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example","ns1.shop.com"`, ``), "nameserver_invalid"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example","ns1.shop.com"`, `{"name":"ns1.shop.com","addresses":["10.0.0.1"]}`), "nameserver_invalid"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example","two.example"`, `{"name":"ns1.other.com","addresses":["203.0.113.1"]}`), "nameserver_invalid"},
			{"PUT", path(com, "/nameservers"), ns(`"one.example","ns1.shop.com"`, `{"name":"ns1.shop.com","addresses":["fe80::1%eth0"]}`), "nameserver_invalid"},
			{"PUT", path(com, "/contacts"), `{}`, "registrant_contact_required"},
			{"PUT", path(com, "/contacts"), `{"owner":` + strings.Replace(anna, "anna@example.com", "Anna <anna@example.com>", 1) + `}`, "registrant_contact_required"},
			{"PUT", path(com, "/dnssec"), `{"ds_records":[{"key_tag":7,"algorithm":13,"digest_type":2,"digest":"abcd"}]}`, "validation_failed"},
			{"POST", path(com, "/renew"), `{"restore":true}`, "domain_not_active"},
			{"POST", path(com, "/renew"), `{"years":10}`, "period_not_allowed"},
			{"POST", path(pending, "/renew"), `{}`, "domain_not_active"},
		} {
			w.refused("own", c.method, c.path, c.body, c.want)
			if c.want != "validation_failed" && !strings.HasSuffix(c.want, "too_long") && !strings.HasPrefix(c.want, "registrant") {
				w.refused("other", c.method, c.path, c.body, "not_found")
			}
		}
		// Of thirteen name servers it is told which one is meant.
		for body, want := range map[string]string{
			ns(`"one.example"`, ``):                `"maximum":13,"message"`,
			ns(`"one.example","a b"`, ``):          `"nameserver":"a b"`,
			ns(`"one.example","ns1.shop.com"`, ``): `"nameserver":"ns1.shop.com"`,
			ns(`"one.example","ns1.shop.com"`, `{"name":"ns1.shop.com","addresses":["10.0.0.1"]}`): `"nameserver":"ns1.shop.com"`,
			ns(`"one.example","ns1.shop.com"`, `{"name":"ns1.shop.com","addresses":["here"]}`):     `"nameserver":"ns1.shop.com"`,
		} {
			if _, answer := w.call("own", "PUT", path(com, "/nameservers"), body); !strings.Contains(answer, want) {
				t.Errorf("%s: %s, want %s", body, answer, want)
			}
		}
		w.refused("own", "POST", path(com, "/auth-code"), "", "forbidden")
		w.refused("first", "POST", path(com, "/auth-code"), "", "transfer_lock_60_days")
		w.refused("first", "POST", path(com, "/transfer-out"), `{"approve":true}`, "registrar_rejected")
		w.registry.down = true
		w.refused("own", "PATCH", path(com, ""), `{"locked":true}`, "registrar_unreachable")
		w.registry.down = false
		for _, kind := range []string{"lock", "privacy", "nameservers", "contacts"} {
			w.same(kind, 0, w.told("domain."+kind+"_changed"))
		}
	})
}

func TestADomainGoesToAnotherRegistrar(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.registered("shop.com")
		clk.Advance(61 * 24 * time.Hour)
		w.put("PATCH", id, "", `{"locked":true}`, `"locked":true`)
		path := fmt.Sprintf("/api/v1/domains/%d", id)
		w.refused("first", "POST", path+"/auth-code", "", "domain_locked")
		w.put("PATCH", id, "", `{"locked":false}`, `"locked":false`)
		_, answer := w.call("first", "POST", path+"/auth-code", "")
		_, code, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(answer), `"}`), `"auth_code":"`)
		ask := func() {
			t.Helper()
			if err := w.registry.RequestTransferOut(t.Context(), "shop.com", code); err != nil {
				t.Fatalf("%s: %v", answer, err)
			}
			if err := errors.Join(w.Poll(t.Context()), w.Step(t.Context(), id)); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		w.same("asked", 1, w.told("domain.transfer_out_requested"))
		if status, body := w.call("first", "POST", path+"/transfer-out", `{"approve":false}`); status != 200 || !strings.Contains(body, `"status":"active"`) {
			t.Errorf("%d %s", status, body)
		}
		ask()
		if status, body := w.call("first", "POST", path+"/transfer-out", `{"approve":true}`); status != 200 || !strings.Contains(body, `"status":"transferred_out"`) {
			t.Errorf("%d %s", status, body)
		}
		w.same("gone", 1, w.told("domain.transferred_out"))
		w.refused("own", "PATCH", path, `{"locked":true}`, "domain_not_active")
	})
}

// A change that dies between the registry and the row is found by the next look, and told once.
func TestAChangeThatIsKilledIsFoundAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.registered("shop.com")
		w.registry.calls, w.registry.at = 0, 1 // the reading after the change
		yes := true
		if err := w.Set(t.Context(), 1, id, Settings{Locked: &yes}); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		w.same("told", 0, w.told("domain.lock_changed"))
		clk.Advance(lookAgain)
		ids, err := due(t.Context(), d, clk.Now(), stepBatch)
		if err != nil || len(ids) != 1 || ids[0] != id {
			t.Fatalf("%v %v", ids, err)
		}
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("told", 1, w.told("domain.lock_changed"))
	})
}

// slowInfo answers an old reading after a newer one was written.
type slowInfo struct {
	*cutting
	between func()
}

func (s *slowInfo) Info(ctx context.Context, name string) (registrar.Domain, error) {
	d, err := s.cutting.Info(ctx, name)
	if f := s.between; f != nil {
		s.between = nil
		f()
	}
	return d, err
}

func TestAnOldReadingOfTheRegistryIsMadeAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.registered("shop.com")
		slow := &slowInfo{cutting: w.registry}
		w.Registrars = registrars{slow}
		slow.between = func() { w.put("PATCH", id, "", `{"locked":true}`, `"locked":true`) }
		w.put("PUT", id, "/nameservers", `{"nameservers":["ns1.host.example","ns2.host.example"]}`, `"locked":true`, "ns1.host.example")
		w.same("told", 1, w.told("domain.lock_changed"))
		w.same("told", 1, w.told("domain.nameservers_changed"))
	})
}

// A notice that comes while the domain is being read may be of what that reading has not seen.
func TestANoticeThatComesWhileADomainIsReadIsNotLost(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.registered("shop.com")
		clk.Advance(61 * 24 * time.Hour)
		slow := &slowInfo{cutting: w.registry}
		w.Registrars = registrars{slow}
		slow.between = func() {
			code, err := w.AuthCode(t.Context(), 1, id, "the test")
			if err == nil {
				err = w.registry.RequestTransferOut(t.Context(), "shop.com", code)
			}
			if err == nil {
				err = w.Poll(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("told", 1, w.told("domain.transfer_out_requested"))
	})
}

func TestResellersPayWholesaleAndTagTheirDomains(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		_, prices := w.call("key", "GET", "/api/v1/reseller/domains/tlds?per_page=1", "")
		if !strings.Contains(prices, `"usd_cents":1050`) || strings.Contains(prices, `"usd_cents":1200,`) {
			t.Error(prices)
		}
		status, body := w.call("key", "GET", "/api/v1/reseller/domains/check?domains=free.com,taken-x.com,%20free.com,syntax-x.com,x.nowhere.net", "")
		for _, want := range []string{`"total":4`, `"available":true`, `"available":false`, `"available":null`, `"usd_cents":1050`, "tld_unsupported"} {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%d, no %s in %s", status, want, body)
			}
		}
		// A malformed name fails its own row alone.
		status, body = w.call("key", "GET", "/api/v1/reseller/domains/check?domains=-x.com,free.com,-", "")
		for _, want := range []string{`"total":3`, `"domain":"-x.com","available":false,"reason":"invalid"`, `"domain":"free.com","available":true`, `"domain":"-","available":false,"reason":"invalid"`} {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%d, no %s in %s", status, want, body)
			}
		}
		w.refused("key", "GET", "/api/v1/reseller/domains/check?domains=,", "", "validation_failed")
		var many []string
		for n := range 21 {
			many = append(many, fmt.Sprintf("a%d.com", n))
		}
		w.refused("key", "GET", "/api/v1/reseller/domains/check?domains="+strings.Join(many, ","), "", "validation_failed")
		for _, ref := range []string{"a", "b"} {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.Service.order(ctx, tx, Wish{
					AccountID: reseller, Domain: ref + "-shop.com", ClientRef: &ref, AutoRenew: true, Contact: &registrar.Contact{Email: "a@example.com", Name: "A", Phone: "+998901234567", Country: "UZ"},
				})
				return err
			})
			if err == nil {
				err = w.Work(t.Context(), w.op())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.same("balance", 10000-2*1050, w.number(`SELECT balance FROM test_purse`))
		soon, late, b, none := clk.Now().AddDate(0, 1, 0), clk.Now().AddDate(2, 0, 0), "b", "c"
		for want, f := range map[int]Filter{2: {Status: Active, ExpiresBefore: &late}, 1: {ClientRef: &b}, 0: {ExpiresBefore: &soon, ClientRef: &none}} {
			rows, total, err := list(t.Context(), d, reseller, f, listIn{}.Params)
			if err != nil || total != want || len(rows) != want {
				t.Errorf("%+v: %d rows of %d, %v", f, len(rows), total, err)
			}
		}
		w.refused("own", "GET", "/api/v1/domains?expires_before=tomorrow", "", "validation_failed")
		for _, state := range []string{"pending_payment", "pending_verification", "suspended"} { // in which no domain is
			if status, body := w.call("own", "GET", "/api/v1/domains?status="+state, ""); status != 200 || !strings.Contains(body, `"total":0`) {
				t.Errorf("%s: %d %s", state, status, body)
			}
		}
		if status, body := w.call("own", "GET", "/api/v1/domains?status=active&client_ref=a&expires_before=2099-01-01T00:00:00Z", ""); status != 200 || !strings.Contains(body, `"total":0`) {
			t.Errorf("%d %s", status, body)
		}
	})
}

func TestATransferredDomainGetsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for at, after := range map[int]bool{0: false, 2: true, 4: true, 5: false, 6: true} {
			name := fmt.Sprintf("moved-%d.com", at)
			id := w.order(name, `,"operation":"transfer","auth_code":"secret-code","privacy":true,"nameservers":["ns1.host.example","ns2.host.example"]`)
			op := w.op()
			w.registry.calls, w.registry.at, w.registry.after = 0, at, after
			for runs := 0; w.Work(t.Context(), op) != nil; runs++ {
				if runs > 5 {
					t.Fatalf("%s never comes", name)
				}
			}
			w.put("GET", id, "", "", `"status":"active"`, `"ns1.host.example"`, `"privacy":true`)
			w.same("money", "held captured", w.text(`SELECT state FROM test_orders WHERE id = (SELECT order_id FROM domains_operations WHERE id = $1)`, op))
		}
		w.registry.at = 0
		keeps := w.order("moved-keeps.com", `,"operation":"transfer","auth_code":"secret-code"`)
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		if _, body := w.call("own", "GET", fmt.Sprintf("/api/v1/domains/%d", keeps), ""); strings.Contains(body, "ns1.stead.test") {
			t.Errorf("a transfer moved the domain's name servers: %s", body)
		}
	})
}

// Each kind of operation is killed at each call of the registrar, before it and after it.
func TestKilledAtAnyCallRenewalsTransfersAndRestoresAgree(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.exec(`UPDATE test_purse SET balance = 10000000`)
		type kind struct {
			name  string
			price int64
			begin func(name string) int64
		}
		renew := func(restore bool) func(string) int64 {
			return func(name string) int64 {
				id := w.registered(name)
				w.exec(`UPDATE domains SET auto_renew = $1 WHERE id = $2`, false, id)
				if restore {
					clk.Advance(366*24*time.Hour + sandbox.GraceFor)
					if err := w.Step(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				w.put("POST", id, "/renew", fmt.Sprintf(`{"restore":%t}`, restore), `"status":"pending"`)
				return id
			}
		}
		for _, k := range []kind{
			{"transfer", 1200, func(name string) int64 {
				return w.order("moved-"+name, `,"operation":"transfer","auth_code":"secret-code"`)
			}},
			{"renew", 1400, renew(false)},
			{"restore", 9500, renew(true)},
		} {
			for _, lost := range []string{"", "lost-"} {
				if lost != "" && k.name == "transfer" {
					continue // the sandbox loses no answers of transfers; killed-after is the same
				}
				for at := 1; at <= 4; at++ {
					for _, after := range []bool{false, true} {
						w.registry.calls, w.registry.at = 0, 0
						id := k.begin(fmt.Sprintf("%s%s-%d-%t.com", lost, k.name, at, after))
						op := w.op()
						before, events := w.number(`SELECT balance FROM test_purse`), w.told("domain.renewed")+w.told("domain.transfer_in_completed")
						until := w.number(`SELECT coalesce(max(expires_at), 0) FROM domains WHERE id = $1`, id)
						w.registry.calls, w.registry.at, w.registry.after = 0, at, after
						for runs := 0; w.Work(t.Context(), op) != nil; runs++ {
							if runs > 5 {
								t.Fatalf("%s %s killed at %d never ends", lost, k.name, at)
							}
						}
						what := fmt.Sprintf("%s%s killed at %d, after %t", lost, k.name, at, after)
						w.same(what, Active, w.status(id))
						w.same(what, "held captured", w.text(`SELECT state FROM test_orders WHERE id = (SELECT order_id FROM domains_operations WHERE id = $1)`, op))
						w.same(what, before, w.number(`SELECT balance FROM test_purse`))
						w.same(what, events+1, w.told("domain.renewed")+w.told("domain.transfer_in_completed"))
						w.same(what, k.price, w.number(`SELECT amount FROM test_orders WHERE id = (SELECT order_id FROM domains_operations WHERE id = $1)`, op))
						info, err := w.registry.Registry.Info(t.Context(), w.text(`SELECT name FROM domains WHERE id = $1`, id))
						if err != nil || !info.ExpiresAt.Equal(*mustGet(t, d, id).expiresAt) {
							t.Errorf("%s: the registry says %v %v", what, info.ExpiresAt, err)
						}
						if until > 0 {
							years := info.ExpiresAt.Sub(time.UnixMicro(until)).Hours() / 24 / 365
							if years < 0.99 || years > 1.01 {
								t.Errorf("%s: prolonged by %.2f years", what, years)
							}
						}
					}
				}
			}
		}
	})
}

func mustGet(t *testing.T, q db.Querier, id int64) domain {
	t.Helper()
	d, err := get(t.Context(), q, id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Two workers at the same operation at once, as after a machine that was believed dead.
func TestTwoWorkersAtOnceRegisterAndChargeOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.Registrars = registrars{w.registry.Registry}
		for n := range 5 {
			for _, name := range []string{"shop%d.com", "lost-%d.com", "moved-%d.com"} {
				more := ""
				if strings.HasPrefix(name, "moved") {
					more = `,"operation":"transfer","auth_code":"secret-code"`
				}
				id := w.order(fmt.Sprintf(name, n), more)
				op := w.op()
				w.exec(`UPDATE test_purse SET balance = 10000`)
				var wait sync.WaitGroup
				for range 4 {
					wait.Go(func() {
						for range 5 {
							if err := w.Work(t.Context(), op); err == nil {
								return
							} else if !errors.Is(err, errLater) {
								t.Error(err)
							}
						}
					})
				}
				wait.Wait()
				w.same("status", Active, w.status(id))
				w.same("balance", 10000, w.number(`SELECT balance FROM test_purse`))
			}
		}
		w.same("events", 15, w.told("domain.registered")+w.told("domain.transfer_in_completed"))
	})
}

// A worker that died holds its operation until its lease ends, and then another has it.
func TestAnOperationIsOneWorkersAtATime(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("shop.com", "")
		op := w.op()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := takeLease(ctx, tx, op, "the dead", tx.Now.Add(leaseFor))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
			t.Fatal(err)
		}
		w.same("status", PendingRegistration, w.status(id))
		clk.Advance(leaseFor)
		if err := w.Work(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		w.same("status", Active, w.status(id))
		// Who lost its lease neither asks the registrar nor ends anything.
		w.order("other.com", "")
		late := attempt{Service: w.Service, r: w.registry, lease: "the dead", o: operation{
			id: w.op(), orderID: w.number(`SELECT max(id) FROM test_orders`), kind: opRegister, status: "pending", createdAt: clk.Now(),
		}}
		late.d.name = "other.com"
		if err := late.run(t.Context()); !errors.Is(err, errEnded) {
			t.Error(err)
		}
		if err := late.fail(t.Context(), "registrar_rejected", ""); !errors.Is(err, errEnded) {
			t.Error(err)
		}
		w.same("registrations", 1, w.registry.registers)
		w.same("held", "held", w.text(`SELECT state FROM test_orders ORDER BY id DESC LIMIT 1`))
	})
}

// A registry that renews by itself gives nobody a year for nothing: the domain is as it was until it is paid, and a
// renewal that is paid is not made again.
func TestWhatTheRegistryRenewsByItselfIsPaid(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		one, three := w.registered("one.com"), w.registered("three.com")
		w.exec(`UPDATE domains SET auto_renew = $1`, false)
		before := w.number(`SELECT balance FROM test_purse`)
		until := *mustGet(t, d, one).expiresAt
		clk.Advance(366 * 24 * time.Hour)
		step := func() {
			t.Helper()
			if err := errors.Join(w.Step(t.Context(), one), w.Step(t.Context(), three)); err != nil {
				t.Fatal(err)
			}
		}
		step()
		for _, name := range []string{"one.com", "three.com"} {
			if _, err := w.registry.Registry.Renew(t.Context(), registrar.Renewal{TransactionID: "its own", Name: name, Years: 1, ExpiresAt: until}); err != nil {
				t.Fatal(err)
			}
		}
		step()
		step()
		w.same("unpaid", Grace, w.status(one))
		w.same("unpaid until", until, *mustGet(t, d, one).expiresAt)
		w.same("told of expiry", 2, w.told("domain.expired"))
		w.same("nothing is paid", before, w.number(`SELECT balance FROM test_purse`))
		w.registry.renews = 0
		w.put("POST", one, "/renew", `{}`, `"status":"pending"`)
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		w.same("renewals of one", 0, w.registry.renews)
		w.put("POST", three, "/renew", `{"years":3}`, `"status":"pending"`)
		for _, at := range []int{2, 0} { // killed after the renewal, and again
			w.registry.calls, w.registry.at, w.registry.after = 0, at, true
			if err := w.Work(t.Context(), w.op()); (err == nil) != (at == 0) {
				t.Fatal(err)
			}
		}
		w.same("renewals of three", 1, w.registry.renews)
		w.same("paid", before-4*1400, w.number(`SELECT balance FROM test_purse`))
		for id, years := range map[int64]int{one: 1, three: 3} {
			now := mustGet(t, d, id)
			w.same("paid", Active, now.status)
			if want := until.AddDate(years, 0, 0); !now.expiresAt.Equal(want) {
				t.Errorf("%s expires %v, want %v", now.name, now.expiresAt, want)
			}
		}
	})
}

// Money is set aside for what waits, so it is never without a job.
func TestWhatWaitsHasAJob(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.order("shop.com", "")
		const jobs = `SELECT count(*) FROM river_job WHERE kind = 'domains.work'`
		w.same("jobs", 1, w.number(jobs))
		w.exec(`DELETE FROM river_job WHERE kind = 'domains.work'`) // as one that was given up
		for range 2 {
			if err := w.Steps(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.same("jobs", 1, w.number(jobs))
		}
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		w.exec(`DELETE FROM river_job WHERE kind = 'domains.work'`)
		if err := w.Steps(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.same("jobs of what is done", 0, w.number(jobs))
	})
}

// A step that failed for hours does not keep a notice of the registry from being looked at for as long.
func TestAStepThatFailsMakesRoomForTheNext(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.registered("shop.com")
		clk.Advance(25 * time.Hour)
		if err := w.Steps(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.same("jobs", 1, w.number(`SELECT count(*) FROM river_job WHERE kind = 'domains.step'`))
		w.same("tries", 1, w.number(`SELECT count(*) FROM river_job WHERE kind = 'domains.step' AND max_attempts <= 3`))
	})
}

// silent is a registry that does not answer who listens to it.
type silent struct {
	*cutting
	until time.Time // when it is no longer listened to
}

func (s *silent) Poll(ctx context.Context) (registrar.Message, bool, error) {
	s.until, _ = ctx.Deadline()
	return registrar.Message{}, false, &registrar.Error{Kind: registrar.Unreachable}
}

func TestARegistryThatIsSilentDoesNotHoldUpWhatIsDue(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.order("shop.com", "")
		w.exec(`DELETE FROM river_job WHERE kind = 'domains.work'`)
		registry := &silent{cutting: w.registry}
		w.Registrars = registrars{registry}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := (&stepsWorker{domains: w.Service}).Work(ctx, nil); err == nil {
			t.Error("the silence is not told")
		}
		if ends, _ := ctx.Deadline(); registry.until.IsZero() || ends.Sub(registry.until) < 59*time.Minute {
			t.Errorf("it is listened to until %v of %v", registry.until, ends)
		}
		w.same("jobs", 1, w.number(`SELECT count(*) FROM river_job WHERE kind = 'domains.work'`))
	})
}

package sitedomains

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner    = 1
	stranger = 2
)

// world is the section with services in a table of the test's and a real panel.
type world struct {
	t       *testing.T
	db      *db.DB
	clk     *clock.Fake
	queue   *jobs.Queue
	events  *outbox.Outbox
	machine *machine
	dns     *dns
	*Service
	sitetest.Edge
}

const servicesTable = `CREATE TABLE test_services (id BIGINT NOT NULL, account_id BIGINT NOT NULL, panel TEXT NOT NULL, ref TEXT NOT NULL,
	status TEXT NOT NULL, domain TEXT NOT NULL, limits TEXT NOT NULL)`

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake, p panelFull) *world {
	t.Helper()
	q := sitetest.Queue(t, d)
	w := &world{t: t, db: d, clk: clk, queue: q, events: outbox.New(d, q), machine: &machine{panelFull: p}, dns: &dns{}}
	w.Service = New(Config{
		DB: d, Clock: clk, Queue: q, Events: w.events, Services: register{}, Worlds: register{}, Resolver: w.dns,
		Panels: panels{"it": w.machine, "bare": sitetest.Bare{}}, ReservedDomains: []string{"stead.test"},
	})
	w.Connect(Needs{Parts: []site.Part{}})
	w.Register(q.Workers())
	w.events.Register(q.Workers())
	w.events.Subscribe("service.*", w.Follow)
	w.exec(servicesTable)
	w.Edge = sitetest.NewEdge(t, d, clk, w.Operations())
	return w
}

// panelFull is what the real panels can do.
type panelFull interface {
	panel.Panel
	panel.Accounts
	panel.Usages
	panel.Sites
	panel.Files
}

func onNode(t *testing.T) (*node.Node, panelFull) {
	t.Helper()
	n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n, panelnode.New(n)
}

func onSandbox(t *testing.T) panelFull {
	t.Helper()
	return sitetest.Open(t, func() time.Time { return testkit.Start }, sandbox.Open)
}

// engines runs f on both engines with the sandbox panel.
func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk, onSandbox(t))) })
}

type panels map[string]panel.Panel

func (ps panels) Panel(name string) (panel.Panel, bool) { p, ok := ps[name]; return p, ok }

// machine is a panel that fails when it is told to, and counts its changes.
type machine struct {
	panelFull
	mu      sync.Mutex
	fails   map[string]error // by domain; "" for every call
	changes int
	before  func()       // called before a domain is set
	uses    *panel.Usage // nil: what there is
}

func (m *machine) fail(domain string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = map[string]error{domain: err}
}

func (m *machine) failure(domain string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.fails[""], m.fails[domain])
}

func (m *machine) Domains(ctx context.Context, ref string) ([]panel.Domain, error) {
	if err := m.failure(""); err != nil {
		return nil, panel.Wrap("sites.list", ref, err)
	}
	return m.panelFull.Domains(ctx, ref)
}

func (m *machine) SetDomain(ctx context.Context, ref string, d panel.Domain) (panel.Domain, error) {
	m.mu.Lock()
	before := m.before
	m.before = nil
	m.changes++
	m.mu.Unlock()
	if before != nil {
		before()
	}
	if err := m.failure(d.Name); err != nil {
		return panel.Domain{}, panel.Wrap("sites.set", ref, err)
	}
	return m.panelFull.SetDomain(ctx, ref, d)
}

// dns answers what the test says and counts its questions.
type dns struct {
	mu      sync.Mutex
	answers map[string]string // "": not found; "?": no answer
	asked   int
}

func (r *dns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	switch answer := r.answers[strings.TrimSuffix(host, ".")]; answer {
	case "":
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case "?":
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	default:
		var found []netip.Addr
		for _, a := range strings.Fields(answer) {
			found = append(found, netip.MustParseAddr(a))
		}
		return found, nil
	}
}

// register has the services in the table of the test.
type register struct{}

func (r register) Site(ctx context.Context, q db.Querier, accountID, serviceID int64) (site.Site, error) {
	s := site.Site{ServiceID: serviceID, AccountID: accountID, IPv4: "192.0.2.1"}
	var limits string
	err := q.QueryRow(ctx, `SELECT panel, ref, status, limits FROM test_services WHERE id = $1 AND account_id = $2`, serviceID, accountID).
		Scan(&s.Panel, &s.Ref, &s.Status, &limits)
	s.Limits = json.RawMessage(limits)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return s, err
}

func (r register) LockSite(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (site.Site, error) {
	var id int64
	err := tx.QueryRow(ctx, `SELECT id FROM test_services WHERE id = $1 AND account_id = $2`+tx.ForUpdate(), serviceID, accountID).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return site.Site{}, fault.NotFound.New()
	}
	if err != nil {
		return site.Site{}, err
	}
	return r.Site(ctx, tx, accountID, serviceID)
}

// Sandbox implements site.Worlds.
func (register) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == sandboxAccount, nil
}

// sandboxAccount is an account of a reseller's sandbox.
const sandboxAccount = 99

func (register) SetDomain(ctx context.Context, tx *db.Tx, serviceID int64, domain string) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET domain = $1 WHERE id = $2`, domain, serviceID)
	return err
}

const someLimits = `{"disk_mb":100,"inodes":-1,"sites":3,"domains":4,"subdomains":2,"databases":5}`

// service sells a service, as the sections do, and has its primary domain applied.
func (w *world) service(accountID, id int64, domain string) {
	w.t.Helper()
	ref := fmt.Sprint(id)
	_, err := w.machine.CreateAccount(w.t.Context(), panel.AccountSpec{Ref: ref, Username: "s" + ref, PrimaryDomain: domain, Limits: panel.Limits{DiskMB: 100}})
	w.must(err)
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO test_services VALUES ($1, $2, 'it', $3, 'active', $4, $5)`, id, accountID, ref, domain, someLimits)
		if err == nil {
			err = w.Claim(ctx, tx, accountID, id, domain)
		}
		return err
	})
	w.must(w.Apply(w.t.Context(), accountID, id))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tx(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	w.must(w.db.InTx(w.t.Context(), f))
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// add adds a domain to a service of the owner and answers its id.
func (w *world) add(serviceID int64, name string, kind Kind) int64 {
	w.t.Helper()
	r := w.Do("POST", fmt.Sprintf("/%d/domains", serviceID), "own", fmt.Sprintf(`{"name":%q,"kind":%q}`, name, kind))
	if r.Code != http.StatusCreated {
		w.t.Fatalf("add %s: %+v", name, r)
	}
	var d struct{ ID int64 }
	w.must(json.Unmarshal([]byte(r.Body), &d))
	return d.ID
}

// shown is a domain as the interface shows it.
type shown struct {
	ID         int64
	Name, Kind string
	Status     string
	FailureKey *string `json:"failure_key"`
	DNS        struct {
		Status    string
		Found     []string
		CheckedAt *time.Time `json:"checked_at"`
	}
}

func (w *world) shows(serviceID int64) map[string]shown {
	w.t.Helper()
	r := w.Do("GET", fmt.Sprintf("/%d/domains", serviceID), "own", "")
	var l struct{ Data []shown }
	if err := json.Unmarshal([]byte(r.Body), &l); err != nil || r.Code != http.StatusOK {
		w.t.Fatalf("list: %+v", r)
	}
	all := map[string]shown{}
	for _, d := range l.Data {
		all[d.Name] = d
	}
	return all
}

// has is what the panel has of the service, in one line.
func (w *world) has(serviceID int64) string {
	w.t.Helper()
	all, err := w.machine.panelFull.Domains(w.t.Context(), fmt.Sprint(serviceID))
	w.must(err)
	var line []string
	for _, d := range all {
		s := d.Name + "=" + d.DocumentRoot
		if d.RedirectTo != "" {
			s += ">" + d.RedirectTo
		}
		line = append(line, s)
	}
	return strings.Join(line, " ")
}

// start works jobs until the test ends.
func (w *world) start() {
	w.t.Helper()
	w.must(w.queue.Start(context.Background()))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := w.queue.Stop(ctx); err != nil {
			w.t.Error(err)
		}
	})
}

// visit asks a real server for the front page of a host.
func visit(t *testing.T, server, host string) (status int, location, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(b)
}

package sitedomains

import (
	"context"
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
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// world is the section with services on a machine.
type world struct {
	sitetest.World
	queue   *jobs.Queue
	events  *outbox.Outbox
	machine *machine
	dns     *dns
	*Service
}

func newWorld(base sitetest.World, p fullPanel) *world {
	base.T.Helper()
	q := sitetest.Queue(base.T, base.DB)
	w := &world{World: base, queue: q, events: outbox.New(base.DB), machine: &machine{fullPanel: p}, dns: &dns{}}
	w.Service = New(Config{
		Base: w.On(q, w.machine), Clock: base.Clock, Events: w.events, Primaries: base.Services, Worlds: base.Services, Resolver: w.dns,
		ReservedDomains: []string{"stead.test"},
	})
	w.Connect(Needs{Parts: []site.Part{}, Claims: Unclaimed{}, Zones: NoZones{}, Moves: Unmoved{}})
	w.Register(q.Workers())
	w.events.Subscribe("service.*", w.Follow)
	w.events.Subscribe("site_domain.verification_changed", w.Follow)
	// A reseller's client, who was admitted to service 10.
	w.Mount(w.Operations(), apitest.Tokens{"visit": {
		AccountID: owner, OnlyService: 10, FirstParty: true, Scopes: []string{auth.ScopeServicesRead, auth.ScopeServicesWrite},
	}})
	return w
}

// fullPanel is what the real panels can do.
type fullPanel interface {
	panel.Panel
	panel.Accounts
	panel.Usages
	panel.Sites
	panel.Files
}

func onNode(t *testing.T) (*node.Node, fullPanel) {
	t.Helper()
	n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n, panelnode.New(n)
}

func onSandbox(t *testing.T) fullPanel {
	t.Helper()
	return sitetest.Open(t, func() time.Time { return testkit.Start }, sandbox.Open)
}

// engines runs f on both engines with the sandbox panel.
func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) { f(base.T, newWorld(base, onSandbox(base.T))) })
}

// machine is a panel that fails when it is told to, and counts its changes.
type machine struct {
	fullPanel
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
	return m.fullPanel.Domains(ctx, ref)
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
	return m.fullPanel.SetDomain(ctx, ref, d)
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

// site is a service of the tests, with the limits of its plan.
func (w *world) site(accountID, id int64, domain string) site.Site {
	return site.Site{
		ServiceID: id, AccountID: accountID, Domain: domain, IPv4: "192.0.2.1",
		Limits: site.Limits{"disk_mb": 100, "inodes": -1, "sites": 3, "domains": 4, "subdomains": 2, "databases": 5},
	}
}

// service sells a service, as the sections do, and has its primary domain applied.
func (w *world) service(accountID, id int64, domain string) {
	w.T.Helper()
	w.SellWithin(w.machine, w.site(accountID, id, domain), panel.Limits{DiskMB: 100})
	w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Claim(ctx, tx, accountID, id, false, domain) })
	w.Must(w.Apply(w.T.Context(), accountID, id))
}

// add adds a domain to a service of the owner and answers its id.
func (w *world) add(serviceID int64, name string, kind Kind) int64 {
	w.T.Helper()
	var d struct{ ID int64 }
	w.Read(http.StatusCreated, "POST", fmt.Sprintf("/%d/domains", serviceID), fmt.Sprintf(`{"name":%q,"kind":%q}`, name, kind), &d)
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
	w.T.Helper()
	return sitetest.ByKey(&w.World, fmt.Sprintf("/%d/domains", serviceID), func(d shown) string { return d.Name })
}

// has is what the panel has of the service, in one line.
func (w *world) has(serviceID int64) string {
	w.T.Helper()
	all, err := w.machine.fullPanel.Domains(w.T.Context(), fmt.Sprint(serviceID))
	w.Must(err)
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

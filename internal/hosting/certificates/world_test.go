package certificates

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/node"
	nodecertificates "stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/nameserver"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// world is the section with services in a table of the test's, a real panel, and a name server of its own.
type world struct {
	sitetest.World
	panels  sitetest.Panels
	queue   *queue
	events  *outbox.Outbox
	domains *domains
	zones   *zones
	ns      *nameserver.Server
	dir     string // the machine's, on a node
	box     *secret.Box
	config  Config
	*Service
}

// queue keeps jobs until the test runs them.
type queue struct {
	mu   sync.Mutex
	jobs []river.JobArgs
}

func (q *queue) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, args)
	return nil
}

func (q *queue) take() []river.JobArgs {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.jobs
	q.jobs = nil
	return all
}

// domains are those of services, by service.
type domains struct {
	all       map[int64][]site.Domain
	refreshed int
}

func (d *domains) Hosted(_ context.Context, _ db.Querier, _, serviceID int64) ([]site.Domain, error) {
	return slices.Clone(d.all[serviceID]), nil
}

func (d *domains) Refusal(context.Context, db.Querier, int64, string) error { return nil }

func (d *domains) Refresh(context.Context, int64, int64) error {
	d.refreshed++
	return nil
}

// zones serves the texts of the section besides the records of the test.
type zones struct {
	mu      sync.Mutex
	server  *nameserver.Server
	serial  uint32
	records map[string][]nameserver.Record // by zone
	texts   map[string][]site.Record       // by owner
	taken   bool                           // a record of the customer's is in the way
	set     int
}

func (z *zones) ZoneOf(_ context.Context, _ db.Querier, _ int64, name string) (string, bool, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for zone := range z.records {
		if name == zone || strings.HasSuffix(name, "."+zone) {
			return zone, true, nil
		}
	}
	return "", false, nil
}

func (z *zones) SetSystem(_ context.Context, _ *db.Tx, _, _ int64, owner string, texts []site.Record) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.set++
	delete(z.texts, owner)
	if len(texts) > 0 {
		z.texts[owner] = texts
	}
	return z.serve()
}

func (z *zones) Placed(context.Context, db.Querier, int64, string) ([]bool, error) {
	return []bool{!z.taken}, nil
}

func (z *zones) serve() error {
	z.serial++
	for zone, records := range z.records {
		all := slices.Clone(records)
		for _, texts := range z.texts {
			for _, r := range texts {
				if strings.HasSuffix(r.Name, "."+zone) {
					all = append(all, nameserver.Record{Name: r.Name, Type: r.Type, TTL: 60, Data: `"` + r.Value + `"`})
				}
			}
		}
		err := z.server.Set(nameserver.Zone{Name: zone, Serial: z.serial, Primary: "ns1.stead.uz", Contact: "hostmaster.stead.uz", Records: all})
		if err != nil {
			return err
		}
	}
	return nil
}

// add serves records of a zone, "name type data" each.
func (w *world) add(zone string, records ...string) {
	w.T.Helper()
	w.zones.mu.Lock()
	defer w.zones.mu.Unlock()
	w.zones.records[zone] = []nameserver.Record{{Name: zone, Type: "NS", TTL: 60, Data: "ns1.stead.uz."}}
	for _, r := range records {
		words := strings.SplitN(r, " ", 3)
		w.zones.records[zone] = append(w.zones.records[zone], nameserver.Record{Name: words[0], Type: words[1], TTL: 60, Data: words[2]})
	}
	w.Must(w.zones.serve())
}

// lookups asks the test's name server.
type lookups struct {
	dnsquery.Client
	asked int
	lost  string // a name about which no answer comes
}

func (l *lookups) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host == l.lost {
		return nil, errors.New("i/o timeout")
	}
	return l.Client.LookupNetIP(ctx, network, host)
}

func (l *lookups) Serves(ctx context.Context, _, name, text string) (bool, error) {
	l.asked++
	found, err := l.TXT(ctx, name)
	return slices.Contains(found, text), err
}

// onNode answers a machine with certificates, whose clock is clk.
func (w *world) onNode() panel.Panel {
	w.T.Helper()
	w.dir = w.T.TempDir()
	n, err := node.New(w.T.Context(), node.Config{
		Dir: w.dir, Now: w.Clock.Now, Log: slog.New(slog.DiscardHandler), IPv4: "127.0.0.1",
		Facilities: func(n *node.Node) ([]facility.Facility, error) {
			keeper, err := nodecertificates.Open(w.dir, n.Lookup, w.Clock.Now)
			return []facility.Facility{keeper}, err
		},
	})
	w.Must(err)
	w.T.Cleanup(func() { _ = n.Close() })
	return panelnode.New(n)
}

// engines runs f on both engines; the panel "it" is the sandbox's, "node" a real machine's.
func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) { f(base.T, newWorld(base)) })
}

func newWorld(base sitetest.World) *world {
	base.T.Helper()
	t, d, clk, silent := base.T, base.DB, base.Clock, slog.New(slog.DiscardHandler)
	w := &world{World: base, queue: &queue{}, domains: &domains{all: map[int64][]site.Domain{}}}
	// Authorities live in the present, and what they issue begins there.
	clk.Set(time.Now().Truncate(time.Microsecond).Add(5 * time.Minute))
	w.events = outbox.New(d)
	w.panels = sitetest.Panels{"it": sitetest.Open(t, clk.Now, sandbox.Open), "bare": sitetest.Bare{}}
	w.panels["node"] = w.onNode()
	w.ns = nameserver.New(nameserver.Config{Now: time.Now, Log: silent})
	w.Must(w.ns.Listen(t.Context(), "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.ns.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	w.zones = &zones{server: w.ns, records: map[string][]nameserver.Record{}, texts: map[string][]site.Record{}}
	w.add("uz")
	var err error
	w.box, err = secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	w.Must(err)
	w.config = Config{
		Base:  site.Base{DB: d, Queue: w.queue, Services: w.Services, Panels: w.panels},
		Clock: clk, Events: w.events, Box: w.box, Domains: w.domains, Zones: w.zones,
		DNS:         &lookups{Client: dnsquery.Client{Servers: []netip.AddrPort{netip.MustParseAddrPort(w.ns.Addr())}, Timeout: 5 * time.Second}},
		Nameservers: []string{"ns1.stead.uz"}, Log: silent,
	}
	w.begin()
	return w
}

// begin makes the section anew, as a process that starts.
func (w *world) begin() {
	w.T.Helper()
	w.Service = New(w.config)
	w.Mount(w.Operations())
}

// service makes a service with domains on a panel.
func (w *world) service(id int64, on string, names ...string) {
	w.T.Helper()
	w.Services.Add(w.T, site.Site{
		ServiceID: id, AccountID: owner, Panel: on, Ref: fmt.Sprint(id), Status: "active", Domain: names[0], IPv4: "127.0.0.1",
	})
	accounts, ok := w.panels[on].(panel.Accounts)
	for i, name := range names {
		w.domains.all[id] = append(w.domains.all[id], site.Domain{ID: id*100 + int64(i), Name: name, Served: true, Usable: true, CreatedAt: w.Clock.Now()})
		if !ok {
			continue
		}
		if i == 0 {
			_, err := accounts.CreateAccount(w.T.Context(), panel.AccountSpec{Ref: fmt.Sprint(id), PrimaryDomain: name})
			w.Must(err)
			continue
		}
		_, err := w.panels[on].(panel.Sites).SetDomain(w.T.Context(), fmt.Sprint(id), panel.Domain{Name: name})
		w.Must(err)
	}
}

type answer struct {
	code int
	body string
	json map[string]any
}

func (a answer) key() string {
	key, _ := a.json["error"].(string)
	if reason, ok := a.json["reason"].(string); ok {
		key += " " + reason
	}
	return key
}

func (w *world) do(method, path, token, body string) answer {
	w.T.Helper()
	r := w.Do(method, path, token, body)
	a := answer{code: r.Code, body: r.Body}
	_ = json.Unmarshal([]byte(r.Body), &a.json)
	return a
}

// post asks for a certificate and answers its id.
func (w *world) post(service int64, body string) int64 {
	w.T.Helper()
	a := w.do("POST", fmt.Sprintf("/%d/ssl", service), "own", body)
	if a.code != 201 && a.code != 200 {
		w.T.Fatalf("POST %s: %d %s", body, a.code, a.body)
	}
	return int64(a.json["id"].(float64))
}

// run does the jobs that wait, each twice.
func (w *world) run() {
	w.T.Helper()
	for jobs := w.queue.take(); len(jobs) > 0; jobs = w.queue.take() {
		for _, j := range jobs {
			for range 2 {
				w.Must(w.work(w.T.Context(), j))
			}
		}
	}
}

func (w *world) work(ctx context.Context, job river.JobArgs) error {
	switch j := job.(type) {
	case tendArgs:
		return w.Tend(ctx, j.AccountID, j.ServiceID, j.CertificateID)
	case applyArgs:
		return w.Apply(ctx, j.AccountID, j.ServiceID)
	case sweepArgs:
		return w.Sweep(ctx)
	default:
		return nil // another's
	}
}

// after lets time pass and does what is due then.
func (w *world) after(d time.Duration) {
	w.T.Helper()
	w.Clock.Advance(d)
	w.Must(w.Sweep(w.T.Context()))
	w.run()
}

// shown is a certificate as the list shows it.
func (w *world) shown(service, id int64) map[string]any {
	w.T.Helper()
	a := w.do("GET", fmt.Sprintf("/%d/ssl", service), "own", "")
	for _, c := range a.json["data"].([]any) {
		if m := c.(map[string]any); int64(m["id"].(float64)) == id {
			return m
		}
	}
	w.T.Fatalf("certificate %d is not in %s", id, a.body)
	return nil
}

func (w *world) status(service, id int64) string { return fmt.Sprint(w.shown(service, id)["status"]) }

// tls is how a domain is answered by HTTPS on its panel.
func (w *world) tls(on string, service int64, name string) panel.TLS {
	w.T.Helper()
	all, err := w.panels[on].(panel.Sites).Domains(w.T.Context(), fmt.Sprint(service))
	w.Must(err)
	for _, d := range all {
		if d.Name == name {
			return d.TLS
		}
	}
	return ""
}

func (w *world) told() string { return strings.Join(w.EventTypes(), " ") }

// row reads a certificate as it is stored.
func (w *world) row(id int64) row {
	w.T.Helper()
	r, err := table.Find(w.T.Context(), w.DB, id)
	w.Must(err)
	return r
}

// leaf is the certificate in use.
func (w *world) leaf(id int64) *x509.Certificate {
	w.T.Helper()
	chain, err := certificate.ParseChain(w.row(id).chain)
	w.Must(err)
	return chain[0]
}

// noSecrets checks that no table's text and no answer has a key.
func (w *world) noSecrets(service int64) {
	w.T.Helper()
	if a := w.do("GET", fmt.Sprintf("/%d/ssl", service), "own", ""); strings.Contains(a.body, "PRIVATE") {
		w.T.Error("the list shows a key")
	}
	all, err := table.OfService(w.T.Context(), w.DB, service)
	w.Must(err)
	for _, r := range all {
		if strings.Contains(string(r.current.secret), "PRIVATE") || strings.Contains(string(r.order.secret), "PRIVATE") || strings.Contains(r.chain, "PRIVATE") {
			w.T.Error("a key is stored as it is")
		}
	}
}

// fileServer serves challenges as a web server does, at the port that it answers.
func (w *world) fileServer() int {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.URL.Path, "/.well-known/acme-challenge/")
		f, err := os.Open(filepath.Join(nodecertificates.Challenges(w.dir), filepath.Base(token)))
		if !ok || err != nil {
			http.NotFound(rw, r)
			return
		}
		defer f.Close()
		_, _ = io.Copy(rw, f)
	}))
	w.T.Cleanup(srv.Close)
	return srv.Listener.Addr().(*net.TCPAddr).Port
}

// challenges are the files of proofs that lie on the machine.
func (w *world) challenges() int {
	w.T.Helper()
	entries, err := os.ReadDir(nodecertificates.Challenges(w.dir))
	w.Must(err)
	return len(entries)
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

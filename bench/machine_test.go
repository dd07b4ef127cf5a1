package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/php"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// BenchmarkOrderToSite is from the call that pays an order to the first answer of the site, on a whole
// Linux machine under the built program: of a PHP page that its customer writes as soon as the service
// is active, and then of one that reads a row of a database that was made for it. One order after
// the other, back to back.
func BenchmarkOrderToSite(b *testing.B) {
	h := host(b)
	var active, page, row []time.Duration
	buy := func(i int) (a, p, r time.Duration) {
		domain := fmt.Sprintf("order-%d.stead.test", i)
		order := h.order(domain)
		began := time.Now()
		service := h.pay(order)
		a = time.Since(began)
		h.call(http.MethodPut, fmt.Sprintf("/api/v1/services/%d/files/content", service),
			map[string]any{"path": "/public_html/hello.php", "content": "<?php echo 6 * 7;"}, nil)
		h.await(func() bool { return h.visit(domain, "/hello.php", "42") }, "the page is served")
		p = time.Since(began)
		h.database(service, domain)
		h.await(func() bool { return h.visit(domain, "/row.php", domain) }, "the row is shown")
		return a, p, time.Since(began)
	}
	buy(1000) // the first one of a machine makes what all share
	i := 0
	for b.Loop() {
		a, p, r := buy(i)
		active, page, row = append(active, a), append(page, p), append(row, r)
		i++
	}
	report(b, active, "active")
	report(b, page, "php")
	report(b, row, "row")
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, took []time.Duration, what string) {
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "p50-"+what+"-ms")
	b.ReportMetric(ms(took[len(took)-1]), "max-"+what+"-ms")
}

// The facilities of an account whose cost is told apart.
const (
	costAccount     = "account" // user, home, quota, nginx, PHP
	costMailboxes   = "mailboxes"
	costDatabase    = "database"
	costCertificate = "certificate"
	costRenewal     = "renewal"
)

// BenchmarkAccountOnMachine makes accounts on whole machines and tells what one costs where there are 10,
// 300 and 1,000, in time and in processor time of this process and all daemons: user, home, quota, nginx, PHP and what else a
// machine has; five mailboxes, of which the first makes the domain's key of DKIM; a database of MariaDB; a certificate of its
// own; and another one in its place. The accounts before are made 64 at once, and share reloads; how many those were is in the
// log (-v). Then each machine makes one in its turn, so that what else the computer does falls on all alike. At last all
// accounts are reconciled, of which none has changed: once so that all is as it should be, and once to see what that costs.
// STEAD_BENCH_ACCOUNTS stands for the 1,000 when it is set, and STEAD_BENCH_ROUNDS for the 15 that each machine makes.
func BenchmarkAccountOnMachine(b *testing.B) {
	rounds := int(setting(b, "STEAD_BENCH_ROUNDS", 15))
	most := int(setting(b, "STEAD_BENCH_ACCOUNTS", 1000))
	sizes := slices.Compact([]int{10, min(300, most), most})
	for b.Loop() {
		took, spent := map[string]map[int][]time.Duration{}, map[string]map[int]time.Duration{}
		var machines []*growing
		for _, n := range sizes {
			g := newGrowing(b, n+rounds)
			g.fill(n - rounds/2 - 1)
			machines = append(machines, g)
		}
		for range rounds {
			for i, g := range machines {
				for what, c := range g.one() {
					if took[what] == nil {
						took[what], spent[what] = map[int][]time.Duration{}, map[int]time.Duration{}
					}
					took[what][sizes[i]] = append(took[what][sizes[i]], c.took)
					spent[what][sizes[i]] += c.spent
				}
			}
		}
		for what, bySize := range took {
			for n, all := range bySize {
				slices.Sort(all)
				b.ReportMetric(float64(all[rounds/2].Microseconds())/1000, fmt.Sprintf("%s-ms/%dth", what, n))
				b.ReportMetric(float64(spent[what][n].Microseconds())/1000/float64(rounds), fmt.Sprintf("%s-cpu-ms/%dth", what, n))
			}
			b.ReportMetric(float64(bySize[most][rounds/2])/float64(bySize[10][rounds/2]), what+"-ratio")
			b.ReportMetric(float64(spent[what][most])/float64(spent[what][10]), what+"-cpu-ratio")
		}
		for i, g := range machines {
			g.m.Reconcile(b.Context())
			stop := nodetest.ProcessorTime(b, g.dir, g.supervisor)
			g.m.Reconcile(b.Context())
			b.ReportMetric(stop().Seconds(), fmt.Sprintf("reconcile-cpu-s/%d", sizes[i]))
		}
		b.ReportMetric(0, "ns/op")
	}
}

// growing is a whole machine on which accounts are made.
type growing struct {
	*testing.B
	m            *machine.Machine
	dir          string
	supervisor   daemon.Supervisor
	mail         panel.Mail
	databases    panel.Databases
	certificates panel.Certificates
	made         int
}

// newGrowing starts a machine with room for most accounts. It is gone with the benchmark.
func newGrowing(b *testing.B, most int) *growing {
	dir := nodetest.Dir(b)
	cfg := machine.Config{
		Kind: machine.Linux, Dir: dir, Now: time.Now, Log: nodetest.Log(b), Host: "127.0.0.1", WebGroup: nodetest.Web,
		Supervisor: nodetest.Supervisor(b, dir), Mail: machine.Mail{Hostname: "mx.stead.test"},
	}
	cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax = nodetest.UsersSized(b, most)
	for _, ports := range []reflect.Value{reflect.ValueOf(&cfg.Ports).Elem(), reflect.ValueOf(&cfg.Mail.Ports).Elem()} {
		for i := range ports.NumField() {
			ports.Field(i).SetInt(int64(testkit.Port(b)))
		}
	}
	m, err := machine.Open(b.Context(), cfg)
	must(b, err)
	b.Cleanup(func() { endMachine(b, m, cfg) })
	g := &growing{B: b, m: m, dir: dir, supervisor: cfg.Supervisor}
	port := panelnode.New(m.Node)
	g.mail, err = panel.Of[panel.Mail](port, panel.CapMail)
	must(b, err)
	g.databases, err = panel.Of[panel.Databases](port, panel.CapDatabases)
	must(b, err)
	g.certificates, err = panel.Of[panel.Certificates](port, panel.CapCertificates)
	must(b, err)
	return g
}

// next is what makes an account with all that it has, in order.
func (g *growing) next() []step {
	g.made++
	name := fmt.Sprintf("u%d", g.made)
	domain := name + ".example"
	certify := func() error {
		chain, key := ownCertificate(g.B, domain)
		_, err := g.certificates.SetCertificate(g.Context(), name, panel.Certificate{Name: "own", Chain: chain, Key: key, Domains: []string{domain}})
		return err
	}
	return []step{
		{costAccount, func() error {
			_, err := g.m.CreateAccount(g.Context(), panel.AccountSpec{
				Ref: name, Username: name, PrimaryDomain: domain, Limits: panel.Limits{DiskMB: 100, Processes: 20, MemoryMB: 256},
			})
			return err
		}},
		{costMailboxes, func() error {
			for i := range 5 {
				_, err := g.mail.SetMailbox(g.Context(), name, panel.Mailbox{
					Address: fmt.Sprintf("box%d@%s", i, domain), PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe", QuotaMB: 5,
				})
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{costDatabase, func() error {
			account, err := g.m.Account(g.Context(), name)
			if err != nil {
				return err
			}
			_, err = g.databases.SetDatabase(g.Context(), name, panel.Database{
				Name: account.Username + "_shop", Engine: panel.MariaDB, Password: rand.Text(), PasswordVersion: "1", MaxSizeMB: 100,
			})
			return err
		}},
		{costCertificate, certify},
		{costRenewal, certify},
	}
}

// step is a part of what an account is made of.
type step struct {
	what string
	do   func() error
}

// ownCertificate is one for a domain that nobody trusts.
func ownCertificate(b *testing.B, domain string) (chain, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(b, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: domain}, DNSNames: []string{domain},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 3, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(b, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(b, err)
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", pkcs8)
}

// fill makes accounts until there are n, 64 at once.
func (g *growing) fill(n int) {
	var all errgroup.Group
	all.SetLimit(64)
	began := time.Now()
	for g.made < n {
		steps := g.next()
		all.Go(func() error {
			for _, s := range steps {
				if err := s.do(); err != nil {
					return fmt.Errorf("%s: %w", s.what, err)
				}
			}
			return nil
		})
	}
	must(g.B, all.Wait())
	g.Logf("%d accounts, 64 at once: %v, %d reloads of nginx, %d of PHP", n, time.Since(began).Round(time.Millisecond),
		g.m.Web().(*nginx.Server).Reloads(), g.m.Facility(panel.CapPHP).(*php.Driver).Reloads())
}

// cost is what a step took, and the processor time that it spent, with what daemons did soon after it.
type cost struct{ took, spent time.Duration }

// one makes a lone account and tells what each part cost: no pause between reloads is in it.
func (g *growing) one() map[string]cost {
	all := map[string]cost{}
	for _, s := range g.next() {
		stop := nodetest.ProcessorTime(g.B, g.dir, g.supervisor)
		began := time.Now()
		must(g.B, s.do())
		took := time.Since(began)
		<-time.After(200 * time.Millisecond) // sleeps: until former workers have ended
		all[s.what] = cost{took, stop()}
		if s.what == costAccount {
			<-time.After(time.Second) // sleeps: until a reload need not wait for the one before it
		}
	}
	return all
}

func endMachine(b *testing.B, m *machine.Machine, cfg machine.Config) {
	must(b, m.Close())
	for _, name := range daemon.Running(filepath.Join(cfg.Dir, "daemons")) { // before their users go
		must(b, cfg.Supervisor.Stop(context.WithoutCancel(b.Context()), name))
	}
	clearMachine(b, cfg.Dir, cfg.UserPrefix)
}

// Package node runs the accounts of one hosting machine: their directories, their web sites, their
// files. Each facility is a package of its own with one small interface and drivers behind it; this
// package ties them together and speaks the language of the panel port.
//
// The state of the machine is what lies in its directory. Everything in memory is read from there on
// start, so a node that was killed serves what it served before, and finishes what it was doing.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/keylock"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/port/panel"
)

// Config configures a node.
type Config struct {
	Dir string // everything of the node is below it
	Now func() time.Time
	Log *slog.Logger

	// The machine's public addresses; reported with every account.
	OriginURL   string
	IPv4, IPv6  string
	Nameservers []string
	Location    string
	// PreviewDomain shows each account's primary site as <account>.<PreviewDomain>, before the DNS of its domain points
	// here; its own records must. It is then the accounts' OriginURL. Empty is none.
	PreviewDomain string
	// Names are the machine's own, such as its mail name; no account can have them.
	Names []string
	// HTTPS says that another server answers the sites by HTTPS too, so that it can be forced. A machine with the
	// facility of certificates answers itself.
	HTTPS bool

	// LogSize is the size of the log that an account's programs write by themselves, in bytes; nil: they write none.
	LogSize func(account string) int64

	// Left are accounts, by ref, that have left for another machine in an epoch, as it was told before the machine opens:
	// they are not served even for a moment.
	Left map[string]int64

	// Web is the driver for sites; nil is the Go server, whose Handler then answers for them.
	Web web.Server

	// Accounts opens the driver for accounts; nil is one that keeps them as directories below Dir.
	Accounts func() (accounts.Accounts, error)
	// Facilities creates the machine's facilities besides files and sites, in the order in which they are applied; they
	// are removed in the reverse order. They get the node for its Lookup and Files; the rest of it is not ready then.
	Facilities func(n *Node) ([]facility.Facility, error)
}

// reconcile is how often the background compares the machine with its records.
const reconcile = 5 * time.Minute

// Node is a hosting machine. It is safe for concurrent use.
type Node struct {
	cfg        Config
	accounts   accounts.Accounts
	web        web.Server
	facilities []facility.Facility
	// certificates is one of the facilities; nil when nothing here answers HTTPS.
	certificates *certificates.Driver
	// interpreter is the facility that runs programs; nil when there is none.
	interpreter facility.Interpreter
	// postman is the facility that has mailboxes; nil when there is none.
	postman facility.Postman

	// Files works on the files of the node's accounts.
	Files *files.Driver

	// closed are the directories that each account closes to visitors; closures finds them.
	closed   *record.Store[[]files.Closed]
	closures *closures

	applying keylock.Locks // serializes reading an account's record and applying it, so that the newest one lasts
	turns    turns

	startingMu sync.Mutex
	unready    map[panel.Capability]error // facilities that did not start, and why

	stop       context.CancelFunc
	background sync.WaitGroup
	closers    []func() error
}

// New opens the machine: it reads the accounts, finishes what a crash interrupted and serves all sites.
func New(ctx context.Context, cfg Config) (_ *Node, err error) {
	if cfg.Dir == "" || cfg.Now == nil || cfg.Log == nil {
		return nil, fmt.Errorf("node: Dir, Now and Log are needed")
	}
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	n := &Node{cfg: cfg, web: cfg.Web, closures: newClosures()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("node: %w", err), n.Close())
		}
	}()
	if n.accounts, err = n.openAccounts(); err != nil {
		return nil, err
	}
	n.closers = append(n.closers, n.accounts.Close)
	if n.web == nil {
		n.web = web.NewGoServer(cfg.Now, cfg.Log)
	}
	n.closers = append(n.closers, n.web.Close)
	for ref, epoch := range cfg.Left {
		if _, err := n.markLeft(ctx, ref, epoch, panel.Forward{}); err != nil && !errors.Is(err, panel.ErrNotFound) {
			return nil, fmt.Errorf("account %s has left: %w", ref, err)
		}
	}
	if n.closed, err = record.Open[[]files.Closed](filepath.Join(cfg.Dir, "state", "closed")); err != nil {
		return nil, err
	}
	n.Files = files.New(n.home)
	n.Files.OnAccess(n.closures.ask)
	if cfg.Facilities != nil {
		if n.facilities, err = cfg.Facilities(n); err != nil {
			return nil, err
		}
	}
	if keeper, ok := n.Facility(panel.CapCertificates).(*certificates.Driver); ok {
		n.certificates = keeper
		keeper.Follow(n.apply)
	}
	for _, f := range n.facilities {
		if i, ok := f.(facility.Interpreter); ok {
			n.interpreter = i
			i.Follow(n.apply)
		}
		if p, ok := f.(facility.Postman); ok {
			n.postman = p
			p.FollowDomains(n.apply)
		}
		if w, ok := f.(facility.Writer); ok {
			w.OnWritten(n.Files.Measure)
		}
		if c, ok := f.(io.Closer); ok {
			n.closers = append(n.closers, c.Close)
		}
	}
	n.start(ctx)
	if sites, ok := n.web.(web.Expecter); ok {
		for _, rec := range n.accounts.List() {
			sites.Expect(rec.Name, n.sites(rec))
		}
	}
	_, here := n.web.(http.Handler) // otherwise a daemon serves the sites, and has done so meanwhile
	for _, rec := range n.accounts.List() {
		err := identity.Do(n.of(rec), func() error { return files.Sweep(n.accounts.Home(rec)) })
		if err != nil {
			cfg.Log.Error("home cannot be swept", "account", rec.Ref, "error", err)
		}
		if !here && rec.Left == 0 {
			continue // what has left is told to the daemon, which may serve it still
		}
		if err := n.web.Apply(ctx, rec.Name, n.sites(rec)); err != nil {
			return nil, fmt.Errorf("site of %s: %w", rec.Ref, err)
		}
	}
	var background context.Context
	background, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	n.background.Go(func() { n.follow(background) })
	n.background.Go(func() { n.closeDirectories(background) })
	n.background.Go(func() { n.every(background, reconcile, n.Reconcile) })
	n.background.Go(func() { n.every(background, thawing, n.Thaw) })
	return n, nil
}

// start starts the facilities that do not run, in parallel. One that fails does not delay the others: the next
// reconciliation starts it again.
func (n *Node) start(ctx context.Context) {
	n.startingMu.Lock()
	defer n.startingMu.Unlock()
	again := n.unready
	failed := map[panel.Capability]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, f := range n.facilities {
		s, ok := f.(facility.Starter)
		if _, failedBefore := again[f.Capability()]; !ok || again != nil && !failedBefore {
			continue
		}
		all.Go(func() {
			if err := s.Start(ctx); err != nil {
				n.cfg.Log.Error("facility does not start", "facility", f.Capability(), "error", err)
				mu.Lock()
				defer mu.Unlock()
				failed[f.Capability()] = err
			}
		})
	}
	all.Wait()
	n.unready = failed
}

// Unready are the facilities that did not start, and why.
func (n *Node) Unready() map[panel.Capability]error {
	n.startingMu.Lock()
	defer n.startingMu.Unlock()
	return maps.Clone(n.unready)
}

func (n *Node) openAccounts() (accounts.Accounts, error) {
	if n.cfg.Accounts != nil {
		return n.cfg.Accounts()
	}
	return accounts.OpenDirectories(n.cfg.Dir, n.cfg.Now, n.cfg.Log)
}

// Close stops the node; daemons of their own keep serving the accounts.
func (n *Node) Close() error {
	if n.stop != nil {
		n.stop()
	}
	n.background.Wait()
	var err error
	for _, c := range slices.Backward(n.closers) {
		err = errors.Join(err, c())
	}
	return err
}

// Facility is the facility with the capability c; nil when there is none.
func (n *Node) Facility(c panel.Capability) facility.Facility {
	i := slices.IndexFunc(n.facilities, func(f facility.Facility) bool { return f.Capability() == c })
	if i < 0 {
		return nil
	}
	return n.facilities[i]
}

// Web is the driver for sites.
func (n *Node) Web() web.Server { return n.web }

// Handler answers HTTP for the sites. With a driver that uses a daemon it answers 404.
func (n *Node) Handler() http.Handler {
	if h, ok := n.web.(http.Handler); ok {
		return h
	}
	return http.NotFoundHandler()
}

// Serve answers HTTP for the sites on ln until ctx ends, and then gives running answers at most grace.
func (n *Node) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	srv := web.HTTPServer(n.Handler(), n.cfg.Log)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("node: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("node: %w", err), srv.Close())
	}
	return nil
}

// every calls do at once and then periodically until ctx ends.
func (n *Node) every(ctx context.Context, pause time.Duration, do func(context.Context)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Reconcile compares every account's wanted and present state, and corrects differences: somebody edited a file by
// hand, a daemon lost its configuration.
func (n *Node) Reconcile(ctx context.Context) {
	n.start(ctx)
	for _, ref := range n.accounts.Deleting() {
		if err := n.end(ctx, ref, n.accounts.Finish); err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
			n.cfg.Log.Warn("account cannot be removed", "account", ref, "error", err)
		}
	}
	// In parallel, as those whose configuration differs share reloads.
	all := n.accounts.List()
	atonce.Each(len(all), 8, func(i int) {
		if ctx.Err() != nil {
			return
		}
		err := n.accounts.Settle(ctx, all[i].Ref)
		if err == nil {
			err = n.apply(ctx, all[i].Ref)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
			n.cfg.Log.Warn("account cannot be put right", "account", all[i].Ref, "error", err)
		}
	})
}

// Refs lists the accounts of the machine, including those whose deletion has begun.
func (n *Node) Refs() []string {
	return append(n.accounts.Deleting(), n.accounts.Refs()...)
}

// here is the record of an account that this machine has; one that has left for another machine is not found.
func (n *Node) here(ref string) (accounts.Record, error) {
	rec, err := n.accounts.Get(ref)
	if err == nil && rec.Left > 0 {
		return accounts.Record{}, errLeft
	}
	return rec, err
}

// Lookup implements facility.Lookup.
func (n *Node) Lookup(ref string) (accounts.Account, error) {
	rec, err := n.here(ref)
	if err != nil {
		return accounts.Account{}, err
	}
	return n.of(rec), nil
}

func (n *Node) of(rec accounts.Record) accounts.Account {
	a := accounts.Account{Record: rec, Home: n.accounts.Home(rec)}
	if rec.Left > 0 {
		a.Domains = n.forwarded(rec)
	}
	if rec.User.UID != 0 {
		a.Jail = filepath.Dir(a.Home)
	}
	return a
}

func (n *Node) home(ref string) (files.Home, error) {
	rec, err := n.here(ref)
	if err != nil {
		return files.Home{}, err
	}
	return files.Home{Account: rec.Name, User: rec.User, Dir: n.accounts.Home(rec), Limits: rec.Limits, Suspended: rec.Suspended}, nil
}

// sites groups the account's domains by how they are answered: domains that are answered alike are one site.
func (n *Node) sites(rec accounts.Record) []web.Site {
	var sites []web.Site
	if rec.Left > 0 {
		return n.forwards(rec)
	}
	suspended := rec.Suspended
	if rec.OnHold() {
		suspended = rec.Held.Suspended
	}
	for _, d := range rec.Domains {
		state, secure := n.tls(rec.Name, d.Name)
		if state == panel.TLSSelfSigned { // they are equivalent: the server has one for all
			secure.Chain, secure.Key = "", ""
		}
		i := 0
		for i < len(sites) && (sites[i].Certificate != secure.Chain || sites[i].DocumentRoot != d.DocumentRoot ||
			sites[i].RedirectTo != d.RedirectTo || sites[i].ForceHTTPS != d.ForceHTTPS || sites[i].HSTS != secure.HSTS) {
			i++
		}
		if i < len(sites) {
			sites[i].Aliases = append(sites[i].Aliases, d.Name)
			continue
		}
		sites = append(sites, web.Site{
			Domain: d.Name, Home: n.accounts.Home(rec), DocumentRoot: d.DocumentRoot,
			RedirectTo: d.RedirectTo, ForceHTTPS: d.ForceHTTPS, Suspended: suspended, Moving: rec.Arriving,
			Certificate: secure.Chain, CertificateKey: secure.Key, HSTS: secure.HSTS, GID: rec.User.GID,
			Closed: n.closedIn(rec, d.DocumentRoot),
		})
	}
	var withMail []string
	if n.postman != nil {
		withMail = n.postman.WithMail(rec.Name)
	}
	for i := range sites {
		for _, domain := range append([]string{sites[i].Domain}, sites[i].Aliases...) {
			if slices.Contains(withMail, domain) {
				sites[i].Mail = append(sites[i].Mail, domain)
			}
		}
		if n.interpreter != nil {
			sites[i].PHP = n.interpreter.Socket(n.of(rec))
			sites[i].ReadOnly = rec.OnHold()
		}
	}
	if n.cfg.PreviewDomain != "" && len(sites) > 0 {
		sites[0].Preview = rec.Name + "." + n.cfg.PreviewDomain
	}
	return sites
}

// apply serves the account as its record says now. A facility that fails does not prevent the others. Of many calls
// that wait for a running one, the first does the work of all: adding a hundred domains at once does not cause a
// hundred reloads of the web server.
func (n *Node) apply(ctx context.Context, ref string) error {
	asked := n.turns.next()
	defer n.applying.Lock(ref)()
	if n.turns.last(ref) > asked {
		return nil
	}
	began := n.turns.next()
	err := n.applyNow(ctx, ref)
	if err == nil {
		n.turns.done(ref, began)
	}
	return err
}

func (n *Node) applyNow(ctx context.Context, ref string) error {
	rec, err := n.accounts.Get(ref)
	if err != nil {
		return err
	}
	all := make([]func() error, 0, len(n.facilities)+1)
	for _, f := range n.facilities {
		all = append(all, func() error {
			if failed := f.Apply(ctx, n.of(rec)); failed != nil {
				return fmt.Errorf("%s: %w", f.Capability(), failed)
			}
			return nil
		})
	}
	all = append(all, func() error {
		if failed := n.web.Apply(ctx, rec.Name, n.sites(rec)); failed != nil {
			return fmt.Errorf("%s: %w", panel.CapSites, failed)
		}
		return nil
	})
	// One after the other, sites last: they need what comes before. A suspension needs nothing and must not wait for the slowest
	// everywhere, so all begin it at once.
	atMost := 1
	if rec.Suspended {
		atMost = len(all)
	}
	failed := make([]error, len(all))
	atonce.Each(len(all), atMost, func(i int) { failed[i] = all[i]() })
	err = errors.Join(failed...)
	if rec.Suspended { // ends what a facility ran until it knew of the suspension
		err = errors.Join(err, n.accounts.Settle(ctx, ref))
	}
	return err
}

// update changes the record and applies it; it applies an unchanged record too, because the call may repeat one that
// was interrupted in between.
func (n *Node) update(ctx context.Context, ref string, change func(*accounts.Record) error) (accounts.Record, error) {
	rec, err := n.accounts.Update(ctx, ref, func(rec *accounts.Record) error {
		if rec.Left > 0 {
			return errLeft
		}
		return change(rec)
	})
	if err != nil {
		return rec, err
	}
	n.closures.ask(ref) // a document root may have changed
	return rec, errors.Join(n.yield(ctx, rec), n.apply(ctx, ref))
}

// CreateAccount implements panel.Accounts.
func (n *Node) CreateAccount(ctx context.Context, spec panel.AccountSpec) (panel.Account, error) {
	var rec accounts.Record
	err := n.claimable(spec.Ref, spec.PrimaryDomain)
	if err == nil {
		rec, err = n.accounts.Create(ctx, spec)
	}
	if err == nil {
		n.closures.ask(rec.Ref) // a former account of that name may have closed something
		err = errors.Join(n.yield(ctx, rec), n.apply(ctx, rec.Ref))
	}
	return n.answer(rec), panel.Wrap("accounts.create", spec.Ref, err)
}

// Account implements panel.Accounts.
func (n *Node) Account(_ context.Context, ref string) (panel.Account, error) {
	rec, err := n.here(ref)
	return n.answer(rec), panel.Wrap("accounts.get", ref, err)
}

func (n *Node) answer(rec accounts.Record) panel.Account {
	if rec.Ref == "" {
		return panel.Account{}
	}
	acc := panel.Account{
		Ref: rec.Ref, Username: rec.Name, PrimaryDomain: rec.Domains[0].Name, Domains: n.domains(rec),
		Limits: rec.Limits, Status: panel.AccountActive, CreatedAt: rec.CreatedAt,
		OriginURL: n.originURL(rec), IPv4: n.cfg.IPv4, IPv6: n.cfg.IPv6,
		Nameservers: slices.Clone(n.cfg.Nameservers), Location: n.cfg.Location,
	}
	if rec.Suspended && (!rec.OnHold() || rec.Held.Suspended) {
		acc.Status = panel.AccountSuspended
	}
	return acc
}

// originURL is where the account's site can be seen whatever its DNS says.
func (n *Node) originURL(rec accounts.Record) string {
	if n.cfg.PreviewDomain == "" {
		return n.cfg.OriginURL
	}
	return "http://" + rec.Name + "." + n.cfg.PreviewDomain
}

// SuspendAccount implements panel.Accounts.
func (n *Node) SuspendAccount(ctx context.Context, ref string) error {
	return panel.Wrap("accounts.suspend", ref, n.setSuspended(ctx, ref, true))
}

// UnsuspendAccount implements panel.Accounts.
func (n *Node) UnsuspendAccount(ctx context.Context, ref string) error {
	return panel.Wrap("accounts.unsuspend", ref, n.setSuspended(ctx, ref, false))
}

func (n *Node) setSuspended(ctx context.Context, ref string, suspended bool) error {
	_, err := n.update(ctx, ref, func(rec *accounts.Record) error {
		if rec.OnHold() {
			rec.Held.Suspended = suspended // from the end of the hold on
			return nil
		}
		rec.Suspended = suspended
		return nil
	})
	return err
}

// UpdateAccount implements panel.Accounts.
func (n *Node) UpdateAccount(ctx context.Context, ref string, limits panel.Limits) (panel.Account, error) {
	rec, err := n.update(ctx, ref, func(rec *accounts.Record) error {
		rec.Limits = limits
		return nil
	})
	return n.answer(rec), panel.Wrap("accounts.update", ref, err)
}

// DeleteAccount implements panel.Accounts.
func (n *Node) DeleteAccount(ctx context.Context, ref string) error {
	if _, err := n.here(ref); errors.Is(err, errLeft) {
		return panel.Wrap("accounts.delete", ref, err)
	}
	return panel.Wrap("accounts.delete", ref, n.end(ctx, ref, n.accounts.Delete))
}

// end deletes an account by Delete or Finish. The sites go first, so that nothing half deleted is served.
func (n *Node) end(ctx context.Context, ref string, way func(context.Context, string, func(context.Context, accounts.Record) error) error) error {
	if n.certificates != nil {
		defer n.certificates.Hold(ref)()
	}
	defer n.applying.Lock(ref)()
	err := way(ctx, ref, func(ctx context.Context, rec accounts.Record) error {
		if err := n.web.Apply(ctx, rec.Name, nil); err != nil {
			return err
		}
		for _, f := range slices.Backward(n.facilities) {
			if err := f.Remove(ctx, n.of(rec)); err != nil {
				return fmt.Errorf("%s: %w", f.Capability(), err)
			}
		}
		return n.closed.Delete(rec.Name)
	})
	if err == nil {
		n.turns.forget(ref)
		n.Files.Forget(ref)
		n.closures.forget(ref)
	}
	return err
}

// Usage implements panel.Usages.
func (n *Node) Usage(ctx context.Context, ref string) (panel.Usage, error) {
	rec, err := n.here(ref)
	if err != nil {
		return panel.Usage{}, panel.Wrap("usage", ref, err)
	}
	usage, err := n.Files.Occupied(ctx, ref)
	if err != nil {
		return panel.Usage{}, err
	}
	usage.Domains = len(rec.Domains)
	usage.Ignored = n.closures.ignoredOf(ref)
	for _, f := range n.facilities {
		if c, ok := f.(facility.Counter); ok {
			if err := c.Count(ctx, n.of(rec), &usage); err != nil {
				return panel.Usage{}, panel.Wrap("usage", ref, err)
			}
		}
	}
	return usage, nil
}

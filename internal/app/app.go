// Package app builds the program: it makes every part in order, listens on the addresses, schedules the jobs, and stops
// everything in order. It is the only package that imports all others, and it connects sections that need each other.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/front/reference"
	"stead.dev/stead/internal/hosting/dns"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/autohttps"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/nameserver"
)

// App is one server process. New builds it, Run serves until its context ends, Close frees what New took. Each is called
// once.
type App struct {
	*core
	edge    *api.Edge
	staff   *api.Edge // the operations of staff
	notices notices

	own      *autohttps.Manager // of the certificates of site; nil: somebody else gets them
	site     endpoint
	nodeSite *endpoint // nil: this process serves no sites
	// nodeSecure serves the same sites by HTTPS. It is nil where nothing serves HTTPS, or where nginx does.
	nodeSecure *endpoint
	redirect   *endpoint // leads to site by HTTPS; nil: switched off
	operators  *endpoint // nil: switched off
	machines   *endpoint // where nodes join and report; nil: switched off

	nameserver *nameserver.Server // nil: switched off
	zones      *dns.Feed

	running   requests
	queueRuns atomic.Bool
	draining  atomic.Bool
	held      atomic.Bool // on hold after a restore
}

// endpoint is an address and the server that answers there.
type endpoint struct {
	name string
	ln   net.Listener
	srv  *http.Server
	url  string
}

// New builds a server. When it returns, the server listens on all addresses and serves nothing yet.
func New(ctx context.Context, cfg config.Config, opts Options) (_ *App, err error) {
	a := &App{notices: notices{out: opts.Notices, program: opts.Program}}
	var early []net.Listener
	defer func() {
		if err == nil {
			return
		}
		for _, ln := range early {
			_ = ln.Close() // the error that matters is on its way
		}
		if a.core != nil {
			err = errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
	}()
	listen := func(setting, address string) (net.Listener, error) {
		if address == config.Off {
			return nil, nil
		}
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, taken(ctx, err, setting, address)
		}
		early = append(early, ln)
		return ln, nil
	}
	siteLn, err := listen("STEAD_LISTEN", cfg.Listen)
	if err != nil {
		return nil, err
	}
	var nodeLn, secureLn net.Listener
	if cfg.NodeMachine == config.MachineDirectories { // another one's daemons listen themselves
		if nodeLn, err = listen("STEAD_NODE_LISTEN", cfg.NodeListen); err != nil {
			return nil, err
		}
	}
	if nodeLn != nil {
		if secureLn, err = listen("STEAD_NODE_TLS_LISTEN", cfg.NodeTLSListen); err != nil {
			return nil, err
		}
	}
	redirectLn, err := listen("STEAD_REDIRECT_LISTEN", cfg.RedirectListen)
	if err != nil {
		return nil, err
	}
	opsLn, err := listen("STEAD_OPS_LISTEN", cfg.OpsListen)
	if err != nil {
		return nil, err
	}
	nodesLn, err := listen("STEAD_NODES_LISTEN", cfg.NodesListen)
	if err != nil {
		return nil, err
	}
	// With port 0 the kernel has chosen the ports only now.
	if cfg.BaseURL == "" {
		cfg.BaseURL = address(siteLn, cfg.TLS())
	}
	if cfg.NodeURL == "" && nodeLn != nil {
		cfg.NodeURL = address(nodeLn, false)
	}

	if a.core, err = newCore(ctx, cfg, opts, server); err != nil {
		return nil, err
	}
	a.metrics.Database(a.db)
	if a.edge, err = a.newEdge(); err != nil {
		return nil, err
	}
	a.periodic()
	if err := a.oauth.EnsurePanel(ctx); err != nil {
		return nil, fmt.Errorf("prepare the panel's application: %w", err)
	}
	if err := a.oauth.EnsureReference(ctx, reference.Path); err != nil {
		return nil, fmt.Errorf("prepare the reference's application: %w", err)
	}
	if err := a.oauth.EnsureCommand(ctx); err != nil {
		return nil, fmt.Errorf("prepare the application of the command stead: %w", err)
	}
	if cfg.Demo {
		if err := a.seedDemo(ctx); err != nil {
			return nil, fmt.Errorf("prepare the demonstration: %w", err)
		}
	}
	if err := a.newNameserver(ctx); err != nil {
		return nil, err
	}
	a.running.maxBody = int64(cfg.MaxBody)
	a.site = endpoint{name: "api", ln: siteLn, url: cfg.BaseURL, srv: a.httpServer(a.handler())}
	if err := a.secure(redirectLn); err != nil {
		return nil, err
	}
	if nodeLn != nil {
		a.nodeSite = &endpoint{name: "sites", ln: nodeLn, url: cfg.NodeURL, srv: web.HTTPServer(a.node.Handler(), a.log)}
	}
	if secureLn != nil {
		a.nodeSecure = &endpoint{name: "sites by HTTPS", ln: secureLn, url: address(secureLn, true), srv: web.HTTPServer(a.node.Handler(), a.log)}
		a.nodeSecure.srv.TLSConfig = &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: a.nodeCertificates.ForHandshake,
		}
	}
	if nodesLn != nil {
		if a.machines, err = a.newMachines(ctx, nodesLn); err != nil {
			return nil, err
		}
	}
	if opsLn != nil {
		mux := a.metrics.Ops()
		mux.HandleFunc("GET /healthz", healthy)
		mux.HandleFunc("GET /readyz", a.ready())
		a.operators = &endpoint{name: "operations", ln: opsLn, url: address(opsLn, false), srv: a.httpServer(withoutCustomers(cfg, mux))}
	}
	return a, nil
}

// address is the URL of a listener on this machine.
func address(ln net.Listener, secure bool) string {
	to := config.Reachable(ln.Addr().String())
	if secure {
		return "https://" + to
	}
	return "http://" + to
}

// URL is where clients reach the API and the pages.
func (a *App) URL() string { return a.site.url }

// NodeURL is where the embedded node serves sites; empty without one.
func (a *App) NodeURL() string {
	if a.cfg.NodeListen == config.Off {
		return ""
	}
	return a.cfg.NodeURL
}

// OpsURL is where operators find metrics and profiles; empty when off.
func (a *App) OpsURL() string {
	if a.operators == nil {
		return ""
	}
	return a.operators.url
}

// NodesURL is where hosting machines join and report; empty when off.
func (a *App) NodesURL() string {
	if a.machines == nil {
		return ""
	}
	return a.machines.url
}

// Bounds of every connection. Bodies and answers have their own (see pace).
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

func (a *App) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ConnContext:       rememberPeer,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Failed handshakes and clients that disconnect are normal on the internet.
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// Run serves until ctx ends, then stops: new requests are refused, and running requests and jobs get the configured time
// to finish. It returns an error when serving became impossible, or when requests or jobs had to be cut off.
func (a *App) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var running sync.WaitGroup
	running.Go(func() { a.hub.Run(background) })
	running.Go(func() { a.keepTime(background) })
	broken := make(chan error, 8)
	if a.nameserver != nil {
		running.Go(func() { a.zones.Run(background) })
		running.Go(func() {
			if err := a.nameserver.Run(background); err != nil {
				broken <- err
			}
		})
	}
	defer running.Wait()
	defer stopBackground()

	if err := a.replica.Join(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	running.Go(func() { a.replica.Run(background) })
	settled, err := a.workUnlessHeld(ctx, background, &running, broken)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer settled() // also where what follows fails

	if a.own != nil {
		if err := a.own.Manage(background); err != nil {
			return err
		}
		defer a.own.Close()
	}
	for _, e := range a.endpoints() {
		running.Go(func() {
			if err := e.serve(); err != nil {
				broken <- fmt.Errorf("serve %s: %w", e.name, err)
			}
		})
	}
	a.log.InfoContext(ctx, "serving", "url", a.URL(), "sites", a.NodeURL(), "operations", a.OpsURL(),
		"nodes", a.NodesURL(), "database", a.db.Engine(), "version", a.version)
	tellSystemd(ctx, a.log, stateReady)
	running.Go(func() { feedWatchdog(background, a.log) })
	a.notices.show(a)

	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	settled()
	return errors.Join(err, a.stop(context.WithoutCancel(ctx)))
}

// work begins what the server does by itself, beside its requests.
func (a *App) work(ctx, background context.Context, running *sync.WaitGroup) error {
	running.Go(func() { a.nodes.Run(background) })
	running.Go(func() { a.outbox.Run(background, a.log) })
	for _, m := range a.modules {
		if m.Run != nil {
			running.Go(func() { m.Run(background) })
		}
	}
	if err := a.queue.Start(ctx); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	a.queueRuns.Store(true)
	return nil
}

// unlessStopped is what a failure of the start means: nothing when the program was told to stop meanwhile.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // as asked
	}
	return err
}

func (a *App) endpoints() []*endpoint {
	all := []*endpoint{&a.site}
	for _, e := range []*endpoint{a.redirect, a.nodeSite, a.nodeSecure, a.operators, a.machines} {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

func (e *endpoint) serve() error {
	var err error
	if e.srv.TLSConfig != nil {
		err = e.srv.ServeTLS(e.ln, "", "")
	} else {
		err = e.srv.Serve(e.ln)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop ends serving. While a load balancer needs to notice it, everything goes on. Then streams and background loops end at once. Requests and jobs finish at the same time, because each of
// them may take all of the time. The address for operators is served until the end.
func (a *App) stop(ctx context.Context) error {
	began := a.clock.Now()
	tellSystemd(ctx, a.log, stateStopping)
	a.draining.Store(true)
	if delay := a.cfg.ShutdownDelay; delay > 0 {
		a.log.InfoContext(ctx, "stopping soon: /readyz answers 503", "delay", delay)
		<-time.After(delay)
	}
	close(a.ending)
	a.log.InfoContext(ctx, "stopping", "timeout", a.cfg.ShutdownTimeout)
	ctx, cancel := context.WithTimeout(ctx, a.cfg.ShutdownTimeout)
	defer cancel()
	var (
		finishing sync.WaitGroup
		mu        sync.Mutex
		errs      []error
	)
	finish := func(what string, f func(context.Context) error) {
		finishing.Go(func() {
			if err := f(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("stop %s: %w", what, err))
			}
		})
	}
	finish(a.site.name, func(ctx context.Context) error {
		return a.running.stop(ctx, a.site.srv, a.cfg.UploadTimeout-a.cfg.ShutdownTimeout)
	})
	if a.nodeSite != nil {
		finish(a.nodeSite.name, a.nodeSite.stop)
	}
	if a.nodeSecure != nil {
		finish(a.nodeSecure.name, a.nodeSecure.stop)
	}
	if a.redirect != nil {
		finish(a.redirect.name, a.redirect.stop)
	}
	if a.machines != nil {
		finish(a.machines.name, a.machines.stop)
	}
	if a.queueRuns.Load() {
		finish("jobs", a.queue.Stop)
	}
	finishing.Wait()
	if err := a.replica.Leave(context.WithoutCancel(ctx)); err != nil {
		errs = append(errs, err)
	}
	if a.operators != nil {
		_ = a.operators.srv.Close() // a scrape that is cut off is repeated
	}
	err := errors.Join(errs...)
	a.log.InfoContext(ctx, "stopped", "took", a.clock.Now().Sub(began), "clean", err == nil)
	return err
}

// stop lets running requests finish and cuts off what is left at the deadline.
func (e *endpoint) stop(ctx context.Context) error {
	if err := e.srv.Shutdown(ctx); err != nil {
		return errors.Join(err, e.srv.Close())
	}
	return nil
}

// Close frees everything in the reverse order of building. It is called after Run, or instead of it.
func (a *App) Close() error {
	for _, e := range a.endpoints() {
		_ = e.ln.Close() // closed already when it was served
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return a.close(ctx)
}

// ready are the conditions of /readyz.
func (a *App) ready() http.HandlerFunc {
	return ready([]readiness{
		{"database", func(ctx context.Context) bool { return a.db.Ping(ctx) == nil }},
		{"migrations", a.migrated},
		{"signals", func(context.Context) bool { return a.hub.Fresh() }},
		{"jobs", func(context.Context) bool { return a.queueRuns.Load() || a.held.Load() }},
		{"clock", a.inTime},
		{"serving", func(context.Context) bool { return !a.draining.Load() }},
	})
}

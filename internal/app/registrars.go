package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/rdap"
	"stead.dev/stead/internal/port/registrar/sandbox"
	"stead.dev/stead/internal/port/registrar/whois"
)

// registrars holds the configured registrar and the simulated one for the sandboxes of resellers. Either is nil where this
// process has none.
type registrars struct {
	real, simulated registrar.Registrar
	// open opens the configured one, once, when it is first asked for; nil where real is what there is.
	open func() (registrar.Registrar, error)
	log  *slog.Logger
}

// Registrar implements domains.Registrars.
func (r *registrars) Registrar(sandbox bool) (registrar.Registrar, bool) {
	if sandbox {
		return r.simulated, r.simulated != nil
	}
	if r.open == nil {
		return r.real, r.real != nil
	}
	opened, err := r.open()
	if err != nil {
		r.log.Error("the registrar cannot be opened", "error", err)
	}
	return opened, opened != nil
}

// openRegistrars opens the registrars. A command opens the configured one when it asks it, which few do.
func (c *core) openRegistrars(ctx context.Context, as role) (r registrars, err error) {
	if as != server {
		return registrars{log: c.log, open: sync.OnceValues(func() (registrar.Registrar, error) { return c.openRegistrar(ctx) })}, nil
	}
	if r.simulated, err = c.simulatedRegistry(ctx, "sandboxes"); err != nil {
		return r, err
	}
	r.real, err = c.openRegistrar(ctx)
	return r, err
}

// openRegistrar opens the configured registrar; nil where there is none.
func (c *core) openRegistrar(ctx context.Context) (registrar.Registrar, error) {
	switch {
	case c.cfg.Registrar == config.RegistrarEPP:
		registry, err := newEPP(c.cfg, c.clock, c.log)
		if err != nil {
			return nil, err
		}
		c.onClose(func(context.Context) error { return registry.Close() })
		return registry, nil
	case c.cfg.Registrar == config.RegistrarSandbox || c.cfg.Registrar == "" && c.cfg.Demo:
		return c.simulatedRegistry(ctx, "registry")
	}
	return nil, nil //nolint:nilnil // a company may sell no domain names
}

// simulatedRegistry opens the simulated registry, which all replicas share. Older versions stored it in a file.
func (c *core) simulatedRegistry(ctx context.Context, name string) (registrar.Registrar, error) {
	kept := domains.Simulated{DB: c.db, Name: name}
	content, err := os.ReadFile(filepath.Join(c.cfg.DataDir, "registry", name+".json"))
	if err == nil {
		err = kept.Begin(ctx, content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return sandbox.New(kept, c.clock.Now), nil
}

// buildDomains makes the section of domain registrations.
func (c *core) buildDomains(ctx context.Context, as role) error {
	open, err := c.openRegistrars(ctx, as)
	if err != nil {
		return err
	}
	c.domains = domains.New(domains.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Box: c.box,
		Registrars: &open, Log: c.log, Nameservers: c.cfg.Nameservers, ReservedDomains: ownNames(c.cfg),
	})
	if as == server && c.cfg.SQLite() { // no other process works on this database
		return c.domains.ReturnLeases(ctx)
	}
	return nil
}

// lookups are the directories that are asked whether a name is free, where the registrar does not answer.
func (c *core) lookups() []registrar.Source {
	sources := []registrar.Source{}
	if c.cfg.DomainLookup == config.LookupRDAP || c.cfg.DomainLookup == config.LookupBoth {
		sources = append(sources, rdap.New(&http.Client{Transport: intx.Transport{Next: http.DefaultTransport}}, func(ctx context.Context, name string) string {
			address, _, _ := c.domains.Servers(ctx, name)
			return address
		}))
	}
	if c.cfg.DomainLookup == config.LookupWhois || c.cfg.DomainLookup == config.LookupBoth {
		sources = append(sources, whois.New(func(ctx context.Context, name string) whois.Server {
			_, address, free := c.domains.Servers(ctx, name)
			return whois.Server{Address: address, Free: free}
		}))
	}
	return sources
}

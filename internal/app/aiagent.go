package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"stead.dev/stead/internal/agent/runs"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/hosting/credentials"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// agentReads are the operations that the AI agent may call for the service of its run. What they answer about other services
// it cannot ask: the service is always that of the run.
var agentReads = []string{"php.get", "logs.list", "dns.list", "certificates.list"}

// agentOperations calls operations for the AI agent. It has them once they are mounted.
type agentOperations struct{ tools map[string]*api.Tool }

// open finds the operations.
func (o *agentOperations) open(e *api.Edge) error {
	all := map[string]*api.Tool{}
	for _, id := range agentReads {
		t, err := e.Tool(id)
		if err != nil {
			return err
		}
		all[id] = t
	}
	o.tools = all
	return nil
}

// Read implements runs.Operations.
func (o *agentOperations) Read(ctx context.Context, accountID, serviceID int64, operation string, parameters map[string]any) (json.RawMessage, error) {
	t, ok := o.tools[operation]
	if !ok {
		return nil, fmt.Errorf("the agent has no operation %q", operation)
	}
	given := maps.Clone(parameters)
	if given == nil {
		given = map[string]any{}
	}
	given["service"] = serviceID
	arguments, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	return t.Call(ctx, auth.Principal{AccountID: accountID, FirstParty: true, Scopes: t.Scopes()}, arguments)
}

// issuedSecrets are the credentials that the AI agent must not see: passwords of databases, FTP and servers. Of mailboxes,
// sessions and keys of the interface only hashes are kept; those that have a form of their own are known by it (redact).
type issuedSecrets struct{ credentials *credentials.Service }

// Issued implements runs.Secrets.
func (i issuedSecrets) Issued(ctx context.Context, accountID, serviceID int64) ([]runs.Secret, error) {
	found, err := i.credentials.Passwords(ctx, accountID, serviceID)
	all := make([]runs.Secret, len(found))
	for n, p := range found {
		all[n] = runs.Secret{Name: string(p.Kind) + "_password", Value: p.Value}
	}
	return all, err
}

// boughtNames tells the names of services as they were bought.
type boughtNames struct{ services *services.Service }

// Domain implements runs.Names.
func (n boughtNames) Domain(ctx context.Context, q db.Querier, accountID, serviceID int64) (string, error) {
	of, err := n.services.Bought(ctx, q, accountID, serviceID)
	if errors.Is(err, fault.NotFound) {
		return "", nil
	}
	return of.Domain, err
}

// servedPlaces tells the AI agent where services are served.
type servedPlaces struct{ *core }

// Place implements runs.Places.
func (s servedPlaces) Place(ctx context.Context, accountID, serviceID int64) (p runs.Place, err error) {
	on, err := s.services.Site(ctx, s.db, accountID, serviceID)
	if err != nil {
		return p, err
	}
	domains, err := s.hosting.Hosted(ctx, s.db, accountID, serviceID)
	if err != nil {
		return p, err
	}
	for _, d := range domains {
		if d.Served {
			p.Names = append(p.Names, d.Name)
		}
	}
	origin, err := url.Parse(on.OriginURL)
	if err != nil {
		return p, fmt.Errorf("service %d is served at %q: %w", serviceID, on.OriginURL, err)
	}
	if on.Sandbox || origin.Hostname() == "" || strings.HasSuffix(origin.Hostname(), ".invalid") {
		return p, nil // it is served nowhere
	}
	p.Local = servedHere(s.cfg, on.Panel)
	switch origin.Scheme {
	case "http":
		p.HTTP, p.HTTPS = at(origin, "80"), net.JoinHostPort(origin.Hostname(), "443")
	case "https":
		p.HTTPS = at(origin, "443")
	}
	if on.Panel == config.PanelNode && origin.Scheme == "http" {
		p.HTTPS = s.ownHTTPS(origin.Hostname())
	}
	return p, nil
}

// ownHTTPS is where this machine answers HTTPS for its own sites; empty where it does not.
func (s servedPlaces) ownHTTPS(host string) string {
	if s.cfg.NodeMachine == config.MachineLinux {
		port := "443"
		if p := s.cfg.Ports()["https"]; p != 0 {
			port = fmt.Sprint(p)
		}
		return net.JoinHostPort(host, port)
	}
	listens, port, err := net.SplitHostPort(s.cfg.NodeTLSListen)
	if err != nil || port == "0" {
		return ""
	}
	if ip, err := netip.ParseAddr(listens); err == nil && !ip.IsUnspecified() {
		host = listens
	}
	return net.JoinHostPort(host, port)
}

// at is the host and port of an address.
func at(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

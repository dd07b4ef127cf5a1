// Package sandbox is the panel adapter for sandbox customers: a simulated machine with the states,
// limits and errors of a real one, whose sites nobody can reach.
//
// It is a node in a directory of its own that is told not to serve. On top of that it fails on
// request, so that integrators can see how their programs take it: the first label of the primary
// domain names the failure (see Failures), for instance disk-full.example.com.
package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/panel"
)

// Failures tells how CreateAccount fails for a primary domain whose first label it has.
var Failures = map[string]panel.Kind{
	"unreachable": panel.ErrUnreachable,
	"busy":        panel.ErrBusy,
	"disk-full":   panel.ErrDiskFull,
	"exists":      panel.ErrExists,
	"limit":       panel.ErrLimit,
	"unsupported": panel.ErrUnsupported,
}

// Panel is the simulated machine.
type Panel struct {
	*node.Node
	*files.Driver
}

var (
	_ panel.Panel    = Panel{}
	_ panel.Accounts = Panel{}
	_ panel.Usages   = Panel{}
	_ panel.Sites    = Panel{}
	_ panel.Files    = Panel{}
	_ panel.Archives = Panel{}
)

// Open opens the simulated machine in dir, with all that was made there before.
func Open(ctx context.Context, dir string, now func() time.Time, log *slog.Logger) (Panel, error) {
	n, err := node.New(ctx, node.Config{
		Dir: dir, Now: now, Log: log, Web: dark{}, Location: "sandbox",
		// Addresses and names that belong to documentation (RFC 5737, 3849 and 2606): whoever
		// follows them reaches nobody.
		OriginURL: "http://sandbox.invalid", IPv4: "192.0.2.1", IPv6: "2001:db8::1",
		Nameservers: []string{"ns1.sandbox.invalid", "ns2.sandbox.invalid"},
	})
	if err != nil {
		return Panel{}, fmt.Errorf("sandbox: %w", err)
	}
	return Panel{Node: n, Driver: n.Files}, nil
}

// Name implements panel.Panel.
func (Panel) Name() string { return "sandbox" }

// CreateAccount implements panel.Accounts, and fails when the domain asks for it.
func (p Panel) CreateAccount(ctx context.Context, spec panel.AccountSpec) (panel.Account, error) {
	label, _, _ := strings.Cut(strings.ToLower(spec.PrimaryDomain), ".")
	if kind, ok := Failures[label]; ok {
		return panel.Account{}, panel.Wrap("accounts.create", spec.Ref, kind)
	}
	return p.Node.CreateAccount(ctx, spec)
}

// dark serves nothing.
type dark struct{}

func (dark) Apply(context.Context, string, []web.Site) error { return nil }
func (dark) Close() error                                    { return nil }

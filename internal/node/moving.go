package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// errLeft says that another machine has the account.
var errLeft = fmt.Errorf("%w: the account has left for another machine", panel.ErrNotFound)

var _ panel.Moving = (*Node)(nil)

// Residents implements panel.Inventory.
func (n *Node) Residents(context.Context) ([]panel.Resident, error) {
	all := []panel.Resident{}
	for _, rec := range n.accounts.List() {
		all = append(all, panel.Resident{
			Ref: rec.Ref, Username: rec.Name, PrimaryDomain: rec.Domains[0].Name, CreatedAt: rec.CreatedAt, Epoch: rec.Epoch, Left: rec.Left, Arriving: rec.Arriving,
		})
	}
	slices.SortFunc(all, func(a, b panel.Resident) int { return strings.Compare(a.Ref, b.Ref) })
	return all, nil
}

// LeaveAccount implements panel.Moving.
func (n *Node) LeaveAccount(ctx context.Context, ref string, epoch int64) error {
	return panel.Wrap("moving.leave", ref, n.leave(ctx, ref, epoch, panel.Forward{}))
}

// ForwardAccount implements panel.Moving.
func (n *Node) ForwardAccount(ctx context.Context, ref string, epoch int64, to panel.Forward) error {
	// They become parts of a daemon's configuration.
	_, err := netip.ParseAddrPort(to.HTTP)
	if err == nil && to.Mail != "" {
		_, err = netip.ParseAddrPort(to.Mail)
	}
	if err == nil && to.HTTPS != "" {
		_, err = netip.ParseAddrPort(to.HTTPS)
		if chain, parseErr := certificate.ParseChain(to.Proof); err == nil && (parseErr != nil || len(chain) != 1) {
			err = errors.New("the machine there has no proof of itself")
		}
	}
	if err != nil {
		return panel.Wrap("moving.forward", ref, fmt.Errorf("%w: %w", panel.ErrInvalid, err))
	}
	return panel.Wrap("moving.forward", ref, n.leave(ctx, ref, epoch, to))
}

func (n *Node) leave(ctx context.Context, ref string, epoch int64, to panel.Forward) error {
	marked, err := n.markLeft(ctx, ref, epoch, to)
	if err != nil || !marked {
		return err
	}
	return n.apply(ctx, ref)
}

// markLeft writes that an account has left, and to where; false when it is known, or old news.
func (n *Node) markLeft(ctx context.Context, ref string, epoch int64, to panel.Forward) (bool, error) {
	rec, err := n.accounts.Get(ref)
	known := func(rec accounts.Record) bool {
		return rec.Epoch >= epoch || rec.Left > epoch || rec.Left == epoch && (to == panel.Forward{} || to == rec.Forward)
	}
	if err != nil || known(rec) {
		return false, err
	}
	_, err = n.accounts.Update(ctx, ref, func(rec *accounts.Record) error {
		if !known(*rec) {
			rec.Left, rec.Suspended, rec.Held, rec.Arriving, rec.Forward = epoch, true, nil, false, to
		}
		return nil
	})
	if err == nil {
		n.cfg.Log.Info("account has left for another machine; its files stay, unserved", "account", ref, "epoch", epoch, "forwarded", to.HTTP)
	}
	return err == nil, err
}

// DropAccount implements panel.Moving.
func (n *Node) DropAccount(ctx context.Context, ref string, epoch int64) error {
	rec, err := n.accounts.Get(ref)
	if err == nil && (rec.Left == 0 || rec.Left > epoch) {
		err = fmt.Errorf("%w: no account that has left", panel.ErrNotFound)
	}
	if err == nil {
		err = n.end(ctx, ref, n.accounts.Delete)
	}
	return panel.Wrap("moving.drop", ref, err)
}

// Counted implements panel.Moving.
func (n *Node) Counted(ctx context.Context, ref string) (panel.Counted, error) {
	rec, err := n.here(ref)
	all := map[panel.Capability]json.RawMessage{}
	for _, f := range n.facilities {
		if c, ok := f.(facility.Carrier); ok && err == nil {
			all[f.Capability()], err = c.Carry(ctx, n.of(rec))
		}
	}
	if err != nil {
		return nil, panel.Wrap("moving.counted", ref, err)
	}
	return json.Marshal(all)
}

// TakeCounted implements panel.Moving.
func (n *Node) TakeCounted(ctx context.Context, ref string, of panel.Counted) error {
	rec, err := n.here(ref)
	if err == nil && !rec.Arriving {
		err = fmt.Errorf("%w: the account is open", panel.ErrBusy)
	}
	var all map[panel.Capability]json.RawMessage
	if err == nil && json.Unmarshal(of, &all) != nil {
		err = panel.ErrInvalid
	}
	for _, f := range n.facilities {
		if c, ok := f.(facility.Carrier); ok && err == nil && all[f.Capability()] != nil {
			err = c.TakeOver(ctx, n.of(rec), all[f.Capability()])
		}
	}
	return panel.Wrap("moving.take", ref, err)
}

// Proof implements panel.Moving.
func (n *Node) Proof(context.Context) (string, error) {
	prover, ok := n.web.(web.Prover)
	if !ok {
		return "", nil
	}
	proof, err := prover.Proof()
	return proof, panel.Wrap("moving.proof", "", err)
}

// forwarded are the domains of an account that has left whose visitors the other machine answers: those that no account here
// has by now.
func (n *Node) forwarded(rec accounts.Record) []accounts.Domain {
	if rec.Forward.HTTP == "" {
		return nil
	}
	taken := map[string]bool{}
	for _, other := range n.accounts.List() {
		for _, d := range other.Domains {
			taken[d.Name] = taken[d.Name] || other.Left == 0 || other.Left > rec.Left
		}
	}
	return slices.DeleteFunc(slices.Clone(rec.Domains), func(d accounts.Domain) bool { return taken[d.Name] })
}

// forwards are the sites of an account that has left.
func (n *Node) forwards(rec accounts.Record) []web.Site {
	var sites []web.Site
	for _, d := range n.forwarded(rec) {
		_, secure := n.tls(rec.Name, d.Name)
		sites = append(sites, web.Site{
			Domain: d.Name, Home: n.accounts.Home(rec), DocumentRoot: d.DocumentRoot, Forward: &rec.Forward,
			Certificate: secure.Chain, CertificateKey: secure.Key, GID: rec.User.GID,
		})
	}
	return sites
}

// yield ends the forwarding of domains that an account here has got.
func (n *Node) yield(ctx context.Context, rec accounts.Record) error {
	has := func(d accounts.Domain) bool { return rec.Find(d.Name) >= 0 }
	var err error
	for _, other := range n.accounts.Left() {
		if other.Ref != rec.Ref && other.Forward.HTTP != "" && slices.ContainsFunc(other.Domains, has) {
			err = errors.Join(err, n.apply(ctx, other.Ref))
		}
	}
	return err
}

// HoldAccount implements panel.Moving.
func (n *Node) HoldAccount(ctx context.Context, ref string, of panel.Hold) error {
	return panel.Wrap("moving.hold", ref, n.hold(ctx, ref, of))
}

func (n *Node) hold(ctx context.Context, ref string, of panel.Hold) error {
	if of.Move <= 0 || of.For < 0 {
		return fmt.Errorf("%w: hold %+v", panel.ErrInvalid, of)
	}
	var until time.Time
	now := n.cfg.Now()
	if of.For > 0 {
		until = now.Add(of.For).UTC()
	}
	rec, err := n.accounts.Update(ctx, ref, func(rec *accounts.Record) error {
		if rec.Left > 0 {
			return errLeft
		}
		lasts := rec.OnHold() && (rec.Held.Until.IsZero() || now.Before(rec.Held.Until))
		switch same := rec.Held != nil && rec.Held.Move == of.Move && rec.Held.Try == of.Try; {
		case same && !lasts:
			return fmt.Errorf("%w: the hold has ended", panel.ErrNotFound)
		case same:
			rec.Held.Until = until
		case lasts && rec.Held.Move != of.Move:
			return fmt.Errorf("%w: move %d holds the account", panel.ErrBusy, rec.Held.Move)
		default:
			suspended := rec.Suspended
			if rec.OnHold() {
				suspended = rec.Held.Suspended
			}
			rec.Held = &accounts.Held{Move: of.Move, Try: of.Try, Until: until, Suspended: suspended}
			rec.Suspended = true
		}
		return nil
	})
	if err != nil || rec.Held.Applied {
		return err
	}
	if err := n.apply(ctx, ref); err != nil {
		return err
	}
	_, err = n.accounts.Update(ctx, ref, func(rec *accounts.Record) error {
		if rec.OnHold() && rec.Held.Move == of.Move && rec.Held.Try == of.Try {
			rec.Held.Applied = true
		}
		return nil
	})
	return err
}

// ReleaseAccount implements panel.Moving.
func (n *Node) ReleaseAccount(ctx context.Context, ref string, move int64) error {
	_, err := n.update(ctx, ref, func(rec *accounts.Record) error {
		if rec.OnHold() && rec.Held.Move == move {
			thaw(rec)
		}
		rec.Arriving = false
		return nil
	})
	return panel.Wrap("moving.release", ref, err)
}

func thaw(rec *accounts.Record) { rec.Suspended, rec.Held.Ended = rec.Held.Suspended, true }

// thawing is how often holds are looked for that have ended by themselves.
const thawing = 10 * time.Second

// Thaw ends the holds whose time is over.
func (n *Node) Thaw(ctx context.Context) {
	over := func(rec accounts.Record) bool {
		return rec.OnHold() && !rec.Held.Until.IsZero() && !n.cfg.Now().Before(rec.Held.Until)
	}
	for _, rec := range n.accounts.Where(over) {
		_, err := n.update(ctx, rec.Ref, func(rec *accounts.Record) error {
			if over(*rec) {
				thaw(rec)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
			n.cfg.Log.Warn("account is still held", "account", rec.Ref, "error", err)
		}
	}
}

package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/secret"
)

// Handler answers for the address that only nodes call. It is no part of the public API: callers are
// machines, known by their certificates (see Identity.Server, with guests: who joins has none yet).
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+nodelink.JoinPath, answer(s.Log, maxMessage, s.join))
	mux.HandleFunc("POST "+nodelink.RenewPath, answer(s.Log, maxMessage, s.renew))
	mux.HandleFunc("POST "+nodelink.ReportPath, answer(s.Log, maxMessage, s.report))
	mux.HandleFunc("POST "+nodelink.LeftPath, answer(s.Log, maxMessage, s.left))
	mux.HandleFunc("POST "+nodelink.ChecksPath, answer(s.Log, nodelink.MostCheckSize, s.checks))
	return mux
}

// Accept tells whose certificates the address lets in; guests aside.
func Accept(name string) bool {
	_, ok := nodelink.NodeID(name)
	return ok
}

// maxMessage is far more than any message has but that of checks.
const maxMessage = 64 << 10

// errStranger refuses without saying more: no node has that certificate, or none any more.
var errStranger = errors.New("nodes: refused")

type logger interface {
	WarnContext(ctx context.Context, msg string, args ...any)
	ErrorContext(ctx context.Context, msg string, args ...any)
}

// answer decodes a message of at most so many bytes, has f answer it and encodes that.
func answer[I, O any](log logger, most int64, f func(ctx context.Context, peer nodelink.Party, in I) (O, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, peer := r.Context(), nodelink.Peer(r.TLS)
		var in I
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&in); err != nil {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		out, err := f(ctx, peer, in)
		var refused *fault.Error
		switch {
		case err == nil:
		case errors.Is(err, errStranger):
			log.WarnContext(ctx, "a machine was refused as a node", "path", r.URL.Path, "node", peer.Name, "address", r.RemoteAddr, "cause", err)
			http.Error(w, "refused", http.StatusForbidden)
			return
		case errors.As(err, &refused):
			http.Error(w, refused.Def.Key, http.StatusUnprocessableEntity)
			return
		case db.Unavailable(err):
			log.ErrorContext(ctx, "a node could not be answered", "path", r.URL.Path, "node", peer.Name, "error", err)
			w.Header().Set("Retry-After", api.RetryUnavailable)
			http.Error(w, fault.Unavailable.Key, http.StatusServiceUnavailable)
			return
		default:
			log.ErrorContext(ctx, "a node could not be answered", "path", r.URL.Path, "node", peer.Name, "error", err)
			http.Error(w, "internal", http.StatusInternalServerError)
			return
		}
		data, err := json.Marshal(out)
		if err != nil {
			http.Error(w, "internal", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // a node that left asks again
	}
}

// join makes the machine that has a token a node.
func (s *Service) join(ctx context.Context, _ nodelink.Party, in nodelink.Join) (out nodelink.Joined, err error) {
	if err := validAddress(in.Address); err != nil {
		return out, err
	}
	if !plain(in.Version) {
		return out, fault.InvalidRequest.New()
	}
	a, err := s.authority(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := lockInvited(ctx, tx, secret.Hash(in.Secret))
		if err != nil {
			return stranger(err)
		}
		if n.TokenExpiresAt == nil || !tx.Now.Before(*n.TokenExpiresAt) || n.State == Removed {
			return fmt.Errorf("%w: the token has expired", errStranger)
		}
		issued, err := a.Sign(in.Request, nodelink.NodeName(n.ID), tx.Now, nodelink.NodeLifetime)
		if err != nil {
			return fault.InvalidRequest.Wrap(err)
		}
		state := n.State
		if state == Joining {
			state = Active
		}
		if err := setJoined(ctx, tx, n.ID, state, in.Address, in.Version, issued.NotAfter); err != nil {
			return err
		}
		out = nodelink.Joined{
			ID: n.ID, Name: n.Name, Location: n.Location, Certificate: issued.Certificate, Authority: a.Certificate(),
		}
		return s.Signals.Send(ctx, tx, Topic, PanelName(n.ID))
	})
	return out, err
}

// stranger hides whether there is something of that name.
func stranger(err error) error {
	if refused := new(fault.Error); errors.As(err, &refused) && refused.Def == fault.NotFound {
		return errStranger
	}
	return err
}

// lockPeer is the node that a certificate names, locked.
func lockPeer(ctx context.Context, tx *db.Tx, peer nodelink.Party) (Node, error) {
	return peerBy(peer, func(id int64) (Node, error) { return lock(ctx, tx, id) })
}

// peerBy is the node that a certificate names, as it is read.
func peerBy(peer nodelink.Party, read func(id int64) (Node, error)) (Node, error) {
	id, ok := nodelink.NodeID(peer.Name)
	if !ok {
		return Node{}, fmt.Errorf("%w: no certificate of a node", errStranger)
	}
	n, err := read(id)
	if err != nil {
		return n, stranger(err)
	}
	if !n.Serves() {
		return n, fmt.Errorf("%w: the node is %s", errStranger, n.State)
	}
	if n.JoinedAt == nil || peer.IssuedAt.Before(n.JoinedAt.Truncate(time.Second)) {
		return n, fmt.Errorf("%w: another machine has joined in its place", errStranger)
	}
	return n, nil
}

// checks takes in what a node found of monitors.
func (s *Service) checks(ctx context.Context, peer nodelink.Party, in nodelink.Checks) (out nodelink.Work, err error) {
	n, err := peerBy(peer, func(id int64) (Node, error) { return get(ctx, s.DB, id) })
	if err != nil {
		return out, err
	}
	if !n.Checks {
		return nodelink.Work{Now: s.Clock.Now(), Idle: true}, nil
	}
	return s.Checks.Exchange(ctx, n.ID, n.Region(), in)
}

func (s *Service) renew(ctx context.Context, peer nodelink.Party, in nodelink.Renew) (out nodelink.Renewed, err error) {
	a, err := s.authority(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := lockPeer(ctx, tx, peer)
		if err != nil {
			return err
		}
		issued, err := a.Sign(in.Request, peer.Name, tx.Now, nodelink.NodeLifetime)
		if err != nil {
			return fault.InvalidRequest.Wrap(err)
		}
		out = nodelink.Renewed{Certificate: issued.Certificate, NotAfter: issued.NotAfter}
		return setCertificate(ctx, tx, n.ID, issued.NotAfter)
	})
	return out, err
}

// No machine has an exabyte, nor a load of a million: what is reckoned with more does not fit into numbers, and the node
// that said it would keep services from all nodes.
const (
	mostMB   = 1 << 40
	mostLoad = 1e6
)

func (s *Service) report(ctx context.Context, peer nodelink.Party, in nodelink.Report) (out nodelink.Reported, err error) {
	if err := validAddress(in.Address); err != nil {
		return out, err
	}
	c := in.Capacity
	if min(c.DiskMB, c.DiskFreeMB, c.MemoryMB, c.MemoryFreeMB) < 0 || max(c.DiskMB, c.DiskFreeMB, c.MemoryMB, c.MemoryFreeMB) > mostMB ||
		c.Load < 0 || c.Load > mostLoad || c.Accounts < 0 || len(in.Capabilities) > 100 || !plain(append(in.Capabilities, in.Version)...) {
		return out, fault.InvalidRequest.New()
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := lockPeer(ctx, tx, peer)
		if err != nil {
			return err
		}
		if out.Left, err = s.Moves.Left(ctx, tx, PanelName(n.ID)); err != nil {
			return err
		}
		if err := setReport(ctx, tx, n.ID, in); err != nil {
			return err
		}
		if n.missed(tx.Now) {
			if err := s.wake(ctx, tx, n.ID); err != nil {
				return err
			}
		}
		if n.Address == in.Address && sameCapabilities(n, in.Capabilities) {
			return nil
		}
		return s.Signals.Send(ctx, tx, Topic, PanelName(n.ID))
	})
	return out, err
}

// left tells a machine that starts which accounts have left it, before it serves any.
func (s *Service) left(ctx context.Context, peer nodelink.Party, _ struct{}) (out nodelink.Reported, err error) {
	n, err := peerBy(peer, func(id int64) (Node, error) { return get(ctx, s.DB, id) })
	if err != nil {
		return out, err
	}
	out.Left, err = s.Moves.Left(ctx, s.DB, PanelName(n.ID))
	return out, err
}

func sameCapabilities(n Node, reported []string) bool {
	if len(n.Capabilities) != len(reported) {
		return false
	}
	for i, c := range n.Capabilities {
		if string(c) != reported[i] {
			return false
		}
	}
	return true
}

// validAddress refuses what cannot be called.
func validAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || portErr != nil || n == 0 || !plain(host) {
		return fault.InvalidRequest.Wrapf("nodes: %q is not an address with a port", address)
	}
	return nil
}

// plain tells whether texts can be shown as they are: operators read what nodes say of themselves in their terminals,
// which do what some characters tell them.
func plain(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return len(text) > 255 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	})
}

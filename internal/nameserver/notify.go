package nameserver

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// How NOTIFY is sent. A secondary that does not answer comes by itself when its
// refresh time is over.
const (
	notifyTimeout  = 2 * time.Second
	notifyAttempts = 4
	notifyAtOnce   = 32
)

// notices are the zones that secondaries are still to be told of (RFC 1996).
type notices struct {
	server *Server
	wake   chan struct{}

	mu      sync.Mutex
	pending map[string]bool
}

func newNotices(s *Server) *notices {
	return &notices{server: s, wake: make(chan struct{}, 1), pending: map[string]bool{}}
}

func (n *notices) add(zone string) {
	if len(n.server.Secondaries) == 0 {
		return
	}
	n.mu.Lock()
	n.pending[zone] = true
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (n *notices) take() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = map[string]bool{}
	return taken
}

// run tells the secondaries until ctx ends. Changes of one zone that come while a
// round is on its way are told together in the next.
func (n *notices) run(ctx context.Context) {
	var telling sync.WaitGroup
	defer telling.Wait()
	room := make(chan struct{}, notifyAtOnce)
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		for zone := range n.take() {
			for _, to := range n.server.Secondaries {
				select {
				case <-ctx.Done():
					return
				case room <- struct{}{}:
				}
				telling.Go(func() {
					defer func() { <-room }()
					n.tell(ctx, zone, to)
				})
			}
		}
	}
}

// tell sends one NOTIFY until it is acknowledged.
func (n *notices) tell(ctx context.Context, zone string, to netip.AddrPort) {
	key := n.server.Key
	client := dns.Client{Timeout: notifyTimeout}
	if key.Secret != "" {
		client.TsigSecret = map[string]string{key.Name: key.Secret}
	}
	var err error
	pause := time.Second
	for range notifyAttempts {
		m := new(dns.Msg).SetNotify(zone)
		if key.Secret != "" {
			m.SetTsig(key.Name, key.Algorithm, 300, trueTime())
		}
		var answer *dns.Msg
		if answer, _, err = client.ExchangeContext(ctx, m, to.String()); err == nil {
			if answer.Rcode != dns.RcodeSuccess {
				n.server.Log.Debug("nameserver: secondary declines", "zone", zone, "secondary", to, "answer", dns.RcodeToString[answer.Rcode])
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause *= 2
		}
	}
	n.server.Log.Warn("nameserver: secondary does not answer", "zone", zone, "secondary", to, "error", err)
}

package nameserver

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The timing of NOTIFY. A secondary that does not answer checks the zone when its refresh time is over.
const (
	notifyTimeout  = 2 * time.Second
	notifyAttempts = 4
	notifyAtOnce   = 32
)

// notifier sends NOTIFY for changed zones to the secondaries (RFC 1996).
type notifier struct {
	server *Server
	wake   chan struct{}

	mu      sync.Mutex
	pending map[string]bool
}

func newNotifier(s *Server) *notifier {
	return &notifier{server: s, wake: make(chan struct{}, 1), pending: map[string]bool{}}
}

func (n *notifier) add(zone string) {
	if len(n.server.Secondaries) == 0 {
		return
	}
	n.mu.Lock()
	n.pending[zone] = true
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default: // run has a wake-up pending already
	}
}

func (n *notifier) take() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = map[string]bool{}
	return taken
}

// run notifies the secondaries until ctx ends. Changes of one zone during a round are sent together in the next.
func (n *notifier) run(ctx context.Context) {
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
func (n *notifier) tell(ctx context.Context, zone string, to netip.AddrPort) {
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

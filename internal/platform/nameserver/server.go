package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"
)

// Key is the secret that the primary and its secondaries share (RFC 8945).
type Key struct {
	Name      string
	Algorithm string // such as hmac-sha256
	Secret    string // in base64
}

// Config configures a server. The zero value serves queries and refuses transfers.
type Config struct {
	// Secondaries are notified at their address, and may transfer zones from its host with the key.
	Secondaries []netip.AddrPort
	Key         Key
	// AnswersPerSecond bounds the answers to one network (/24, /56) over UDP; 0 means no bound.
	AnswersPerSecond int
	// Answered is told the response code of each answer, such as NOERROR, or limited; nil: nobody is.
	Answered func(rcode string)
	Now      func() time.Time
	Log      *slog.Logger
}

// Server serves zones.
type Server struct {
	Config
	limit    *limiter
	notices  *notifier
	followed *followed

	mu    sync.RWMutex
	zones map[string]*versions

	udp net.PacketConn
	tcp net.Listener
}

// versions are a zone's present version and the last ones before it, the newest
// first, for incremental transfers.
type versions struct {
	*zone
	past []*zone
}

const maxPast = 8

// New makes a server without zones.
func New(c Config) *Server {
	c.Key.Name, c.Key.Algorithm = dns.CanonicalName(c.Key.Name), dns.Fqdn(strings.ToLower(c.Key.Algorithm))
	s := &Server{Config: c, limit: newLimiter(c.AnswersPerSecond, c.Now), zones: map[string]*versions{}}
	s.notices, s.followed = newNotifier(s), newFollowed(s.Secondaries)
	return s
}

// Set serves a version of a zone from now on, and notifies the secondaries when it differs from the previous one.
// Secondaries learn of new zones from the catalog.
func (s *Server) Set(in Zone) error {
	z, err := build(in)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.zones[z.name]
	next := &versions{zone: z}
	switch {
	case before == nil:
	case before.serial == z.serial:
		next.past = before.past
	default:
		old := *before.zone
		old.nodes = nil // transfers need the records only
		next.past = append([]*zone{&old}, before.past...)
		next.past = next.past[:min(len(next.past), maxPast)]
	}
	s.zones[z.name] = next
	if (before == nil && z.private) || (before != nil && before.serial != z.serial) {
		s.followed.change(z, s.Now())
		s.notices.add(z.name)
	}
	return nil
}

// Zones counts the zones that are served.
func (s *Server) Zones() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.zones)
}

// Remove stops serving a zone.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.zones, dns.CanonicalName(name))
}

// Serial is the serial of a served zone.
func (s *Server) Serial(name string) (uint32, bool) {
	v := s.zone(dns.CanonicalName(name))
	if v == nil {
		return 0, false
	}
	return v.serial, true
}

func (s *Server) zone(name string) *versions {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.zones[name]
}

// zoneOf finds the zone that a name is in, the closest one.
func (s *Server) zoneOf(name string, kind uint16) *versions {
	s.mu.RLock()
	defer s.mu.RUnlock()
	start := name
	if kind == dns.TypeDS && s.zones[name] != nil { // a zone's DS record is in its parent
		start = above(name)
	}
	for ; ; start = above(start) {
		if v := s.zones[start]; v != nil {
			return v
		}
		if start == "." {
			return s.zones[name]
		}
	}
}

// Bounds of connections.
const (
	maxConnections = 1000
	maxPerNetwork  = 100
	ioTimeout      = 5 * time.Second
	idleTimeout    = 10 * time.Second
	maxUDP         = 1232 // no fragments (DNS flag day 2020)
)

// Listen takes the address for UDP and TCP.
func (s *Server) Listen(ctx context.Context, address string) error {
	var lc net.ListenConfig
	const attempts = 10 // with port 0 the port that TCP got may be in use for UDP
	var errs error
	for range attempts {
		tcp, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("nameserver: %w", err)
		}
		udp, err := lc.ListenPacket(ctx, "udp", tcp.Addr().String())
		if err == nil {
			s.tcp, s.udp = tcp, udp
			return nil
		}
		errs = errors.Join(err, tcp.Close())
	}
	return fmt.Errorf("nameserver: %w", errs)
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Close frees the address of a server that is not run.
func (s *Server) Close() error {
	if s.tcp == nil {
		return nil
	}
	return errors.Join(s.tcp.Close(), s.udp.Close())
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	secrets := map[string]string{}
	if s.Key.Secret != "" {
		secrets[s.Key.Name] = s.Key.Secret
	}
	servers := []*dns.Server{
		{
			PacketConn: s.udp, Handler: s, TsigSecret: secrets, UDPSize: maxUDP, ReadTimeout: ioTimeout,
		},
		{
			Listener: newFairListener(netutil.LimitListener(s.tcp, maxConnections)), Handler: s, TsigSecret: secrets,
			ReadTimeout: ioTimeout, IdleTimeout: func() time.Duration { return idleTimeout },
		},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	broken := make(chan error, len(servers))
	for _, srv := range servers {
		// Shutdown is refused until the server has started.
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		running.Go(func() {
			if err := srv.ActivateAndServe(); err != nil && ctx.Err() == nil {
				broken <- fmt.Errorf("nameserver: %w", err)
			}
		})
		<-started
	}
	running.Go(func() { s.notices.run(ctx) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ioTimeout)
	defer cancel()
	for _, srv := range servers {
		_ = srv.ShutdownContext(last) // closing ends what still runs
	}
	_ = s.Close()
	running.Wait()
	return err
}

// ServeDNS answers one message.
func (s *Server) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	// The library runs this in its own goroutines, where a panic would end the process.
	defer func() {
		if v := recover(); v != nil {
			s.Log.Error("nameserver: a question was not answered", "questions", fmt.Sprint(r.Question), "panic", v, "stack", string(debug.Stack()))
		}
	}()
	reply := new(dns.Msg).SetReply(r)
	reply.Compress = true
	datagram := w.RemoteAddr().Network() == "udp"
	if datagram {
		switch s.limit.take(addressOf(w.RemoteAddr())) {
		case answerDropped:
			s.count("limited")
			return
		case answerTruncated:
			reply.Truncated = true
			s.count("limited")
			s.send(w, r, reply)
			return
		}
	}
	// The server's accept function checks the header alone: a message that ends there has no question, whatever count
	// it claims.
	if len(r.Question) != 1 {
		reply.Rcode = dns.RcodeFormatError
		s.write(w, r, reply)
		return
	}
	q := r.Question[0]
	switch {
	case w.TsigStatus() != nil:
		reply.Rcode = dns.RcodeNotAuth
	case r.Opcode != dns.OpcodeQuery:
		reply.Rcode = dns.RcodeNotImplemented
	case r.IsEdns0() != nil && r.IsEdns0().Version() != 0:
		reply.Rcode = dns.RcodeBadVers
	case q.Qclass != dns.ClassINET:
		reply.Rcode = dns.RcodeRefused
	case q.Qtype == dns.TypeAXFR || q.Qtype == dns.TypeIXFR:
		s.transfer(w, r, reply)
		return
	default:
		s.answer(w, r, reply)
	}
	s.write(w, r, reply)
}

// answer fills in the reply to an ordinary question.
func (s *Server) answer(w dns.ResponseWriter, r, reply *dns.Msg) {
	q := r.Question[0]
	name := dns.CanonicalName(q.Name)
	z := s.zoneOf(name, q.Qtype)
	if z == nil || (z.private && !s.trusted(w, r)) {
		reply.Rcode = dns.RcodeRefused
		return
	}
	if asksSerial(q, z) && s.trusted(w, r) {
		s.followed.ask(addressOf(w.RemoteAddr()), z.zone)
	}
	a := z.lookup(name, q.Qtype)
	reply.Rcode, reply.Authoritative = a.rcode, a.authoritative
	reply.Answer, reply.Ns, reply.Extra = a.answer, a.authority, a.additional
}

// write sends an answer and counts it.
func (s *Server) write(w dns.ResponseWriter, r, reply *dns.Msg) {
	s.count(dns.RcodeToString[reply.Rcode])
	s.send(w, r, reply)
}

func (s *Server) count(rcode string) {
	if s.Answered != nil {
		s.Answered(rcode)
	}
}

// send sends a reply, truncated to what the client accepts, and signed when the request was.
func (s *Server) send(w dns.ResponseWriter, r, reply *dns.Msg) {
	size := dns.MaxMsgSize
	if w.RemoteAddr().Network() == "udp" {
		size = dns.MinMsgSize
	}
	if opt := r.IsEdns0(); opt != nil {
		reply.SetEdns0(maxUDP, opt.Do())
		if size < dns.MaxMsgSize {
			size = min(max(int(opt.UDPSize()), dns.MinMsgSize), maxUDP)
		}
	}
	reply.Truncate(size)
	if t := r.IsTsig(); t != nil && w.TsigStatus() == nil {
		reply.SetTsig(t.Hdr.Name, t.Algorithm, t.Fudge, trueTime())
	}
	_ = w.WriteMsg(reply) // an error means only that the client has left
}

// trueTime is the time of signatures: the other side has the true time, also when Stead's own clock is offset.
func trueTime() int64 {
	return time.Now().Unix() //nolint:forbidigo // see above
}

// trusted reports whether a request comes from a secondary and has the key's signature.
func (s *Server) trusted(w dns.ResponseWriter, r *dns.Msg) bool {
	t := r.IsTsig()
	if t == nil || w.TsigStatus() != nil || s.Key.Secret == "" ||
		dns.CanonicalName(t.Hdr.Name) != s.Key.Name || dns.CanonicalName(t.Algorithm) != s.Key.Algorithm {
		return false
	}
	from := addressOf(w.RemoteAddr())
	return slices.ContainsFunc(s.Secondaries, func(a netip.AddrPort) bool { return a.Addr().Unmap() == from })
}

// addressOf is the address of a client.
func addressOf(a net.Addr) netip.Addr {
	from, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}

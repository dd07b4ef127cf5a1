package nameserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/testkit"
)

var key = Key{Name: "transfer", Algorithm: "hmac-sha256", Secret: "c3RlYWQtdGVzdC1zZWNyZXQtb2YtMzItYnl0ZXMhIQ=="}

func example(serial uint32, more ...Record) Zone {
	r := func(name, kind, data string) Record { return Record{Name: name, Type: kind, TTL: 3600, Data: data} }
	return Zone{
		Name: "example.com", Serial: serial, Primary: "ns1.stead.test", Contact: "hostmaster.example.com",
		Records: append([]Record{
			r("example.com", "NS", "ns1.stead.test."), r("example.com", "A", "192.0.2.1"), r("www.example.com", "CNAME", "example.com."),
			r("out.example.com", "CNAME", "www.other.test."), r("loop.example.com", "CNAME", "loop2.example.com."),
			r("loop2.example.com", "CNAME", "loop.example.com."), r("lost.example.com", "CNAME", "nothing.example.com."),
			r("*.wild.example.com", "A", "192.0.2.2"), r("there.wild.example.com", "TXT", `"here"`),
			r("a.deep.example.com", "A", "192.0.2.3"), r("sub.example.com", "NS", "ns.sub.example.com."),
			r("ns.sub.example.com", "A", "192.0.2.53"), r("example.com", "MX", "10 mail.example.com."),
			r("mail.example.com", "A", "192.0.2.4"), r("long.example.com", "TXT", `"`+strings.Repeat(strings.Repeat("x", 250)+`" "`, 15)+`"`),
		}, more...),
	}
}

// start serves zones on loopback.
func start(t *testing.T, c Config, zones ...Zone) *Server {
	t.Helper()
	c.Log, c.Now = slog.New(slog.DiscardHandler), time.Now
	s := New(c)
	for _, z := range zones {
		if err := s.Set(z); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func ask(t *testing.T, s *Server, network, name string, kind uint16, edit ...func(*dns.Msg)) *dns.Msg {
	t.Helper()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	for _, e := range edit {
		e(m)
	}
	c := dns.Client{Net: network, Timeout: 5 * time.Second, TsigSecret: map[string]string{"transfer.": key.Secret}}
	answer, _, err := c.Exchange(m, s.Addr())
	if err != nil {
		t.Fatalf("%s %s: %v", name, dns.TypeToString[kind], err)
	}
	return answer
}

// brief is an answer in one line: rcode, AA, and the types and data of its sections.
func brief(m *dns.Msg) string {
	section := func(rrs []dns.RR) string {
		var all []string
		for _, rr := range rrs {
			if _, opt := rr.(*dns.OPT); !opt {
				all = append(all, strings.TrimSuffix(rr.Header().Name, ".")+" "+dns.TypeToString[rr.Header().Rrtype])
			}
		}
		return strings.Join(all, ", ")
	}
	aa := ""
	if m.Authoritative {
		aa = " aa"
	}
	return fmt.Sprintf("%s%s | %s | %s | %s", dns.RcodeToString[m.Rcode], aa, section(m.Answer), section(m.Ns), section(m.Extra))
}

func TestQuestionsAreAnsweredAsTheStandardsSay(t *testing.T) {
	zone := example(1, Record{Name: "alias.example.com", Type: "CNAME", TTL: 60, Data: "lost.wild.example.com."})
	zone.Unresolved = []string{"lost.wild.example.com", "mail.some.example.com", "*.some.example.com", "deep.example.com"}
	s := start(t, Config{}, zone, Zone{Name: "sub2.example.com", Serial: 1, Primary: "ns1.stead.test", Contact: "x.test"})
	for _, c := range []struct {
		name string
		kind uint16
		want string
	}{
		{"example.com", dns.TypeA, "NOERROR aa | example.com A |  | "},
		{"EXAMPLE.com", dns.TypeSOA, "NOERROR aa | example.com SOA |  | "},
		{"example.com", dns.TypeMX, "NOERROR aa | example.com MX |  | mail.example.com A"},
		{"example.com", dns.TypeAAAA, "NOERROR aa |  | example.com SOA | "},
		{"www.example.com", dns.TypeA, "NOERROR aa | www.example.com CNAME, example.com A |  | "},
		{"www.example.com", dns.TypeCNAME, "NOERROR aa | www.example.com CNAME |  | "},
		{"out.example.com", dns.TypeA, "NOERROR aa | out.example.com CNAME |  | "},
		{"lost.example.com", dns.TypeA, "NXDOMAIN aa | lost.example.com CNAME | example.com SOA | "},
		{"nothing.example.com", dns.TypeA, "NXDOMAIN aa |  | example.com SOA | "},
		{"deep.example.com", dns.TypeMX, "NOERROR aa |  | example.com SOA | "},
		{"any.thing.wild.example.com", dns.TypeA, "NOERROR aa | any.thing.wild.example.com A |  | "},
		{"any.wild.example.com", dns.TypeMX, "NOERROR aa |  | example.com SOA | "},
		{"there.wild.example.com", dns.TypeA, "NOERROR aa |  | example.com SOA | "},
		{"below.there.wild.example.com", dns.TypeA, "NXDOMAIN aa |  | example.com SOA | "},
		{"lost.wild.example.com", dns.TypeA, "SERVFAIL |  |  | "},
		{"lost.wild.example.com", dns.TypeAAAA, "SERVFAIL |  |  | "},
		{"lost.wild.example.com", dns.TypeMX, "NOERROR aa |  | example.com SOA | "},
		{"alias.example.com", dns.TypeA, "SERVFAIL |  |  | "},
		{"any.some.example.com", dns.TypeA, "SERVFAIL |  |  | "},
		{"any.some.example.com", dns.TypeTXT, "NOERROR aa |  | example.com SOA | "},
		{"below.mail.some.example.com", dns.TypeA, "NXDOMAIN aa |  | example.com SOA | "},
		{"deep.example.com", dns.TypeA, "SERVFAIL |  |  | "},
		{"a.deep.example.com", dns.TypeA, "NOERROR aa | a.deep.example.com A |  | "},
		{"www.sub.example.com", dns.TypeA, "NOERROR |  | sub.example.com NS | ns.sub.example.com A"},
		{"sub.example.com", dns.TypeNS, "NOERROR |  | sub.example.com NS | ns.sub.example.com A"},
		{"sub.example.com", dns.TypeDS, "NOERROR aa |  | example.com SOA | "},
		{"sub2.example.com", dns.TypeDS, "NXDOMAIN aa |  | example.com SOA | "},
		{"sub2.example.com", dns.TypeSOA, "NOERROR aa | sub2.example.com SOA |  | "},
		{"example.com", dns.TypeANY, "NOERROR aa | example.com HINFO |  | "},
		{"other.test", dns.TypeA, "REFUSED |  |  | "},
		{"com", dns.TypeA, "REFUSED |  |  | "},
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got := brief(ask(t, s, network, c.name, c.kind)); got != c.want {
				t.Errorf("%s %s over %s:\n got %s\nwant %s", c.name, dns.TypeToString[c.kind], network, got, c.want)
			}
		}
	}
	if m := ask(t, s, "udp", "loop.example.com", dns.TypeA); m.Rcode != dns.RcodeSuccess || len(m.Answer) != maxChain {
		t.Errorf("a loop is answered %s", brief(m))
	}
}

// TestAQuestionThatIsMissingEndsNobody sends no more than a header, which names one question.
func TestAQuestionThatIsMissingEndsNobody(t *testing.T) {
	s := start(t, Config{}, example(1))
	header := []byte{0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, network := range []string{"udp", "tcp"} {
		c, err := dns.DialTimeout(network, s.Addr(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(header); err != nil {
			t.Fatal(err)
		}
		answer, err := c.ReadMsg()
		if err != nil || answer.Rcode != dns.RcodeFormatError || answer.Id != 0x1234 {
			t.Errorf("%s: %v, %v", network, answer, err)
		}
		_ = c.Close()
		if got := ask(t, s, network, "example.com", dns.TypeA).Rcode; got != dns.RcodeSuccess {
			t.Errorf("%s: then %s", network, dns.RcodeToString[got])
		}
	}
}

// TestAFaultOfOneAnswerEndsNobody has a zone that cannot be looked into.
func TestAFaultOfOneAnswerEndsNobody(t *testing.T) {
	s := start(t, Config{}, example(1))
	s.mu.Lock()
	s.zones["broken.test."] = &versions{}
	s.mu.Unlock()
	question := new(dns.Msg).SetQuestion("broken.test.", dns.TypeA)
	for _, network := range []string{"udp", "tcp"} {
		c, err := dns.DialTimeout(network, s.Addr(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.WriteMsg(question); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, network, "example.com", dns.TypeA).Rcode; got != dns.RcodeSuccess {
			t.Errorf("%s: then %s", network, dns.RcodeToString[got])
		}
		_ = c.Close()
	}
}

// TestAClientThatDoesNotReadIsClosed asks for much and reads nothing: the server waits for it no longer than a while.
func TestAClientThatDoesNotReadIsClosed(t *testing.T) {
	var large []Record
	for i := range 15 {
		large = append(large, Record{
			Name: "large.example.com", Type: "TXT", TTL: 60, Data: fmt.Sprintf(`"%d" `, i) + strings.Repeat(`"`+strings.Repeat("x", 250)+`" `, 16),
		})
	}
	s := start(t, Config{}, example(1, large...))
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	question, err := new(dns.Msg).SetQuestion("large.example.com.", dns.TypeTXT).Pack()
	if err != nil {
		t.Fatal(err)
	}
	question = append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)
	if _, err := c.Write(bytes.Repeat(question, 100)); err != nil { // below what one connection may ask
		t.Fatal(err)
	}
	// What is written to a connection that the other side has closed is refused.
	testkit.Eventually(t, time.Minute, func() bool {
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := c.Write(question[:1])
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	}, "the connection is closed")
}

// TestNoNetworkHasAllConnections: one that has enough gets no more, others do, and what is closed can be had again.
func TestNoNetworkHasAllConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newFairListener(inner)
	taken := make(chan net.Conn, 2*maxPerNetwork)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := c.Write([]byte{1}); err == nil {
				taken <- c
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	had := func(from string) bool {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		n, _ := c.Read(make([]byte, 1))
		return n == 1
	}
	for n := range maxPerNetwork {
		if !had("127.0.0.1") {
			t.Fatalf("connection %d is closed", n+1)
		}
	}
	if had("127.0.0.2") {
		t.Error("a network has more than its share")
	}
	if !had("127.0.1.1") {
		t.Error("another network has nothing")
	}
	first := <-taken
	_, _ = first.Close(), first.Close() // twice gives back one place
	if !had("127.0.0.2") || had("127.0.0.1") {
		t.Error("one place was not given back")
	}
}

func TestDatagramsAreCutAndTCPAnswersWhole(t *testing.T) {
	s := start(t, Config{}, example(1))
	if m := ask(t, s, "udp", "long.example.com", dns.TypeTXT, func(m *dns.Msg) { m.SetEdns0(4096, true) }); !m.Truncated || m.IsEdns0() == nil || !m.IsEdns0().Do() {
		t.Errorf("over UDP: truncated %v", m.Truncated)
	}
	if m := ask(t, s, "tcp", "long.example.com", dns.TypeTXT); m.Truncated || len(m.Answer) != 1 {
		t.Errorf("over TCP: truncated %v", m.Truncated)
	}
	if m := ask(t, s, "udp", "example.com", dns.TypeA, func(m *dns.Msg) { m.SetEdns0(1232, false); m.IsEdns0().SetVersion(1) }); m.Rcode != dns.RcodeBadVers {
		t.Errorf("EDNS version 1 is answered %s", dns.RcodeToString[m.Rcode])
	}
}

func TestAnswersAreCounted(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	s := start(t, Config{AnswersPerSecond: 2, Now: func() time.Time { return time.Unix(0, 0) }, Answered: func(rcode string) {
		mu.Lock()
		defer mu.Unlock()
		counts[rcode]++
	}}, example(1))
	if n := s.Zones(); n != 1 {
		t.Errorf("%d zones", n)
	}
	ask(t, s, "udp", "example.com", dns.TypeSOA)
	ask(t, s, "udp", "nobody.example.com", dns.TypeA)
	ask(t, s, "udp", "example.com", dns.TypeSOA) // beyond the bound: cut short
	ask(t, s, "tcp", "example.org", dns.TypeSOA)
	mu.Lock()
	defer mu.Unlock()
	if want := map[string]int{"NOERROR": 1, "NXDOMAIN": 1, "limited": 1, "REFUSED": 1}; !maps.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
}

func TestOneNetworkIsNotFlooded(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(2, func() time.Time { return now })
	from := netip.MustParseAddr("192.0.2.7")
	var got []verdict
	for range 5 {
		got = append(got, l.take(from))
	}
	if want := []verdict{answerSent, answerSent, answerTruncated, answerDropped, answerTruncated}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	now = now.Add(time.Second)
	if v := l.take(from); v != answerSent {
		t.Errorf("a second later: %v", v)
	}
}

func transfer(s *Server, kind uint16, serial uint32, with *Key) ([]dns.RR, error) {
	m := new(dns.Msg)
	if kind == dns.TypeAXFR {
		m.SetAxfr("example.com.")
	} else {
		m.SetIxfr("example.com.", serial, "ns1.stead.test.", "hostmaster.example.com.")
	}
	tr := new(dns.Transfer)
	if with != nil {
		m.SetTsig(dns.Fqdn(with.Name), dns.Fqdn(with.Algorithm), 300, time.Now().Unix())
		tr.TsigSecret = map[string]string{dns.Fqdn(with.Name): with.Secret}
	}
	envelopes, err := tr.In(m, s.Addr())
	if err != nil {
		return nil, err
	}
	var all []dns.RR
	for e := range envelopes {
		if e.Error != nil {
			return nil, e.Error
		}
		all = append(all, e.RR...)
	}
	return all, nil
}

func TestOnlySecondariesWithTheKeyTakeZones(t *testing.T) {
	var many []Record
	for i := range 3000 {
		many = append(many, Record{Name: fmt.Sprintf("h%d.example.com", i), Type: "A", TTL: 60, Data: "192.0.2.9"})
	}
	s := start(t, Config{Key: key, Secondaries: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}},
		example(1, many...), Catalog("catalog.test", 7, []Member{{"z1", "example.com"}}))
	all, err := transfer(s, dns.TypeAXFR, 0, &key)
	if err != nil || len(all) != 3015+2 {
		t.Errorf("with the key: %d records, %v", len(all), err)
	}
	wrong := key
	wrong.Secret = "d3JvbmctdGVzdC1zZWNyZXQtb2YtMzItYnl0ZXMhIQ=="
	for what, k := range map[string]*Key{"no": nil, "a wrong": &wrong, "an unknown": {Name: "other", Algorithm: "hmac-sha256", Secret: key.Secret}} {
		if all, err := transfer(s, dns.TypeAXFR, 0, k); err == nil {
			t.Errorf("with %s key: %d records", what, len(all))
		}
	}
	signed := func(m *dns.Msg) { m.SetTsig("transfer.", dns.HmacSHA256, 300, time.Now().Unix()) }
	if got := brief(ask(t, s, "udp", "catalog.test", dns.TypeSOA)); !strings.HasPrefix(got, "REFUSED") {
		t.Errorf("the catalog is answered to everybody: %s", got)
	}
	if m := ask(t, s, "udp", "z1.zones.catalog.test", dns.TypePTR, signed); len(m.Answer) != 1 || m.IsTsig() == nil {
		t.Errorf("the catalog is not answered to a secondary: %s", brief(m))
	}
	elsewhere := start(t, Config{Key: key, Secondaries: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53")}}, example(1))
	if _, err := transfer(elsewhere, dns.TypeAXFR, 0, &key); err == nil {
		t.Error("an address that is no secondary's takes zones")
	}
}

func TestADifferenceIsTransferred(t *testing.T) {
	s := start(t, Config{Key: key, Secondaries: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}}, example(1))
	if err := s.Set(example(2, Record{Name: "new.example.com", Type: "A", TTL: 60, Data: "192.0.2.9"})); err != nil {
		t.Fatal(err)
	}
	for has, want := range map[uint32]int{1: 5, 2: 1, 3: 1, 4294967295: 16 + 2} { // the last is older, and not known
		all, err := transfer(s, dns.TypeIXFR, has, &key)
		if err != nil || len(all) != want {
			t.Errorf("since %d: %d records, want %d (%v)", has, len(all), want, err)
		}
	}
}

func TestAWrongRecordKeepsTheVersionBefore(t *testing.T) {
	s := start(t, Config{}, example(1))
	for _, r := range []Record{
		{Name: "a.example.com", Type: "A", Data: "nonsense"},
		{Name: "other.test", Type: "A", Data: "192.0.2.1"},
		{Name: "a.example.com", Type: "TXT", Data: "\"a\"\n@ A 192.0.2.1"},
		{Name: "a.example.com", Type: "NONE", Data: "x"},
	} {
		if err := s.Set(example(2, r)); err == nil {
			t.Errorf("%v is served", r)
		}
	}
	outside := example(2)
	outside.Unresolved = []string{"other.test"}
	if err := s.Set(outside); err == nil {
		t.Error("a name outside of the zone is served")
	}
	if serial, _ := s.Serial("example.com"); serial != 1 {
		t.Errorf("the serial is %d", serial)
	}
	s.Remove("example.com")
	if m := ask(t, s, "udp", "example.com", dns.TypeA); m.Rcode != dns.RcodeRefused {
		t.Errorf("a removed zone is answered %s", brief(m))
	}
}

// TestKnotFollows has a real secondary learn of zones by the catalog, take them and
// follow their serials.
func TestKnotFollows(t *testing.T) {
	port := strconv.Itoa(testkit.Port(t))
	s := start(t, Config{Key: key, Secondaries: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:" + port)}},
		example(10), Catalog("catalog.test", 1, []Member{{"z1", "example.com"}}))
	dir := t.TempDir()
	_, primary, _ := strings.Cut(s.Addr(), ":")
	config := strings.NewReplacer("DIR", dir, "LISTEN", port, "PRIMARY", primary, "SECRET", key.Secret).Replace(`
server:
    rundir: "DIR"
    listen: 127.0.0.1@LISTEN
database:
    storage: "DIR/db"
key:
  - id: transfer
    algorithm: hmac-sha256
    secret: SECRET
remote:
  - id: stead
    address: 127.0.0.1@PRIMARY
    key: transfer
acl:
  - id: stead
    address: 127.0.0.1
    key: transfer
    action: notify
template:
  - id: default
    storage: "DIR"
    zonefile-sync: -1
  - id: member
    storage: "DIR"
    master: stead
    acl: stead
    zonefile-sync: -1
zone:
  - domain: catalog.test
    master: stead
    acl: stead
    catalog-role: interpret
    catalog-template: member
`)
	file := filepath.Join(dir, "knot.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("knotd")
	if err != nil {
		program = "/usr/sbin/knotd"
	}
	var out strings.Builder
	knot := exec.Command(program, "-c", file)
	knot.Stdout, knot.Stderr = &out, &out
	if err := knot.Start(); err != nil {
		t.Fatalf("knotd: %v (Debian package knot)", err)
	}
	t.Cleanup(func() {
		_ = knot.Process.Kill()
		_ = knot.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	serial := func(zone string) uint32 {
		c := dns.Client{Timeout: time.Second}
		m, _, err := c.Exchange(new(dns.Msg).SetQuestion(zone, dns.TypeSOA), "127.0.0.1:"+port)
		if err != nil || len(m.Answer) != 1 {
			return 0
		}
		return m.Answer[0].(*dns.SOA).Serial
	}
	testkit.Eventually(t, time.Minute, func() bool { return serial("example.com.") == 10 }, "Knot has the zone of the catalog")
	lags := func() (longest time.Duration) {
		for _, lag := range s.Lags() {
			longest = max(longest, lag)
		}
		return longest
	}
	testkit.Eventually(t, time.Minute, func() bool { return lags() == 0 }, "Knot has come for the catalog")
	changed := example(11, Record{Name: "new.example.com", Type: "A", TTL: 60, Data: "192.0.2.9"})
	changed.Unresolved = []string{"lost.wild.example.com"}
	if err := s.Set(changed); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return serial("example.com.") == 11 }, "Knot follows the serial after NOTIFY")
	testkit.Eventually(t, time.Minute, func() bool { return lags() == 0 }, "Knot has come for the zone")
	for name, want := range map[string]string{
		"lost.wild.example.com.":  "NOERROR aa |  | example.com SOA | ", // not the wildcard's address
		"other.wild.example.com.": "NOERROR aa | other.wild.example.com A |  | ",
	} {
		m, err := dns.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), "127.0.0.1:"+port)
		if err != nil || brief(m) != want {
			t.Errorf("Knot answers for %s: %s (%v), want %s", name, brief(m), err, want)
		}
	}
	second := example(3)
	second.Name, second.Records = "example.net", []Record{{Name: "example.net", Type: "NS", TTL: 60, Data: "ns1.stead.test."}}
	if err := s.Set(second); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Catalog("catalog.test", 2, []Member{{"z2", "example.net"}})); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return serial("example.net.") == 3 && serial("example.com.") == 0 }, "Knot follows the catalog")
	testkit.Eventually(t, time.Minute, func() bool { return lags() == 0 }, "Knot has come for all")
	// It is gone, and a zone changes.
	_ = knot.Process.Kill()
	_ = knot.Wait()
	second.Serial = 4
	if err := s.Set(second); err != nil {
		t.Fatal(err)
	}
	// Who has no key does not come in its place.
	ask(t, s, "udp", "example.net", dns.TypeSOA)
	if lags() == 0 {
		t.Error("nobody notices that a secondary does not come")
	}
	s.Remove("example.net")
	if lags() != 0 {
		t.Error("a zone that is not served any more is waited for")
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("@ IN A 192.0.2.1\nwww 60 CNAME @\n")
	f.Add("$ORIGIN x.\n$TTL 5\na TXT \"\\200\" (\n b )")
	f.Add("$GENERATE 1-4294967295 a$ A 192.0.2.1")
	f.Fuzz(func(t *testing.T, text string) {
		records, err := ParseFile(text, "example.com", 3600, 100)
		if err == nil && len(records) > 100 {
			t.Errorf("%d records", len(records))
		}
	})
}

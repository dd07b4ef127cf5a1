package dnsquery_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/dnsquery"
)

// serve answers questions from records, as a server of a test; a name that ends with broken. fails.
func serve(t *testing.T, records ...string) netip.AddrPort {
	t.Helper()
	var all []dns.RR
	for _, r := range records {
		rr, err := dns.NewRR(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rr)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		reply := new(dns.Msg).SetReply(r)
		for _, rr := range all {
			if rr.Header().Name == r.Question[0].Name && rr.Header().Rrtype == r.Question[0].Qtype {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		switch {
		case strings.HasSuffix(r.Question[0].Name, "broken."):
			reply.Rcode = dns.RcodeServerFailure
		case len(reply.Answer) == 0:
			reply.Rcode = dns.RcodeNameError
		}
		if w.LocalAddr().Network() == "udp" {
			reply.Truncate(512)
		}
		_ = w.WriteMsg(reply)
	})
	started := make(chan string, 2)
	tcp := &dns.Server{Addr: "127.0.0.1:0", Net: "tcp", Handler: handler}
	tcp.NotifyStartedFunc = func() { started <- tcp.Listener.Addr().String() }
	go func() { _ = tcp.ListenAndServe() }()
	address := <-started
	udp := &dns.Server{Addr: address, Net: "udp", Handler: handler, NotifyStartedFunc: func() { started <- "" }}
	go func() { _ = udp.ListenAndServe() }()
	<-started
	t.Cleanup(func() { _ = errors.Join(tcp.Shutdown(), udp.Shutdown()) })
	return netip.MustParseAddrPort(address)
}

func TestQuestionsAreAnsweredOrSaidToBeOpen(t *testing.T) {
	var long []string
	for i := range 12 {
		long = append(long, fmt.Sprintf(`long.example. 60 IN TXT "%d %s"`, i, strings.Repeat("x", 200)))
	}
	server := serve(t, append(long,
		`a.example. 60 IN CAA 128 ISSUE "ca.example; account=1"`, `a.example. 60 IN TXT "one" " and two"`, "a.example. 60 IN NS NS1.a.example.",
		"a.example. 60 IN NS ns0.a.example.", "a.example. 60 IN AAAA 2001:db8::1", "a.example. 60 IN A 192.0.2.2", "a.example. 60 IN A 192.0.2.1")...)
	silent := netip.MustParseAddrPort("127.0.0.1:1")
	c := dnsquery.Client{Servers: []netip.AddrPort{silent, server}, Timeout: 5 * time.Second}
	ctx := t.Context()
	caa, err := c.CAA(ctx, "a.example")
	if err != nil || fmt.Sprint(caa) != "[{128 issue ca.example; account=1}]" {
		t.Errorf("CAA: %v %v", caa, err)
	}
	if found, err := c.TXT(ctx, "a.example"); err != nil || fmt.Sprint(found) != "[one and two]" {
		t.Errorf("TXT: %v %v", found, err)
	}
	if found, err := c.NS(ctx, "a.example."); err != nil || fmt.Sprint(found) != "[ns0.a.example ns1.a.example]" {
		t.Errorf("NS: %v %v", found, err)
	}
	if found, err := c.LookupNetIP(ctx, "ip", "a.example"); err != nil || fmt.Sprint(found) != "[192.0.2.1 192.0.2.2 2001:db8::1]" {
		t.Errorf("addresses: %v %v", found, err)
	}
	if found, err := c.TXT(ctx, "long.example"); err != nil || len(found) != len(long) {
		t.Errorf("an answer beyond a datagram: %d texts, %v", len(found), err)
	}
	if found, err := c.LookupNetIP(ctx, "ip", "none.example"); err != nil || len(found) != 0 {
		t.Errorf("a name that is not there: %v %v", found, err)
	}
	for _, name := range []string{"broken", "a.broken"} {
		if found, err := c.CAA(ctx, name); !errors.Is(err, dnsquery.ErrNoAnswer) {
			t.Errorf("%s: %v %v", name, found, err)
		}
	}
	c.Servers = c.Servers[:1]
	if _, err := c.NS(ctx, "a.example"); !errors.Is(err, dnsquery.ErrNoAnswer) {
		t.Errorf("nobody answers: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.NS(ended, "a.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left: %v", err)
	}
}

package outgoing_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/outgoing"
)

func TestOnlyHostsOfTheInternetArePublic(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "fc00::1": false,
		"100.64.0.1": false, "100.127.255.255": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"240.0.0.1": false, "192.0.0.8": false, "198.18.0.1": false, "192.0.2.1": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::a00:1": false, // NAT64
		"2002:7f00:1::1": false, "2002:a00:1::": false, // 6to4
		"2001:0:7f00:1::": false, "fec0::1": false, "100::1": false, "2606:4700::1111%eth0": false,
	} {
		if got := outgoing.Public(netip.MustParseAddr(address)); got != public {
			t.Errorf("%s is public: %t", address, got)
		}
	}
}

func TestAddressesThatMayBeGiven(t *testing.T) {
	for address, want := range map[string][2]bool{ // in earnest, and with loopback allowed
		"https://hooks.example.com/a?b=c":                  {true, true},
		"https://example.com:8443/":                        {true, true},
		"https://1.1.1.1/":                                 {true, true},
		"http://example.com/":                              {false, false},
		"ftp://example.com/":                               {false, false},
		"https://user:pass@example.com/":                   {false, false},
		"https://example.com/#part":                        {false, false},
		"https://example.com:0/":                           {false, false},
		"https://exam ple.com/":                            {false, false},
		"https://example.com/\n":                           {false, false},
		"https://intranet/":                                {false, false},
		"https://10.0.0.1/":                                {false, false},
		"https://[fe80::1%25eth0]/":                        {false, false},
		"https://169.254.169.254/latest":                   {false, false},
		"https:example.com":                                {false, false},
		"https://":                                         {false, false},
		"":                                                 {false, false},
		"https://localhost/":                               {false, true},
		"http://127.0.0.1:8080/":                           {false, true},
		"http://[::1]:8080/":                               {false, true},
		"http://[::ffff:127.0.0.1]/":                       {false, true},
		"gopher://127.0.0.1/":                              {false, false},
		"https://example.com/" + strings.Repeat("a", 2048): {false, false},
	} {
		for i, loopback := range []bool{false, true} {
			if err := outgoing.Check(address, loopback); (err == nil) != want[i] {
				t.Errorf("%q, loopback %t: %v", address, loopback, err)
			}
		}
	}
}

func client(c outgoing.Config) *outgoing.Client {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	return outgoing.New(c)
}

// TestTheConnectionIsJudged: by the address that a name was resolved to, whatever the name.
func TestTheConnectionIsJudged(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	if _, err := client(outgoing.Config{}).Post(t.Context(), s.URL, nil, nil); !errors.Is(err, outgoing.ErrTarget) {
		t.Errorf("refused by its address: %v", err)
	}
	if err := outgoing.Judge(client(outgoing.Config{}), "127.0.0.1:443"); !errors.Is(err, outgoing.ErrTarget) {
		t.Errorf("after resolution: %v", err)
	}
	if err := outgoing.Judge(client(outgoing.Config{AllowLoopback: true}), "10.0.0.1:443"); !errors.Is(err, outgoing.ErrTarget) {
		t.Errorf("loopback allowed is no private network: %v", err)
	}
	if err := outgoing.Judge(client(outgoing.Config{}), "1.1.1.1:443"); err != nil {
		t.Error(err)
	}
	if asked.Load() != 0 {
		t.Error("the server was asked")
	}
	if _, err := client(outgoing.Config{AllowLoopback: true}).Post(t.Context(), s.URL, nil, nil); err != nil || asked.Load() != 1 {
		t.Errorf("loopback allowed: %v, asked %d", err, asked.Load())
	}
}

func TestWhatIsTakenOfAnAnswer(t *testing.T) {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	defer s.Close()
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("\x00\xff" + strings.Repeat("ж", 5000)))
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/large", http.StatusFound) })
	c := client(outgoing.Config{AllowLoopback: true})
	a, err := c.Post(t.Context(), s.URL+"/large", http.Header{"X-A": {"b"}}, []byte("body"))
	if err != nil || a.Status != http.StatusTeapot || len(a.Excerpt) > 2048 || !utf8.ValidString(a.Excerpt) || strings.Contains(a.Excerpt, "\x00") {
		t.Errorf("%v %+v", err, a)
	}
	if a, err = c.Post(t.Context(), s.URL+"/away", nil, nil); err != nil || a.Status != http.StatusFound {
		t.Errorf("a redirect is followed: %v %+v", err, a)
	}
}

func TestReasons(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	secured := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer secured.Close()
	reset := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer reset.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, c := range []struct {
		address string
		timeout time.Duration
		reason  string
	}{
		{slow.URL, 100 * time.Millisecond, "timeout"},
		{secured.URL, 0, "tls_invalid"},
		{reset.URL, 0, "connection_failed"},
		{"http://" + closed.Addr().String(), 0, "connection_refused"},
		{"https://10.0.0.1/", 0, "blocked_target"},
	} {
		_, err := client(outgoing.Config{AllowLoopback: true, Timeout: c.timeout}).Post(ctx, c.address, nil, nil)
		if err == nil || outgoing.Reason(err) != c.reason {
			t.Errorf("%s: %v, %q", c.reason, err, outgoing.Reason(err))
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(secured.Certificate())
	if _, err := client(outgoing.Config{AllowLoopback: true, RootCAs: pool}).Post(ctx, secured.URL, nil, nil); err != nil {
		t.Error(err)
	}
}

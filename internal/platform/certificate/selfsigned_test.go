package certificate_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/certificate"
)

func TestASelfSignedCertificateServesItsHosts(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 999, time.UTC)
	hosts := []string{"panel.example", "203.0.113.7", "2001:db8::1"}
	for _, subject := range []string{"panel.example", strings.Repeat("long.", 20) + "example"} {
		b, err := certificate.SelfSign(subject, hosts, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts {
			if err := b.Leaf().VerifyHostname(host); err != nil {
				t.Error(err)
			}
		}
		if err := b.Leaf().VerifyHostname("other.example"); err == nil {
			t.Error("it holds for a host that was not asked for")
		}
		for at, want := range map[time.Duration]error{
			-25 * time.Hour: certificate.NotYetValid, -23 * time.Hour: nil, 0: nil, 59 * time.Minute: nil, time.Hour: certificate.Expired,
		} {
			if err := b.CheckTime(now.Add(at)); err != want { //nolint:errorlint // a Reason is compared
				t.Errorf("after %v: %v, want %v", at, err, want)
			}
		}
		key, err := b.KeyPEM()
		if err != nil {
			t.Fatal(err)
		}
		again, err := certificate.Parse(key, b.ChainPEM())
		if err != nil || !again.Leaf().Equal(b.Leaf()) {
			t.Errorf("written and read again: %v", err)
		}
		if _, err := tls.X509KeyPair([]byte(b.ChainPEM()), []byte(key)); err != nil {
			t.Error(err)
		}
		if subject = certificate.CommonName(subject); b.Leaf().Subject.CommonName != subject {
			t.Errorf("subject %q", b.Leaf().Subject)
		}
	}
}

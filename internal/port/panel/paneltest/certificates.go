package paneltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// began is when the certificates of the tests begin to be valid; all panels' clocks are past it.
var began = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// issue makes a certificate of an authority of the test and its key, both in PEM.
func issue(t *testing.T, years int, names ...string) (chain, key string) {
	t.Helper()
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of the test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: began, NotAfter: began.AddDate(years, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(began.UnixNano()), DNSNames: names, NotBefore: began, NotAfter: began.AddDate(years, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), authority)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(own)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// valid is how many years a certificate of the test lasts whose end no panel's clock has passed.
const valid = 50

// tlsOf is how a domain is answered by HTTPS.
func tlsOf(t *testing.T, p panel.Panel, name string) panel.TLS {
	t.Helper()
	all, err := capability[panel.Sites](t, p).Domains(t.Context(), ref)
	must(t, err)
	for _, d := range all {
		if d.Name == name {
			return d.TLS
		}
	}
	t.Fatalf("%s is not there", name)
	return ""
}

func certificates(t *testing.T, p panel.Panel) {
	c := capability[panel.Certificates](t, p)
	ctx, sites := t.Context(), capability[panel.Sites](t, p)
	create(t, p, spec)
	_, err := sites.SetDomain(ctx, ref, panel.Domain{Name: "shop.example"})
	must(t, err)
	equal(t, "HTTPS from the beginning", tlsOf(t, p, "alice.example"), panel.TLSSelfSigned)
	_, err = sites.SetDomain(ctx, ref, panel.Domain{Name: "alice.example", Primary: true, ForceHTTPS: true})
	refused(t, err, panel.ErrUnsupported)

	chain, key := issue(t, valid, "alice.example", "*.alice.example")
	want := panel.Certificate{Name: "c1", Chain: chain, Key: key, Domains: []string{"Alice.Example."}, HSTS: true}
	for range 2 {
		got, err := c.SetCertificate(ctx, ref, want)
		must(t, err)
		if got.Name != "c1" || len(got.Domains) != 1 || got.Domains[0] != "alice.example" || !got.HSTS || len(got.Fingerprint) != 64 ||
			!got.ExpiresAt.Equal(began.AddDate(valid, 0, 0)) {
			t.Errorf("set: %+v", got)
		}
		list, err := c.InstalledCertificates(ctx, ref)
		must(t, err)
		if len(list) != 1 || list[0].Fingerprint != got.Fingerprint {
			t.Errorf("listed: %+v", list)
		}
	}
	equal(t, "HTTPS", tlsOf(t, p, "alice.example"), panel.TLSActive)
	equal(t, "HTTPS of the other domain", tlsOf(t, p, "shop.example"), panel.TLSSelfSigned)
	d, err := sites.SetDomain(ctx, ref, panel.Domain{Name: "alice.example", Primary: true, ForceHTTPS: true})
	must(t, err)
	equal(t, "forced", d.ForceHTTPS, true)

	// What cannot be used leaves what is.
	otherChain, otherKey := issue(t, valid, "shop.example")
	oldChain, oldKey := issue(t, 1, "alice.example")
	for name, bad := range map[string]struct {
		kind panel.Kind
		c    panel.Certificate
	}{
		"another key":              {panel.ErrInvalid, panel.Certificate{Name: "c1", Chain: chain, Key: otherKey, Domains: []string{"alice.example"}}},
		"another name":             {panel.ErrInvalid, panel.Certificate{Name: "c1", Chain: otherChain, Key: otherKey, Domains: []string{"alice.example"}}},
		"an expired one":           {panel.ErrInvalid, panel.Certificate{Name: "c1", Chain: oldChain, Key: oldKey, Domains: []string{"alice.example"}}},
		"no PEM":                   {panel.ErrInvalid, panel.Certificate{Name: "c1", Chain: "x", Key: key, Domains: []string{"alice.example"}}},
		"no domain":                {panel.ErrInvalid, panel.Certificate{Name: "c1", Chain: chain, Key: key}},
		"a name that leads out":    {panel.ErrInvalid, panel.Certificate{Name: "../c1", Chain: chain, Key: key, Domains: []string{"alice.example"}}},
		"a domain that is not its": {panel.ErrNotFound, panel.Certificate{Name: "c1", Chain: chain, Key: key, Domains: []string{"www.alice.example"}}},
	} {
		_, err := c.SetCertificate(ctx, ref, bad.c)
		t.Log(name)
		refused(t, err, bad.kind)
	}
	equal(t, "HTTPS after refusals", tlsOf(t, p, "alice.example"), panel.TLSActive)

	// The last one that was set for a domain is the one.
	both, bothKey := issue(t, valid, "alice.example", "shop.example")
	_, err = c.SetCertificate(ctx, ref, panel.Certificate{Name: "c2", Chain: both, Key: bothKey, Domains: []string{"shop.example", "alice.example"}})
	must(t, err)
	equal(t, "HTTPS of the other domain", tlsOf(t, p, "shop.example"), panel.TLSActive)
	must(t, c.RemoveCertificate(ctx, ref, "c1"))
	refused(t, c.RemoveCertificate(ctx, ref, "c1"), panel.ErrNotFound)
	equal(t, "HTTPS by the second", tlsOf(t, p, "alice.example"), panel.TLSActive)
	must(t, c.RemoveCertificate(ctx, ref, "c2"))
	equal(t, "HTTPS when all went", tlsOf(t, p, "alice.example"), panel.TLSSelfSigned)
	list, err := sites.Domains(ctx, ref)
	must(t, err)
	equal(t, "forcing outlives the certificate", list[0].ForceHTTPS, true)

	_, err = c.InstalledCertificates(ctx, "nobody")
	refused(t, err, panel.ErrNotFound)
	refused(t, c.RemoveCertificate(ctx, "nobody", "c1"), panel.ErrNotFound)
	_, err = c.SetCertificate(ctx, "nobody", want)
	refused(t, err, panel.ErrNotFound)
	must(t, capability[panel.Accounts](t, p).SuspendAccount(ctx, ref))
	_, err = c.SetCertificate(ctx, ref, want)
	refused(t, err, panel.ErrSuspended)
}

func challenges(t *testing.T, p panel.Panel) {
	c := capability[panel.Certificates](t, p)
	ctx := t.Context()
	create(t, p, spec)
	good := panel.Challenge{Domain: "www.alice.example", Token: "to-ken_1", KeyAuthorization: "to-ken_1.thumb-print_1"}
	for range 2 {
		must(t, c.SetChallenge(ctx, ref, good))
	}
	for kind, bad := range map[panel.Kind][]panel.Challenge{
		panel.ErrNotFound: {{Domain: "other.example", Token: "a", KeyAuthorization: "a.b"}},
		panel.ErrInvalid: {
			{Domain: "alice.example", Token: "../a", KeyAuthorization: "a.b"},
			{Domain: "alice.example", Token: "", KeyAuthorization: "a.b"},
			{Domain: "alice.example", Token: "a", KeyAuthorization: "<script>"},
			{Domain: "", Token: "a", KeyAuthorization: "a.b"},
			{Domain: "alice.example", Token: strings.Repeat("a", 200), KeyAuthorization: "a.b"},
		},
	} {
		for _, b := range bad {
			refused(t, c.SetChallenge(ctx, ref, b), kind)
		}
	}
	create(t, p, panel.AccountSpec{Ref: "2", PrimaryDomain: "bob.example"})
	refused(t, c.SetChallenge(ctx, "2", panel.Challenge{Domain: "bob.example", Token: good.Token, KeyAuthorization: "a.b"}), panel.ErrExists)
	must(t, c.RemoveChallenge(ctx, "2", good.Token)) // is not its
	for range 2 {
		must(t, c.RemoveChallenge(ctx, ref, good.Token))
	}
	must(t, c.SetChallenge(ctx, "2", panel.Challenge{Domain: "bob.example", Token: good.Token, KeyAuthorization: "a.b"}))
	refused(t, c.RemoveChallenge(ctx, "nobody", "a"), panel.ErrNotFound)
	refused(t, c.SetChallenge(ctx, "nobody", good), panel.ErrNotFound)
}

package certificates

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

func TestACertificateIsIssuedRenewedAndUsed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example", "blog.example")
		a := w.do("POST", "/10/ssl", "own", `{}`)
		if a.code != 201 || a.json["status"] != "pending" || a.json["common_name"] != "shop.example" {
			t.Fatalf("%d %s", a.code, a.body)
		}
		id := int64(a.json["id"].(float64))
		w.run()
		got := w.shown(10, id)
		if got["status"] != "active" || got["issuer"] != "Sandbox authority" || fmt.Sprint(got["sans"]) != "[shop.example www.shop.example]" ||
			fmt.Sprint(got["domains"]) != "[shop.example]" || got["domain_id"] != 1000.0 || got["auto_renew"] != true {
			t.Errorf("issued: %v", got)
		}
		if w.tls("it", 10, "shop.example") != panel.TLSActive || w.tls("it", 10, "blog.example") != panel.TLSSelfSigned || w.domains.refreshed == 0 {
			t.Error("the panel has not followed")
		}
		first := w.leaf(id)
		w.after(59 * day) // more than a third is left
		if w.leaf(id).Equal(first) && w.status(10, id) != "active" {
			t.Errorf("after 59 days: %s", w.status(10, id))
		}
		if w.leaf(id).Equal(first) {
			w.after(2 * day)
		}
		second := w.leaf(id)
		if second.Equal(first) || second.NotAfter.Before(w.Clock.Now().Add(85*day)) {
			t.Fatal("it was not renewed when a third of its life was left")
		}
		if ecdsaOf(second).Equal(ecdsaOf(first)) {
			t.Error("the renewed certificate has the key of the former")
		}
		if got := w.told(); got != "ssl.issued ssl.renewed" {
			t.Errorf("told: %s", got)
		}
		w.noSecrets(10)
		// HSTS by the certificate.
		w.post(10, fmt.Sprintf(`{"certificate_id": %d, "hsts": true}`, id))
		w.run()
		installed, err := w.panels["it"].(panel.Certificates).InstalledCertificates(t.Context(), "10")
		w.Must(err)
		if len(installed) != 1 || !installed[0].HSTS {
			t.Errorf("on the panel: %+v", installed)
		}
		// A domain that goes, and a service that ends.
		w.domains.all[10] = w.domains.all[10][1:]
		w.Must(w.Apply(t.Context(), owner, 10))
		if installed, err = w.panels["it"].(panel.Certificates).InstalledCertificates(t.Context(), "10"); err != nil || len(installed) != 0 {
			t.Errorf("without its domain: %+v %v", installed, err)
		}
		if all, err := table.OfService(t.Context(), w.DB, 10); err != nil || len(all) != 0 {
			t.Errorf("without its domain its key is kept: %v %v", all, err)
		}
		w.Services.SetStatus(t, 10, "terminated")
		w.Must(w.Apply(t.Context(), owner, 10))
		if all, err := table.OfService(t.Context(), w.DB, 10); err != nil || len(all) != 0 {
			t.Errorf("of an ended service there is %v %v", all, err)
		}
	})
}

func ecdsaOf(c *x509.Certificate) *ecdsa.PublicKey { return c.PublicKey.(*ecdsa.PublicKey) }

func TestEveryDomainGetsACertificateByItselfWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.config.Automatic = true
		w.begin()
		w.service(10, "it", "shop.example", "refused.example")
		w.service(11, "bare", "bare.example")
		for range 2 {
			w.Must(w.Apply(t.Context(), owner, 10))
			w.Must(w.Apply(t.Context(), owner, 11))
			w.run()
		}
		a := w.do("GET", "/10/ssl", "own", "")
		if n := len(a.json["data"].([]any)); n != 2 || w.tls("it", 10, "shop.example") != panel.TLSActive {
			t.Errorf("%d certificates: %s", n, a.body)
		}
		if a := w.do("GET", "/11/ssl", "own", ""); len(a.json["data"].([]any)) != 0 {
			t.Errorf("where nothing takes certificates: %s", a.body)
		}
	})
}

func TestAFailedRenewalKeepsTheOldCertificateAndBacksOff(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example")
		id := w.post(10, `{}`)
		w.run()
		first := w.leaf(id)
		broken := &failing{panelFull: w.panels["it"].(panelFull), kind: panel.ErrInvalid}
		w.panels["it"] = broken
		w.after(65 * day)
		if broken.asked != 1 || !w.leaf(id).Equal(first) || w.tls("it", 10, "shop.example") != panel.TLSActive {
			t.Fatalf("asked %d times, HTTPS is %s", broken.asked, w.tls("it", 10, "shop.example"))
		}
		got := w.shown(10, id)
		if got["status"] != "active" || got["last_error_key"] != "ssl_preflight_failed" || got["last_error"] == nil || got["next_attempt_at"] == nil {
			t.Errorf("after a failed renewal: %v", got)
		}
		if pre := got["preflight"].(map[string]any); pre["can_issue"] != false || pre["reason"] != reasonProof {
			t.Errorf("preflight: %v", pre)
		}
		if !strings.HasSuffix(w.told(), "ssl.failed") {
			t.Errorf("told: %s", w.told())
		}
		w.after(10 * time.Minute) // not yet
		if broken.asked != 1 {
			t.Error("it is tried again at once")
		}
		tries := []int{}
		for range 6 {
			w.after(day + 7*time.Hour) // the longest pause
			tries = append(tries, broken.asked)
		}
		if fmt.Sprint(tries) != "[2 3 4 5 6 7]" {
			t.Errorf("tries: %v", tries)
		}
		for range 13 { // until it ends
			w.after(day)
		}
		if w.status(10, id) != "expiring" || !strings.Contains(w.told(), "ssl.expiring") {
			t.Errorf("before its end it is %s; told %s", w.status(10, id), w.told())
		}
		w.after(6 * day)
		if w.status(10, id) != "expired" || w.tls("it", 10, "shop.example") != panel.TLSExpired {
			t.Errorf("after its end it is %s, HTTPS is %s", w.status(10, id), w.tls("it", 10, "shop.example"))
		}
		broken.kind = ""
		w.after(2 * day)
		if w.status(10, id) != "active" || w.shown(10, id)["last_error_key"] != nil || w.tls("it", 10, "shop.example") != panel.TLSActive {
			t.Errorf("when the authority is well again: %v", w.shown(10, id))
		}
	})
}

type panelFull interface {
	panel.Panel
	panel.Accounts
	panel.Sites
	panel.Certificates
	panel.Issuing
}

// failing is a panel whose authority fails when it is told to.
type failing struct {
	panelFull
	kind  panel.Kind
	asked int
}

func (f *failing) IssueCertificate(ctx context.Context, ref string, r panel.CertificateRequest) (string, error) {
	f.asked++
	if f.kind != "" {
		return "", panel.Wrap("certificates.issue", ref, f.kind)
	}
	return f.panelFull.IssueCertificate(ctx, ref, r)
}

func TestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example", "blog.example")
		w.service(12, "bare", "bare.example")
		w.service(13, "it", "sleeping.example")
		w.service(14, "node", "anna.uz")
		w.Services.SetStatus(t, 13, "suspended")
		id := w.post(10, `{"domains": ["blog.example"]}`)
		w.run()
		for _, c := range []struct {
			path, token, body string
			code              int
			key               string
		}{
			{"/10/ssl", "own", `{"domains": ["elsewhere.example"]}`, 422, "ssl_preflight_failed not_hosted"},
			{"/10/ssl", "own", `{"domains": ["shop.example", "deep.shop.example"]}`, 422, "ssl_preflight_failed not_hosted"},
			{"/10/ssl", "own", `{"domains": ["*.shop.example"], "challenge": "http"}`, 422, "ssl_preflight_failed wildcard_by_dns"},
			{"/10/ssl", "own", `{"domains": ["a b"]}`, 422, "domain_invalid"},
			{"/10/ssl", "own", `{"domains": ["127.0.0.1"]}`, 422, "domain_invalid"},
			{"/10/ssl", "own", `{"challenge": "tls"}`, 422, "validation_failed"},
			{"/10/ssl", "own", `{"hsts": true}`, 422, "unsupported_operation"},
			{"/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d, "domains": ["shop.example"]}`, id), 422, "validation_failed"},
			{"/10/ssl", "own", `{"certificate_id": 999}`, 404, "not_found"},
			{"/10/ssl", "own", `{"private_key": "x"}`, 422, "validation_failed"},
			{"/10/ssl", "own", `{"certificate": "x"}`, 422, "validation_failed"},
			{"/10/ssl", "own", `{"certificate": "x", "private_key": "y", "domains": ["shop.example"]}`, 422, "validation_failed"},
			{"/12/ssl", "own", `{}`, 422, "ssl_preflight_failed issuing_off"},
			{"/13/ssl", "own", `{}`, 422, "service_suspended"},
			{"/14/ssl", "own", `{}`, 422, "ssl_preflight_failed issuing_off"},
			{"/10/ssl", "other", `{}`, 404, "not_found"},
			{"/99/ssl", "own", `{}`, 404, "not_found"},
			{"/10/ssl", "other", fmt.Sprintf(`{"certificate_id": %d}`, id), 404, "not_found"},
		} {
			if a := w.do("POST", c.path, c.token, c.body); a.code != c.code || a.key() != c.key {
				t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, a.code, a.body, c.code, c.key)
			}
		}
		if a := w.do("GET", "/10/ssl", "other", ""); a.code != 404 {
			t.Errorf("a stranger reads %d", a.code)
		}
		if a := w.do("GET", "/14/ssl", "own", ""); a.code != 200 || !strings.Contains(a.body, "issuing_off") {
			t.Errorf("where issuing is off: %s", a.body)
		}
		if all, err := table.OfService(t.Context(), w.DB, 10); err != nil || len(all) != 1 {
			t.Errorf("refused requests left %v %v", all, err)
		}
		// What the authority would refuse for a while is not asked of it.
		for range 4 {
			w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
			w.run()
		}
		if a := w.do("POST", "/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d}`, id)); a.key() != "ssl_rate_limited" || a.json["retry_at"] == nil {
			t.Errorf("the sixth in a week: %s", a.body)
		}
	})
}

// issued is a certificate of an authority of the test.
type issued struct {
	chain, root, key string
}

type issueOptions struct {
	key      crypto.Signer
	names    []string
	from, to time.Time
	issuer   string
	usage    x509.ExtKeyUsage
	ca       bool
}

func issue(t *testing.T, o issueOptions) issued {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	authority, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cmp.Or(o.issuer, "Authority of the test")}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: o.from, NotAfter: o.to, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, authority.Public(), authority)
	must(err)
	if o.key == nil {
		o.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: o.names, NotBefore: o.from, NotAfter: o.to, ExtKeyUsage: []x509.ExtKeyUsage{o.usage},
		IsCA: o.ca, BasicConstraintsValid: o.ca,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, o.key.Public(), authority)
	must(err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(o.key)
	must(err)
	return issued{chain: pemOf("CERTIFICATE", der), root: pemOf("CERTIFICATE", rootDER), key: pemOf("PRIVATE KEY", pkcs8)}
}

func TestAnOwnCertificateIsJudgedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example", "blog.example")
		now := w.Clock.Now()
		good := issueOptions{names: []string{"shop.example", "*.shop.example"}, from: now.Add(-day), to: now.Add(100 * day), usage: x509.ExtKeyUsageServerAuth}
		with := func(edit func(*issueOptions)) issued {
			o := good
			edit(&o)
			return issue(t, o)
		}
		ok := issue(t, good)
		other := issue(t, good)
		small, err := rsa.GenerateKey(rand.Reader, 1024)
		w.Must(err)
		// Of many primes, because it is found soon.
		large, err := rsa.GenerateMultiPrimeKey(rand.Reader, 8, 4160) //nolint:staticcheck // see above
		w.Must(err)
		_, edwards, err := ed25519.GenerateKey(rand.Reader)
		w.Must(err)
		for name, c := range map[string]struct {
			certificate, chain, key string
			want                    string
		}{
			"nonsense":           {"hello", "", ok.key, "ssl_preflight_failed not_pem"},
			"a key first":        {ok.key + ok.chain, "", ok.key, "ssl_preflight_failed not_pem"},
			"cut off":            {ok.chain[:200], "", ok.key, "ssl_preflight_failed not_pem"},
			"no key":             {ok.chain, "", "hello", "ssl_preflight_failed key_not_pem"},
			"an encrypted key":   {ok.chain, "", pemOf("ENCRYPTED PRIVATE KEY", []byte("x")), "ssl_preflight_failed key_encrypted"},
			"another's key":      {ok.chain, "", other.key, "ssl_key_mismatch"},
			"another's chain":    {ok.chain, other.root, ok.key, "ssl_preflight_failed chain_order"},
			"the root first":     {ok.root + ok.chain, "", ok.key, "ssl_key_mismatch"},
			"expired":            ownOf(with(func(o *issueOptions) { o.from, o.to = now.Add(-9*day), now.Add(-day) }), "ssl_preflight_failed expired"),
			"not yet":            ownOf(with(func(o *issueOptions) { o.from = now.Add(day) }), "ssl_preflight_failed not_yet_valid"),
			"for others":         ownOf(with(func(o *issueOptions) { o.names = []string{"elsewhere.example"} }), "ssl_preflight_failed name_not_covered"),
			"for mail":           ownOf(with(func(o *issueOptions) { o.usage = x509.ExtKeyUsageEmailProtection }), "ssl_preflight_failed purpose"),
			"a small key":        ownOf(with(func(o *issueOptions) { o.key = small }), "ssl_preflight_failed weak_key"),
			"a large key":        ownOf(with(func(o *issueOptions) { o.key = large }), "ssl_preflight_failed large_key"),
			"a key of no use":    ownOf(with(func(o *issueOptions) { o.key = edwards }), "ssl_preflight_failed weak_key"),
			"an authority's own": ownOf(with(func(o *issueOptions) { o.ca, o.names = true, nil }), "ssl_preflight_failed is_authority"),
		} {
			body, _ := json.Marshal(map[string]string{"certificate": c.certificate, "chain": c.chain, "private_key": c.key})
			if a := w.do("POST", "/10/ssl", "own", string(body)); a.code != 422 || a.key() != c.want {
				t.Errorf("%s: %d %s, want %s", name, a.code, a.body, c.want)
			}
		}
		if all, err := table.OfService(t.Context(), w.DB, 10); err != nil || len(all) != 0 {
			t.Errorf("refused certificates left %v %v", all, err)
		}
		body, _ := json.Marshal(map[string]any{"certificate": "Bag Attributes\n" + ok.chain + ok.root, "private_key": ok.key, "hsts": true})
		id := w.post(10, string(body))
		w.run()
		got := w.shown(10, id)
		if got["kind"] != "custom" || got["status"] != "active" || got["challenge"] != nil || got["auto_renew"] != false || got["hsts"] != true ||
			w.tls("it", 10, "shop.example") != panel.TLSActive || w.tls("it", 10, "blog.example") != panel.TLSSelfSigned {
			t.Errorf("installed: %v", got)
		}
		w.noSecrets(10)
		strange := with(func(o *issueOptions) { o.names, o.issuer = []string{"blog.example"}, "Somebody\x00's" })
		strangeBody, _ := json.Marshal(map[string]string{"certificate": strange.chain, "private_key": strange.key})
		if got := w.shown(10, w.post(10, string(strangeBody)))["issuer"]; got != "Somebody 's" {
			t.Errorf("an issuer whose name no database takes: %q", got)
		}
		w.run()
		// The one that was asked for last is used; the own one comes back when that ends.
		issuedID := w.post(10, `{}`)
		w.run()
		if fmt.Sprint(w.shown(10, issuedID)["domains"]) != "[shop.example]" || fmt.Sprint(w.shown(10, id)["domains"]) != "[]" {
			t.Errorf("after issuing: %v and %v", w.shown(10, issuedID), w.shown(10, id))
		}
		again := w.post(10, string(body))
		w.run()
		if again == id || fmt.Sprint(w.shown(10, again)["domains"]) != "[shop.example]" {
			t.Errorf("installed again: %v", w.shown(10, again))
		}
		if a := w.do("POST", "/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d, "auto_renew": true}`, again)); a.key() != "validation_failed" {
			t.Errorf("renewing an own certificate: %s", a.body)
		}
		for range 20 { // to its end, told on the way
			w.after(5 * day)
		}
		if got := strings.Count(w.told(), "ssl.expiring"); got == 0 {
			t.Errorf("told: %s", w.told())
		}
	})
}

// A certificate that stands behind an own one is left alone as long as that lasts, and takes its place before it ends.
func TestAnOwnCertificateThatEndsIsFollowed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example")
		behind := w.post(10, `{}`)
		w.run()
		w.Clock.Advance(time.Minute)
		own := issue(t, issueOptions{
			names: []string{"shop.example"}, from: w.Clock.Now().Add(-day), to: w.Clock.Now().Add(120 * day), usage: x509.ExtKeyUsageServerAuth,
		})
		body, _ := json.Marshal(map[string]string{"certificate": own.chain, "private_key": own.key})
		used := w.post(10, string(body))
		w.run()
		first := w.leaf(behind)
		told := func(id int64) (n int) {
			w.Must(w.DB.QueryRow(t.Context(), `SELECT count(*) FROM outbox_events WHERE type = 'ssl.expiring' AND CAST(data AS TEXT) LIKE $1`,
				fmt.Sprintf(`{"id":%d,%%`, id)).Scan(&n))
			return n
		}
		for n := range 118 {
			w.after(day)
			if w.tls("it", 10, "shop.example") != panel.TLSActive {
				t.Fatalf("after %d days HTTPS is %s", n+1, w.tls("it", 10, "shop.example"))
			}
		}
		if due := w.row(behind).dueAt.Sub(w.Clock.Now()); !w.leaf(behind).Equal(first) || told(behind) != 0 || due < unneededPause-time.Minute {
			t.Errorf("what nobody needs is looked at again after %v and told of %d times", due, told(behind))
		}
		for n := range 5 * 8 {
			w.after(3 * time.Hour)
			w.Must(w.Apply(t.Context(), owner, 10)) // as every hour
			if w.tls("it", 10, "shop.example") != panel.TLSActive {
				t.Fatalf("after 118 days and %d hours HTTPS is %s", 3*(n+1), w.tls("it", 10, "shop.example"))
			}
		}
		if fmt.Sprint(w.shown(10, behind)["domains"]) != "[shop.example]" || told(used) != 2 {
			t.Errorf("in the end there is %v; told %d times", w.shown(10, behind), told(used))
		}
	})
}

// TestADomainThatStraysKeepsItsCertificates: its DNS led elsewhere at one look, or did not answer. Nothing is installed for it meanwhile,
// and nothing is lost: the customer's own key is nowhere else.
func TestADomainThatStraysKeepsItsCertificates(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example", "blog.example")
		own := issue(t, issueOptions{
			names: []string{"shop.example"}, from: w.Clock.Now().Add(-day), to: w.Clock.Now().Add(90 * day), usage: x509.ExtKeyUsageServerAuth,
		})
		body, _ := json.Marshal(map[string]any{"certificate": own.chain, "private_key": own.key, "hsts": true})
		custom := w.post(10, string(body))
		acme := w.post(10, `{"domains": ["blog.example"]}`)
		w.run()
		w.post(10, fmt.Sprintf(`{"certificate_id": %d, "hsts": true, "auto_renew": false}`, acme))
		w.run()
		before := map[int64]row{custom: w.row(custom), acme: w.row(acme)}

		stray := func(usable bool) {
			for i := range w.domains.all[10] {
				w.domains.all[10][i].Usable = usable
			}
			w.Must(w.Apply(t.Context(), owner, 10))
		}
		stray(false)
		if on, err := w.panels["it"].(panel.Certificates).InstalledCertificates(t.Context(), "10"); err != nil || len(on) != 0 {
			t.Errorf("on the panel: %+v, %v", on, err)
		}
		all, err := table.OfService(t.Context(), w.DB, 10)
		w.Must(err)
		if len(all) != 2 {
			t.Fatalf("left are %d certificates", len(all))
		}
		if a := w.do("POST", "/10/ssl", "own", string(body)); a.code != 422 {
			t.Errorf("another one: %d %s", a.code, a.body)
		}
		if a := w.do("POST", "/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d}`, acme)); a.key() != "domain_not_pointed" {
			t.Errorf("a renewal: %s", a.body)
		}

		stray(true)
		for id, was := range before {
			now := w.row(id)
			if now.hsts != was.hsts || now.autoRenew != was.autoRenew || now.fingerprint != was.fingerprint || string(now.current.secret) != string(was.current.secret) {
				t.Errorf("certificate %d is %+v, was %+v", id, now, was)
			}
		}
		if w.tls("it", 10, "shop.example") != panel.TLSActive || w.tls("it", 10, "blog.example") != panel.TLSActive {
			t.Error("what came back is not installed")
		}

		// One whose names have left the service goes with its key.
		w.domains.all[10] = w.domains.all[10][1:]
		w.Must(w.Apply(t.Context(), owner, 10))
		if _, err := table.Find(t.Context(), w.DB, custom); err == nil {
			t.Error("the certificate of a domain that has left is kept")
		}
	})
}

func TestASuccessorIsThereBeforeTheFormerGoes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example", "blog.example")
		w.post(10, `{"domains": ["shop.example", "blog.example"]}`)
		w.run()
		watched := &watching{panelFull: w.panels["it"].(panelFull), w: w}
		w.panels["it"] = watched
		w.Clock.Advance(time.Minute)
		one := w.post(10, `{"domains": ["blog.example"]}`)
		w.run()
		w.Clock.Advance(time.Minute)
		own := issue(t, issueOptions{
			names: []string{"blog.example", "shop.example"}, from: w.Clock.Now().Add(-day), to: w.Clock.Now().Add(100 * day), usage: x509.ExtKeyUsageServerAuth,
		})
		for range 2 { // the second takes the place of the first
			w.Clock.Advance(time.Minute)
			body, _ := json.Marshal(map[string]string{"certificate": own.chain, "private_key": own.key})
			w.post(10, string(body))
			w.run()
		}
		w.Clock.Advance(time.Minute)
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, one))
		w.run()
		if watched.seen < 8 || len(watched.without) > 0 {
			t.Errorf("in %d steps visitors were without a certificate: %v", watched.seen, watched.without)
		}
		installed, err := watched.InstalledCertificates(t.Context(), "10")
		w.Must(err)
		if len(installed) != 2 {
			t.Errorf("on the panel: %+v", installed)
		}
	})
}

// watching looks after each change whether both domains are answered by HTTPS.
type watching struct {
	panelFull
	w       *world
	seen    int
	without []string
}

func (p *watching) look(what string) {
	p.seen++
	for _, name := range []string{"shop.example", "blog.example"} {
		if p.w.tls("it", 10, name) != panel.TLSActive {
			p.without = append(p.without, what+": "+name)
		}
	}
}

func (p *watching) SetCertificate(ctx context.Context, ref string, c panel.Certificate) (panel.InstalledCertificate, error) {
	set, err := p.panelFull.SetCertificate(ctx, ref, c)
	p.look("set " + c.Name)
	return set, err
}

func (p *watching) RemoveCertificate(ctx context.Context, ref, name string) error {
	err := p.panelFull.RemoveCertificate(ctx, ref, name)
	p.look("remove " + name)
	return err
}

func ownOf(i issued, want string) struct{ certificate, chain, key, want string } {
	return struct{ certificate, chain, key, want string }{i.chain, "", i.key, want}
}

// TestOneCertificateForTheSameNames: an order adds "www." by itself. Who asks for both names a moment later means that order.
func TestOneCertificateForTheSameNames(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.config.Automatic = true
		w.begin()
		w.service(10, "it", "shop.example")
		w.Must(w.Apply(t.Context(), owner, 10))
		for _, body := range []string{`{"names": ["shop.example", "www.shop.example"]}`, `{}`, `{"names": ["www.shop.example", "shop.example"]}`} {
			w.do("POST", "/10/ssl", "own", body)
			w.run()
		}
		all, err := table.OfService(t.Context(), w.DB, 10)
		w.Must(err)
		if len(all) != 1 || fmt.Sprint(all[0].sans) != "[shop.example www.shop.example]" {
			t.Errorf("%d certificates: %+v", len(all), all)
		}
	})
}

// TestRenewalsAreNotCounted: who has used up the certificates of a week does not lose the renewal that is due.
func TestRenewalsAreNotCounted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(10, "it", "shop.example")
		id := w.post(10, `{}`)
		w.run()
		w.after(62 * day) // past the renewal
		w.Exec(`DELETE FROM certificates_attempts`)
		renewed := w.leaf(id)
		for range mostIssued {
			w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
			w.run()
		}
		if a := w.do("POST", "/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d}`, id)); a.key() != "ssl_rate_limited" {
			t.Errorf("by hand: %s", a.body)
		}
		last := w.leaf(id)
		if last.Equal(renewed) {
			t.Fatal("nothing was issued by hand")
		}
		w.Exec(`UPDATE certificates SET renew_at = $1, due_at = $1`, w.Clock.Now())
		w.after(time.Minute)
		if w.leaf(id).Equal(last) || w.status(10, id) != "active" {
			t.Errorf("the renewal: %s", w.status(10, id))
		}
		found, err := attempts(t.Context(), w.DB, []string{"shop.example"}, true, w.Clock.Now().Add(-week))
		if err != nil || len(found["shop.example"]) != mostIssued {
			t.Errorf("counted: %v %v", found, err)
		}
	})
}

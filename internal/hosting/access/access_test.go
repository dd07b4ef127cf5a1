package access

import (
	"context"
	"crypto/dsa" //nolint:staticcheck // that such keys are refused is tested
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// machine notes the passwords that it is told, and has terminals that repeat what is typed.
type machine struct {
	sandbox.Panel
	sitetest.Failures
	mu      sync.Mutex
	secrets map[string]string // passwords by user name
}

func (m *machine) SetFTPAccount(ctx context.Context, ref string, a panel.FTPAccount) (panel.FTPAccount, error) {
	if err := m.Change("ftp.set", ref); err != nil {
		return a, err
	}
	m.mu.Lock()
	m.secrets[a.Username] = a.Password
	m.mu.Unlock()
	return m.Panel.SetFTPAccount(ctx, ref, a)
}

func (m *machine) SetShellAccess(ctx context.Context, ref string, on bool) (panel.ShellAccess, error) {
	if err := m.Change("shell.set", ref); err != nil {
		return panel.ShellAccess{}, err
	}
	return m.Panel.SetShellAccess(ctx, ref, on)
}

func (m *machine) SetSSHKeys(ctx context.Context, ref string, keys []panel.SSHKey) error {
	if err := m.Change("shell.set_keys", ref); err != nil {
		return err
	}
	return m.Panel.SetSSHKeys(ctx, ref, keys)
}

func (m *machine) OpenTerminal(_ context.Context, _ string, _ panel.TerminalSize, input io.Reader) (io.ReadCloser, error) {
	out, w := io.Pipe()
	go func() {
		err := panel.ReadTerminalInput(input, func(in panel.TerminalInput) error { _, err := w.Write(in.Data); return err })
		_ = w.CloseWithError(err)
	}()
	return out, nil
}

type world struct {
	sitetest.World
	queue   *jobs.Queue
	machine *machine
	vault   *sitetest.Vault
	*Service
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		m := &machine{Panel: sitetest.Open(base.T, func() time.Time { return testkit.Start }, sandbox.Open), secrets: map[string]string{}}
		w := &world{World: base, queue: sitetest.Queue(base.T, base.DB), machine: m, vault: &sitetest.Vault{}}
		w.Service = New(Config{Base: w.On(w.queue, m), Credentials: w.vault, Security: noSecurityLog{}, BaseURL: "https://stead.test"})
		w.Panels.(sitetest.Panels)["plain"] = m.Panel
		w.Register(w.queue.Workers())
		w.Mount(w.Operations())
		w.add(10, owner, site.Limits{"ftp_accounts": 2})
		w.add(20, stranger, site.Limits{})
		f(base.T, w)
	})
}

// add makes a service that is provisioned.
func (w *world) add(id, account int64, limits site.Limits) {
	w.T.Helper()
	w.Sell(w.machine, site.Site{ServiceID: id, AccountID: account, Limits: limits})
}

func (w *world) apply(id int64) {
	w.T.Helper()
	account := int64(owner)
	if id == 20 {
		account = stranger
	}
	w.Must(w.Apply(w.T.Context(), account, id))
}

// expect is do for one answer: a status, or a status and an error key.
func (w *world) expect(method, target, token, body string, code int, key string) sitetest.Reply {
	w.T.Helper()
	r := w.Do(method, target, token, body)
	if r.Code != code || r.Key() != key {
		w.T.Errorf("%s %s %s: %+v, want %d %s", method, target, body, r, code, key)
	}
	return r
}

type ftpShown struct {
	ID                             int64
	Username, Home, Status         string
	QuotaMB                        *int64 `json:"quota_mb"`
	Readonly                       bool
	Host                           *string
	Port                           *int
	Protocols                      []string
	FailureKey                     *string `json:"failure_key"`
	LastLoginAt                    *time.Time
	Password, Secret, PasswordHash string
}

func list[T any](w *world, target string) []T { return sitetest.List[T](&w.World, target) }

func made[T any](w *world, r sitetest.Reply) (v T) {
	w.T.Helper()
	if r.Code >= 300 {
		w.T.Fatalf("%+v", r)
	}
	w.Must(json.Unmarshal([]byte(r.Body), &v))
	return v
}

func TestAnFTPAccountComesAndGoes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		f := made[ftpShown](w, w.expect("POST", "/10/ftp", "own", `{"username":"Anna","home":"//public_html/./shop/","quota_mb":5,"readonly":true}`, 201, ""))
		if f.Username != "s10_anna" || f.Home != "/public_html/shop" || f.QuotaMB == nil || *f.QuotaMB != 5 || !f.Readonly || f.Status != "pending" || f.Host != nil ||
			strings.Join(f.Protocols, " ") != "ftps" {
			t.Errorf("%+v", f)
		}
		w.apply(10)
		f = list[ftpShown](w, "/10/ftp")[0]
		if f.Status != "active" || f.Host == nil || f.Port == nil {
			t.Errorf("%+v", f)
		}
		on, err := w.machine.FTPAccounts(t.Context(), "10")
		if err != nil || len(on) != 1 || on[0].Username != "s10_anna" || on[0].Home != "/public_html/shop" || on[0].QuotaMB != 5 || !on[0].ReadOnly {
			t.Errorf("%+v, %v", on, err)
		}
		password, _, err := w.vault.Secret(t.Context(), w.DB, "ftp", f.ID)
		if err != nil || w.machine.secrets["s10_anna"] != password {
			t.Errorf("the panel was told %q: %v", w.machine.secrets["s10_anna"], err)
		}
		for _, target := range []string{"/10/ftp"} {
			if r := w.Do("GET", target, "own", ""); strings.Contains(r.Body, password) || strings.Contains(strings.ToLower(r.Body), "password") {
				t.Errorf("a password in %s", r.Body)
			}
		}
		changes := w.machine.Changes()
		w.apply(10)
		if w.machine.Changes() != changes {
			t.Error("what was so was set again")
		}
		w.expect("DELETE", fmt.Sprintf("/10/ftp/%d", f.ID), "own", "", 200, "")
		w.expect("DELETE", fmt.Sprintf("/10/ftp/%d", f.ID), "own", "", 200, "")
		w.expect("POST", "/10/ftp", "own", `{"username":"anna"}`, 422, "already_exists")
		w.apply(10)
		if left := list[ftpShown](w, "/10/ftp"); len(left) != 0 || w.vault.Count() != 0 {
			t.Errorf("%+v, %v", left, w.vault.Count())
		}
		w.expect("POST", "/10/ftp", "own", `{"username":"s10_anna"}`, 201, "")
		w.apply(10)
		if got := list[ftpShown](w, "/10/ftp")[0]; got.Username != "s10_anna" || got.Home != "/public_html" || got.QuotaMB != nil {
			t.Errorf("%+v", got)
		}
		if now := w.machine.secrets["s10_anna"]; now == password {
			t.Error("a new FTP account has the password of an old one")
		}
	})
}

func TestWhatNoFTPAccountMayBe(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for body, key := range map[string]string{
			`{"username":"a","home":"/../x"}`:                              "path_not_allowed",
			`{"username":"a","home":"../s20/public_html"}`:                 "path_not_allowed",
			`{"username":"a","home":"/public_html/../../etc"}`:             "path_not_allowed",
			`{"username":"a","home":"/public_html/../../s10/a"}`:           "path_not_allowed",
			`{"username":"a","home":"/tmp"}`:                               "path_not_allowed",
			`{"username":"a","home":"/logs/x"}`:                            "path_not_allowed",
			`{"username":"a","home":"/x/.stead-1"}`:                        "path_not_allowed",
			`{"username":"a","home":"/a\u0000b"}`:                          "validation_failed",
			`{"username":"a","home":"/a\nb"}`:                              "validation_failed",
			`{"username":"a/b"}`:                                           "validation_failed",
			`{"username":"-a"}`:                                            "validation_failed",
			`{"username":"a b"}`:                                           "validation_failed",
			`{"username":"a\nb"}`:                                          "validation_failed",
			`{"username":"s20_a/"}`:                                        "validation_failed",
			`{"username":""}`:                                              "validation_failed",
			`{"username":"s10_"}`:                                          "validation_failed",
			`{"username":"` + strings.Repeat("x", 33) + `"}`:               "validation_failed",
			`{"username":"a","quota_mb":0}`:                                "validation_failed",
			`{"username":"a","quota_mb":-5}`:                               "validation_failed",
			`{"home":"/x"}`:                                                "validation_failed",
			`{"username":"a","home":"` + strings.Repeat("/x", 3000) + `"}`: "validation_failed",
		} {
			w.expect("POST", "/10/ftp", "own", body, 422, key)
		}
		if got := list[ftpShown](w, "/10/ftp"); len(got) != 0 || w.vault.Count() != 0 {
			t.Errorf("%+v, %v", got, w.vault.Count())
		}
		// Nobody chooses a password.
		w.expect("POST", "/10/ftp", "own", `{"username":"one","password":"chosen by me"}`, 422, "validation_failed")
		w.expect("POST", "/10/ftp", "own", `{"username":"one"}`, 201, "")
		w.apply(10)
		w.expect("POST", "/10/ftp", "own", `{"username":"two"}`, 201, "")
		w.expect("POST", "/10/ftp", "own", `{"username":"three"}`, 422, "limit_reached")
		w.expect("POST", "/10/ftp", "own", `{"username":"one"}`, 422, "limit_reached")
		count := map[string]int64{}
		w.Must(w.Count(t.Context(), w.DB, 10, count))
		if count["ftp_accounts"] != 2 {
			t.Errorf("%v", count)
		}
	})
}

func TestAPasswordThatWasReplacedReachesThePanel(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		f := made[ftpShown](w, w.Do("POST", "/10/ftp", "own", `{"username":"anna"}`))
		w.apply(10)
		first := w.machine.secrets["s10_anna"]
		replace := func(service int64) error {
			return w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if err := w.PasswordReplaced(ctx, tx, owner, service, f.ID); err != nil {
					return err
				}
				w.vault.Renew(f.ID)
				return nil
			})
		}
		w.Must(replace(10))
		if got := list[ftpShown](w, "/10/ftp")[0]; got.Status != "pending" {
			t.Errorf("%+v", got)
		}
		w.apply(10)
		if got := list[ftpShown](w, "/10/ftp")[0]; got.Status != "active" || w.machine.secrets["s10_anna"] == first {
			t.Errorf("%+v, the password is the old one", got)
		}
		if err := replace(20); !errors.Is(err, fault.NotFound) {
			t.Errorf("by another service: %v", err)
		}
		w.Services.SetStatus(t, 10, "suspended")
		if err := replace(10); !errors.Is(err, fault.ServiceSuspended) {
			t.Errorf("of a suspended service: %v", err)
		}
	})
}

func TestThePanelRefuses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.expect("POST", "/10/ftp", "own", `{"username":"anna"}`, 201, "")
		w.expect("PUT", "/10/shell", "own", `{"enabled":true}`, 200, "")
		w.machine.Fail(panel.ErrPathNotAllowed)
		w.apply(10)
		if got := list[ftpShown](w, "/10/ftp")[0]; got.Status != "failed" || got.FailureKey == nil || *got.FailureKey != "path_not_allowed" {
			t.Errorf("%+v", got)
		}
		if got, err := w.shellOf(t.Context(), w.DB, 10); err != nil || got.Status != site.Failed {
			t.Errorf("%+v, %v", got, err)
		}
		w.machine.Fail(panel.ErrUnreachable)
		w.expect("PUT", "/10/shell", "own", `{"enabled":true}`, 200, "")
		if err := w.Apply(t.Context(), owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("a job that must be tried again says %v", err)
		}
		w.machine.Fail(nil)
		w.apply(10)
		if got := list[ftpShown](w, "/10/ftp")[0]; got.Status != "active" {
			t.Errorf("%+v", got)
		}
	})
}

type shellShown struct {
	Enabled                     bool
	Shell, Status               string
	Host, Username, Fingerprint *string
	Port                        *int
	WebTerminalURL              *string `json:"web_terminal_url"`
}

func TestTheShellIsSwitched(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if never := made[shellShown](w, w.expect("GET", "/10/shell", "own", "", 200, "")); never.Enabled || never.Status != "active" || never.Host != nil {
			t.Errorf("%+v", never)
		}
		w.expect("GET", "/10/shell", "other", "", 404, "not_found")
		first := made[shellShown](w, w.expect("PUT", "/10/shell", "own", `{"enabled":true}`, 200, ""))
		if !first.Enabled || first.Status != "pending" || first.Host != nil || first.Shell != "bash" || *first.WebTerminalURL != "https://stead.test/panel/services/10/terminal" {
			t.Errorf("%+v", first)
		}
		w.apply(10)
		if on, err := w.machine.ShellAccess(t.Context(), "10"); err != nil || !on.Enabled {
			t.Errorf("%+v, %v", on, err)
		}
		off := made[shellShown](w, w.expect("PUT", "/10/shell", "own", `{"enabled":false}`, 200, ""))
		if off.Enabled || off.Shell != "none" || off.WebTerminalURL != nil || off.Host == nil || off.Port == nil || off.Fingerprint == nil || *off.Username != "s10" {
			t.Errorf("%+v", off)
		}
		w.apply(10)
		if shown := made[shellShown](w, w.expect("GET", "/10/shell", "own", "", 200, "")); shown.Status != "active" || shown.Enabled || shown.Host == nil || *shown.Username != "s10" {
			t.Errorf("%+v", shown)
		}
		if on, err := w.machine.ShellAccess(t.Context(), "10"); err != nil || on.Enabled {
			t.Errorf("%+v, %v", on, err)
		}
		for body, code := range map[string]int{`{}`: 422, `{"enabled":"yes"}`: 422, `[]`: 422, `{`: 400} {
			if r := w.Do("PUT", "/10/shell", "own", body); r.Code != code {
				t.Errorf("%s: %+v", body, r)
			}
		}

		// What somebody switched by hand comes back.
		_, err := w.machine.Panel.SetShellAccess(t.Context(), "10", true)
		w.Must(err)
		w.apply(10)
		if on, err := w.machine.ShellAccess(t.Context(), "10"); err != nil || on.Enabled {
			t.Errorf("%+v, %v", on, err)
		}

		// A panel that has shells and no terminals, as the simulated one, leads nobody to one.
		_, err = w.machine.CreateAccount(t.Context(), panel.AccountSpec{Ref: "31", Username: "s31", PrimaryDomain: "s31.example.com"})
		w.Must(err)
		w.Services.Add(t, site.Site{ServiceID: 31, AccountID: owner, Panel: "plain", Ref: "31", Username: "s31", Status: "active", Limits: site.Limits{}})
		if plain := made[shellShown](w, w.expect("PUT", "/31/shell", "own", `{"enabled":true}`, 200, "")); plain.Shell != "bash" || plain.WebTerminalURL != nil {
			t.Errorf("%+v", plain)
		}

		w.add(30, owner, site.Limits{"shell": 0})
		w.expect("PUT", "/30/shell", "own", `{"enabled":true}`, 422, "feature_not_in_plan")
		w.expect("PUT", "/30/shell", "own", `{"enabled":false}`, 200, "")
	})
}

func publicKey(t *testing.T, key any) string {
	t.Helper()
	k, err := ssh.NewPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}

func ed(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return publicKey(t, public)
}

func rsaKey(t *testing.T, bits int) string {
	t.Helper()
	// A number of that length; nothing is signed with it.
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return publicKey(t, &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537})
}

type keyShown struct {
	ID          int64
	Name, Type  string
	Fingerprint string `json:"fingerprint_sha256"`
	PublicKey   string `json:"public_key"`
	LastUsedAt  *time.Time
}

func TestKeysComeAndGo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		w.Must(err)
		bodies := map[string]string{"laptop": ed(t), "rsa": rsaKey(t, 2048), "ec": publicKey(t, &ec.PublicKey)}
		for name, key := range bodies {
			k := made[keyShown](w, w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"name":%q,"public_key":%q}`, name, "  "+key+" me@there\n"), 201, ""))
			if k.Name != name || k.PublicKey != key || k.Type != strings.Fields(key)[0] || !strings.HasPrefix(k.Fingerprint, "SHA256:") || len(k.Fingerprint) != 50 {
				t.Errorf("%+v", k)
			}
			w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"name":"again","public_key":%q}`, key+" other comment"), 422, "already_exists")
		}
		if k := made[keyShown](w, w.Do("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, ed(t)+" anna@home"))); k.Name != "anna@home" {
			t.Errorf("%+v", k)
		}
		// The same key may open a stranger's service as well.
		w.expect("POST", "/20/ssh-keys", "other", fmt.Sprintf(`{"public_key":%q}`, bodies["laptop"]), 201, "")
		w.apply(10)
		on, err := w.machine.SSHKeys(t.Context(), "10")
		if err != nil || len(on) != 4 {
			t.Errorf("%+v, %v", on, err)
		}
		all := list[keyShown](w, "/10/ssh-keys")
		w.expect("DELETE", fmt.Sprintf("/10/ssh-keys/%d", all[0].ID), "own", "", 200, "")
		w.expect("DELETE", fmt.Sprintf("/10/ssh-keys/%d", all[0].ID), "own", "", 404, "not_found")
		w.apply(10)
		on, err = w.machine.SSHKeys(t.Context(), "10")
		if err != nil || len(on) != 3 || on[0].PublicKey == all[0].PublicKey {
			t.Errorf("%+v, %v", on, err)
		}
		changes := w.machine.Changes()
		w.apply(10)
		if w.machine.Changes() != changes {
			t.Error("what was so was set again")
		}
	})
}

func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		good := ed(t)
		_, private, err := ed25519.GenerateKey(rand.Reader)
		w.Must(err)
		block, err := ssh.MarshalPrivateKey(private, "")
		w.Must(err)
		weak := &dsa.PublicKey{Parameters: dsa.Parameters{P: new(big.Int).Lsh(big.NewInt(1), 1023), Q: new(big.Int).Lsh(big.NewInt(1), 159), G: big.NewInt(2)}, Y: big.NewInt(3)}
		signer, err := ssh.NewSignerFromKey(private)
		w.Must(err)
		cert := &ssh.Certificate{Key: signer.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
		w.Must(cert.SignCert(rand.Reader, signer))
		for text, reason := range map[string]string{
			"hello": "malformed", "ssh-ed25519": "malformed", "ssh-ed25519 AAAA": "malformed", " ": "malformed",
			"ssh-ed25519 " + base64.StdEncoding.EncodeToString([]byte("not a key")): "malformed",
			string(pem.EncodeToMemory(block)):                                       "private_key",
			good + "\n" + ed(t):                                                     "several_lines",
			good + "\r" + ed(t):                                                     "several_lines",
			`command="id" ` + good:                                                  "options",
			`from="*",no-pty ` + good:                                               "options",
			publicKeyOf(t, weak):                                                    "type",
			strings.TrimSpace(string(ssh.MarshalAuthorizedKey(cert))):               "type",
			rsaKey(t, 1024):                                                         "too_short",
			rsaKey(t, 2047):                                                         "too_short",
		} {
			body, err := json.Marshal(map[string]string{"name": "x", "public_key": text})
			w.Must(err)
			r := w.expect("POST", "/10/ssh-keys", "own", string(body), 422, "ssh_key_invalid")
			if !strings.Contains(r.Body, reason) {
				t.Errorf("%.40q: %s, want %s", text, r.Body, reason)
			}
			if strings.Contains(r.Body, "PRIVATE KEY") {
				t.Error("the answer repeats a private key")
			}
		}
		for body, key := range map[string]string{
			fmt.Sprintf(`{"name":"a\nb","public_key":%q}`, good):                       "validation_failed",
			fmt.Sprintf(`{"name":%q,"public_key":%q}`, strings.Repeat("x", 101), good): "validation_failed",
			fmt.Sprintf(`{"public_key":%q}`, good+" "+strings.Repeat("x", 200)):        "validation_failed",
			`{"name":"x"}`: "validation_failed", `{"public_key":""}`: "validation_failed", `{"public_key":7}`: "validation_failed",
		} {
			w.expect("POST", "/10/ssh-keys", "own", body, 422, key)
		}
		if got := list[keyShown](w, "/10/ssh-keys"); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		for range maxKeys {
			w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, ed(t)), 201, "")
		}
		w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, good), 422, "limit_reached")
	})
}

func publicKeyOf(t *testing.T, key any) string {
	t.Helper()
	return publicKey(t, key)
}

func TestStrangersFindNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		f := made[ftpShown](w, w.Do("POST", "/10/ftp", "own", `{"username":"anna"}`))
		k := made[keyShown](w, w.Do("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, ed(t))))
		w.apply(10)
		for _, c := range [][3]string{
			{"GET", "/10/ftp", ""},
			{"POST", "/10/ftp", `{"username":"x"}`},
			{"DELETE", fmt.Sprintf("/10/ftp/%d", f.ID), ""},
			{"PUT", "/10/shell", `{"enabled":true}`},
			{"GET", "/10/ssh-keys", ""},
			{"POST", "/10/ssh-keys", fmt.Sprintf(`{"public_key":%q}`, ed(t))},
			{"DELETE", fmt.Sprintf("/10/ssh-keys/%d", k.ID), ""},
			{"DELETE", fmt.Sprintf("/20/ssh-keys/%d", k.ID), ""},
			{"DELETE", fmt.Sprintf("/20/ftp/%d", f.ID), ""},
		} {
			w.expect(c[0], c[1], "other", c[2], 404, "not_found")
		}
		if len(list[ftpShown](w, "/10/ftp")) != 1 || len(list[keyShown](w, "/10/ssh-keys")) != 1 {
			t.Error("a stranger changed something")
		}
	})
}

func TestServicesThatTakeNoChanges(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		f := made[ftpShown](w, w.Do("POST", "/10/ftp", "own", `{"username":"anna"}`))
		w.apply(10)
		w.Services.Add(t, site.Site{ServiceID: 40, AccountID: owner, Panel: "bare", Ref: "40", Username: "s40", Status: "active"})
		writes := func(id int64) [][3]string {
			return [][3]string{
				{"POST", fmt.Sprintf("/%d/ftp", id), `{"username":"x"}`},
				{"PUT", fmt.Sprintf("/%d/shell", id), `{"enabled":true}`},
				{"POST", fmt.Sprintf("/%d/ssh-keys", id), fmt.Sprintf(`{"public_key":%q}`, ed(t))},
			}
		}
		for _, c := range writes(40) {
			w.expect(c[0], c[1], "own", c[2], 422, "unsupported_operation")
		}
		w.Must(w.Apply(t.Context(), owner, 40))
		w.Services.SetStatus(t, 10, "suspended")
		for _, c := range append(writes(10), [3]string{"DELETE", fmt.Sprintf("/10/ftp/%d", f.ID), ""}) {
			w.expect(c[0], c[1], "own", c[2], 422, "service_suspended")
		}
		changes := w.machine.Changes()
		w.apply(10)
		if w.machine.Changes() != changes {
			t.Error("a suspended service was changed on the panel")
		}
		w.Services.SetStatus(t, 10, "terminated")
		w.apply(10)
		var n int
		w.Must(w.DB.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM access_ftp_accounts WHERE service_id = 10) +
			(SELECT count(*) FROM access_shells WHERE service_id = 10) + (SELECT count(*) FROM access_ssh_keys WHERE service_id = 10)`).Scan(&n))
		if n != 0 || w.vault.Count() != 0 {
			t.Errorf("%d rows are left of a service that has ended, and %v", n, w.vault.Count())
		}
	})
}

func TestAChangeDuringTheWorkIsNotLost(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.expect("PUT", "/10/shell", "own", `{"enabled":true}`, 200, "")
		w.machine.Before(func() { w.expect("PUT", "/10/shell", "own", `{"enabled":false}`, 200, "") })
		w.apply(10)
		if on, err := w.machine.ShellAccess(t.Context(), "10"); err != nil || on.Enabled {
			t.Errorf("the shell that was switched off meanwhile is on: %+v, %v", on, err)
		}
		key := ed(t)
		w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, key), 201, "")
		w.machine.Before(func() { w.expect("POST", "/10/ssh-keys", "own", fmt.Sprintf(`{"public_key":%q}`, ed(t)), 201, "") })
		w.apply(10)
		if on, err := w.machine.SSHKeys(t.Context(), "10"); err != nil || len(on) != 2 {
			t.Errorf("%+v, %v", on, err)
		}
	})
}

func TestATicketOpensATerminalOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		const holder = 77
		if _, err := w.Ticket(t.Context(), owner, 10, holder); !errors.Is(err, fault.UnsupportedOperation) {
			t.Errorf("without a shell: %v", err)
		}
		w.expect("PUT", "/10/shell", "own", `{"enabled":true}`, 200, "")
		w.apply(10)
		ticket := func() string {
			token, err := w.Ticket(t.Context(), owner, 10, holder)
			w.Must(err)
			return token
		}
		if _, err := w.Ticket(t.Context(), stranger, 10, holder); !errors.Is(err, fault.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		good := ticket()
		w.Must(w.UseTicket(t.Context(), good, owner, 10, holder))
		if err := w.UseTicket(t.Context(), good, owner, 10, holder); !errors.Is(err, fault.Forbidden) {
			t.Errorf("a second time: %v", err)
		}
		for name, use := range map[string]func(string) error{
			"another account": func(s string) error { return w.UseTicket(t.Context(), s, stranger, 10, holder) },
			"another service": func(s string) error { return w.UseTicket(t.Context(), s, owner, 20, holder) },
			"another browser": func(s string) error { return w.UseTicket(t.Context(), s, owner, 10, holder+1) },
			"too late": func(s string) error {
				w.Clock.Advance(ticketLife)
				return w.UseTicket(t.Context(), s, owner, 10, holder)
			},
		} {
			token := ticket()
			if err := use(token); !errors.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
			if err := w.UseTicket(t.Context(), token, owner, 10, holder); !errors.Is(err, fault.Forbidden) {
				t.Errorf("%s did not use it up: %v", name, err)
			}
		}
		// Many at once: one.
		token, opened := ticket(), 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if w.UseTicket(t.Context(), token, owner, 10, holder) == nil {
					mu.Lock()
					opened++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if opened != 1 {
			t.Errorf("a ticket opened %d terminals", opened)
		}

		in, typing := io.Pipe()
		out, err := w.OpenTerminal(t.Context(), owner, 10, panel.TerminalSize{Columns: 80, Rows: 24}, in)
		w.Must(err)
		go func() { _, _ = panel.NewTerminalWriter(typing).Write([]byte("hello")); _ = typing.Close() }()
		if got, err := io.ReadAll(out); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
		w.Services.SetStatus(t, 10, "suspended")
		if _, err := w.Ticket(t.Context(), owner, 10, holder); !errors.Is(err, fault.ServiceSuspended) {
			t.Errorf("suspended: %v", err)
		}
	})
}

func TestQuestionsUseAnIndex(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		sitetest.IndexedCollection(t, w.DB, w.ftp(), owner, 10, func(q db.Querier) error {
			_, err := keys.OfService(t.Context(), q, 10)
			return err
		})
	})
}

// noSecurityLog is told of nothing.
type noSecurityLog struct{}

func (noSecurityLog) SSHKeyAdded(context.Context, *db.Tx, int64) error     { return nil }
func (noSecurityLog) SSHKeyRemoved(context.Context, *db.Tx, int64) error   { return nil }
func (noSecurityLog) FTPAccountAdded(context.Context, *db.Tx, int64) error { return nil }

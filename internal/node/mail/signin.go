package mail

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// Dovecot asks this process before each sign-in, of IMAP, POP3 and sending, how long it has to wait, and tells how it
// ended (auth_policy). Guesses are counted by the address that they come from and by the mailbox that they are for. They
// wait one after the other, so that many at once are no faster. An address from which a mailbox was signed in to before
// does not wait for the guesses of others: nobody keeps an owner out.
//
// While no agent runs, a wrong password is answered after two seconds, and counted nowhere.

const (
	// guessesFree is how many attempts of an address, or for a mailbox, cost nothing: mail programs make some at once.
	guessesFree = 10
	// guessSpace is the time between two attempts after that; it doubles with each further wrong one up to guessSpaceMost.
	guessSpace     = time.Second
	guessSpaceMost = 30 * time.Second
	// guessWait is how long an attempt waits at most: one that would have to wait longer is refused.
	guessWait = 20 * time.Second
	// guessMemory is how long wrong passwords count, and knownMemory how long an address is known to a mailbox.
	guessMemory = time.Hour
	knownMemory = 30 * 24 * time.Hour
	// guessersMost bounds the memory.
	guessersMost = 200_000
)

// guesses counts wrong passwords.
type guesses struct {
	now func() time.Time

	mu    sync.Mutex
	all   map[string]*guesser  // by address, by mailbox, and by both
	known map[string]time.Time // last sign-ins, by address and mailbox
}

// guesser is who, or what, wrong passwords are counted for.
type guesser struct {
	wrong int
	last  time.Time // wrong one
	next  time.Time // attempt that may be made
}

func newGuesses(now func() time.Time) *guesses {
	return &guesses{now: now, all: map[string]*guesser{}, known: map[string]time.Time{}}
}

// origin is what counts as one address: all of a customer's IPv6 network are one.
func origin(remote string) string {
	a, err := netip.ParseAddr(remote)
	if err != nil {
		return remote
	}
	a = a.Unmap()
	if a.Is6() {
		const network = 64
		if p, err := a.Prefix(network); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// program reports whether an attempt is one of an account's programs. All of them come from the loopback, and their passwords are
// secrets of 128 bits that nobody guesses: were wrong ones counted, accounts could stop their neighbours' mail.
func program(remote, login string) bool {
	a, err := netip.ParseAddr(remote)
	return err == nil && a.Unmap().IsLoopback() && !strings.Contains(login, "@")
}

// keys are what an attempt counts for. Of an address that the mailbox knows, only what came from there counts.
func (g *guesses) keys(remote, login string) []string {
	address, login := origin(remote), strings.ToLower(login)
	pair := address + " " + login
	if g.now().Sub(g.known[pair]) < knownMemory {
		return []string{pair}
	}
	return []string{address, login}
}

// wait returns how long an attempt has to wait; no: it is refused. It counts as wrong until it has ended, or many at once
// would all be free.
func (g *guesses) wait(remote, login string) (wait time.Duration, no bool) {
	if program(remote, login) {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if len(g.all) >= guessersMost || len(g.known) >= guessersMost {
		g.forget(now)
	}
	var counted []*guesser
	for _, key := range g.keys(remote, login) {
		who := g.all[key]
		if who == nil || now.Sub(who.last) > guessMemory {
			who = &guesser{}
			g.all[key] = who
		}
		counted = append(counted, who)
		wait = max(wait, who.next.Sub(now))
	}
	if wait > guessWait {
		return 0, true
	}
	for _, who := range counted {
		who.wrong++
		who.last = now
		if who.wrong >= guessesFree {
			who.next = now.Add(wait + space(who.wrong))
		}
	}
	return wait, false
}

// space is the time after an attempt until the next one.
func space(wrong int) time.Duration {
	s := guessSpace
	for range wrong - guessesFree {
		if s *= 2; s >= guessSpaceMost {
			return guessSpaceMost
		}
	}
	return s
}

// right notes that an attempt ended with a sign-in.
func (g *guesses) right(remote, login string) {
	if program(remote, login) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range g.keys(remote, login) {
		if who := g.all[key]; who != nil && who.wrong > 0 {
			who.wrong--
		}
	}
	pair := origin(remote) + " " + strings.ToLower(login)
	g.known[pair] = g.now()
	delete(g.all, pair)
}

// forget removes what does not count any more, or everything when that is not enough.
func (g *guesses) forget(now time.Time) {
	for key, who := range g.all {
		if now.Sub(who.last) > guessMemory {
			delete(g.all, key)
		}
	}
	for pair, at := range g.known {
		if now.Sub(at) > knownMemory {
			delete(g.known, pair)
		}
	}
	if len(g.all) >= guessersMost {
		clear(g.all)
	}
	if len(g.known) >= guessersMost {
		clear(g.known)
	}
}

// attempt is what Dovecot tells of a sign-in.
type attempt struct {
	Login   string `json:"login"`
	Remote  string `json:"remote"`
	Success bool   `json:"success"`
}

// ServeHTTP implements Dovecot's protocol of auth_policy.
func (g *guesses) serve(secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(signinHeader)), []byte(secret)) != 1 {
			http.Error(w, "only Dovecot asks here", http.StatusForbidden)
			return
		}
		var a attempt
		const most = 1 << 16
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&a); err != nil {
			http.Error(w, "no attempt", http.StatusBadRequest)
			return
		}
		status := 0
		switch r.URL.Query().Get("command") {
		case "allow":
			wait, no := g.wait(a.Remote, a.Login)
			if status = int((wait + time.Second - 1) / time.Second); no {
				status = -1
			}
		case "report":
			if a.Success {
				g.right(a.Remote, a.Login)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"status":%d,"msg":"too many wrong passwords"}`, status)
	})
}

// signinHeader has the secret by which Dovecot is recognized: everybody on the machine reaches the port.
const signinHeader = "X-Stead-Signin"

// signinSecret returns the secret, and makes it when there is none.
func (d *Driver) signinSecret() (string, error) {
	file := filepath.Join(d.cfg.Dir, "state", "signin-secret")
	if have, err := os.ReadFile(file); err == nil && len(have) > 0 {
		return string(have), nil
	}
	secret := newSecret()
	return secret, atomicfile.WriteOwned(file, []byte(secret), 0o600, 0, 0)
}

// dovecotSignin is the part of Dovecot's configuration that has the secret.
func (c Config) dovecotSignin(secret string) string {
	if c.Signin == "" {
		return "# Nobody is asked.\n"
	}
	return fmt.Sprintf(`# Written by stead; changes are lost.
auth_policy_server_url = http://%s/
auth_policy_server_api_header = %s: %s
auth_policy_server_timeout_msecs = 2000
auth_policy_hash_nonce = %s
auth_policy_request_attributes = login=%%{requested_username} remote=%%{rip} protocol=%%s
auth_policy_reject_on_fail = no
auth_policy_check_before_auth = yes
auth_policy_check_after_auth = no
auth_policy_report_after_auth = yes
`, c.Signin, signinHeader, secret, secret)
}

// serveSignin answers Dovecot until stop is called.
func (d *Driver) serveSignin(ctx context.Context) (stop func(), err error) {
	if d.cfg.Signin == "" {
		return func() {}, nil
	}
	secret, err := d.signinSecret()
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", d.cfg.Signin)
	if err != nil {
		return nil, err
	}
	const timeout = 10 * time.Second
	s := &http.Server{Handler: newGuesses(d.cfg.Now).serve(secret), ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.cfg.Log.Error("sign-ins to mailboxes are not slowed down", "error", err)
		}
	}()
	return func() {
		_ = s.Close()
		<-done
	}, nil
}

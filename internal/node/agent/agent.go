// Package agent is a hosting machine's side of the link to its control plane: it joins, serves the
// machine's panel to the control plane and to nobody else, reports, and renews its certificate.
//
// What an agent is lies in its directory: its key, which never leaves it, and what the control plane
// told it when it joined.
package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/upgrade"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// membership is the stored result of joining. Certificate and key are in one file, so that a crash never leaves one
// without the other.
type membership struct {
	URL         string `json:"url"` // the control plane's address for nodes
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Location    string `json:"location"`
	Address     string `json:"address"` // where the control plane calls the agent
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Authority   string `json:"authority"`
}

const membershipFile = "membership.json"

// ErrNotJoined says that the machine is no node yet.
var ErrNotJoined = errors.New("this machine has not joined: run the stead node join that stead admin nodes add printed")

func load(dir string) (membership, error) {
	var m membership
	file := filepath.Join(dir, membershipFile)
	data, err := secret.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, ErrNotJoined
	}
	if err != nil {
		return m, fmt.Errorf("agent: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("agent: %s: %w", file, err)
	}
	return m, nil
}

func (m membership) save(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, membershipFile), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

func (m membership) identity(now func() time.Time) (*nodelink.Identity, error) {
	return nodelink.NewIdentity([]byte(m.Certificate), []byte(m.Key), []byte(m.Authority), now)
}

// Invitation is the input for joining.
type Invitation struct {
	Dir     string // of the agent
	URL     string // the control plane's address for nodes
	Token   string
	Address string // host and port where the control plane calls the agent
	Version string
	Now     func() time.Time
	// Again lets a machine that has joined before join again.
	Again bool
}

// Member describes a joined machine.
type Member struct {
	ID       int64
	Name     string
	Location string
	Address  string // where the control plane calls
}

// Join makes the machine a node of the control plane that issued the token.
func Join(ctx context.Context, in Invitation) (Member, error) {
	if _, err := load(in.Dir); !in.Again && !errors.Is(err, ErrNotJoined) {
		if err == nil {
			err = errors.New("this machine has joined already: with --again it joins anew, and its former certificate ends")
		}
		return Member{}, err
	}
	base, err := controlURL(in.URL)
	if err != nil {
		return Member{}, err
	}
	token, pin, err := nodelink.SplitToken(in.Token)
	if err != nil {
		return Member{}, err
	}
	if host, port, err := net.SplitHostPort(in.Address); err != nil || host == "" || port == "" || port == "0" {
		return Member{}, fmt.Errorf("%q is not an address such as node1.example.com:8443 at which the control plane can call this machine", in.Address)
	}
	key, err := nodelink.NewKey()
	if err != nil {
		return Member{}, err
	}
	request, err := nodelink.NewRequest(key)
	if err != nil {
		return Member{}, err
	}
	encoded, err := nodelink.EncodeKey(key)
	if err != nil {
		return Member{}, err
	}
	c := client(nodelink.Pinned(pin, in.Now))
	defer c.CloseIdleConnections()
	joined, err := send[nodelink.Joined](ctx, c, base+nodelink.JoinPath, nodelink.Join{
		Secret: token, Request: request, Address: in.Address, Version: in.Version,
	})
	if err != nil {
		return Member{}, err
	}
	m := membership{
		URL: base, ID: joined.ID, Name: joined.Name, Location: joined.Location, Address: in.Address,
		Certificate: string(joined.Certificate), Key: string(encoded), Authority: string(joined.Authority),
	}
	// The authority in the answer must match the token's pin, and the certificate our key.
	root, err := nodelink.ParseCertificate(joined.Authority)
	if err != nil || nodelink.Pin(root) != pin {
		return Member{}, errors.Join(errors.New("the control plane answered with another authority than the token's"), err)
	}
	identity, err := m.identity(in.Now)
	if err != nil {
		return Member{}, err
	}
	if identity.Name() != nodelink.NodeName(joined.ID) {
		return Member{}, errors.New("the control plane answered with a certificate of another node")
	}
	return m.member(), m.save(in.Dir)
}

func controlURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" {
		return "", fmt.Errorf("%q is not an address such as https://panel.example.com:8444", text)
	}
	return "https://" + u.Host, nil
}

// callTimeout bounds one call to the control plane.
const callTimeout = 15 * time.Second

func client(c *tls.Config) *http.Client {
	return &http.Client{
		Timeout:       callTimeout,
		Transport:     &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errRefused says that the control plane does not accept the machine as one of its nodes.
var errRefused = errors.New("the control plane refuses this machine: its token has been used or has expired, or the node was removed")

// maxAnswer is far more than any answer.
const maxAnswer = 64 << 10

// send posts a message and reads the answer.
func send[O any](ctx context.Context, c *http.Client, address string, in any) (out O, err error) {
	return sendUpTo[O](ctx, c, address, in, maxAnswer)
}

// sendUpTo is send for an answer of at most so many bytes.
func sendUpTo[O any](ctx context.Context, c *http.Client, address string, in any, most int64) (out O, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.Do(r)
	if err != nil {
		return out, fmt.Errorf("the control plane cannot be reached: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, most))
	switch {
	case err != nil:
		return out, fmt.Errorf("the control plane's answer: %w", err)
	case answer.StatusCode == http.StatusForbidden:
		return out, errRefused
	case answer.StatusCode != http.StatusOK:
		return out, fmt.Errorf("the control plane answers %s: %.300s", answer.Status, strings.TrimSpace(string(data)))
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("the control plane's answer: %w", err)
	}
	return out, nil
}

// Joined describes the machine; ErrNotJoined when it has not joined.
func Joined(dir string) (Member, error) {
	m, err := load(dir)
	return m.member(), err
}

func (m membership) member() Member {
	return Member{ID: m.ID, Name: m.Name, Location: m.Location, Address: m.Address}
}

// Config configures an agent.
type Config struct {
	Dir     string // the agent's own, in which Join stored the membership
	Panel   panel.Panel
	Version string
	Now     func() time.Time
	Log     *slog.Logger
	// Traces has the spans of the control plane's calls; nil: none are made.
	Traces *observe.Traces
	// Measure returns the machine's capacity.
	Measure func() (nodelink.Capacity, error)
	// ReportEvery is the mean pause between reports; 0: nodelink.ReportEvery.
	ReportEvery time.Duration
	// Prober makes the checks of monitors; nil: this machine makes none.
	Prober Prober
	// CheckEvery is the mean pause between messages about checks; 0: nodelink.CheckEvery.
	CheckEvery time.Duration
	// Program is the program of this process; nil: the control plane cannot exchange it.
	Program *upgrade.Program
}

// Agent is a machine that has joined.
type Agent struct {
	cfg      Config
	member   membership
	url      string // of the control plane
	identity *nodelink.Identity
	control  *http.Client
}

// Open opens what Join made.
func Open(cfg Config) (*Agent, error) {
	if cfg.ReportEvery == 0 {
		cfg.ReportEvery = nodelink.ReportEvery
	}
	if cfg.CheckEvery == 0 {
		cfg.CheckEvery = nodelink.CheckEvery
	}
	if cfg.Traces == nil {
		cfg.Traces = &observe.Traces{}
	}
	a := &Agent{cfg: cfg}
	var err error
	if a.member, err = load(cfg.Dir); err != nil {
		return nil, err
	}
	a.url = a.member.URL
	if a.identity, err = a.member.identity(cfg.Now); err != nil {
		return nil, err
	}
	a.control = client(a.identity.Client(nodelink.Control))
	return a, nil
}

// Bounds of a connection of the control plane.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 10 * time.Minute
	pingAfter     = 15 * time.Second
	pingTimeout   = 10 * time.Second
)

// Run serves the panel on ln, reports and renews until ctx ends; running calls then get grace.
func (a *Agent) Run(ctx context.Context, ln net.Listener, grace time.Duration) error {
	handler := remote.Ending(ctx, remote.Handler(a.cfg.Panel, a.cfg.Version))
	if a.cfg.Program != nil {
		handler = remote.Upgradable(handler, a.cfg.Version, a.cfg.Program.Take)
	}
	srv := &http.Server{
		Handler:           a.cfg.Traces.Calls(a.cfg.Log, a.cfg.Now, handler),
		TLSConfig:         a.identity.Server(func(name string) bool { return name == nodelink.Control }, false),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		// Detects a control plane that was cut off, and ends its calls.
		HTTP2:    &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ErrorLog: slog.NewLogLogger(a.cfg.Log.Handler(), slog.LevelDebug),
	}
	background, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.live(background) })
	running.Go(func() { a.check(background) })
	defer func() {
		stop()
		running.Wait()
	}()
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeTLS(ln, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("agent: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("agent: %w", err), srv.Close())
	}
	return nil
}

// retryAfter is the pause after a failed report.
const retryAfter = 5 * time.Second

// live reports and renews until ctx ends.
func (a *Agent) live(ctx context.Context) {
	failing := false
	for {
		err := a.report(ctx)
		if err == nil && !a.cfg.Now().Before(a.identity.RenewAt()) {
			err = a.renew(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			a.cfg.Log.ErrorContext(ctx, "the control plane does not hear this node; sites are served on", "error", err,
				"certificate_ends", a.identity.NotAfter())
		case err == nil && failing:
			a.cfg.Log.InfoContext(ctx, "the control plane hears this node again")
		}
		failing = err != nil
		pause := a.cfg.ReportEvery
		if failing {
			pause = min(pause, retryAfter)
		}
		if clock.Sleep(ctx, jitter(pause)) != nil {
			return
		}
	}
}

// jitter spreads the calls of many machines: from three quarters to five quarters of d.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // spreads load, keeps no secret
}

func (a *Agent) report(ctx context.Context) error {
	capacity, err := a.cfg.Measure()
	if err != nil {
		return fmt.Errorf("agent: measure: %w", err)
	}
	r := nodelink.Report{Version: a.cfg.Version, Address: a.member.Address, Capacity: capacity}
	for _, c := range panel.Capabilities(a.cfg.Panel) {
		r.Capabilities = append(r.Capabilities, string(c))
	}
	answer, err := sendUpTo[nodelink.Reported](ctx, a.control, a.member.URL+nodelink.ReportPath, r, nodelink.MostReportedSize)
	if err != nil {
		return err
	}
	if a.cfg.Program != nil {
		a.cfg.Program.Proven()
	}
	a.leave(ctx, answer.Left)
	return nil
}

// leftTimeout bounds how long a machine that starts waits for the control plane until it serves as it did.
const leftTimeout = 5 * time.Second

// Left asks the control plane which accounts have left the machine that joined in dir, before it serves any of them.
func Left(ctx context.Context, dir string, now func() time.Time) ([]nodelink.LeftAccount, error) {
	m, err := load(dir)
	if err != nil {
		return nil, err
	}
	identity, err := m.identity(now)
	if err != nil {
		return nil, err
	}
	c := client(identity.Client(nodelink.Control))
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, leftTimeout)
	defer cancel()
	answer, err := sendUpTo[nodelink.Reported](ctx, c, m.URL+nodelink.LeftPath, struct{}{}, nodelink.MostReportedSize)
	return answer.Left, err
}

// leave ends the serving of accounts that another machine has. One that fails is told again with the next report.
func (a *Agent) leave(ctx context.Context, left []nodelink.LeftAccount) {
	if len(left) == 0 {
		return
	}
	moving, err := panel.Of[panel.Moving](a.cfg.Panel, panel.CapMoving)
	if err != nil {
		a.cfg.Log.ErrorContext(ctx, "accounts have left for other machines, and this one cannot let go of them", "accounts", len(left), "error", err)
		return
	}
	for _, l := range left {
		if err := moving.LeaveAccount(ctx, l.Ref, l.Epoch); err != nil && !errors.Is(err, panel.ErrNotFound) {
			a.cfg.Log.ErrorContext(ctx, "an account that has left for another machine is not let go of yet", "account", l.Ref, "error", err)
		}
	}
}

// renew gets a new certificate, with a new key. The old one is valid until it ends, so nothing waits.
func (a *Agent) renew(ctx context.Context) error {
	key, err := nodelink.NewKey()
	if err != nil {
		return err
	}
	request, err := nodelink.NewRequest(key)
	if err != nil {
		return err
	}
	encoded, err := nodelink.EncodeKey(key)
	if err != nil {
		return err
	}
	renewed, err := send[nodelink.Renewed](ctx, a.control, a.member.URL+nodelink.RenewPath, nodelink.Renew{Request: request})
	if err != nil {
		return fmt.Errorf("agent: renew: %w", err)
	}
	m := a.member
	m.Certificate, m.Key = string(renewed.Certificate), string(encoded)
	if err := m.save(a.cfg.Dir); err != nil {
		return err
	}
	if err := a.identity.Replace(renewed.Certificate, encoded, []byte(m.Authority)); err != nil {
		return err
	}
	a.member = m
	// The next call uses the new certificate.
	a.control.CloseIdleConnections()
	a.cfg.Log.InfoContext(ctx, "the certificate was renewed", "ends", a.identity.NotAfter())
	return nil
}

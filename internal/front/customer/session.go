package customer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/oauth"
)

// The applications of this command and of pipelines that run it, which each server has, and what they need.
const (
	clientID         = "stead-cli"
	pipelineClientID = "stead-ci"
)

var (
	scopes         = []string{"profile", "services:read", "services:write"}
	pipelineScopes = []string{"services:read", "services:write"}
)

// SignInError says that the customer has to sign in first, or again.
type SignInError struct {
	Server string // empty when none is known
	Reason string
}

func (e *SignInError) Error() string {
	server := e.Server
	if server == "" {
		server = "https://…"
	}
	return fmt.Sprintf("%s: stead login --server %s", e.Reason, server)
}

// UsageError is a mistake of the command line.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// Settings say where things are on the machine, and which server is meant.
type Settings struct {
	Environ func(name string) string
	Server  string // of the command line
	Version string
	Clock   clock.Clock
}

// Store returns the user's sign-ins.
func (s Settings) Store() (Store, error) {
	dir, err := s.directory("XDG_CONFIG_HOME", ".config")
	return Store{dir}, err
}

// directory returns the program's directory below a base directory of the XDG specification, which ignores relative ones.
func (s Settings) directory(variable, below string) (string, error) {
	base := s.Environ(variable)
	if !filepath.IsAbs(base) {
		home := s.Environ("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("HOME is not set")
		}
		base = filepath.Join(home, below)
	}
	return filepath.Join(base, "stead"), nil
}

// Address returns the address of a server in the form in which sign-ins are kept. Without a scheme it is https; http is for this
// machine alone, because tokens could be read on the way.
func Address(server string) (string, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", &UsageError{fmt.Sprintf("%q is no address of a server, such as https://my.example.com", server)}
	}
	if u.Scheme == "http" && !local(u.Hostname()) {
		return "", &UsageError{fmt.Sprintf("%s is not encrypted, and tokens could be read on the way: use https", server)}
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Session is a sign-in that is used.
type Session struct {
	*stead.Client
	Server   string
	settings Settings
}

// Open finds the server and the token of a command: the ones of the environment, else those that were signed in to.
func Open(s Settings) (*Session, error) {
	store, err := s.Store()
	if err != nil && s.Environ("STEAD_TOKEN") == "" {
		return nil, err
	}
	server := s.Server
	if server == "" {
		server = s.Environ("STEAD_SERVER")
	}
	if token := s.Environ("STEAD_TOKEN"); token != "" {
		// The token is sent only where the same hand said that it belongs.
		if server == "" {
			return nil, &UsageError{"STEAD_TOKEN is set: say of which server it is, by STEAD_SERVER or --server"}
		}
		if server, err = Address(server); err != nil {
			return nil, err
		}
		return s.session(server, stead.WithToken(token))
	}
	all, err := store.read()
	if err != nil {
		return nil, err
	}
	if server == "" {
		server = all.Current
	}
	if server == "" {
		return nil, &SignInError{Reason: "you are not signed in"}
	}
	if server, err = Address(server); err != nil {
		return nil, err
	}
	kept, ok := all.Servers[server]
	if !ok {
		return nil, &SignInError{Server: server, Reason: "you are not signed in there"}
	}
	return s.session(server, stead.WithTokenSource(&source{store: store, server: server, clock: s.Clock, config: s.config(server), token: kept.Token}))
}

func (s Settings) session(server string, tokens stead.Option) (*Session, error) {
	c, err := stead.New(server, tokens, stead.WithUserAgent("stead/"+s.Version), stead.WithLanguage("en"))
	if err != nil {
		return nil, err
	}
	return &Session{Client: c, Server: server, settings: s}, nil
}

func (s Settings) config(server string) oauth.Config {
	return oauth.Config{
		Server: server, ClientID: clientID, Scopes: scopes,
		HTTP: &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// source gives a session its tokens, and keeps renewed ones in the store, which other commands use at the same time.
type source struct {
	store  Store
	server string
	clock  clock.Clock
	config oauth.Config

	mu    sync.Mutex
	token oauth.Token
}

// early is how long before its end a token is renewed.
const early = time.Minute

// Token implements stead.TokenSource.
func (s *source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Refresh != "" && s.clock.Now().Add(early).After(s.token.Expires) {
		if err := s.renew(ctx); err != nil {
			return "", err
		}
	}
	return s.token.Access, nil
}

// Refresh implements stead.Refresher.
func (s *source) Refresh(ctx context.Context, expired string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Access != expired {
		return nil
	}
	return s.renew(ctx)
}

// renew takes the token that another command has renewed meanwhile, or renews it.
func (s *source) renew(ctx context.Context) error {
	ended := &SignInError{Server: s.server, Reason: "your sign-in has ended"}
	return s.store.update(ctx, func(all *signIns) error {
		kept, ok := all.Servers[s.server]
		switch {
		case !ok:
			return ended
		case kept.Token.Access != s.token.Access:
			s.token = kept.Token
			return nil
		case kept.Token.Refresh == "":
			return ended
		}
		fresh, err := s.config.Refresh(ctx, kept.Token.Refresh)
		var refused *oauth.Error
		if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests {
			return ended
		}
		if err != nil {
			return err
		}
		if fresh.Refresh == "" {
			fresh.Refresh = kept.Token.Refresh
		}
		kept.Token, s.token = fresh, fresh
		all.Servers[s.server] = kept
		return nil
	})
}

// Package hestia is the panel adapter for a HestiaCP server, through its REST API with an access key.
//
// An account is a user of that server. What the API has no place for is kept in the user's full name,
// as "stead <ref> <primary domain>": so a call that runs twice finds what the first one made, and an
// account is known whatever its user is called. Limits become a package that is named after them.
//
// Capabilities: accounts, usage, sites, databases, cron. What the API cannot do of these is
// ErrUnsupported: dumps and imports of databases, cron in another time zone than the server's. Files,
// mail, FTP and the rest it does not have in the way that the port asks for; customers find them in the
// server's own panel.
package hestia

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/panel"
)

// Config describes the server.
type Config struct {
	URL       string // https://hestia.example.com:8083
	AccessKey string // ACCESS_KEY:SECRET_KEY of an administrator's key that may run the commands of this package
	TLS       *tls.Config
	Now       func() time.Time
	// Contact is the mail address of created users; empty uses one that nobody has.
	Contact string
	// Location is reported for all accounts.
	Location string
	// Timezone is the server's own, in which its cron runs; empty is UTC.
	Timezone string
}

// callTimeout bounds one command. Creating a user with the daemons' configurations takes seconds.
const callTimeout = 30 * time.Second

// maxAnswer bounds an answer: a list of ten thousand users has about 25 MiB.
const maxAnswer = 64 << 20

// codes maps the server's return codes (func/main.sh) to the port's kinds.
var codes = map[int]panel.Kind{
	1:  panel.ErrInternal,    // E_ARGS
	2:  panel.ErrInvalid,     // E_INVALID
	3:  panel.ErrNotFound,    // E_NOTEXIST
	4:  panel.ErrExists,      // E_EXISTS
	5:  panel.ErrSuspended,   // E_SUSPENDED
	6:  panel.ErrInvalid,     // E_UNSUSPENDED: it is not suspended
	7:  panel.ErrInUse,       // E_INUSE
	8:  panel.ErrLimit,       // E_LIMIT
	9:  panel.ErrInternal,    // E_PASSWORD: the key is refused
	10: panel.ErrInternal,    // the key, or our address, lacks the permission
	11: panel.ErrUnsupported, // E_DISABLED
	12: panel.ErrInternal,    // E_PARSING
	13: panel.ErrDiskFull,    // E_DISK
	14: panel.ErrBusy,        // E_LA
	15: panel.ErrUnreachable, // E_CONNECT
	16: panel.ErrUnreachable, // E_FTP
	17: panel.ErrUnreachable, // E_DB
	18: panel.ErrInternal,    // E_RRD
	19: panel.ErrInternal,    // E_UPDATE
	20: panel.ErrInternal,    // E_RESTART
}

const (
	codeMissing     = 3
	codeSuspended   = 5
	codeUnsuspended = 6
)

// refusal is a command that the server refused.
type refusal struct {
	cmd  string
	code int
	text string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: code %d %s", r.cmd, r.code, strings.TrimSpace(r.text))
}

// Unwrap returns the refusal as a kind of the port.
func (r *refusal) Unwrap() error {
	if kind, ok := codes[r.code]; ok {
		return kind
	}
	return panel.ErrInternal
}

// codeOf returns the server's code of a refusal; -1 for another error.
func codeOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.code
	}
	return -1
}

type client struct {
	cfg  Config
	http *http.Client
}

func newClient(cfg Config) *client {
	return &client{cfg: cfg, http: &http.Client{
		Timeout: callTimeout,
		Transport: intx.Transport{Next: &http.Transport{
			TLSClientConfig: cfg.TLS, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
		}},
		// The key must not follow a redirect elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// run runs a command on the server that only answers its code.
func (c *client) run(ctx context.Context, cmd string, args ...string) error {
	body, _, err := c.post(ctx, cmd, "yes", args)
	if err != nil {
		return err
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(body)))
	if err != nil {
		return fmt.Errorf("%w: %s answers no code", panel.ErrInternal, cmd)
	}
	if code != 0 {
		return &refusal{cmd: cmd, code: code}
	}
	return nil
}

// list runs a command on the server that answers JSON.
func list[T any](ctx context.Context, c *client, cmd string, args ...string) (v T, err error) {
	body, header, err := c.post(ctx, cmd, "no", append(args, "json"))
	if err != nil {
		return v, err
	}
	code, err := strconv.Atoi(header.Get("Hestia-Exit-Code"))
	if err != nil {
		return v, fmt.Errorf("%w: %s answers without a code", panel.ErrInternal, cmd)
	}
	if code != 0 {
		return v, &refusal{cmd: cmd, code: code, text: firstLine(body)}
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("%w: %s: %w", panel.ErrInternal, cmd, err)
	}
	return v, nil
}

func firstLine(body []byte) string {
	line, _, _ := strings.Cut(string(body[:min(len(body), 300)]), "\n")
	return line
}

// post sends a command. An answer that is not from the API (web/api/index.php) counts as unreachable.
func (c *client) post(ctx context.Context, cmd, returnCode string, args []string) ([]byte, http.Header, error) {
	form := url.Values{"hash": {c.cfg.AccessKey}, "cmd": {cmd}, "returncode": {returnCode}}
	for i, arg := range args {
		form.Set("arg"+strconv.Itoa(i+1), arg)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.cfg.URL, "/")+"/api/", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", panel.ErrInternal, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("%w: %s: %w", panel.ErrUnreachable, cmd, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", panel.ErrUnreachable, cmd, err)
	}
	if answer.Header.Get("Hestia-Exit-Code") == "" {
		return nil, nil, fmt.Errorf("%w: %s: the address answers %s, and not as a HestiaCP server", panel.ErrUnreachable, cmd, answer.Status)
	}
	return body, answer.Header, nil
}

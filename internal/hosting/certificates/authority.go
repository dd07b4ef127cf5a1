package certificates

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// newKey makes the key of a certificate or an account.
func newKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return key, nil
}

// account returns the platform's account at the authority, and registers it when there is none. Its key is stored before the
// registration, so that an interrupted call finds the same account again.
func (s *Service) account(ctx context.Context) (acme.Account, error) {
	directory := s.Authority.Directory
	sealedFor := []byte("certificates_authorities/" + directory)
	a, err := getAuthority(ctx, s.DB, directory)
	if err != nil {
		return acme.Account{}, err
	}
	if a.id == 0 {
		key, err := newKey()
		if err != nil {
			return acme.Account{}, err
		}
		text, err := certificate.EncodeKey(key)
		if err != nil {
			return acme.Account{}, err
		}
		sealed, err := s.Box.Seal([]byte(text), sealedFor)
		if err != nil {
			return acme.Account{}, err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return insertAuthority(ctx, tx, directory, sealed) })
		if err != nil {
			return acme.Account{}, err
		}
		if a, err = getAuthority(ctx, s.DB, directory); err != nil {
			return acme.Account{}, err
		}
	}
	text, err := s.Box.Open(a.secret, sealedFor)
	if err != nil {
		return acme.Account{}, fmt.Errorf("certificates: key of the account at %s: %w", directory, err)
	}
	key, err := certificate.ParseKey(string(text))
	if err != nil {
		return acme.Account{}, err
	}
	account := acme.Account{
		Contact: []string{"mailto:" + s.Authority.Email}, TermsOfServiceAgreed: true, PrivateKey: key, Location: a.location, Status: acme.StatusValid,
	}
	if account.Location != "" {
		return account, nil
	}
	made, err := s.authority.NewAccount(ctx, account)
	if err != nil {
		return acme.Account{}, err
	}
	made.PrivateKey = key
	return made, s.locate(ctx, made.Location)
}

// locate stores the address of the account; an empty one makes the next call register again.
func (s *Service) locate(ctx context.Context, location string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return setLocation(ctx, tx, s.Authority.Directory, location)
	})
}

// retryKey is the context's key of a retryNote.
type retryKey struct{}

// retryNote is how long the authority asked to wait in its last answer with Retry-After.
type retryNote struct{ after time.Duration }

// noteRetries returns a context whose calls write Retry-After into the note.
func noteRetries(ctx context.Context) (context.Context, *retryNote) {
	n := &retryNote{}
	return context.WithValue(ctx, retryKey{}, n), n
}

// notingRetries notes the header Retry-After of refusals, which the library does not hand on (RFC 8555, section 6.6).
type notingRetries struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t notingRetries) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(r)
	if err != nil || res.StatusCode < 400 {
		return res, err
	}
	if n, ok := r.Context().Value(retryKey{}).(*retryNote); ok {
		n.after = retryAfter(res)
	}
	return res, nil
}

// mostRetryAfter is the longest wait that an authority may ask for.
const mostRetryAfter = 8 * day

func retryAfter(res *http.Response) time.Duration {
	text := res.Header.Get("Retry-After")
	seconds, err := strconv.ParseInt(text, 10, 32)
	wait := time.Duration(seconds) * time.Second
	if err != nil {
		at, err := http.ParseTime(text)
		sent, dateErr := http.ParseTime(res.Header.Get("Date"))
		if err != nil || dateErr != nil {
			return 0
		}
		wait = at.Sub(sent)
	}
	return min(max(wait, 0), mostRetryAfter)
}

// failure is why an order has failed, or cannot go on now.
type failure struct {
	key, reason, detail string
	// again is how long to wait at least; zero leaves that to this section.
	again time.Duration
	// goesOn: the order still exists and can go on.
	goesOn bool
	// counts: the authority counts the failure against the limits of the names.
	counts bool
	// all: until then the authority accepts nothing from any customer of the platform.
	all   bool
	cause error
}

func (f *failure) Error() string {
	return fmt.Sprintf("certificates: %s %s: %s (%v)", f.key, f.reason, f.detail, f.cause)
}

func (f *failure) Unwrap() error { return f.cause }

// maxDetail is how many bytes of an authority's explanation are stored.
const maxDetail = 500

// defaultRetry is how long to wait after a rate limit that came without Retry-After.
const defaultRetry = time.Hour

// interpret turns an authority's error into a failure. Other errors stay as they are.
func interpret(err error, asked *retryNote) error {
	var own *failure
	var hosting *panel.Error
	if err == nil || errors.As(err, &own) || errors.As(err, &hosting) || errors.Is(err, context.Canceled) {
		return err
	}
	var p acme.Problem
	if !errors.As(err, &p) {
		return &failure{key: keyAuthority, detail: "no answer", goesOn: true, again: asked.after, cause: err}
	}
	f := &failure{key: keyAuthority, detail: printable(p.Detail), again: asked.after, cause: err}
	for _, sub := range p.Subproblems {
		if p.Type == acme.ProblemTypeCompound || f.detail == "" {
			p.Type, f.detail = sub.Type, printable(sub.Identifier.Value+": "+sub.Detail)
			break
		}
	}
	switch p.Type {
	case acme.ProblemTypeRateLimited:
		f.key = errLimited.Key
		if f.again == 0 {
			f.again = defaultRetry
		}
		// Of the limits of an authority some are of its accounts, and so of everybody here.
		detail := strings.ToLower(p.Detail)
		f.all = strings.Contains(detail, "new orders") || strings.Contains(detail, "registrations") || strings.Contains(detail, "service busy")
	case acme.ProblemTypeDNS, acme.ProblemTypeConnection, acme.ProblemTypeUnauthorized, acme.ProblemTypeIncorrectResponse, acme.ProblemTypeTLS:
		f.key, f.reason, f.counts = errPreflight.Key, reasonProof, true
	case acme.ProblemTypeCAA:
		f.key, f.reason, f.counts = errPreflight.Key, reasonCAA, true
	case acme.ProblemTypeRejectedIdentifier, acme.ProblemTypeUnsupportedIdentifier:
		f.key, f.reason = errPreflight.Key, reasonName
	case acme.ProblemTypeServerInternal, acme.ProblemTypeBadNonce:
		f.goesOn = true
	}
	if p.Status >= 500 {
		f.goesOn = true
	}
	return f
}

// printable removes from a foreign text what must not be shown, and shortens it.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "")
	}
	return text
}

func isProblem(err error, kind string) bool {
	var p acme.Problem
	return errors.As(err, &p) && p.Type == kind
}

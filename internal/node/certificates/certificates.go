// Package certificates keeps the certificates and keys of the sites of a machine.
//
// What must hold: a key is readable by root alone and appears in no answer and no log; a domain is answered by HTTPS
// from its first moment on, with a certificate of the machine's own until a real one is there; a certificate that
// cannot be used leaves the one before it in use; files that nothing names any more are removed.
//
// Files of certificates are never changed, only made and removed: a changed certificate has another name, so whoever
// is told of it by the configuration of a web server has the chain and the key that belong together.
package certificates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/keylock"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// Driver implements panel.Certificates on this machine.
type Driver struct {
	accounts   facility.Lookup
	now        func() time.Time
	files      string // keys and chains, a directory per account
	challenges string // see Challenges
	records    *record.Store[stored]

	changing keylock.Locks // by ref, serializes changes of an account's certificates, with their consequences; see Hold
	making   sync.Mutex    // guards the creation and removal of own certificates' files
	follow   func(ctx context.Context, ref string) error

	index index
}

var (
	_ panel.Certificates = (*Driver)(nil)
	_ facility.Facility  = (*Driver)(nil)
)

// stored is the record of an account.
type stored struct {
	Installed  []installed  `json:"installed,omitempty"` // the last one was set last
	Own        []selfSigned `json:"own,omitempty"`
	Challenges []challenge  `json:"challenges,omitempty"`
}

// installed is a certificate that was set.
type installed struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"`
	Domains     []string  `json:"domains"`
	HSTS        bool      `json:"hsts,omitempty"`
	ExpiresAt   time.Time `json:"expires_at"`
	File        string    `json:"file"` // of both files, without their extension
}

type challenge struct {
	Token string    `json:"token"`
	At    time.Time `json:"at"`
}

// Open reads the certificates of the machine below dir.
func Open(dir string, lookup facility.Lookup, now func() time.Time) (*Driver, error) {
	d := &Driver{
		accounts: lookup, now: now, files: filepath.Join(dir, "certificates", "files"), challenges: Challenges(dir),
		follow: func(context.Context, string) error { return nil },
	}
	// Daemons read keys as root.
	if err := os.MkdirAll(d.files, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if err := os.MkdirAll(d.challenges, 0o755); err != nil { // everybody may read it
		return nil, fmt.Errorf("certificates: %w", err)
	}
	var err error
	if d.records, err = record.Open[stored](filepath.Join(dir, "certificates", "accounts")); err != nil {
		return nil, err
	}
	return d, nil
}

// Challenges is the directory below the machine's from which a web server serves /.well-known/acme-challenge/ of every
// domain.
func Challenges(dir string) string { return filepath.Join(dir, "acme") }

// Follow registers f, to be called when an account's domains need other certificates.
func (d *Driver) Follow(f func(ctx context.Context, ref string) error) { d.follow = f }

// Hold keeps the certificates of an account from being changed until release is called. A change waits, while it holds them, for
// what Follow registered; so who removes an account holds them before it takes a lock for which that waits.
func (d *Driver) Hold(ref string) (release func()) { return d.changing.Lock(ref) }

// Capability implements facility.Facility.
func (*Driver) Capability() panel.Capability { return panel.CapCertificates }

// Site is the certificate of a domain.
type Site struct {
	Chain, Key string // files, absolute
	HSTS       bool
	TLS        panel.TLS
}

// Site returns the certificate of a domain of the account; false when there is none yet.
func (d *Driver) Site(account, domain string) (Site, bool) {
	rec := d.records.Get(account)
	for _, c := range slices.Backward(rec.Installed) {
		if !slices.Contains(c.Domains, domain) {
			continue
		}
		s := d.site(account, c.File, panel.TLSActive)
		if s.HSTS = c.HSTS; !d.now().Before(c.ExpiresAt) {
			s.TLS, s.HSTS = panel.TLSExpired, false
		}
		return s, true
	}
	for _, c := range rec.Own {
		if c.Domain == domain {
			return d.site(account, c.File, panel.TLSSelfSigned), true
		}
	}
	return Site{}, false
}

func (d *Driver) site(account, file string, state panel.TLS) Site {
	base := filepath.Join(d.files, account, file)
	return Site{Chain: base + ".crt", Key: base + ".key", TLS: state}
}

var (
	nameForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	proofForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}\.[A-Za-z0-9_-]{1,128}$`)
)

// SetCertificate implements panel.Certificates.
func (d *Driver) SetCertificate(ctx context.Context, ref string, c panel.Certificate) (panel.InstalledCertificate, error) {
	set, err := d.set(ctx, ref, c)
	return set, panel.Wrap("certificates.set", ref, err)
}

func (d *Driver) set(ctx context.Context, ref string, c panel.Certificate) (none panel.InstalledCertificate, _ error) {
	defer d.changing.Lock(ref)() // before the account is found: one that is being removed is waited for
	a, err := d.changeable(ref)
	if err != nil {
		return none, err
	}
	b, err := d.check(a, &c)
	if err != nil {
		return none, err
	}
	key, err := b.KeyPEM()
	if err != nil {
		return none, fmt.Errorf("%w: %w", panel.ErrInvalid, err)
	}
	// The name contains a hash of the content, so writing the same certificate again writes the same files.
	sum := sha256.Sum256([]byte(b.ChainPEM() + key))
	set := installed{
		Name: c.Name, Fingerprint: certificate.Fingerprint(b.Leaf()), Domains: c.Domains, HSTS: c.HSTS, ExpiresAt: b.Leaf().NotAfter.UTC(),
		File: c.Name + "-" + hex.EncodeToString(sum[:8]),
	}
	if err := d.write(a.Name, set.File, b.ChainPEM(), key); err != nil {
		return none, err
	}
	err = d.change(ctx, a, func(rec *stored) error {
		rec.Installed = slices.DeleteFunc(rec.Installed, func(i installed) bool { return i.Name == c.Name })
		rec.Installed = append(rec.Installed, set)
		return nil
	})
	return set.answer(), err
}

func (i installed) answer() panel.InstalledCertificate {
	return panel.InstalledCertificate{
		Name: i.Name, Fingerprint: i.Fingerprint, Domains: slices.Clone(i.Domains), HSTS: i.HSTS, ExpiresAt: i.ExpiresAt,
	}
}

// changeable finds an account that accepts changes.
func (d *Driver) changeable(ref string) (accounts.Account, error) {
	a, err := d.accounts(ref)
	if err == nil && a.Suspended {
		err = panel.ErrSuspended
	}
	return a, err
}

// check returns the certificate in canonical form, or what is wrong with it.
func (d *Driver) check(a accounts.Account, c *panel.Certificate) (certificate.Bundle, error) {
	if !nameForm.MatchString(c.Name) || strings.HasPrefix(c.Name, ownPrefix) || len(c.Domains) == 0 {
		return certificate.Bundle{}, fmt.Errorf("%w: certificate %q for %d domains", panel.ErrInvalid, c.Name, len(c.Domains))
	}
	var domains []string
	for _, name := range c.Domains {
		domain, err := panel.CanonicalDomain(name)
		if err != nil {
			return certificate.Bundle{}, err
		}
		if a.Find(domain) < 0 {
			return certificate.Bundle{}, fmt.Errorf("%w: domain %s", panel.ErrNotFound, domain)
		}
		domains = append(domains, domain)
	}
	slices.Sort(domains)
	c.Domains = slices.Compact(domains)
	b, err := certificate.Parse(c.Key, c.Chain)
	if err == nil {
		err = errors.Join(b.CheckTime(d.now()), b.CheckNames(c.Domains...))
	}
	if err != nil {
		return b, fmt.Errorf("%w: %w", panel.ErrInvalid, err)
	}
	return b, nil
}

// change changes the record of an account and has the sites follow; when they do not, everything is restored.
func (d *Driver) change(ctx context.Context, a accounts.Account, f func(*stored) error) error {
	before := d.records.Get(a.Name)
	if _, err := d.records.Update(a.Name, f); err != nil {
		return err
	}
	if err := d.follow(ctx, a.Ref); err != nil {
		_, undone := d.records.Update(a.Name, func(rec *stored) error {
			rec.Installed = before.Installed
			return nil
		})
		// The caller may be gone; the sites are restored nevertheless.
		return errors.Join(err, undone, d.follow(context.WithoutCancel(ctx), a.Ref))
	}
	return d.sweep(a.Name)
}

// write writes the files of a certificate.
func (d *Driver) write(account, file, chain, key string) error {
	dir := filepath.Join(d.files, account)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	err := errors.Join(
		atomicfile.Write(filepath.Join(dir, file+".key"), []byte(key), 0o600),
		atomicfile.Write(filepath.Join(dir, file+".crt"), []byte(chain), 0o600))
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return nil
}

// sweep removes files of an account that no record names.
func (d *Driver) sweep(account string) error {
	d.making.Lock()
	defer d.making.Unlock()
	rec := d.records.Get(account)
	named := map[string]bool{}
	for _, c := range rec.Installed {
		named[c.File] = true
	}
	for _, c := range rec.Own {
		named[c.File] = true
	}
	dir := filepath.Join(d.files, account)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !named[strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return nil
}

// RemoveCertificate implements panel.Certificates.
func (d *Driver) RemoveCertificate(ctx context.Context, ref, name string) error {
	return panel.Wrap("certificates.remove", ref, d.remove(ctx, ref, name))
}

func (d *Driver) remove(ctx context.Context, ref, name string) error {
	defer d.changing.Lock(ref)()
	a, err := d.changeable(ref)
	if err != nil {
		return err
	}
	return d.change(ctx, a, func(rec *stored) error {
		i := slices.IndexFunc(rec.Installed, func(i installed) bool { return i.Name == name })
		if i < 0 {
			return fmt.Errorf("%w: certificate %q", panel.ErrNotFound, name)
		}
		rec.Installed = slices.Delete(rec.Installed, i, i+1)
		return nil
	})
}

// InstalledCertificates implements panel.Certificates.
func (d *Driver) InstalledCertificates(_ context.Context, ref string) ([]panel.InstalledCertificate, error) {
	a, err := d.accounts(ref)
	if err != nil {
		return nil, panel.Wrap("certificates.list", ref, err)
	}
	all := []panel.InstalledCertificate{}
	for _, i := range d.records.Get(a.Name).Installed {
		all = append(all, i.answer())
	}
	slices.SortFunc(all, func(a, b panel.InstalledCertificate) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// challengeLife is how long a challenge is served that nobody removes.
const challengeLife = 24 * time.Hour

// maxChallenges bounds the challenges of an account.
const maxChallenges = 400

// SetChallenge implements panel.Certificates.
func (d *Driver) SetChallenge(_ context.Context, ref string, c panel.Challenge) error {
	return panel.Wrap("certificates.set_challenge", ref, d.setChallenge(ref, c))
}

func (d *Driver) setChallenge(ref string, c panel.Challenge) error {
	a, err := d.changeable(ref)
	if err != nil {
		return err
	}
	domain, err := panel.CanonicalDomain(c.Domain)
	if err != nil {
		return err
	}
	if bare, _ := strings.CutPrefix(domain, "www."); a.Find(domain) < 0 && a.Find(bare) < 0 {
		return fmt.Errorf("%w: domain %s", panel.ErrNotFound, domain)
	}
	// The token becomes a file name, and both come from an authority.
	if !tokenForm.MatchString(c.Token) || !proofForm.MatchString(c.KeyAuthorization) {
		return fmt.Errorf("%w: challenge %q", panel.ErrInvalid, c.Token)
	}
	// Every file of a challenge is in somebody's record.
	if !slices.ContainsFunc(d.records.Get(a.Name).Challenges, func(o challenge) bool { return o.Token == c.Token }) {
		if _, err := os.Lstat(filepath.Join(d.challenges, c.Token)); err == nil {
			return fmt.Errorf("%w: challenge %q", panel.ErrExists, c.Token)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	// Recorded first: then a crash leaves nothing unknown.
	_, err = d.records.Update(a.Name, func(rec *stored) error {
		rec.Challenges = slices.DeleteFunc(rec.Challenges, func(o challenge) bool { return o.Token == c.Token })
		if len(rec.Challenges) >= maxChallenges {
			return fmt.Errorf("%w: %d challenges", panel.ErrLimit, maxChallenges)
		}
		rec.Challenges = append(rec.Challenges, challenge{c.Token, d.now().UTC()})
		return nil
	})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(d.challenges, c.Token), []byte(c.KeyAuthorization), 0o644)
}

// RemoveChallenge implements panel.Certificates.
func (d *Driver) RemoveChallenge(_ context.Context, ref, token string) error {
	a, err := d.accounts(ref)
	if err == nil {
		err = d.endChallenges(a.Name, func(c challenge) bool { return c.Token == token })
	}
	return panel.Wrap("certificates.remove_challenge", ref, err)
}

// endChallenges removes the challenges of an account that which selects.
func (d *Driver) endChallenges(account string, which func(challenge) bool) error {
	if !slices.ContainsFunc(d.records.Get(account).Challenges, which) {
		return nil
	}
	for _, c := range d.records.Get(account).Challenges {
		if !which(c) {
			continue
		}
		if err := os.Remove(filepath.Join(d.challenges, c.Token)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	_, err := d.records.Update(account, func(rec *stored) error {
		rec.Challenges = slices.DeleteFunc(rec.Challenges, which)
		return nil
	})
	return err
}

// Apply implements facility.Facility: each domain has a certificate of the machine's own, and what is no longer
// needed goes.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	if unlock := d.changing.TryLock(a.Ref); unlock != nil { // otherwise the running change sweeps at its end
		err := d.sweep(a.Name)
		unlock()
		if err != nil {
			return err
		}
	}
	if err := d.signOwn(a); err != nil {
		return err
	}
	now := d.now()
	if err := d.endChallenges(a.Name, func(c challenge) bool { return now.Sub(c.At) > challengeLife }); err != nil {
		return err
	}
	// A certificate whose files are lost is dropped from the record, so that the platform sets it again.
	lost := func(i installed) bool { return !d.there(a.Name, i.File) }
	if slices.ContainsFunc(d.records.Get(a.Name).Installed, lost) {
		if _, err := d.records.Update(a.Name, func(rec *stored) error {
			rec.Installed = slices.DeleteFunc(rec.Installed, lost)
			return nil
		}); err != nil {
			return err
		}
	}
	d.index.set(a.Name, a.Domains)
	return nil
}

func (d *Driver) there(account, file string) bool {
	base := filepath.Join(d.files, account, file)
	_, chain := os.Stat(base + ".crt")
	_, key := os.Stat(base + ".key")
	return chain == nil && key == nil
}

// Remove implements facility.Facility. The caller has the account's certificates on Hold.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.index.set(a.Name, nil)
	err := d.endChallenges(a.Name, func(challenge) bool { return true })
	if err := errors.Join(err, os.RemoveAll(filepath.Join(d.files, a.Name))); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return d.records.Delete(a.Name)
}

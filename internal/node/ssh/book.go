package ssh

import (
	"context"
	"fmt"
	"slices"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// entry is the stored record of an account.
type entry struct {
	Ref   string `json:"ref"`
	Shell bool   `json:"shell,omitempty"`
	Keys  []key  `json:"keys,omitempty"`
}

type key struct {
	Name        string     `json:"name"`
	PublicKey   string     `json:"public_key"`
	Fingerprint string     `json:"fingerprint"`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty"`
}

// book stores who may sign in by SSH. It implements panel.Shell as far as no server is involved.
type book struct {
	records *record.Store[entry]
	lookup  facility.Lookup

	host, fingerprint string
	port              int

	// apply makes the server follow the record; fresh is called before keys are listed.
	apply func(ctx context.Context, a accounts.Account) error
	fresh func()
}

var _ panel.Shell = (*book)(nil)

func openBook(dir string, lookup facility.Lookup) (*book, error) {
	records, err := record.Open[entry](dir)
	if err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	return &book{
		records: records, lookup: lookup, fresh: func() {},
		apply: func(context.Context, accounts.Account) error { return nil },
	}, nil
}

// ShellAccess implements panel.Shell.
func (b *book) ShellAccess(_ context.Context, ref string) (panel.ShellAccess, error) {
	a, err := b.lookup(ref)
	return b.answer(a), panel.Wrap("shell.get", ref, err)
}

func (b *book) answer(a accounts.Account) panel.ShellAccess {
	if a.Name == "" {
		return panel.ShellAccess{}
	}
	return panel.ShellAccess{
		Enabled: b.records.Get(a.Name).Shell, Host: b.host, Port: b.port, Username: userOf(a), Fingerprint: b.fingerprint,
	}
}

func userOf(a accounts.Account) string {
	if a.User.Name == "" {
		return a.Name
	}
	return a.User.Name
}

// Enabled reports whether the account has a shell.
func (b *book) Enabled(a accounts.Account) bool { return b.records.Get(a.Name).Shell && !a.Suspended }

// SetShellAccess implements panel.Shell.
func (b *book) SetShellAccess(ctx context.Context, ref string, enabled bool) (_ panel.ShellAccess, err error) {
	defer func() { err = panel.Wrap("shell.set", ref, err) }()
	a, err := b.change(ctx, ref, func(e *entry) error {
		e.Shell = enabled
		return nil
	})
	return b.answer(a), err
}

// change changes the record of an account that accepts changes, and has the server follow.
func (b *book) change(ctx context.Context, ref string, change func(*entry) error) (accounts.Account, error) {
	a, err := b.lookup(ref)
	if err != nil {
		return a, err
	}
	if a.Suspended {
		return a, panel.ErrSuspended
	}
	if _, err := b.records.Update(a.Name, func(e *entry) error {
		e.Ref = a.Ref
		return change(e)
	}); err != nil {
		return a, err
	}
	return a, b.apply(ctx, a)
}

// SSHKeys implements panel.Shell.
func (b *book) SSHKeys(_ context.Context, ref string) ([]panel.SSHKey, error) {
	a, err := b.lookup(ref)
	if err != nil {
		return nil, panel.Wrap("shell.keys", ref, err)
	}
	b.fresh()
	kept := b.records.Get(a.Name).Keys
	keys := make([]panel.SSHKey, len(kept))
	for i, k := range kept {
		keys[i] = panel.SSHKey{Name: k.Name, PublicKey: k.PublicKey, LastUsedAt: k.LastUsedAt}
	}
	return keys, nil
}

// SetSSHKeys implements panel.Shell.
func (b *book) SetSSHKeys(ctx context.Context, ref string, keys []panel.SSHKey) (err error) {
	defer func() { err = panel.Wrap("shell.set_keys", ref, err) }()
	if len(keys) > mostKeys {
		return fmt.Errorf("%w: more than %d keys", panel.ErrLimit, mostKeys)
	}
	set := make([]key, len(keys))
	for i, k := range keys {
		parsed, err := parse(k)
		if err != nil {
			return err
		}
		set[i] = key{Name: k.Name, PublicKey: k.PublicKey, Fingerprint: gossh.FingerprintSHA256(parsed)}
	}
	_, err = b.change(ctx, ref, func(e *entry) error {
		for i := range set {
			if j := slices.IndexFunc(e.Keys, func(k key) bool { return k.Fingerprint == set[i].Fingerprint }); j >= 0 {
				set[i].LastUsedAt = e.Keys[j].LastUsedAt
			}
		}
		e.Keys = set
		return nil
	})
	return err
}

// used records the use of a key.
func (b *book) used(account, fingerprint string, at time.Time) error {
	e := b.records.Get(account)
	i := slices.IndexFunc(e.Keys, func(k key) bool { return k.Fingerprint == fingerprint })
	if i < 0 || (e.Keys[i].LastUsedAt != nil && at.Sub(*e.Keys[i].LastUsedAt) < time.Minute) {
		return nil
	}
	_, err := b.records.Update(account, func(e *entry) error {
		for i := range e.Keys {
			if e.Keys[i].Fingerprint == fingerprint {
				e.Keys[i].LastUsedAt = &at
			}
		}
		return nil
	})
	return err
}

package reseller

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
)

// The prefixes of keys: they tell whoever finds one what it is for.
const (
	livePrefix    = "rsk_"
	sandboxPrefix = "rsk_test_"
	keyBytes      = 32
)

// Key is an API key without its secret.
type Key struct {
	ID        int64
	AccountID int64
	Name      string
	Hint      string // the end of the key, to distinguish it from others
	Sandbox   bool
	ReadOnly  bool
	// Addresses are the networks from which it may be used; none means all.
	Addresses   []netip.Prefix
	CreatedAt   time.Time
	LastUsedAt  *time.Time
	LastAddress *string
	RevokedAt   *time.Time
}

// allows reports whether the key may be used from an address.
func (k Key) allows(from netip.Addr) bool {
	for _, p := range k.Addresses {
		if p.Contains(from.Unmap()) {
			return true
		}
	}
	return len(k.Addresses) == 0
}

// network converts p to the form in which addresses are compared: IPv4 as IPv4, also when it is mapped into IPv6 (RFC
// 4291, section 2.5.5.2).
func network(p netip.Prefix) (netip.Prefix, error) {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if !p.IsValid() || p.Addr().Is4In6() {
		return p, fault.Invalid("addresses", "key_networks")
	}
	return p.Masked(), nil
}

// NewKey is the input for a key.
type NewKey struct {
	Name      string
	Sandbox   bool
	ReadOnly  bool
	Addresses []netip.Prefix
}

// ErrNoReseller says that an account is not a reseller's.
var ErrNoReseller = errors.New("reseller: the account is no reseller")

const (
	maxName      = 100
	maxAddresses = 50
	maxKeys      = 50 // that are not revoked
)

// CreateKey creates a key of a reseller and returns its secret, which is never returned again.
func (s *Service) CreateKey(ctx context.Context, accountID int64, n NewKey) (Key, string, error) {
	n.Name = strings.TrimSpace(n.Name)
	if n.Name == "" || len(n.Name) > maxName || strings.ContainsFunc(n.Name, isControl) {
		return Key{}, "", fault.Invalid("name", "key_name")
	}
	if len(n.Addresses) > maxAddresses {
		return Key{}, "", fault.Invalid("addresses", "key_networks")
	}
	n.Addresses = slices.Clone(n.Addresses)
	for i, p := range n.Addresses {
		var err error
		if n.Addresses[i], err = network(p); err != nil {
			return Key{}, "", err
		}
	}
	prefix := livePrefix
	if n.Sandbox {
		prefix = sandboxPrefix
	}
	token := secret.Token(prefix, keyBytes)
	k := Key{
		AccountID: accountID, Name: n.Name, Hint: token[len(token)-4:], Sandbox: n.Sandbox, ReadOnly: n.ReadOnly, Addresses: n.Addresses,
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := lockReseller(ctx, tx, accountID)
		if errors.Is(err, ErrNoReseller) {
			err = fault.NotFound.Wrap(err)
		}
		if err != nil {
			return err
		}
		count, err := countKeys(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if count >= maxKeys {
			return fault.LimitReached.Wrapf("a reseller has at most %d keys that are not revoked", maxKeys)
		}
		k.CreatedAt = tx.Now
		if k.ID, err = insertKey(ctx, tx, k, secret.Hash(token)); err != nil {
			return err
		}
		if err := s.Accounts.Noted(ctx, tx, accountID, account.EventKeyCreated); err != nil {
			return err
		}
		return s.tellKey(ctx, tx, "api_key.created", k)
	})
	return k, token, err
}

// RevokeKey revokes a key from the next request on. A revoked key stays revoked.
func (s *Service) RevokeKey(ctx context.Context, id int64) error {
	return s.revoke(ctx, `id = $1`, id)
}

// RevokeOwnKey is RevokeKey for a key of the account itself.
func (s *Service) RevokeOwnKey(ctx context.Context, accountID, id int64) error {
	return s.revoke(ctx, `id = $1 AND account_id = $2`, id, accountID)
}

func (s *Service) revoke(ctx context.Context, which string, args ...any) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		k, err := scanKey(tx.QueryRow(ctx, `SELECT `+keyColumns+` FROM reseller_keys k WHERE `+which+tx.ForUpdate(), args...))
		switch {
		case errors.Is(err, db.ErrNoRows):
			return fault.NotFound.New()
		case err != nil || k.RevokedAt != nil:
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE reseller_keys SET revoked_at = $1 WHERE id = $2`, tx.Now, k.ID); err != nil {
			return err
		}
		if err := s.Accounts.Noted(ctx, tx, k.AccountID, account.EventKeyRevoked); err != nil {
			return err
		}
		return s.tellKey(ctx, tx, "api_key.revoked", k)
	})
}

// keyEvent is a key in the data of its events.
type keyEvent struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Sandbox  bool   `json:"sandbox"`
	ReadOnly bool   `json:"read_only"`
}

// tellKey emits an event of a key in its world.
func (s *Service) tellKey(ctx context.Context, tx *db.Tx, eventType string, k Key) error {
	account := k.AccountID
	if k.Sandbox {
		r, err := of(ctx, tx, k.AccountID)
		if err != nil {
			return err
		}
		account = r.SandboxID
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: account, Subject: "api_key", SubjectID: k.ID, Data: keyEvent{ID: k.ID, Name: k.Name, Sandbox: k.Sandbox, ReadOnly: k.ReadOnly},
	})
}

// Keys lists the keys of a reseller, the newest first.
func (s *Service) Keys(ctx context.Context, accountID int64) ([]Key, error) {
	return listKeys(ctx, s.DB, accountID)
}

// noteEvery is the precision of a key's last use.
const noteEvery = time.Minute

// VerifyKey implements api.KeyVerifier.
func (s *Service) VerifyKey(ctx context.Context, token string, from netip.Addr) (auth.Principal, error) {
	if !strings.HasPrefix(token, livePrefix) {
		return auth.Principal{}, fault.APIKeyInvalid.New()
	}
	k, r, err := findKey(ctx, s.DB, secret.Hash(token))
	switch {
	case errors.Is(err, db.ErrNoRows):
		return auth.Principal{}, fault.APIKeyInvalid.New()
	case err != nil:
		return auth.Principal{}, err
	case k.RevokedAt != nil:
		return auth.Principal{}, fault.APIKeyRevoked.New()
	case !k.allows(from):
		return auth.Principal{}, fault.AddressNotAllowed.New()
	}
	owner, err := s.Accounts.Profile(ctx, s.DB, k.AccountID)
	if err != nil {
		return auth.Principal{}, err
	}
	if !owner.Open() {
		return auth.Principal{}, fault.AccountSuspended.New()
	}
	if k.LastUsedAt == nil || s.Clock.Now().Sub(*k.LastUsedAt) >= noteEvery {
		if err := s.noteUse(ctx, k.ID, from); err != nil {
			return auth.Principal{}, err
		}
	}
	p, err := s.principal(ctx, owner, r.SandboxID, k.Sandbox)
	p.KeyID, p.ReadOnly = k.ID, k.ReadOnly
	return p, err
}

// principal is a reseller in the live world or in its sandbox.
func (s *Service) principal(ctx context.Context, owner account.Profile, sandboxID int64, sandbox bool) (auth.Principal, error) {
	if !sandbox {
		return auth.Principal{AccountID: owner.ID, Locale: owner.Locale, Currency: owner.Currency}, nil
	}
	own, err := s.Accounts.Profile(ctx, s.DB, sandboxID)
	return auth.Principal{AccountID: sandboxID, Locale: own.Locale, Currency: own.Currency}, err
}

// Principal is a reseller who has signed in and calls the operations without a key; fault.Forbidden when the account is no
// reseller's.
func (s *Service) Principal(ctx context.Context, accountID int64, sandbox bool) (auth.Principal, error) {
	r, err := scanReseller(s.DB.QueryRow(ctx, `SELECT `+resellerColumns+` FROM reseller_accounts WHERE account_id = $1`, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return auth.Principal{}, fault.Forbidden.New()
	}
	if err != nil {
		return auth.Principal{}, err
	}
	owner, err := s.Accounts.Profile(ctx, s.DB, accountID)
	if err != nil {
		return auth.Principal{}, err
	}
	return s.principal(ctx, owner, r.SandboxID, sandbox)
}

func (s *Service) noteUse(ctx context.Context, id int64, from netip.Addr) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE reseller_keys SET last_used_at = $1, last_address = $2 WHERE id = $3`, tx.Now, from.String(), id)
		return err
	})
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

const keyColumns = `k.id, k.account_id, k.name, k.hint, k.sandbox, k.read_only, k.addresses, k.created_at, k.last_used_at, k.last_address, k.revoked_at`

func scanKey(row db.Row, more ...any) (k Key, err error) {
	var addresses string
	err = row.Scan(append([]any{
		&k.ID, &k.AccountID, &k.Name, &k.Hint, &k.Sandbox, &k.ReadOnly, &addresses, &k.CreatedAt, &k.LastUsedAt, &k.LastAddress, &k.RevokedAt,
	}, more...)...)
	if err == nil {
		err = json.Unmarshal([]byte(addresses), &k.Addresses)
	}
	return k, err
}

func keyByID(ctx context.Context, q db.Querier, id int64) (Key, error) {
	return scanKey(q.QueryRow(ctx, `SELECT `+keyColumns+` FROM reseller_keys k WHERE k.id = $1`, id))
}

func findKey(ctx context.Context, q db.Querier, hash []byte) (Key, Reseller, error) {
	var r Reseller
	k, err := scanKey(q.QueryRow(ctx, `SELECT `+keyColumns+`, r.sandbox_id FROM reseller_keys k
		JOIN reseller_accounts r ON r.account_id = k.account_id WHERE k.hash = $1`, hash), &r.SandboxID)
	return k, r, err
}

func listKeys(ctx context.Context, q db.Querier, accountID int64) ([]Key, error) {
	return db.Collect(ctx, q, func(row db.Row) (Key, error) { return scanKey(row) },
		`SELECT `+keyColumns+` FROM reseller_keys k WHERE k.account_id = $1 ORDER BY k.id DESC`, accountID)
}

func countKeys(ctx context.Context, q db.Querier, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM reseller_keys WHERE account_id = $1 AND revoked_at IS NULL`, accountID).Scan(&n)
	return n, err
}

func insertKey(ctx context.Context, tx *db.Tx, k Key, hash []byte) (id int64, err error) {
	if k.Addresses == nil {
		k.Addresses = []netip.Prefix{}
	}
	addresses, err := json.Marshal(k.Addresses)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO reseller_keys (account_id, hash, name, hint, sandbox, read_only, addresses, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		k.AccountID, hash, k.Name, k.Hint, k.Sandbox, k.ReadOnly, string(addresses), k.CreatedAt).Scan(&id)
	return id, err
}

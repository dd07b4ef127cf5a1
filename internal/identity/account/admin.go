package account

import (
	"context"
	"errors"
	"strconv"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
)

// NewAccount is an operator's input for a new account.
type NewAccount struct {
	Email, Name string
	// Password may be empty: the owner then sets one by recovery.
	Password string
	// Locale and Currency may be empty.
	Locale, Currency string
	// Role makes the account one of staff; empty for customers.
	Role auth.Role
	// Published says that the password is known to everybody, as that of a demonstration: it may be easy to guess.
	Published bool
	// Verified accepts the address as the owner's without a mail.
	Verified bool
}

// Create makes an account and signs nobody in.
func (s *Service) Create(ctx context.Context, n NewAccount) (p Profile, err error) {
	if n.Password == "" {
		n.Password = secret.Token("", 32)
	}
	u, err := s.newUser(ctx, n)
	if err != nil {
		return p, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := insertUser(ctx, tx, u)
		if err != nil {
			return err
		}
		p, err = profile(ctx, tx, id)
		return err
	})
	return p, taken(err)
}

// Check reports what is wrong with a new account.
func (s *Service) Check(n NewAccount) error {
	if n.Password == "" {
		n.Password = secret.Token("", 32)
	}
	_, err := s.checkNew(n)
	return err
}

// ImportedFrom names an account in the system that it comes from.
type ImportedFrom struct{ Source, ID string }

// Import makes an account of one that another system has, once: a second account of the same source and id is refused. Its owner sets
// a password by recovery. also runs in the same transaction, with the account's id.
func (s *Service) Import(ctx context.Context, n NewAccount, from ImportedFrom, also func(ctx context.Context, tx *db.Tx, id int64) error) (p Profile, err error) {
	n.Password = secret.Token("", 32)
	u, err := s.newUser(ctx, n)
	if err != nil {
		return p, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := insertUser(ctx, tx, u)
		if err != nil {
			return taken(err)
		}
		if err := insertImport(ctx, tx, from, id); err != nil {
			if db.IsUnique(err) {
				return fault.AlreadyExists.Wrap(err)
			}
			return err
		}
		if err := also(ctx, tx, id); err != nil {
			return err
		}
		p, err = profile(ctx, tx, id)
		return err
	})
	return p, err
}

// Imported returns the accounts that were imported from a source, by their ids there.
func (s *Service) Imported(ctx context.Context, source string) (map[string]int64, error) {
	return imported(ctx, s.DB, source)
}

// List reads a page of all accounts in the order they were made.
func (s *Service) List(ctx context.Context, p page.Params) (*page.List[Profile], error) {
	rows, total, err := listProfiles(ctx, s.DB, p)
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}

// Find reads an account by its id in decimal or its address.
func (s *Service) Find(ctx context.Context, who string) (Profile, error) {
	if id, err := strconv.ParseInt(who, 10, 64); err == nil {
		return profile(ctx, s.DB, id)
	}
	email, ok := NormalizeEmail(who)
	if !ok {
		return Profile{}, fault.NotFound.New()
	}
	return profileByEmail(ctx, s.DB, email)
}

// SetPassword replaces the password of an account, and ends its sessions and the tokens of its applications.
func (s *Service) SetPassword(ctx context.Context, id int64, password string) error {
	p, err := profile(ctx, s.DB, id)
	if err != nil {
		return err
	}
	if err := s.checkPassword("password", password, p.Email, p.Name); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		if err := s.Grants.EndAll(ctx, tx, id); err != nil {
			return err
		}
		return s.replacePassword(ctx, tx, id, hash, 0, Client{})
	})
}

// SetRole makes the account one of staff, gives it another role, or with an empty role makes it a customer's.
// It acts as customers no longer: the sessions were begun by the role before.
func (s *Service) SetRole(ctx context.Context, id int64, role auth.Role) error {
	if role != "" && !role.Known() {
		return fault.Validation.Wrapf("%q is no role of staff: owner, billing, support, technician or read_only", role)
	}
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		p, err := profile(ctx, tx, id)
		if err != nil {
			return err
		}
		if p.Sandbox {
			return fault.NotFound.New()
		}
		if err := endActing(ctx, tx, id); err != nil {
			return err
		}
		return setRole(ctx, tx, id, role)
	})
}

// Staff lists the accounts of staff in the order they were made.
func (s *Service) Staff(ctx context.Context) ([]Profile, error) { return staff(ctx, s.DB) }

// ResetTwoFactor switches the second factor off for an owner who has lost the phone and the recovery codes.
func (s *Service) ResetTwoFactor(ctx context.Context, id int64) error {
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error { return s.disableTOTP(ctx, tx, id, Client{}) })
}

// Suspend ends all sessions of an account and refuses further sign-ins. Tokens of its applications stay, but every
// check refuses them until the account is open again.
func (s *Service) Suspend(ctx context.Context, id int64, reason string) error {
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		if err := s.endSessions(ctx, tx, id, 0); err != nil {
			return err
		}
		return setSuspended(ctx, tx, id, &tx.Now, reason)
	})
}

// Unsuspend opens a suspended account again.
func (s *Service) Unsuspend(ctx context.Context, id int64) error {
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error { return setSuspended(ctx, tx, id, nil, "") })
}

// OnClose registers f to remove another section's personal data when an account is closed, or to refuse the closing. It is
// called for the account and for its sandbox, which nothing is to keep open.
func (s *Service) OnClose(f func(ctx context.Context, tx *db.Tx, accountID int64) error) {
	s.forget = append(s.forget, f)
}

// Close removes all personal data from an account, for good. Rows that others refer to, such as the ledger, stay.
func (s *Service) Close(ctx context.Context, id int64) error {
	return s.change(ctx, id, func(ctx context.Context, tx *db.Tx) error { return s.close(ctx, tx, id) })
}

// close closes an account and its sandbox, where it has one.
func (s *Service) close(ctx context.Context, tx *db.Tx, id int64) error {
	if err := s.closeOne(ctx, tx, id, "closed-"+strconv.FormatInt(id, 10)+"@account.invalid"); err != nil {
		return err
	}
	sandbox, err := s.SandboxOf(ctx, tx, id)
	if errors.Is(err, fault.NotFound) || err == nil && sandbox == id {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := profile(ctx, tx, sandbox)
	if err != nil {
		return err
	}
	return s.closeOne(ctx, tx, sandbox, p.Email) // its address names nobody
}

func (s *Service) closeOne(ctx context.Context, tx *db.Tx, id int64, email string) error {
	if err := s.Grants.EndAll(ctx, tx, id); err != nil {
		return err
	}
	for _, f := range s.forget {
		if err := f(ctx, tx, id); err != nil {
			return err
		}
	}
	return closeUser(ctx, tx, id, email)
}

// change locks an account that is not closed, changes it, and signals every replica.
func (s *Service) change(ctx context.Context, id int64, f func(ctx context.Context, tx *db.Tx) error) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := lockUser(ctx, tx, id); err != nil {
			return err
		}
		p, err := profile(ctx, tx, id)
		if err != nil {
			return err
		}
		if p.ClosedAt != nil {
			return fault.NotFound.New()
		}
		if err := f(ctx, tx); err != nil {
			return err
		}
		return s.signal(ctx, tx, id)
	})
}

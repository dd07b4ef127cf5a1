package exports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
)

// Source reads what is kept about accounts.
type Source interface {
	// Files lists what an archive consists of; what another file is made for comes before it.
	Files() []module.Export
	// Read calls the operation of a file, with arguments by the names of its parameters. Those of pages are passed over when
	// it has none.
	Read(ctx context.Context, accountID int64, file module.Export, arguments map[string]any) (json.RawMessage, error)
}

// Owner is a person whose data an archive holds.
type Owner struct {
	Email  string
	Locale string
	Open   bool // neither suspended nor closed
}

// Owners knows the accounts, and tells their owners of archives.
type Owners interface {
	Owner(ctx context.Context, q db.Querier, accountID int64) (Owner, error)
	// Requested and Downloaded are recorded in the account's security log.
	Requested(ctx context.Context, tx *db.Tx, accountID int64) error
	Downloaded(ctx context.Context, tx *db.Tx, accountID int64) error
	// Ready mails the owner that an archive can be downloaded, which by asked for.
	Ready(ctx context.Context, tx *db.Tx, accountID int64, by auth.Caller) error
}

// Config configures the section; all fields are required.
type Config struct {
	DB      *db.DB
	Queue   jobs.Enqueuer
	Box     *secret.Box
	Limiter throttle.Limiter
	Owners  Owners
	// Brand names the company in the archive.
	Brand brand.Source
	// Limit bounds how often an account may ask; a policy with Limit 0 sets no bound.
	Limit throttle.Policy
	// Log has a line for each file that had to be left out.
	Log *slog.Logger
}

// DefaultLimit lets somebody try again, and nobody keep the server busy.
func DefaultLimit() throttle.Policy {
	return throttle.Policy{Name: "account_export", Limit: 5, Window: 24 * time.Hour}
}

// Needs is what the section needs of others.
type Needs struct{ Source Source }

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section. Connect comes before its use.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Of reads the archive of an account; its status is None when there is none.
func (s *Service) Of(ctx context.Context, accountID int64) (Archive, error) {
	a, err := ofAccount(ctx, s.DB, accountID)
	if errors.Is(err, fault.NotFound) {
		return Archive{AccountID: accountID, Status: None}, nil
	}
	return a, err
}

// Request has an archive made. One that is there is replaced, unless it is being made.
func (s *Service) Request(ctx context.Context, accountID int64) (a Archive, err error) {
	if a, err = s.Of(ctx, accountID); err == nil && a.Status == Pending {
		err = fault.JobRunning.New()
	}
	if err == nil {
		err = s.limit(ctx, accountID)
	}
	if err != nil {
		return a, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		before, err := ofAccount(ctx, tx, accountID)
		switch {
		case errors.Is(err, fault.NotFound):
		case err != nil:
			return err
		case before.Status == Pending:
			return fault.JobRunning.New()
		default:
			if _, err := remove(ctx, tx, accountID); err != nil {
				return err
			}
		}
		if a, err = insert(ctx, tx, accountID); err != nil {
			return err
		}
		if err := s.Owners.Requested(ctx, tx, accountID); err != nil {
			return err
		}
		by := auth.CallerOf(ctx)
		return s.Queue.Enqueue(ctx, tx, makeArgs{ExportID: a.ID, Address: by.Address, UserAgent: by.UserAgent}, attempts())
	})
	return a, err
}

func (s *Service) limit(ctx context.Context, accountID int64) error {
	if s.Limit.Limit <= 0 {
		return nil
	}
	r, err := s.Limiter.Take(ctx, fmt.Sprintf("export/%d", accountID), s.Limit)
	if err == nil && !r.Allowed {
		err = fault.RateLimited.With(fault.Fields{"retry_after": int(r.Reset/time.Second) + 1})
	}
	return err
}

// Remove deletes the archive of an account before it expires. One that is being made is given up.
func (s *Service) Remove(ctx context.Context, accountID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := remove(ctx, tx, accountID)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// Open finds the archive of an account for a download and records that.
func (s *Service) Open(ctx context.Context, accountID int64) (a Archive, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err = ofAccount(ctx, tx, accountID)
		if err == nil && (a.Status != Ready || !tx.Now.Before(a.ExpiresAt)) {
			err = fault.NotFound.New()
		}
		if err != nil {
			return err
		}
		return s.Owners.Downloaded(ctx, tx, accountID)
	})
	return a, err
}

// WriteTo writes the file of an archive that Open has found.
func (s *Service) WriteTo(ctx context.Context, w io.Writer, a Archive) error {
	var written int64
	for number := int64(0); written < a.Size; number++ {
		sealed, ok, err := part(ctx, s.DB, a.AccountID, a.ID, number)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("exports: archive %d ends after %d of %d bytes", a.ID, written, a.Size)
		}
		content, err := s.Box.Open(sealed, sealedAt(a, number))
		if err != nil {
			return fmt.Errorf("exports: part %d of archive %d: %w", number, a.ID, err)
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		written += int64(len(content))
	}
	return nil
}

// sealedAt names the place of a part, so that it opens nowhere else.
func sealedAt(a Archive, number int64) []byte {
	return fmt.Appendf(nil, "exports_parts/%d/%d/%d/%d", a.AccountID, a.ID, a.attempt, number)
}

// Clean removes archives that have expired.
func (s *Service) Clean(ctx context.Context) error { return s.DB.InTx(ctx, clean) }

// Closed removes the archive of an account that is closed.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := remove(ctx, tx, accountID)
	return err
}

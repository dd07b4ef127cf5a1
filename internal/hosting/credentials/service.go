package credentials

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
)

// Config is what the section works with; all is needed.
type Config struct {
	DB  *db.DB
	Box *secret.Box
	Log *slog.Logger // audits which credentials were shown and replaced; never a password
}

// Replaced is called in the transaction in which a subject gets another password. It has the panel follow,
// or refuses: the service is suspended.
type Replaced func(ctx context.Context, tx *db.Tx, accountID, serviceID, subjectID int64) error

// Places tells where the subjects of a service are signed in to, such as "ftp.example.com:21", by subject. What has no
// place yet is left out.
type Places func(ctx context.Context, q db.Querier, serviceID int64) (map[int64]string, error)

// Needs is what the section needs of others; every field is required.
type Needs struct {
	// Services finds the service that an operation names.
	Services site.Services
	// Replaced are the sections that have subjects, and Places tell where these are signed in to, by kind.
	Replaced map[Kind]Replaced
	Places   map[Kind]Places
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Put makes the password of a subject, which the account's service has and people know by label. One that
// it has already stays.
func (s *Service) Put(ctx context.Context, tx *db.Tx, accountID, serviceID int64, kind string, subjectID int64, label string) error {
	c := Credential{AccountID: accountID, ServiceID: serviceID, Kind: Kind(kind), SubjectID: subjectID, Label: label}
	id, made, err := insert(ctx, tx, c)
	if err != nil || !made {
		return err
	}
	return s.make(ctx, tx, id)
}

// make gives a row a new password.
func (s *Service) make(ctx context.Context, tx *db.Tx, id int64) error {
	p := sealed{id: id, version: secret.Token("", 12)}
	var err error
	if p.box, err = s.Box.Seal([]byte(generate()), p.aad()); err != nil {
		return err
	}
	return setPassword(ctx, tx, p)
}

// aad binds a sealed password to its row and version.
func (p sealed) aad() []byte {
	return []byte("credentials/" + strconv.FormatInt(p.id, 10) + "/" + p.version)
}

func (s *Service) open(p sealed) (string, error) {
	password, err := s.Box.Open(p.box, p.aad())
	if err != nil {
		return "", fmt.Errorf("credentials: %d: %w", p.id, err)
	}
	return string(password), nil
}

// Secret answers the password of a subject to the job that tells it to the panel, and its version.
// fault.NotFound when it has none.
func (s *Service) Secret(ctx context.Context, q db.Querier, kind string, subjectID int64) (password, version string, err error) {
	p, err := ofSubject(ctx, q, Kind(kind), subjectID)
	if err != nil {
		return "", "", err
	}
	password, err = s.open(p)
	return password, p.version, err
}

// Version is the version of a subject's password; fault.NotFound when it has none.
func (s *Service) Version(ctx context.Context, q db.Querier, kind string, subjectID int64) (string, error) {
	p, err := ofSubject(ctx, q, Kind(kind), subjectID)
	return p.version, err
}

// Delete removes the password of a subject, if it has one.
func (s *Service) Delete(ctx context.Context, tx *db.Tx, kind string, subjectID int64) error {
	return remove(ctx, tx, Kind(kind), subjectID)
}

// List answers the passwords of one of the account's services, without them, and where they are used.
func (s *Service) List(ctx context.Context, accountID, serviceID int64) ([]Credential, error) {
	all, err := s.ListIn(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	for kind, f := range s.Places {
		places, err := f(ctx, s.DB, serviceID)
		if err != nil {
			return nil, err
		}
		for i, c := range all {
			if c.Kind == kind {
				all[i].Place = places[c.SubjectID]
			}
		}
	}
	return all, nil
}

// ListIn is List in a transaction of the caller's, without the places.
func (s *Service) ListIn(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]Credential, error) {
	return ofService(ctx, q, accountID, serviceID)
}

// Reveal answers a password once: to whoever asks first after it was made. fault.NotFound when it was shown
// before. The caller has made sure that the account's owner asks.
func (s *Service) Reveal(ctx context.Context, accountID, serviceID, id int64) (c Credential, password string, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := takeRevealed(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		if c, err = getOwn(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		password, err = s.open(p)
		return err
	})
	if err == nil {
		s.audit(ctx, "credential shown", c)
	}
	return c, password, err
}

// Reset makes a new password in the place of the present one, which the panel stops to accept as soon as it
// has followed.
func (s *Service) Reset(ctx context.Context, accountID, serviceID, id int64) (c Credential, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = s.ResetIn(ctx, tx, accountID, serviceID, id)
		return err
	})
	if err == nil {
		s.audit(ctx, "credential replaced", c)
	}
	return c, err
}

// ResetIn is Reset in a transaction of the caller's, who keeps what was done.
func (s *Service) ResetIn(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (Credential, error) {
	c, err := getOwn(ctx, tx, accountID, serviceID, id)
	if err != nil {
		return c, err
	}
	// First the section's rows, whose order of locks begins at the service.
	follow, ok := s.Replaced[c.Kind]
	if !ok {
		return c, fmt.Errorf("credentials: nobody has things of kind %q", c.Kind)
	}
	if err := follow(ctx, tx, accountID, serviceID, c.SubjectID); err != nil {
		return c, err
	}
	if err := s.make(ctx, tx, id); err != nil {
		return c, err
	}
	return getOwn(ctx, tx, accountID, serviceID, id)
}

func (s *Service) audit(ctx context.Context, what string, c Credential) {
	s.Log.InfoContext(ctx, what, "account", c.AccountID, "service", c.ServiceID, "kind", c.Kind, "credential", c.ID, "label", c.Label)
}

package reseller

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/hosting/credentials"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// How long a link is valid, and how long a visit lasts.
const (
	linkLife  = 15 * time.Minute
	visitLife = time.Hour
)

const (
	linkPrefix  = "st_cl_"
	visitPrefix = "st_cv_"
	linkBytes   = 32
)

// Visit is a visit of a reseller's client to the pages of one service.
type Visit struct {
	ID                   int64
	AccountID, ServiceID int64
	Name, Domain, Status string // of the service
	Brand                brand.Brand
	Until                time.Time
}

// linkWire is a link to the pages of a service.
type linkWire struct {
	URL       string    `json:"url" doc:"Give it to your client. It works once; who has it can see and replace the service's passwords"`
	ExpiresAt time.Time `json:"expires_at" doc:"Until when it can be opened"`
}

type passwordIn struct {
	serviceIn
	Body struct {
		Username string `json:"username,omitempty" maxLength:"64" doc:"Of an FTP account or a database of the service; all its FTP accounts when left out, or a first one that is made"`
	}
}

// passwordWire names the users whose passwords were replaced. The passwords are in no answer.
type passwordWire struct {
	Usernames []string `json:"usernames" doc:"Whose password is another now"`
	LoginLink linkWire `json:"login_link" doc:"Where your client sees the new passwords, once"`
}

// linkOperations give a reseller's client access (specification, section "Reseller").
func (s *Service) linkOperations() []api.Route {
	return []api.Route{
		api.Operation[serviceIn, linkWire]{
			ID: "reseller.services.login_link", Method: http.MethodPost, Path: "/api/v1/reseller/services/{service}/login-link",
			Section: api.Reseller, Auth: api.Key, Status: http.StatusCreated, Summary: "Make a link that opens a service's panel to your client once",
			Description: "Your client needs no account. The link waits 15 minutes for its click; the visit ends after an hour.",
			Errors:      []*fault.Def{fault.NotFound, fault.ServiceNotActive, fault.ServiceSuspended},
			Handle: func(ctx context.Context, p auth.Principal, in *serviceIn) (w *linkWire, err error) {
				err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
					w, err = s.makeLink(ctx, tx, p, in.Service)
					return err
				})
				return w, err
			},
		},
		api.Operation[passwordIn, passwordWire]{
			ID: "reseller.services.reset_password", Method: http.MethodPost, Path: "/api/v1/reseller/services/{service}/reset-password",
			Example: `{"username": "deploy"}`,
			Section: api.Reseller, Auth: api.Key, Summary: "Replace passwords of a service",
			Description: "The new ones are made by the server and shown once, to your client, behind the link. The old ones stop to work within seconds. " +
				"A service without FTP accounts is given one, by which your client comes in; unsupported_operation where its server has no FTP.",
			Errors: []*fault.Def{fault.NotFound, fault.ServiceNotActive, fault.ServiceSuspended, fault.UnsupportedOperation, fault.LimitReached, fault.AlreadyExists},
			Handle: s.passwordOperation,
		},
	}
}

// makeLink creates a link to the pages of one of the account's services.
func (s *Service) makeLink(ctx context.Context, tx *db.Tx, p auth.Principal, serviceID int64) (*linkWire, error) {
	of, err := s.Services.Site(ctx, tx, p.AccountID, serviceID)
	if err != nil {
		return nil, err
	}
	if err := of.Changeable(); err != nil {
		return nil, err
	}
	token, expires := secret.Token(linkPrefix, linkBytes), tx.Now.Add(linkLife)
	_, err = tx.Exec(ctx, `INSERT INTO reseller_links (account_id, service_id, key_id, token_hash, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, p.AccountID, serviceID, sql.NullInt64{Int64: p.KeyID, Valid: p.KeyID != 0}, secret.Hash(token), expires, tx.Now)
	return &linkWire{URL: s.BaseURL + "/client/" + token, ExpiresAt: expires}, err
}

func (s *Service) passwordOperation(ctx context.Context, p auth.Principal, in *passwordIn) (*passwordWire, error) {
	w := &passwordWire{}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		w.Usernames = nil
		link, err := s.makeLink(ctx, tx, p, in.Service)
		if err != nil {
			return err
		}
		w.LoginLink = *link
		made := "" // the user whose password is new
		if in.Body.Username == "" {
			if made, err = s.FTP.FirstFTP(ctx, tx, p.AccountID, in.Service); err != nil {
				return err
			}
		}
		all, err := s.Credentials.ListIn(ctx, tx, p.AccountID, in.Service)
		if err != nil {
			return err
		}
		for _, c := range all {
			if in.Body.Username == "" && c.Kind != credentials.FTP || in.Body.Username != "" && c.Label != in.Body.Username {
				continue
			}
			if c.Label != made {
				if _, err := s.Credentials.ResetIn(ctx, tx, p.AccountID, in.Service, c.ID); err != nil {
					return err
				}
			}
			if !slices.Contains(w.Usernames, c.Label) {
				w.Usernames = append(w.Usernames, c.Label)
			}
		}
		if len(w.Usernames) == 0 {
			return fault.Invalid("username", "value")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Door is a link that a client has opened, or the visit that it was exchanged for.
type Door struct {
	Brand brand.Brand
	// Waits says that the link can still be opened.
	Waits bool
}

// Link finds a link. One that was used or is too old has its brand, for the page that says so; the page of one that waits asks
// before the client acts, so that a program that checks links in mails does not use it up.
func (s *Service) Link(ctx context.Context, token string) (d Door, err error) {
	return s.door(ctx, `SELECT account_id, visit_hash IS NULL AND expires_at > $2 FROM reseller_links WHERE token_hash = $1`, token)
}

// VisitBrand finds the brand of a visit, also of one that is over.
func (s *Service) VisitBrand(ctx context.Context, visit string) (brand.Brand, error) {
	d, err := s.door(ctx, `SELECT account_id, visit_until > $2 FROM reseller_links WHERE visit_hash = $1`, visit)
	return d.Brand, err
}

func (s *Service) door(ctx context.Context, query, token string) (d Door, err error) {
	var accountID int64
	err = s.DB.QueryRow(ctx, query, secret.Hash(token), s.Clock.Now()).Scan(&accountID, &d.Waits)
	if errors.Is(err, db.ErrNoRows) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	b, err := s.brandOf(ctx, s.DB, accountID)
	d.Brand = b.shown()
	return d, err
}

// Enter uses a link up and returns the token of the visit. Of two concurrent calls, one succeeds; the other gets
// fault.NotFound.
func (s *Service) Enter(ctx context.Context, token string) (visit string, err error) {
	visit = secret.Token(visitPrefix, linkBytes)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE reseller_links SET visit_hash = $1, visit_until = $2
			WHERE token_hash = $3 AND visit_hash IS NULL AND expires_at > $4`, secret.Hash(visit), tx.Now.Add(visitLife), secret.Hash(token), tx.Now)
		if err == nil && n == 0 {
			err = fault.NotFound.New()
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return visit, nil
}

// Visit finds the visit of a token; fault.NotFound when it is over. A visit ends with its time, with the service, and
// with the reseller's account.
func (s *Service) Visit(ctx context.Context, token string) (v Visit, err error) {
	var keyID sql.NullInt64
	err = s.DB.QueryRow(ctx, `SELECT id, account_id, service_id, key_id, visit_until FROM reseller_links
		WHERE visit_hash = $1 AND visit_until > $2`, secret.Hash(token), s.Clock.Now()).Scan(&v.ID, &v.AccountID, &v.ServiceID, &keyID, &v.Until)
	if errors.Is(err, db.ErrNoRows) {
		return v, fault.NotFound.New()
	}
	if err != nil {
		return v, err
	}
	r, err := of(ctx, s.DB, v.AccountID)
	if err != nil {
		return v, err
	}
	owner, err := s.Accounts.Profile(ctx, s.DB, r.AccountID)
	if err != nil {
		return v, err
	}
	if !owner.Open() {
		return v, fault.NotFound.New()
	}
	if keyID.Valid {
		k, err := keyByID(ctx, s.DB, keyID.Int64)
		if err != nil {
			return v, err
		}
		if k.RevokedAt != nil {
			return v, fault.NotFound.New()
		}
	}
	b, err := s.brandOf(ctx, s.DB, v.AccountID)
	if err != nil {
		return v, err
	}
	v.Brand = b.shown()
	one, err := s.resoldOne(ctx, s.DB, v.AccountID, v.ServiceID)
	if err != nil {
		return v, err
	}
	if one.Status != services.Active && one.Status != services.PastDue {
		return v, fault.NotFound.New()
	}
	v.Name, v.Status = one.Label, string(one.Status)
	if one.Domain != nil {
		v.Domain = *one.Domain
	}
	return v, nil
}

// Leave ends a visit.
func (s *Service) Leave(ctx context.Context, token string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE reseller_links SET visit_until = $1 WHERE visit_hash = $2 AND visit_until > $1`, tx.Now, secret.Hash(token))
		return err
	})
}

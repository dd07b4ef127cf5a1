package oauth

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// ListApplications returns a page of the account's applications, newest first, and their number.
func (s *Service) ListApplications(ctx context.Context, owner int64, limit, offset int) ([]Application, int, error) {
	total, err := countApplications(ctx, s.DB, owner)
	if err != nil {
		return nil, 0, err
	}
	apps, err := listApplications(ctx, s.DB, owner, limit, offset)
	return apps, total, err
}

// AllApplications lists every application for the operator, oldest first.
func (s *Service) AllApplications(ctx context.Context, limit, offset int) ([]Application, error) {
	return allApplications(ctx, s.DB, limit, offset)
}

// GetApplication returns one of the account's applications.
func (s *Service) GetApplication(ctx context.Context, owner, id int64) (Application, error) {
	a, err := applicationOf(ctx, s.DB, owner, id)
	return a, notFound(err)
}

// CreateApplication registers an application. It returns the secret of a confidential one, which is never shown again.
func (s *Service) CreateApplication(ctx context.Context, owner int64, r Registration) (a Application, clientSecret string, err error) {
	a, err = r.application()
	if err != nil {
		return a, "", err
	}
	a.OwnerID, a.ClientID = owner, secret.Token(clientIDPrefix, 16)
	if a.Type == Confidential {
		clientSecret = secret.Token(secretPrefix, tokenBytes)
		a.secretHash = secret.Hash(clientSecret)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// Two concurrent requests may exceed the bound by one; it only keeps the table small.
		n, err := countApplications(ctx, tx, owner)
		if err != nil {
			return err
		}
		if n >= maxPerOwner {
			return fault.LimitReached.With(fault.Fields{"limit": maxPerOwner})
		}
		a, err = insertApplication(ctx, tx, a)
		return err
	})
	return a, clientSecret, err
}

// Changes are the new values; nil keeps a member.
type Changes struct {
	Name         *string
	RedirectURIs *[]string
	Scopes       *[]string
	Sandbox      *bool
}

// UpdateApplication changes one of the account's applications. Its tokens follow: they lose scopes that it may no
// longer have, and become sandboxed. When it leaves the sandbox they end, and users are asked for consent again: they
// had consented to reading only.
func (s *Service) UpdateApplication(ctx context.Context, owner, id int64, c Changes) (a Application, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err = lockApplicationOf(ctx, tx, owner, id)
		if err != nil {
			return notFound(err)
		}
		r := Registration{Name: a.Name, Type: a.Type, RedirectURIs: a.RedirectURIs, Scopes: a.Scopes, Sandbox: a.Sandbox}
		set(&r.Name, c.Name)
		set(&r.RedirectURIs, c.RedirectURIs)
		set(&r.Scopes, c.Scopes)
		set(&r.Sandbox, c.Sandbox)
		changed, err := r.application()
		if err != nil {
			return err
		}
		leaves := a.Sandbox && !changed.Sandbox
		a.Name, a.RedirectURIs, a.Scopes, a.Sandbox, a.UpdatedAt = changed.Name, changed.RedirectURIs, changed.Scopes, changed.Sandbox, tx.Now
		if err := updateApplication(ctx, tx, a); err != nil {
			return err
		}
		if leaves {
			if err := deleteConsents(ctx, tx, id); err != nil {
				return err
			}
			if err := endGrantsOfApplication(ctx, tx, id, "disconnected"); err != nil {
				return err
			}
		}
		return s.tell(ctx, tx, ref{refApplication, id})
	})
	return a, err
}

func set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// RotateSecret gives a confidential application a new secret and refuses the old one from now on. Tokens stay valid.
func (s *Service) RotateSecret(ctx context.Context, owner, id int64) (a Application, clientSecret string, err error) {
	clientSecret = secret.Token(secretPrefix, tokenBytes)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err = applicationOf(ctx, tx, owner, id)
		if err != nil {
			return notFound(err)
		}
		if a.Type != Confidential {
			return fault.UnsupportedOperation.New()
		}
		a.UpdatedAt = tx.Now
		if err := setSecret(ctx, tx, owner, id, secret.Hash(clientSecret)); err != nil {
			return err
		}
		return s.tell(ctx, tx, ref{refApplication, id})
	})
	if err != nil {
		return a, "", err
	}
	return a, clientSecret, nil
}

// DeleteApplication ends an application, its consents, and all its tokens.
func (s *Service) DeleteApplication(ctx context.Context, owner, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		deleted, err := markDeleted(ctx, tx, owner, id)
		if err != nil {
			return err
		}
		if !deleted {
			return fault.NotFound.New()
		}
		if err := deleteConsents(ctx, tx, id); err != nil {
			return err
		}
		if err := endGrantsOfApplication(ctx, tx, id, "application_deleted"); err != nil {
			return err
		}
		if err := s.ended(ctx, tx, 0, id); err != nil {
			return err
		}
		return s.tell(ctx, tx, ref{refApplication, id})
	})
}

// SetDisabled disables or enables an application for the operator. A disabled one gets no tokens, and its existing ones
// are refused.
func (s *Service) SetDisabled(ctx context.Context, tx *db.Tx, clientID string, disabled bool) (Application, error) {
	var at *time.Time
	if disabled {
		at = &tx.Now
	}
	a, err := setDisabled(ctx, tx, clientID, at)
	if err != nil {
		return a, notFound(err)
	}
	return a, s.tell(ctx, tx, ref{refApplication, a.ID})
}

// Seed is an application that the operator or the program itself sets up, with a chosen client id. Only a seed can be
// first party and have the scope admin.
type Seed struct {
	ClientID string
	// Secret makes it confidential; without one it is public.
	Secret       string
	OwnerID      int64
	Name         string
	RedirectURIs []string
	// Scopes default to all that it may have.
	Scopes     Scopes
	Sandbox    bool
	FirstParty bool
}

// Ensure creates the seed's application, or updates an existing one.
func (s *Service) Ensure(ctx context.Context, tx *db.Tx, seed Seed) (Application, error) {
	a := Application{
		ClientID: seed.ClientID, OwnerID: seed.OwnerID, Name: seed.Name, Type: Public, RedirectURIs: seed.RedirectURIs,
		Scopes: seed.Scopes, Sandbox: seed.Sandbox, FirstParty: seed.FirstParty,
	}
	if !validClientID(seed.ClientID) {
		return a, errors.New("oauth: a client id is 1 to 64 letters, digits, - and _")
	}
	if seed.Secret != "" {
		a.Type, a.secretHash = Confidential, secret.Hash(seed.Secret)
	}
	if len(a.Scopes) == 0 {
		a.Scopes = ThirdPartyScopes()
	}
	if !seed.FirstParty && !ThirdPartyScopes().Has(a.Scopes) {
		return a, errors.New("oauth: admin is never granted to third parties")
	}
	a, err := insertApplication(ctx, tx, a)
	if err != nil {
		return a, err
	}
	return a, s.tell(ctx, tx, ref{refApplication, a.ID})
}

// Panel is the seed of Stead's own browser panel at the given addresses.
func Panel(redirectURIs ...string) Seed {
	scopes, _ := scopesOf(append(ThirdPartyScopes(), "admin"))
	return Seed{ClientID: PanelClientID, Name: "Stead", RedirectURIs: redirectURIs, Scopes: scopes, FirstParty: true}
}

// EnsurePanel creates the panel's application when a server starts: the panel is served from the server's own address.
func (s *Service) EnsurePanel(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := s.Ensure(ctx, tx, Panel(s.BaseURL+"/panel/callback"))
		return err
	})
}

// EnsureReference creates the application of the reference of the API, whose pages are at the path.
func (s *Service) EnsureReference(ctx context.Context, path string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := s.Ensure(ctx, tx, Seed{
			ClientID: ReferenceClientID, Name: "API reference", RedirectURIs: []string{s.BaseURL + path}, Scopes: ThirdPartyScopes(), FirstParty: true,
		})
		return err
	})
}

// EnsureCommand creates the applications of the command `stead`, which signs in by a loopback address of any port: one for itself, and
// one for the pipelines that run it.
func (s *Service) EnsureCommand(ctx context.Context) error {
	loopback := []string{"http://127.0.0.1/callback"}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, seed := range []Seed{
			{
				ClientID: CommandClientID, Name: "stead (command line)", RedirectURIs: loopback,
				Scopes: Scopes{auth.ScopeProfile, auth.ScopeServicesRead, auth.ScopeServicesWrite},
			},
			{
				ClientID: PipelineClientID, Name: "stead in a pipeline (for one year)", RedirectURIs: loopback,
				Scopes: Scopes{auth.ScopeServicesRead, auth.ScopeServicesWrite},
			},
		} {
			if _, err := s.Ensure(ctx, tx, seed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Connection is an application that has an account's consent.
type Connection struct {
	Application Application
	// Scopes are all scopes of the consent.
	Scopes      Scopes
	ConnectedAt time.Time
	// LastUsedAt is exact to about a minute.
	LastUsedAt *time.Time
}

// ListConnections returns a page of the account's connections.
func (s *Service) ListConnections(ctx context.Context, account int64, limit, offset int) ([]Connection, int, error) {
	total, err := countConnections(ctx, s.DB, account)
	if err != nil {
		return nil, 0, err
	}
	list, err := listConnections(ctx, s.DB, account, limit, offset)
	return list, total, err
}

// Disconnect withdraws the account's consent: the application's tokens are refused at once, and it must ask again.
func (s *Service) Disconnect(ctx context.Context, account, application int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		deleted, err := deleteConsent(ctx, tx, account, application)
		if err != nil {
			return err
		}
		if !deleted {
			return fault.NotFound.New()
		}
		if err := endGrantsOfConnection(ctx, tx, account, application, "disconnected"); err != nil {
			return err
		}
		if err := s.ended(ctx, tx, account, application); err != nil {
			return err
		}
		return s.tell(ctx, tx, ref{refAccount, account})
	})
}

func notFound(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return fault.NotFound.New()
	}
	return err
}

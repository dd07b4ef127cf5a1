package account

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// The operations of this file change how somebody gets into the account. A browser in which its owner is signed in calls
// them; no token does, so that an application can never take an account over.

type securityWire struct {
	TwoFactor         bool `json:"two_factor" doc:"Whether a sign-in by password needs a code too"`
	RecoveryCodesLeft int  `json:"recovery_codes_left"`
	// PasskeyOrigin is null where passkeys work nowhere.
	PasskeyOrigin *string       `json:"passkey_origin" doc:"The origin at which passkeys work; null when this server has no name"`
	Passkeys      []passkeyWire `json:"passkeys"`
}

type passkeyWire struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name" example:"Anna's phone"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"Null before its first sign-in"`
}

type changeEmailIn struct {
	Body struct {
		Email string `json:"email" minLength:"1" maxLength:"254" doc:"Where the link is mailed"`
	}
}

type changePasswordIn struct {
	Body struct {
		Current         string `json:"current" maxLength:"1024" doc:"The present password"`
		Password        string `json:"password" maxLength:"1024" doc:"The new one, of at least 10 characters"`
		EndApplications bool   `json:"end_applications,omitempty" doc:"True also ends the tokens of all applications."`
	}
}

type enrolmentWire struct {
	Key string `json:"key" doc:"To type into an authenticator app"`
	URL string `json:"url" doc:"The same as an otpauth address, to be shown as a QR code"`
}

type codeIn struct {
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"40" doc:"A code of the authenticator app"`
	}
}

type codesWire struct {
	RecoveryCodes []string `json:"recovery_codes" doc:"Shown only in this answer; each signs in once in place of a code."`
}

type challengeWire struct {
	Ceremony string `json:"ceremony" doc:"For account.passkeys.create, within ten minutes"`
	Options  any    `json:"options" doc:"Its member publicKey is for navigator.credentials.create."`
}

type newPasskeyIn struct {
	Body struct {
		Ceremony   string         `json:"ceremony" minLength:"1" maxLength:"200"`
		Name       string         `json:"name,omitempty" maxLength:"100" doc:"The browser's name when left out"`
		Credential map[string]any `json:"credential" doc:"What navigator.credentials.create returned, by toJSON"`
	}
}

type passkeyIn struct {
	ID int64 `path:"passkey" minimum:"1" doc:"Id of the passkey"`
}

func (s *Service) securityOperations() []api.Route {
	const (
		twoFactor = "/api/v1/me/two-factor"
		passkeys  = "/api/v1/me/passkeys" //nolint:gosec // G101: an address
	)
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[struct{}, securityWire]{
			ID: "account.security", Method: http.MethodGet, Path: "/api/v1/me/security", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary:     "The ways into the account",
			Description: "Whether two-factor sign-in is on, how many recovery codes are left, and the passkeys.",
			Handle:      s.securityOperation,
		},
		api.Operation[changeEmailIn, api.Empty]{
			ID: "account.change_email", Method: http.MethodPost, Path: "/api/v1/me/email", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Mail a link that confirms an address",
			Description: "The account gets the address when the link is followed, within an hour; until then nothing changes. With your own " +
				"address it confirms that. The former address is told of the change.",
			Example: `{"email": "anna@example.com"}`, Errors: []*fault.Def{fault.RateLimited},
			Handle: func(ctx context.Context, p auth.Principal, in *changeEmailIn) (*api.Empty, error) {
				session, _, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				return nil, s.RequestEmail(ctx, session, in.Body.Email)
			},
		},
		api.Operation[changePasswordIn, api.Empty]{
			ID: "account.change_password", Method: http.MethodPut, Path: "/api/v1/me/password", Section: api.Account, Auth: api.Token, Scopes: scopes, Session: true,
			Summary: "Change the password", Description: "All other browsers are signed out, and the owner is told by mail.",
			Example: `{"current": "correct horse battery", "password": "staple of the wrong colour"}`, Errors: []*fault.Def{fault.RateLimited},
			Handle: func(ctx context.Context, p auth.Principal, in *changePasswordIn) (*api.Empty, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				return nil, s.changePassword(ctx, session, in.Body.Current, in.Body.Password, in.Body.EndApplications, c)
			},
		},
		api.Operation[struct{}, enrolmentWire]{
			ID: "account.two_factor.enrol", Method: http.MethodPost, Path: twoFactor + "/enrol", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Begin to set up two-factor sign-in",
			Description: "Nothing changes until `account.two_factor.enable` gets a code of the authenticator app. Until then each call returns " +
				"the same key.",
			Errors: []*fault.Def{ErrTwoFactorOn},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*enrolmentWire, error) {
				session, _, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				e, err := s.EnrolTOTP(ctx, session)
				return &enrolmentWire{e.Key, e.URL}, err
			},
		},
		api.Operation[codeIn, codesWire]{
			ID: "account.two_factor.enable", Method: http.MethodPost, Path: twoFactor, Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Switch two-factor sign-in on", Description: "All other browsers are signed out. The answer has ten recovery codes.",
			Example: `{"code": "123456"}`, Errors: []*fault.Def{ErrCode, ErrCeremony, ErrTwoFactorOn, fault.RateLimited},
			Handle: func(ctx context.Context, p auth.Principal, in *codeIn) (*codesWire, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				codes, err := s.ConfirmTOTP(ctx, session, in.Body.Code, c)
				return &codesWire{codes}, err
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "account.two_factor.disable", Method: http.MethodDelete, Path: twoFactor, Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Switch two-factor sign-in off", Description: "The recovery codes end with it.", Errors: []*fault.Def{ErrTwoFactorOff},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*api.Empty, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				return nil, s.DisableTOTP(ctx, session, c)
			},
		},
		api.Operation[struct{}, codesWire]{
			ID: "account.two_factor.renew_codes", Method: http.MethodPost, Path: twoFactor + "/recovery-codes", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Make new recovery codes", Description: "All earlier ones stop working.", Errors: []*fault.Def{ErrTwoFactorOff},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*codesWire, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				codes, err := s.RenewRecoveryCodes(ctx, session, c)
				return &codesWire{codes}, err
			},
		},
		api.Operation[struct{}, challengeWire]{
			ID: "account.passkeys.begin", Method: http.MethodPost, Path: passkeys + "/begin", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Ask for the options with which a browser makes a passkey", Description: "Passkeys work at `passkey_origin` of `account.security` only.",
			Errors: []*fault.Def{fault.UnsupportedOperation, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*challengeWire, error) {
				session, _, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				c, err := s.BeginPasskey(ctx, session)
				return &challengeWire{c.Token, c.Options}, err
			},
		},
		api.Operation[newPasskeyIn, api.Empty]{
			ID: "account.passkeys.create", Method: http.MethodPost, Path: passkeys, Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Add the passkey that a browser has made", Description: "It signs in without a password from now on. Each ceremony is answered once.",
			Example: `{"ceremony": "st_pk_", "name": "Anna's phone", "credential": {}}`,
			Errors:  []*fault.Def{ErrPasskey, ErrCeremony, fault.UnsupportedOperation, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *newPasskeyIn) (*api.Empty, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				answer, err := json.Marshal(in.Body.Credential)
				if err != nil {
					return nil, fmt.Errorf("encode a credential: %w", err)
				}
				return nil, s.FinishPasskey(ctx, session, in.Body.Ceremony, in.Body.Name, answer, c)
			},
		},
		api.Operation[passkeyIn, api.Empty]{
			ID: "account.passkeys.delete", Method: http.MethodDelete, Path: passkeys + "/{passkey}", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Remove a passkey", Description: "It no longer signs in. Browsers that are signed in stay so.",
			Handle: func(ctx context.Context, p auth.Principal, in *passkeyIn) (*api.Empty, error) {
				session, c, err := s.callers(ctx, p)
				if err != nil {
					return nil, err
				}
				return nil, s.DeletePasskey(ctx, session, in.ID, c)
			},
		},
	}
}

func (s *Service) securityOperation(ctx context.Context, p auth.Principal, _ *struct{}) (*securityWire, error) {
	found, err := profile(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	w := &securityWire{TwoFactor: found.TwoFactor, Passkeys: []passkeyWire{}}
	if origin := s.PasskeyOrigin(); origin != "" {
		w.PasskeyOrigin = &origin
	}
	if w.RecoveryCodesLeft, err = s.RecoveryCodesLeft(ctx, p.AccountID); err != nil {
		return nil, err
	}
	keys, err := s.Passkeys(ctx, p.AccountID)
	for _, k := range keys {
		w.Passkeys = append(w.Passkeys, passkeyWire{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt})
	}
	return w, err
}

package account

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// Modules lists the sections that this server has and that are switched on.
type Modules interface {
	Enabled(s api.Section) bool
}

type meWire struct {
	ID            int64     `json:"id"`
	Email         string    `json:"email"`
	EmailVerified bool      `json:"email_verified"`
	Name          string    `json:"name"`
	Locale        string    `json:"locale" enum:"uz,ru,en"`
	Currency      string    `json:"currency" doc:"Display currency; billing is in USD."`
	Modules       []string  `json:"modules" doc:"Sections of the platform that are switched on."`
	TwoFactor     bool      `json:"two_factor"`
	CreatedAt     time.Time `json:"created_at"`
}

func (s *Service) meWire(p Profile) *meWire {
	w := &meWire{
		ID: p.ID, Email: p.Email, EmailVerified: p.EmailVerified, Name: p.Name, Locale: p.Locale, Currency: p.Currency,
		Modules: []string{}, TwoFactor: p.TwoFactor, CreatedAt: p.CreatedAt,
	}
	for _, section := range api.Sections() {
		if s.Modules.Enabled(section) {
			w.Modules = append(w.Modules, string(section))
		}
	}
	return w
}

type updateMeIn struct {
	Body struct {
		Name     *string `json:"name,omitempty" maxLength:"100" doc:"How we call you; only a browser in which you are signed in changes it."`
		Locale   *string `json:"locale,omitempty" enum:"uz,ru,en" doc:"Language of texts and mails."`
		Currency *string `json:"currency,omitempty" doc:"Display currency, an ISO 4217 code such as UZS."`
	}
}

type listSessionsIn struct{ page.Params }

type sessionIn struct {
	ID int64 `path:"session" minimum:"1" doc:"Id of the session"`
}

type sessionWire struct {
	ID           int64     `json:"id"`
	Method       string    `json:"method" enum:"password,passkey"`
	SecondFactor bool      `json:"second_factor"`
	Address      string    `json:"address"`
	UserAgent    string    `json:"user_agent"`
	Browser      string    `json:"browser" doc:"Name of the browser; empty when it does not tell" example:"Firefox"`
	System       string    `json:"system" doc:"Name of the device or its system; empty when the browser does not tell" example:"Windows"`
	Current      bool      `json:"current" doc:"Whether it is the browser that asks"`
	CreatedAt    time.Time `json:"created_at"`
	LastSeenAt   time.Time `json:"last_seen_at"`
	ExpiresAt    time.Time `json:"expires_at"`
}

type eventWire struct {
	ID        int64     `json:"id"`
	Kind      string    `json:"kind" doc:"What happened, such as signed_in, sign_in_failed, password_changed, two_factor_on" example:"signed_in"`
	Address   string    `json:"address" doc:"Of the browser; empty when an operator did it"`
	UserAgent string    `json:"user_agent"`
	Browser   string    `json:"browser" doc:"Name of the browser; empty when it does not tell" example:"Firefox"`
	System    string    `json:"system" doc:"Name of the device or its system; empty when the browser does not tell" example:"Windows"`
	Times     int64     `json:"times" doc:"How often: equal failures within an hour are one entry"`
	CreatedAt time.Time `json:"created_at" doc:"The first time"`
	LastAt    time.Time `json:"last_at"`
}

func wireOfSession(x Session, current int64) sessionWire {
	browser, system := browserOf(x.UserAgent)
	return sessionWire{
		ID: x.ID, Method: x.Method, SecondFactor: x.SecondFactor, Address: x.Address, UserAgent: x.UserAgent, Browser: browser, System: system,
		Current: x.ID == current, CreatedAt: x.CreatedAt, LastSeenAt: x.LastSeenAt, ExpiresAt: x.ExpiresAt,
	}
}

func wireOfEvent(e Event) eventWire {
	browser, system := browserOf(e.UserAgent)
	return eventWire{
		ID: e.ID, Kind: string(e.Kind), Address: e.Address, UserAgent: e.UserAgent, Browser: browser, System: system,
		Times: e.Times, CreatedAt: e.CreatedAt, LastAt: e.LastAt,
	}
}

// Operations are this section's part of the interface (specification,
// "Account").
func (s *Service) Operations() []api.Route {
	return slices.Concat(s.profileOperations(), s.sessionOperations(), s.securityOperations(), s.closingOperations())
}

func (s *Service) profileOperations() []api.Route {
	return []api.Route{
		// Specification, "Account": GET /api/v1/me.
		api.Operation[struct{}, meWire]{
			ID: "account.get", Method: "GET", Path: "/api/v1/me", Section: api.Account, Auth: api.Token,
			Description: "Whose token it is: name, address, language, currency for display, the modules that are switched on, and whether " +
				"the address is verified. Prices stay in USD; the currency is for display only.",
			Scopes: []string{auth.ScopeProfile}, Summary: "The account: profile, display preferences, enabled modules",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*meWire, error) {
				found, err := s.Profile(ctx, s.DB, p.AccountID)
				if err != nil {
					return nil, err
				}
				return s.meWire(found), nil
			},
		},
		// Specification, "Account": PATCH /api/v1/me.
		api.Operation[updateMeIn, meWire]{
			ID: "account.update", OwnerOnly: true, Method: "PATCH", Path: "/api/v1/me", Section: api.Account, Auth: api.Token,
			Description: "Members that are left out keep their values. The language is that of messages, mails and notifications; the " +
				"currency only changes how prices are shown beside `usd_cents`.",
			Example: `{"locale": "en", "currency": "UZS"}`,
			Scopes:  []string{auth.ScopeProfile}, Summary: "Change the display preferences: locale and currency",
			Errors: []*fault.Def{fault.Forbidden},
			Handle: func(ctx context.Context, p auth.Principal, in *updateMeIn) (*meWire, error) {
				if in.Body.Name != nil && p.SessionID == 0 {
					return nil, fault.Forbidden.New() // consents of applications say nothing of it
				}
				changed, err := s.Update(ctx, p.AccountID, Update{Name: in.Body.Name, Locale: in.Body.Locale, Currency: in.Body.Currency})
				if err != nil {
					return nil, err
				}
				return s.meWire(changed), nil
			},
		},
	}
}

func (s *Service) sessionOperations() []api.Route {
	return []api.Route{
		// For the panel; the specification leaves sessions to the pages.
		api.Operation[listSessionsIn, page.List[sessionWire]]{
			ID: "account.sessions", Method: "GET", Path: "/api/v1/me/sessions", Section: api.Account, Auth: api.Token,
			Description: "Browsers in which you are signed in: how, from which address, when they were last used and until when they stay " +
				"signed in. End one with the operation `account.end_session`.",
			Scopes: []string{auth.ScopeProfile}, FirstParty: true, Summary: "Browsers that are signed in to the account",
			Handle: func(ctx context.Context, p auth.Principal, in *listSessionsIn) (*page.List[sessionWire], error) {
				list, err := s.Sessions(ctx, p.AccountID, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, list.Meta.Total, list.Data, func(x Session) sessionWire { return wireOfSession(x, p.SessionID) }), nil
			},
		},
		// For the panel; the specification leaves sessions to the pages.
		api.Operation[listSessionsIn, page.List[eventWire]]{
			ID: "account.security_log", Method: "GET", Path: "/api/v1/me/security-log", Section: api.Account, Auth: api.Token,
			Scopes: []string{auth.ScopeProfile}, FirstParty: true, Summary: "What happened to the ways into the account, the newest first",
			Description: "Sign-ins and failed ones, changes of the password, of factors and of the address, applications and keys, of the last 180 days.",
			Handle: func(ctx context.Context, p auth.Principal, in *listSessionsIn) (*page.List[eventWire], error) {
				list, err := s.Events(ctx, p.AccountID, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, list.Meta.Total, list.Data, wireOfEvent), nil
			},
		},
		// For the panel; the specification leaves sessions to the pages.
		api.Operation[sessionIn, api.Empty]{
			ID: "account.end_session", Method: "DELETE", Path: "/api/v1/me/sessions/{session}", Section: api.Account,
			Description: "The browser is signed out, and tokens of Stead's own applications that were authorized in it end within a second.",
			Auth:        api.Token, Scopes: []string{auth.ScopeProfile}, FirstParty: true, Summary: "Sign a browser out",
			Handle: func(ctx context.Context, p auth.Principal, in *sessionIn) (*api.Empty, error) {
				return nil, s.EndSession(ctx, p.AccountID, in.ID)
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "account.end_other_sessions", Method: "DELETE", Path: "/api/v1/me/sessions", Section: api.Account,
			Description: "Every browser but the one that asks is signed out, and tokens of Stead's own applications that were authorized in " +
				"them end within a second.",
			Auth: api.Token, Scopes: []string{auth.ScopeProfile}, Session: true, Summary: "Sign all other browsers out",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*api.Empty, error) {
				return nil, s.EndOtherSessions(ctx, Session{ID: p.SessionID, Account: Profile{ID: p.AccountID}})
			},
		},
	}
}

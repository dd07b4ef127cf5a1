package claims

import (
	"context"
	"errors"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// claimWire is a domain that an account uses or wants, and what shows that it is the account's.
type claimWire struct {
	ID          int64      `json:"id"`
	Domain      string     `json:"domain" doc:"The domain that can be registered; what holds for it holds for all names below it" example:"example.com"`
	UnicodeName string     `json:"unicode_name"`
	State       State      `json:"state" enum:"not_required,verified,dns_leads_here,unverified,contested"`
	Method      Proof      `json:"method" enum:"none,txt,nameservers,registration" doc:"How control was proven"`
	Holds       bool       `json:"holds" doc:"Whether your services may answer to the domain and the names below it"`
	Cleared     bool       `json:"cleared" doc:"Whether everything may be served under it: zones, certificates and mail; proof of control does it, and the delegation of all of it to here"`
	HeldUntil   *time.Time `json:"held_until" doc:"Until when it is held for you although no service uses it"`
	TakesAt     *time.Time `json:"takes_at" doc:"When you get it from its present holder, who was notified; null: not by waiting"`
	LosesAt     *time.Time `json:"loses_at" doc:"When another account, which has proven control, takes the domain unless you prove control before; null: nobody does"`
	Record      *Record    `json:"record" doc:"The DNS record that proves control; null where nothing is to prove"`
	Nameservers []string   `json:"nameservers" doc:"Delegating the domain to these proves control too"`
	VerifiedAt  *time.Time `json:"verified_at"`
	CheckedAt   *time.Time `json:"checked_at" doc:"When the DNS was last asked"`
	NextCheckAt time.Time  `json:"next_check_at"`
	CreatedAt   time.Time  `json:"created_at"`
}

// Record is the DNS record that proves control of a domain.
type Record struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

func (s *Service) wire(c claim) *claimWire {
	v := s.verificationOf(c)
	w := &claimWire{
		ID: c.id, Domain: c.domain, UnicodeName: domainname.Unicode(c.domain), State: c.state(), Method: c.proof, Holds: c.holds, Cleared: v.Cleared,
		HeldUntil: c.heldUntil, TakesAt: c.takesAt, LosesAt: c.losesAt, Nameservers: v.Nameservers, VerifiedAt: c.provenAt,
		CheckedAt: c.checkedAt, NextCheckAt: c.checkAt, CreatedAt: c.createdAt,
	}
	if r := v.Record; r != nil {
		w.Record = &Record{Name: r.Name, Type: r.Type, Value: r.Value}
	}
	if w.Nameservers == nil {
		w.Nameservers = []string{}
	}
	return w
}

type claimIn struct {
	Claim int64 `path:"claim" minimum:"1" doc:"Id of the claim"`
}

type createIn struct {
	Body struct {
		Domain string `json:"domain" minLength:"1" maxLength:"255" doc:"Any name of the domain, in Unicode or ASCII" example:"example.com"`
	}
}

type listIn struct{ page.Params }

const base = "/api/v1/domain-claims"

// Operations are our own: the specification does not say how a domain is proven.
func (s *Service) Operations() []api.Route {
	const section = api.ServiceManagement
	return []api.Route{
		api.Operation[listIn, page.List[claimWire]]{
			ID: "claims.list", Method: http.MethodGet, Path: base, Section: section, Auth: api.Token,
			Description: "Each domain that you use or want, with its `state` and, while control is not proven, the DNS record to set. " +
				"Without a proof a name has no zone on the name servers, no certificate and no mail until its DNS leads here.",
			Scopes: []string{auth.ScopeServicesRead}, Summary: "List the domains that you use or want, and whether they are proven to be yours",
			Handle: s.listOperation,
		},
		api.Operation[claimIn, claimWire]{
			ID: "claims.get", Method: http.MethodGet, Path: base + "/{claim}", Section: section, Auth: api.Token,
			Description: "`state` says whether the domain counts as yours. Set the TXT record that the answer names at your DNS, or " +
				"delegate the domain to its `nameservers`; it is looked up after a minute and then with growing pauses. Ask at " +
				"once with the operation `claims.check`.",
			Scopes: []string{auth.ScopeServicesRead}, Summary: "See whether a domain is proven to be yours, and how to prove it",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *claimIn) (*claimWire, error) {
				c, err := getOwn(ctx, s.DB, p.AccountID, in.Claim)
				if err != nil {
					return nil, err
				}
				return s.wire(c), nil
			},
		},
		api.Operation[createIn, claimWire]{
			ID: "claims.create", Method: http.MethodPost, Path: base, Section: section, Auth: api.Token, Status: http.StatusCreated,
			Example: `{"domain": "shop.uz"}`,
			Scopes:  []string{auth.ScopeServicesWrite}, Summary: "Prove that a domain is yours",
			Description: "Set the TXT record of the answer, or of a refusal `domain_verification_required`, in the DNS of the domain. " +
				"It is looked for at once and then with growing pauses. Asking again for the same domain answers the same claim.",
			Errors: []*fault.Def{fault.DomainInvalid, fault.DomainUnavailable, fault.LimitReached, fault.UnsupportedOperation},
			Handle: s.createOperation,
		},
		api.Operation[claimIn, claimWire]{
			ID: "claims.check", Method: http.MethodPost, Path: base + "/{claim}/check", Section: section, Auth: api.Token,
			Scopes: []string{auth.ScopeServicesWrite}, Summary: "Look into the DNS of a domain now",
			Description: "Within a few seconds of the last look the answer is that of the last one.",
			Errors:      []*fault.Def{fault.NotFound}, Handle: s.checkOperation,
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[claimWire], error) {
	rows, total, err := list(ctx, s.DB, p.AccountID, in.Params)
	if err != nil {
		return nil, err
	}
	wires := make([]claimWire, len(rows))
	for i, c := range rows {
		wires[i] = *s.wire(c)
	}
	return page.Of(in.Params, total, wires), nil
}

// maxWanted bounds the domains that an account tries to prove at a time: each is looked for again and again.
const maxWanted = 50

// lookPause is how soon the DNS is asked again at an account's request.
const lookPause = 5 * time.Second

func (s *Service) createOperation(ctx context.Context, p auth.Principal, in *createIn) (*claimWire, error) {
	name, err := domainname.ForSite(in.Body.Domain, nil)
	if err != nil {
		return nil, err
	}
	subject, err := s.subjectOf(name)
	if err != nil {
		return nil, fault.DomainInvalid.Wrap(err)
	}
	var c claim
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		sandbox, err := s.Worlds.Sandbox(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		if sandbox || subject.trial {
			return fault.UnsupportedOperation.Wrapf("claims: nobody can prove %s", subject.domain)
		}
		if c, err = getDomain(ctx, tx, p.AccountID, subject.domain); !errors.Is(err, fault.NotFound) {
			return err
		}
		n, err := wanted(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		if n >= maxWanted {
			return fault.LimitReached.New()
		}
		if err := putClaim(ctx, tx, p.AccountID, subject.domain, tokenOf(s.Installation, p.AccountID, subject.domain)); err != nil {
			return err
		}
		c, err = getDomain(ctx, tx, p.AccountID, subject.domain)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.checkNow(ctx, p.AccountID, c)
}

func (s *Service) checkOperation(ctx context.Context, p auth.Principal, in *claimIn) (*claimWire, error) {
	c, err := getOwn(ctx, s.DB, p.AccountID, in.Claim)
	if err != nil {
		return nil, err
	}
	return s.checkNow(ctx, p.AccountID, c)
}

// checkNow looks into the DNS, unless that was done just now.
func (s *Service) checkNow(ctx context.Context, accountID int64, c claim) (*claimWire, error) {
	if c.checkedAt == nil || s.Clock.Now().Sub(*c.checkedAt) >= lookPause {
		if err := s.Look(ctx, c.id); err != nil {
			return nil, err
		}
	}
	c, err := getOwn(ctx, s.DB, accountID, c.id)
	if err != nil {
		return nil, err
	}
	return s.wire(c), nil
}

package domains

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/registrar"
)

type updateIn struct {
	domainIn
	Body struct {
		AutoRenew *bool   `json:"auto_renew,omitempty" doc:"Renew from the wallet"`
		Locked    *bool   `json:"locked,omitempty" doc:"A locked domain cannot be transferred"`
		Privacy   *bool   `json:"privacy,omitempty"`
		ClientRef *string `json:"client_ref,omitempty" doc:"At most 64 characters; empty takes it away"`
	}
}

type renewIn struct {
	domainIn
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
	Body           struct {
		Years    int             `json:"years,omitempty" minimum:"1" maximum:"10" doc:"One when left out"`
		Expected *money.USDCents `json:"expected_usd_cents,omitempty" minimum:"0" doc:"The price that was shown, without tax; another price is price_changed, and nothing happens"`
		Restore  bool            `json:"restore,omitempty" doc:"Bring it back from redemption, at the restore price with its year"`
	}
}

type hostWire struct {
	Name      string   `json:"name" minLength:"1" maxLength:"255" example:"ns1.example.com"`
	Addresses []string `json:"addresses" minItems:"1" maxItems:"13" example:"203.0.113.53"`
}

type nameserversIn struct {
	domainIn
	Body struct {
		Nameservers []string    `json:"nameservers" maxItems:"13" doc:"Ours when it is empty"`
		GlueHosts   *[]hostWire `json:"glue_hosts,omitempty" maxItems:"13" doc:"Name servers below the domain itself, with their addresses: all of them. When left out they stay"`
	}
}

type contactsIn struct {
	domainIn
	Body struct {
		Owner   *contactWire `json:"owner,omitempty"`
		Admin   *contactWire `json:"admin,omitempty"`
		Tech    *contactWire `json:"tech,omitempty"`
		Billing *contactWire `json:"billing,omitempty"`
	}
}

type dnssecIn struct {
	domainIn
	Body struct {
		DSRecords []dsWire `json:"ds_records" maxItems:"8" doc:"All of them; none ends DNSSEC"`
	}
}

type dsWire struct {
	KeyTag     uint16 `json:"key_tag"`
	Algorithm  uint8  `json:"algorithm" minimum:"1"`
	DigestType uint8  `json:"digest_type" enum:"1,2,4"`
	Digest     string `json:"digest" pattern:"^[0-9A-Fa-f]+$" maxLength:"96" doc:"Hexadecimal"`
}

type transferOutIn struct {
	domainIn
	Body struct {
		Approve bool `json:"approve" doc:"Whether the domain goes to the registrar that asks for it"`
	}
}

type codeWire struct {
	AuthCode string `json:"auth_code" doc:"A secret: who has it can transfer the domain"`
}

// beyond are the registrar's refusals of a change.
var beyond = []*fault.Def{fault.NotFound, ErrNotActive, ErrLocked, ErrRejected, ErrUnreachable, fault.UnsupportedOperation}

// settingsOperations are the operations of a domain's owner. They go beyond the specification's section "Domains";
// resellers have them too (specification, "Reseller").
func (s *Service) settingsOperations() []api.Route {
	write := []string{auth.ScopeDomainsWrite}
	return []api.Route{
		api.Operation[updateIn, domainWire]{
			ID: "domains.update", Method: http.MethodPatch, Path: "/api/v1/domains/{domain}", Section: api.Domains, Auth: api.Token,
			Description: "Members that are left out keep their values. Lock and privacy are changed at the registry before the answer; a " +
				"refusal is `registrar_rejected` with the registry's words. After `registrar_unreachable` the change may have " +
				"been made: repeat it safely.",
			Example: `{"auto_renew": false, "locked": true}`,
			Scopes:  write, Summary: "Change whether a domain renews, is locked, is private, and its tag",
			Errors: append([]*fault.Def{ErrPrivacyUnsupported, fault.ClientRefTooLong}, beyond...),
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*domainWire, error) {
				b := in.Body
				if b.AutoRenew != nil && p.ActingID != 0 {
					return nil, fault.OwnerRequired.Wrapf("domains: staff choose whether domain %d renews from the wallet", in.Domain)
				}
				return s.shown(ctx, p, in.Domain, s.Set(ctx, p.AccountID, in.Domain, Settings{
					AutoRenew: b.AutoRenew, Locked: b.Locked, Privacy: b.Privacy, ClientRef: b.ClientRef,
				}))
			},
		},
		api.Operation[renewIn, domainWire]{
			ID: "domains.renew", Method: http.MethodPost, Path: "/api/v1/domains/{domain}/renew", Section: api.Domains, Auth: api.Token,
			Example: `{"years": 1}`,
			Scopes:  write, Summary: "Renew a domain, or restore it from redemption",
			Description: "The price is set aside in the wallet at once, and taken when the registry has done it.",
			Errors: []*fault.Def{
				fault.NotFound, ErrNotActive, ErrPeriodNotAllowed, fault.PriceChanged, fault.InsufficientFunds, fault.JobRunning, ErrUnreachable,
			},
			Commit: func(ctx context.Context, tx *db.Tx, p auth.Principal, in *renewIn) (*domainWire, error) {
				w := Renewal{Years: max(in.Body.Years, 1), Restore: in.Body.Restore, Seen: in.Body.Expected, Keyed: in.IdempotencyKey != ""}
				if err := s.Renew(ctx, tx, p.AccountID, in.Domain, w); err != nil {
					return nil, err
				}
				return s.show(ctx, tx, p.AccountID, in.Domain)
			},
		},
		api.Operation[nameserversIn, domainWire]{
			ID: "domains.nameservers", Method: http.MethodPut, Path: "/api/v1/domains/{domain}/nameservers", Section: api.Domains,
			Description: "Replaces all name servers; an empty list means ours. `glue_hosts` are the addresses of name servers below the " +
				"domain itself. The registry is asked before the answer; `nameserver_invalid` names the server that it does not " +
				"take.",
			Example: `{"nameservers": ["ns1.example.net", "ns2.example.net"]}`,
			Auth:    api.Token, Scopes: write, Summary: "Set the name servers of a domain, and the addresses of those below it",
			Errors: append([]*fault.Def{ErrNameserverInvalid}, beyond...), Handle: s.nameserversOperation,
		},
		api.Operation[contactsIn, domainWire]{
			ID: "domains.contacts", Method: http.MethodPut, Path: "/api/v1/domains/{domain}/contacts", Section: api.Domains, Auth: api.Token,
			Example: `{"owner": {"name": "Anna Karimova", "email": "anna@example.com", "phone": "+998901234567", "street": "Navoiy 1", "city": "Tashkent", "country": "UZ"}}`,
			Scopes:  write, Summary: "Set contacts of a domain",
			Description: "They are handed to the registrar and not kept. Roles that are left out keep their contacts.",
			Errors:      append([]*fault.Def{ErrContactRequired}, beyond...), Handle: s.contactsOperation,
		},
		api.Operation[dnssecIn, domainWire]{
			ID: "domains.dnssec", Method: http.MethodPut, Path: "/api/v1/domains/{domain}/dnssec", Section: api.Domains, Auth: api.Token,
			Description: "Replaces all delegation signers, at most 8, and an empty list ends DNSSEC. They are set at the registry before " +
				"the answer. Keep the old signer beside the new one until caches have forgotten it, or the domain does not " +
				"resolve.",
			Example: `{"ds_records": [{"key_tag": 12345, "algorithm": 13, "digest_type": 2, "digest": "1F6F8A29C2B7A7E1C5E6F7A8B9C0D1E2F30415263748596A7B8C9DAEBFC0D1E2"}]}`,
			Scopes:  write, Summary: "Set the delegation signers of a domain", Errors: beyond,
			Handle: func(ctx context.Context, p auth.Principal, in *dnssecIn) (*domainWire, error) {
				all := make([]registrar.DS, len(in.Body.DSRecords))
				for i, r := range in.Body.DSRecords {
					all[i] = registrar.DS(r)
				}
				return s.shown(ctx, p, in.Domain, s.SetDNSSEC(ctx, p.AccountID, in.Domain, all))
			},
		},
		api.Operation[transferOutIn, domainWire]{
			ID: "domains.transfer_out", OwnerOnly: true, Method: http.MethodPost, Path: "/api/v1/domains/{domain}/transfer-out", Section: api.Domains,
			Description: "Answers another registrar that has asked for the domain: with `approve` true the domain leaves, with false it " +
				"stays and the request ends. Refused when nobody asks for it.",
			Example: `{"approve": false}`,
			Auth:    api.Token, Scopes: write, FirstParty: true, Summary: "Let a domain go to the registrar that asks for it, or keep it",
			Errors: beyond,
			Handle: func(ctx context.Context, p auth.Principal, in *transferOutIn) (*domainWire, error) {
				return s.shown(ctx, p, in.Domain, s.AnswerTransfer(ctx, p.AccountID, in.Domain, in.Body.Approve))
			},
		},
		api.Operation[domainIn, codeWire]{
			ID: "domains.auth_code", OwnerOnly: true, Method: http.MethodPost, Path: "/api/v1/domains/{domain}/auth-code", Section: api.Domains,
			Auth: api.Token, Scopes: write, FirstParty: true, Summary: "Get the code with which a domain is transferred to another registrar",
			Description: "Each answer is logged.",
			Errors:      append([]*fault.Def{ErrTransferLock}, beyond...),
			Handle: func(ctx context.Context, p auth.Principal, in *domainIn) (*codeWire, error) {
				by := fmt.Sprintf("application %d", p.ApplicationID)
				if p.KeyID != 0 {
					by = fmt.Sprintf("key %d", p.KeyID)
				}
				code, err := s.AuthCode(ctx, p.AccountID, in.Domain, by)
				if err != nil {
					return nil, err
				}
				return &codeWire{code}, nil
			},
		},
	}
}

// shown returns the domain after a change that ended with err.
func (s *Service) shown(ctx context.Context, p auth.Principal, id int64, err error) (*domainWire, error) {
	if err != nil {
		return nil, err
	}
	return s.show(ctx, s.DB, p.AccountID, id)
}

func (s *Service) nameserversOperation(ctx context.Context, p auth.Principal, in *nameserversIn) (*domainWire, error) {
	var glue *[]registrar.Host
	if g := in.Body.GlueHosts; g != nil {
		hosts := make([]registrar.Host, len(*g))
		for i, h := range *g {
			hosts[i].Name = h.Name
			for _, text := range h.Addresses {
				address, err := netip.ParseAddr(text)
				if err != nil {
					return nil, badNameserver(h.Name)
				}
				hosts[i].Addresses = append(hosts[i].Addresses, address)
			}
		}
		glue = &hosts
	}
	return s.shown(ctx, p, in.Domain, s.SetNameservers(ctx, p.AccountID, in.Domain, in.Body.Nameservers, glue))
}

func (s *Service) contactsOperation(ctx context.Context, p auth.Principal, in *contactsIn) (*domainWire, error) {
	contacts := map[registrar.Role]registrar.Contact{}
	for role, c := range map[registrar.Role]*contactWire{
		registrar.Owner: in.Body.Owner, registrar.Admin: in.Body.Admin, registrar.Tech: in.Body.Tech, registrar.Billing: in.Body.Billing,
	} {
		if c != nil {
			contacts[role] = registrar.Contact(*c)
		}
	}
	return s.shown(ctx, p, in.Domain, s.SetContacts(ctx, p.AccountID, in.Domain, contacts))
}

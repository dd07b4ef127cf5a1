package certificates

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// certificateWire is a certificate (resources, section 19). No member holds its key.
type certificateWire struct {
	ID            int64         `json:"id"`
	DomainID      *int64        `json:"domain_id" doc:"Of the first domain that is answered with it; null when it answers for none"`
	Domains       []string      `json:"domains" doc:"Hosted domains that are answered with it"`
	CommonName    string        `json:"common_name"`
	SANs          []string      `json:"sans" doc:"Names that the certificate in use holds for; those that are wanted while there is none"`
	Issuer        *string       `json:"issuer"`
	Fingerprint   *string       `json:"fingerprint" doc:"SHA-256, hexadecimal"`
	Kind          Kind          `json:"kind" enum:"acme,custom"`
	Status        Status        `json:"status" enum:"pending,issuing,active,renewing,expiring,expired,failed"`
	Challenge     *Challenge    `json:"challenge" enum:"http,dns" doc:"How it is proved that the names are yours; null for an own certificate"`
	IssuedAt      *time.Time    `json:"issued_at"`
	ExpiresAt     *time.Time    `json:"expires_at"`
	RenewsAt      *time.Time    `json:"renews_at" doc:"When it is going to be renewed"`
	AutoRenew     bool          `json:"auto_renew"`
	ForceHTTPS    bool          `json:"force_https" doc:"Visitors of all its domains are sent to HTTPS; changed at each domain"`
	HSTS          bool          `json:"hsts" doc:"Browsers are told to come by HTTPS only"`
	LastAttemptAt *time.Time    `json:"last_attempt_at"`
	NextAttemptAt *time.Time    `json:"next_attempt_at" doc:"When a certificate that is wanted is ordered again"`
	LastErrorKey  *string       `json:"last_error_key" doc:"Why the last order failed; the certificate in use stays"`
	LastError     *string       `json:"last_error" doc:"The same in words"`
	Preflight     preflightWire `json:"preflight"`
	CreatedAt     time.Time     `json:"created_at"`
}

// preflightWire tells whether a certificate can be issued.
type preflightWire struct {
	CanIssue bool    `json:"can_issue"`
	Error    *string `json:"error" doc:"An error key"`
	Reason   *string `json:"reason" doc:"Of ssl_preflight_failed: not_hosted, dns_unknown, caa_forbids, wildcard_by_dns, dns_elsewhere, record_taken, name_refused, issuing_off, not_proved; more may be added"`
	Message  *string `json:"message"`
}

// domainWire is a hosted domain and whether it could have a certificate.
type domainWire struct {
	ID            int64         `json:"id"`
	Name          string        `json:"name"`
	CertificateID *int64        `json:"certificate_id" doc:"The certificate that it is answered with"`
	Preflight     preflightWire `json:"preflight"`
}

type listWire struct {
	Data    []certificateWire `json:"data"`
	Meta    page.Meta         `json:"meta"`
	Domains []domainWire      `json:"domains" doc:"All hosted domains of the service"`
}

func preflightOf(ctx context.Context, r *refusal) preflightWire {
	if r == nil {
		return preflightWire{CanIssue: true}
	}
	w := preflightWire{Error: &r.def.Key}
	message := i18n.T(i18n.Lang(ctx), "error."+r.def.Key, nil)
	if r.reason != "" {
		w.Reason = &r.reason
		message = reasonText(ctx, r.reason, r.name, r.detail)
	}
	w.Message = &message
	return w
}

func reasonText(ctx context.Context, reason, name, detail string) string {
	return i18n.T(i18n.Lang(ctx), "ssl.reason."+reason, map[string]any{"Name": name, "Detail": detail})
}

func (s *Service) wire(ctx context.Context, r row, domains []site.Domain, answers map[int64][]string, refused map[string]*refusal) certificateWire {
	now := s.Clock.Now()
	w := certificateWire{
		ID: r.ID, Domains: answers[r.ID], CommonName: r.names[0], SANs: r.names, Kind: r.kind, Status: r.status(now), IssuedAt: r.issuedAt,
		ExpiresAt: r.expiresAt, AutoRenew: r.autoRenew, HSTS: r.hsts, LastAttemptAt: r.lastAttemptAt, LastErrorKey: r.lastErrorKey,
		CreatedAt: r.createdAt,
	}
	if w.Domains == nil {
		w.Domains = []string{}
	}
	if r.isIssued() {
		w.SANs, w.Issuer, w.Fingerprint = r.sans, &r.issuer, &r.fingerprint
	}
	if r.kind == ACME {
		w.Challenge = &r.challenge
		if r.phase == idle && r.autoRenew {
			w.RenewsAt = r.renewAt
		}
		if r.phase == wanted {
			w.NextAttemptAt = &r.dueAt
		}
	}
	if r.lastErrorKey != nil {
		message := i18n.T(i18n.Lang(ctx), "error."+*r.lastErrorKey, nil)
		if r.lastReason != nil {
			message = reasonText(ctx, *r.lastReason, r.names[0], r.lastError)
		} else if r.lastError != "" {
			message += " (" + r.lastError + ")"
		}
		w.LastError = &message
	}
	first := true
	for _, d := range domains {
		if !slices.Contains(w.Domains, d.Name) {
			continue
		}
		if first {
			id := d.ID
			w.DomainID, w.ForceHTTPS, first = &id, true, false
		}
		w.ForceHTTPS = w.ForceHTTPS && d.ForceHTTPS
	}
	against := r.lastRefusal()
	for _, name := range r.names {
		if against == nil {
			against = refused[name]
		}
	}
	w.Preflight = preflightOf(ctx, against)
	return w
}

type requestIn struct {
	site.ServiceIn
	Body struct {
		Domains       []string  `json:"domains,omitempty" maxItems:"50" doc:"Names to issue for: hosted domains, their www. names, or wildcards such as *.example.com; by default the primary domain"`
		CertificateID int64     `json:"certificate_id,omitempty" minimum:"1" doc:"Renew this certificate; with auto_renew or hsts, only change those"`
		Challenge     Challenge `json:"challenge,omitempty" enum:"http,dns" doc:"By default dns for wildcards and http for all others"`
		AutoRenew     *bool     `json:"auto_renew,omitempty" doc:"By default true"`
		HSTS          *bool     `json:"hsts,omitempty" doc:"Only with a valid certificate"`
		Certificate   string    `json:"certificate,omitempty" maxLength:"65536" doc:"An own certificate in PEM, alone or with its chain behind it"`
		Chain         string    `json:"chain,omitempty" maxLength:"65536" doc:"The chain of an own certificate in PEM: each signs the one before it"`
		PrivateKey    string    `json:"private_key,omitempty" maxLength:"16384" doc:"The key of an own certificate in PEM, without a passphrase; it is kept sealed and never shown"`
	}
}

// requestedWire is a certificate that was asked for.
type requestedWire struct {
	certificateWire
	fresh bool
}

// HTTPStatus tells the edge whether something was made.
func (w requestedWire) HTTPStatus() int {
	if w.fresh {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Operations are this section's part of the specification's section "Service management": ssl; resources, section 19.
func (s *Service) Operations() []api.Route {
	const path = "/api/v1/services/{service}/ssl"
	return []api.Route{
		site.Read(api.Operation[site.ListIn, listWire]{
			ID: "certificates.list", Path: path, Summary: "List the certificates of a service, the newest first",
			Description: "`domains` says of each hosted domain which certificate it is answered with, and whether one could be issued.",
			Handle:      s.listOperation,
		}),
		site.Create(api.Operation[requestIn, requestedWire]{
			ID: "certificates.request", Path: path, Summary: "Issue, renew or install a certificate",
			Example: `{"domains": ["shop.example.com", "www.shop.example.com"]}`,
			Description: "With `domains` a certificate is ordered from the authority, or the one for the same names renewed; with " +
				"`certificate_id` that one is renewed; with `certificate` an own one is installed. What is ordered is `pending` and " +
				"becomes `active` or `failed`; a renewal that fails leaves the certificate in use.",
			Errors: []*fault.Def{
				fault.DomainVerificationRequired,
				errNotPointed, errPreflight, errMismatch, errLimited, fault.DomainInvalid, fault.LimitReached, fault.JobRunning,
			},
			Handle: s.requestOperation,
		}),
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *site.ListIn) (*listWire, error) {
	o, err := s.overview(ctx, p.AccountID, in.Service, in.Params)
	if err != nil {
		return nil, err
	}
	w := &listWire{Data: []certificateWire{}, Meta: page.MetaOf(in.Params, o.total), Domains: []domainWire{}}
	for _, r := range o.rows {
		w.Data = append(w.Data, s.wire(ctx, r, o.domains, o.answers, o.refused))
	}
	for _, d := range o.domains {
		dw := domainWire{ID: d.ID, Name: d.Name, Preflight: preflightOf(ctx, o.refused[d.Name])}
		for id, names := range o.answers {
			if slices.Contains(names, d.Name) {
				dw.CertificateID = &id
			}
		}
		w.Domains = append(w.Domains, dw)
	}
	return w, nil
}

func (s *Service) requestOperation(ctx context.Context, p auth.Principal, in *requestIn) (*requestedWire, error) {
	b := in.Body
	own := b.Certificate != "" || b.Chain != "" || b.PrivateKey != ""
	switch {
	case own && (b.Certificate == "" || b.PrivateKey == ""):
		return nil, fault.Invalid("certificate", "ssl_own_parts")
	case own && (len(b.Domains) > 0 || b.CertificateID != 0 || b.Challenge != ""):
		return nil, fault.Invalid("certificate", "ssl_own_alone")
	case own && b.AutoRenew != nil && *b.AutoRenew:
		return nil, fault.Invalid("auto_renew", "ssl_own_renews")
	}
	r, fresh, err := s.request(ctx, p.AccountID, in.Service, wish{
		id: b.CertificateID, names: b.Domains, challenge: b.Challenge, autoRenew: b.AutoRenew, hsts: b.HSTS,
		chain: b.Certificate, intermediates: b.Chain, key: b.PrivateKey,
	})
	if err != nil {
		return nil, err
	}
	all, domains, err := s.ofService(ctx, s.DB, p.AccountID, in.Service)
	if err != nil {
		return nil, err
	}
	return &requestedWire{s.wire(ctx, r, domains, assign(all, domains, s.Clock.Now()), nil), fresh}, nil
}

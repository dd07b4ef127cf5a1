package certificates

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// work is one run of a job that brings an order forward.
type work struct {
	*Service
	on      site.Site
	row     row
	domains []site.Domain
	hosted  panel.Certificates
	account acme.Account
	tokens  []string // of challenges that were set
}

// attempt continues the order of a row until a certificate is in use, or until it fails with a *failure. Other errors are the
// platform's own and leave the order as it is.
func (s *Service) attempt(ctx context.Context, on site.Site, r row) error {
	hosted, err := site.On[panel.Certificates](s.Panels, on, panel.CapCertificates)
	if err != nil {
		return err
	}
	domains, err := s.Domains.Hosted(ctx, s.DB, on.AccountID, on.ServiceID)
	if err != nil {
		return err
	}
	w := &work{Service: s, on: on, row: r, domains: domains, hosted: hosted}
	if r.phase != ordering {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if own, err := site.On[panel.Issuing](s.Panels, on, panel.CapIssuing); err == nil {
		return w.byPanel(ctx, own)
	}
	if !s.Authority.on() {
		return &failure{key: errPreflight.Key, reason: reasonOff}
	}
	return w.byAuthority(ctx)
}

// begin generates the private key of the next certificate and fixes its names.
func (w *work) begin(ctx context.Context) error {
	// A name that is no longer the service's, or strays, is left out; without any the preflight says so.
	if still := slices.DeleteFunc(slices.Clone(w.row.names), func(name string) bool { return !hosts(usable(w.domains), name) }); len(still) > 0 {
		w.row.names = still
	}
	if refused := w.preflight(ctx, w.on, w.domains, w.row.names, w.row.challenge); refused != nil {
		return &failure{key: refused.def.Key, reason: refused.reason, detail: refused.detail}
	}
	names, err := w.withWWW(ctx)
	if err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	w.row.order = order{names: names}
	if w.row.order.secret, err = w.seal(w.row.ID, key); err != nil {
		return err
	}
	w.row.phase = ordering
	return w.save(ctx)
}

func (w *work) save(ctx context.Context) error {
	return w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return table.Set(ctx, tx, w.row.ID, w.row.progress(tx.Now))
	})
}

// withWWW are the names of the row with the "www." names that are answered like them and can be proved too. While there
// is time, one that has a certificate does not lose it because the DNS did not answer.
func (w *work) withWWW(ctx context.Context) ([]string, error) {
	names := slices.Clone(w.row.names)
	now := w.Clock.Now()
	hasTime := w.row.valid(now) && w.row.expiresAt.Sub(now) > w.row.warning()
	for _, d := range w.domains {
		www := "www." + d.Name
		if !slices.Contains(w.row.names, d.Name) || certificate.Covers(names, www) || strings.HasPrefix(d.Name, "www.") ||
			len(www) > 253 || len(names) >= maxNames {
			continue
		}
		refused := w.preflight(ctx, w.on, w.domains, []string{www}, w.row.challenge)
		switch {
		case refused == nil:
			names = append(names, www)
		case refused.reason == reasonUnknown && hasTime && certificate.Covers(w.row.sans, www):
			return nil, &failure{key: refused.def.Key, reason: refused.reason, detail: refused.detail}
		}
	}
	return names, nil
}

// request returns the certificate signing request of the order, and its private key.
func (w *work) request() (request []byte, key string, err error) {
	key, err = w.unseal(w.row.ID, w.row.order.secret)
	if err != nil {
		return nil, "", err
	}
	signer, err := certificate.ParseKey(key)
	if err != nil {
		return nil, "", err
	}
	request, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: w.row.order.names}, signer)
	return request, key, err
}

// byPanel has the panel's own authority issue.
func (w *work) byPanel(ctx context.Context, own panel.Issuing) error {
	der, key, err := w.request()
	if err != nil {
		return err
	}
	chain, err := own.IssueCertificate(ctx, w.on.Ref, panel.CertificateRequest{
		Names: w.row.order.names, CSR: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})),
	})
	switch panel.KindOf(err) {
	case "":
		return w.finish(ctx, chain, key)
	case panel.ErrBusy:
		return &failure{key: errLimited.Key, counts: true, again: defaultRetry, cause: err}
	case panel.ErrInvalid:
		return &failure{key: errPreflight.Key, reason: reasonProof, counts: true, cause: err}
	case panel.ErrUnreachable:
		return &failure{key: keyAuthority, goesOn: true, cause: err}
	default:
		return err
	}
}

// byAuthority goes through an order (RFC 8555, section 7.4).
func (w *work) byAuthority(ctx context.Context) (err error) {
	ctx, asked := noteRetries(ctx)
	defer func() { err = interpret(err, asked) }()
	if w.account, err = w.Service.account(ctx); err != nil {
		return err
	}
	defer func() {
		// A restored or replaced authority has forgotten us: the next try makes the account anew.
		if isProblem(err, acme.ProblemTypeAccountDoesNotExist) {
			err = errors.Join(&failure{key: keyAuthority, detail: "the account is gone", cause: err}, w.locate(context.WithoutCancel(ctx), ""))
		}
	}()
	if w.row.url == "" {
		if err := w.placeOrder(ctx); err != nil {
			return err
		}
	}
	o, err := w.authority.GetOrder(ctx, w.account, acme.Order{Location: w.row.url})
	if err != nil {
		return err
	}
	o.Location = w.row.url
	if o.Status == acme.StatusPending {
		if o, err = w.prove(ctx, o); err != nil {
			return err
		}
	}
	if o.Status == acme.StatusReady {
		der, _, err := w.request()
		if err != nil {
			return err
		}
		if o, err = w.authority.FinalizeOrder(ctx, w.account, o, der); err != nil {
			return err
		}
		o.Location = w.row.url
	}
	if o, err = w.settled(ctx, o); err != nil {
		return err
	}
	if o.Status != acme.StatusValid {
		if o.Error != nil {
			return *o.Error
		}
		return &failure{key: keyAuthority, detail: "the order is " + o.Status}
	}
	chains, err := w.authority.GetCertificateChain(ctx, w.account, o.Certificate)
	if err != nil {
		return err
	}
	_, key, err := w.request()
	if err != nil {
		return err
	}
	return w.finish(ctx, string(chains[0].ChainPEM), key)
}

// placeOrder places the order. When the process dies before it has stored the address, the order is placed again, and the first
// one expires.
func (w *work) placeOrder(ctx context.Context) error {
	o := acme.Order{}
	for _, name := range w.row.order.names {
		o.Identifiers = append(o.Identifiers, acme.Identifier{Type: "dns", Value: name})
	}
	if id := w.predecessor(ctx); id != "" {
		o.Replaces = id
	}
	placed, err := w.authority.NewOrder(ctx, w.account, o)
	if err != nil && o.Replaces != "" && (isProblem(err, acme.ProblemTypeAlreadyReplaced) || isProblem(err, acme.ProblemTypeMalformed)) {
		o.Replaces = ""
		placed, err = w.authority.NewOrder(ctx, w.account, o)
	}
	if err != nil {
		return err
	}
	w.row.url = placed.Location
	return w.save(ctx)
}

// predecessor is the authority's name for the certificate in use (RFC 9773, section 5); empty where it has none.
func (w *work) predecessor(ctx context.Context) string {
	directory, err := w.authority.GetDirectory(ctx)
	if err != nil || directory.RenewalInfo == "" || !w.row.isIssued() {
		return ""
	}
	chain, err := certificate.ParseChain(w.row.chain)
	if err != nil {
		return ""
	}
	id, err := acme.ARIUniqueIdentifier(chain[0])
	if err != nil {
		return ""
	}
	return id
}

// prove proves to the authority that the names are the service's, and answers the order when it believes it. Should
// this process die in between, the proofs stay for the one that goes on, or a day.
func (w *work) prove(ctx context.Context, o acme.Order) (acme.Order, error) {
	err := w.proveOpen(ctx, o)
	w.clear(context.WithoutCancel(ctx))
	if err != nil {
		return o, err
	}
	again, err := w.authority.GetOrder(ctx, w.account, o)
	again.Location = o.Location
	return again, err
}

// proveOpen goes through the authorizations that are not given yet.
func (w *work) proveOpen(ctx context.Context, o acme.Order) error {
	var open []acme.Authorization
	for _, address := range o.Authorizations {
		a, err := w.authority.GetAuthorization(ctx, w.account, address)
		if err != nil {
			return err
		}
		switch a.Status {
		case acme.StatusValid:
		case acme.StatusPending:
			open = append(open, a)
		default: // the library says what is wrong with it
			if _, err := w.authority.PollAuthorization(ctx, w.account, a); err != nil {
				return err
			}
		}
	}
	challenges, err := w.present(ctx, open)
	if err != nil {
		return err
	}
	for i, c := range challenges {
		if c.Status != acme.StatusPending {
			continue // the authority is at it, or it was tried before
		}
		if _, err := w.authority.InitiateChallenge(ctx, w.account, c); err != nil && w.isPending(ctx, open[i], c) {
			return err
		}
	}
	for _, a := range open {
		if _, err := w.authority.PollAuthorization(ctx, w.account, a); err != nil {
			return err
		}
	}
	return nil
}

// isPending tells whether a challenge still waits to be initiated. A process that died may have done so just before, and the
// authority, which decided since the challenge was read, refuses to hear of it again (RFC 8555, section 7.1.6).
func (w *work) isPending(ctx context.Context, a acme.Authorization, c acme.Challenge) bool {
	now, err := w.authority.GetAuthorization(ctx, w.account, a.Location)
	return err != nil || slices.ContainsFunc(now.Challenges, func(known acme.Challenge) bool {
		return known.URL == c.URL && known.Status == acme.StatusPending
	})
}

// present puts up the proofs of all authorizations, and waits until they can be seen.
func (w *work) present(ctx context.Context, open []acme.Authorization) ([]acme.Challenge, error) {
	kind := acme.ChallengeTypeHTTP01
	if w.row.challenge == DNS {
		kind = acme.ChallengeTypeDNS01
	}
	challenges := make([]acme.Challenge, len(open))
	var texts []site.Record
	for i, a := range open {
		at := slices.IndexFunc(a.Challenges, func(c acme.Challenge) bool { return c.Type == kind })
		if a.Status != acme.StatusPending || at < 0 {
			return nil, &failure{key: keyAuthority, detail: fmt.Sprintf("the authorization of %s is %s", a.IdentifierValue(), a.Status)}
		}
		c := a.Challenges[at]
		c.Identifier = a.Identifier
		challenges[i] = c
		if kind == acme.ChallengeTypeDNS01 {
			texts = append(texts, site.Record{Name: c.DNS01TXTRecordName(), Type: "TXT", Value: c.DNS01KeyAuthorization(), TTL: textTTL})
			continue
		}
		err := w.hosted.SetChallenge(ctx, w.on.Ref, panel.Challenge{Domain: a.Identifier.Value, Token: c.Token, KeyAuthorization: c.KeyAuthorization})
		if err != nil {
			return nil, err
		}
		w.tokens = append(w.tokens, c.Token)
	}
	if len(texts) == 0 {
		return challenges, nil
	}
	return challenges, w.presentTexts(ctx, texts)
}

// owner is the name under which the zones keep the records of a row.
func (r row) owner() string { return fmt.Sprintf("acme:%d", r.ID) }

// endTexts removes the records of a row from the zones.
func (s *Service) endTexts(ctx context.Context, tx *db.Tx, r row) error {
	if r.challenge != DNS {
		return nil
	}
	return s.Zones.SetSystem(ctx, tx, r.AccountID, r.ServiceID, r.owner(), nil)
}

// textTTL is how long resolvers may keep a proof, in seconds.
const textTTL = 60

func (w *work) presentTexts(ctx context.Context, texts []site.Record) error {
	err := w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return w.Zones.SetSystem(ctx, tx, w.on.AccountID, w.on.ServiceID, w.row.owner(), texts)
	})
	if err != nil {
		return err
	}
	placed, err := w.Zones.Placed(ctx, w.DB, w.on.ServiceID, w.row.owner())
	if err != nil {
		return err
	}
	if slices.Contains(placed, false) {
		return &failure{key: errPreflight.Key, reason: reasonTaken}
	}
	for _, text := range texts {
		zone, _, err := w.Zones.ZoneOf(ctx, w.DB, w.on.ServiceID, text.Name)
		if err != nil {
			return err
		}
		if err := w.awaitText(ctx, zone, text.Name, text.Value); err != nil {
			return err
		}
	}
	return nil
}

// awaitText waits until all name servers answer the text: an authority that asks earlier refuses, and counts it.
func (w *work) awaitText(ctx context.Context, zone, name, text string) error {
	return w.await(ctx, func() (bool, error) {
		served, err := w.DNS.Serves(ctx, zone, name, text)
		if err != nil && ctx.Err() == nil {
			return false, nil // it may answer the next time
		}
		return served, err
	}, &failure{key: keyAuthority, detail: "the name servers do not answer " + name, goesOn: true})
}

// await polls done until it answers true. It gives up with the error late.
func (w *work) await(ctx context.Context, done func() (bool, error), late error) error {
	patience := time.NewTimer(w.Authority.Patience)
	defer patience.Stop()
	tick := time.NewTicker(w.Authority.Poll)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return late
		case <-tick.C:
		}
	}
}

// clear removes the proofs.
func (w *work) clear(ctx context.Context) {
	var err error
	for _, token := range w.tokens {
		err = errors.Join(err, w.hosted.RemoveChallenge(ctx, w.on.Ref, token))
	}
	w.tokens = nil
	err = errors.Join(err, w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.endTexts(ctx, tx, w.row) }))
	if err != nil {
		// They go with the next order or after a day; the certificate is worth more.
		w.Log.Warn("certificates: proofs stay", "certificate", w.row.ID, "error", err)
	}
}

// settled waits until an order is no longer being worked on.
func (w *work) settled(ctx context.Context, o acme.Order) (acme.Order, error) {
	err := w.await(ctx, func() (bool, error) {
		if o.Status != acme.StatusProcessing {
			return true, nil
		}
		now, err := w.authority.GetOrder(ctx, w.account, o)
		if err != nil {
			return false, err
		}
		now.Location = o.Location
		o = now
		return o.Status != acme.StatusProcessing, nil
	}, &failure{key: keyAuthority, detail: "the order is being worked on", goesOn: true})
	return o, err
}

// finish puts the certificate into use.
func (w *work) finish(ctx context.Context, chain, key string) error {
	b, err := certificate.Parse(key, chain)
	if err == nil {
		err = b.CheckNames(w.row.order.names...)
	}
	if err != nil {
		return &failure{key: keyAuthority, detail: "it issued another certificate than was ordered", cause: err}
	}
	first, renews := !w.row.isIssued(), w.row.renewalDue(w.Clock.Now())
	names := w.row.order.names
	w.row.current = currentOf(b)
	w.row.current.secret = w.row.order.secret
	when := renewal(*w.row.issuedAt, *w.row.expiresAt)
	w.row.renewAt = &when
	return w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The service before its rows, as everywhere.
		if _, err := w.Services.LockSite(ctx, tx, w.row.AccountID, w.row.ServiceID); err != nil {
			return err
		}
		if err := w.setCurrent(ctx, tx, w.row); err != nil {
			return err
		}
		if !renews {
			if err := insertAttempts(ctx, tx, w.row.ServiceID, names, true); err != nil {
				return err
			}
		}
		if err := w.endTexts(ctx, tx, w.row); err != nil {
			return err
		}
		event := "ssl.renewed"
		if first {
			event = "ssl.issued"
		}
		if err := w.emit(ctx, tx, event, w.row); err != nil {
			return err
		}
		return w.collection().Enqueue(ctx, tx, w.row.AccountID, w.row.ServiceID)
	})
}

package domains

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/registrar"
)

// View is a domain as the interface shows it.
type View = domainWire

// domainWire is the registration of resources, section 7.
type domainWire struct {
	ID                int64                     `json:"id"`
	Name              string                    `json:"name" doc:"In ASCII, international labels in punycode" example:"xn--e1afmkfd.xn--p1ai"`
	UnicodeName       string                    `json:"unicode_name"`
	TLD               string                    `json:"tld"`
	Status            Status                    `json:"status" enum:"pending_payment,pending_registration,pending_transfer_in,pending_verification,active,expired,grace,redemption,pending_delete,transferred_out,cancelled,suspended,failed"`
	ExpiresAt         *time.Time                `json:"expires_at"`
	RegisteredAt      *time.Time                `json:"registered_at"`
	AutoRenew         bool                      `json:"auto_renew"`
	Privacy           bool                      `json:"privacy"`
	PrivacySupported  bool                      `json:"privacy_supported"`
	Locked            bool                      `json:"locked"`
	TransferLockUntil *time.Time                `json:"transfer_lock_until"`
	Nameservers       []string                  `json:"nameservers"`
	GlueHosts         []registrar.Host          `json:"glue_hosts"`
	DNSSEC            dnssecWire                `json:"dnssec"`
	Verification      verificationWire          `json:"verification" doc:"Whether the registrant has to confirm an address"`
	Contacts          map[registrar.Role]string `json:"contacts" doc:"Handles of the registrar; the contacts themselves are not kept here"`
	RenewPrice        *money.Money              `json:"renew_price" doc:"Of a year; null where the zone has no price"`
	RestorePrice      *money.Money              `json:"restore_price"`
	GraceUntil        *time.Time                `json:"grace_until" doc:"Until when it is renewed at the usual price"`
	RedemptionUntil   *time.Time                `json:"redemption_until" doc:"Until when it can be restored"`
	LastOperation     *operationWire            `json:"last_operation"`
	RegistryStatuses  []string                  `json:"registry_statuses" doc:"In the words of EPP"`
	ServiceID         *int64                    `json:"service_id" doc:"Of your service that has the name among its domains"`
	ClientRef         *string                   `json:"client_ref"`
	CreatedAt         time.Time                 `json:"created_at"`
}

type dnssecWire struct {
	Enabled   bool           `json:"enabled"`
	DSRecords []registrar.DS `json:"ds_records"`
}

// verificationWire is always empty: the supported registries verify nobody.
type verificationWire struct {
	Status   string     `json:"status" enum:"none,pending,completed,failed"`
	Deadline *time.Time `json:"deadline"`
}

type operationWire struct {
	Kind    opKind  `json:"kind" enum:"register,transfer,renew,restore"`
	Status  string  `json:"status" enum:"pending,done,failed"`
	OrderID int64   `json:"order_id"`
	Years   int     `json:"years"`
	Failure *string `json:"failure_key" doc:"Why it failed: an error key. The money is back in the wallet"`
	Message string  `json:"message" doc:"The registry's own words"`
}

// eventWire is a domain in the data of its events.
type eventWire struct {
	domainWire

	// ServiceID is not set: events with a service's id count as the service's.
	ServiceID *int64  `json:"service_id,omitempty"`
	ErrorKey  *string `json:"error_key,omitempty" doc:"Why something failed"`
	Days      *int    `json:"days,omitempty" doc:"How many days are left, of a reminder"`
}

func wire(ctx context.Context, d domain) domainWire {
	w := domainWire{
		ID: d.id, Name: d.name, UnicodeName: domainname.Unicode(d.name), TLD: d.tld, Status: d.status, ExpiresAt: d.expiresAt,
		RegisteredAt: d.registeredAt, AutoRenew: d.autoRenew, Privacy: d.privacy, Locked: d.locked,
		TransferLockUntil: d.transferLockUntil, Nameservers: d.nameservers, GlueHosts: d.registry.Hosts,
		DNSSEC: dnssecWire{len(d.registry.DS) > 0, d.registry.DS}, Contacts: d.registry.Contacts,
		RegistryStatuses: d.registry.Statuses, ServiceID: d.serviceID, ClientRef: d.clientRef, CreatedAt: d.createdAt,
		Verification: verificationWire{Status: "none"},
	}
	if !d.dated() {
		w.ExpiresAt = nil
	}
	if w.Nameservers == nil {
		w.Nameservers = []string{}
	}
	if w.GlueHosts == nil {
		w.GlueHosts = []registrar.Host{}
	}
	if w.DNSSEC.DSRecords == nil {
		w.DNSSEC.DSRecords = []registrar.DS{}
	}
	if w.Contacts == nil {
		w.Contacts = map[registrar.Role]string{}
	}
	if w.RegistryStatuses == nil {
		w.RegistryStatuses = []string{}
	}
	if t := d.tldNow; t != nil {
		p := t.of(d.wholesale)
		w.PrivacySupported = t.Privacy
		w.RenewPrice, w.RestorePrice = money.WireOptional(ctx, &p.Renew), money.WireOptional(ctx, &p.Restore)
		if d.dated() && d.status.kept() {
			grace := d.expiresAt.AddDate(0, 0, t.GraceDays)
			redemption := grace.AddDate(0, 0, t.RedemptionDays)
			w.GraceUntil, w.RedemptionUntil = &grace, &redemption
		}
	}
	if o := d.last; o != nil {
		w.LastOperation = &operationWire{o.kind, o.status, o.orderID, o.years, o.failureKey, o.message}
		if o.status == "attempted" {
			w.LastOperation.Status = "pending"
		}
	}
	return w
}

type tldWire struct {
	TLD              string      `json:"tld" doc:"In ASCII" example:"co.uz"`
	UnicodeTLD       string      `json:"unicode_tld"`
	Register         []priceWire `json:"register"`
	Renew            []priceWire `json:"renew"`
	Transfer         money.Money `json:"transfer" doc:"With a year"`
	Restore          money.Money `json:"restore" doc:"From redemption, with a year"`
	MinYears         int         `json:"min_years"`
	MaxYears         int         `json:"max_years"`
	GraceDays        int         `json:"grace_days"`
	RedemptionDays   int         `json:"redemption_days"`
	Privacy          bool        `json:"privacy"`
	IDN              bool        `json:"idn" doc:"Names in other letters than those of ASCII"`
	AuthCodeRequired bool        `json:"transfer_auth_code_required"`
	DNSSEC           string      `json:"dnssec" enum:"ds,key,none"`
	RequiredFields   []string    `json:"required_fields" doc:"Of the contact"`
	NameserverMin    int         `json:"nameserver_min"`
	NameserverMax    int         `json:"nameserver_max"`
}

type priceWire struct {
	Years int         `json:"years"`
	Price money.Money `json:"price"`
}

// perYears are the prices of each period.
func perYears(ctx context.Context, year money.USDCents, from, to int) ([]priceWire, error) {
	all := []priceWire{}
	for n := from; n <= to; n++ {
		total, err := year.Mul(int64(n))
		if err != nil {
			return nil, err
		}
		all = append(all, priceWire{n, money.Wire(ctx, total)})
	}
	return all, nil
}

func wireTLD(ctx context.Context, t tld, wholesale bool) (w tldWire, err error) {
	p := t.of(wholesale)
	w = tldWire{
		TLD: t.TLD, UnicodeTLD: domainname.Unicode(t.TLD), Transfer: money.Wire(ctx, p.Transfer), Restore: money.Wire(ctx, p.Restore),
		MinYears: t.MinYears, MaxYears: t.MaxYears, GraceDays: t.GraceDays, RedemptionDays: t.RedemptionDays, Privacy: t.Privacy,
		IDN: t.IDN, AuthCodeRequired: t.AuthCodeRequired, DNSSEC: t.DNSSEC, NameserverMin: t.NameserverMin, NameserverMax: t.NameserverMax,
		RequiredFields: []string{"name", "email", "phone", "street", "city", "country"},
	}
	if w.Register, err = perYears(ctx, p.Register, t.MinYears, t.MaxYears); err == nil {
		w.Renew, err = perYears(ctx, p.Renew, 1, t.MaxYears)
	}
	return w, err
}

type checkWire struct {
	Domain    string       `json:"domain" doc:"In ASCII"`
	Available *bool        `json:"available" doc:"Null when nobody knows: try again later"`
	Reason    *string      `json:"reason" enum:"taken,reserved,premium,restricted,tld_unsupported,lookup_failed,invalid"`
	Premium   bool         `json:"premium"`
	Price     *money.Money `json:"price" doc:"Of the shortest registration; null where it cannot be bought at the price of the price book"`
	Source    *string      `json:"source" enum:"registry,rdap,whois"`
	CheckedAt time.Time    `json:"checked_at"`
}

func wireCheck(ctx context.Context, a Availability) checkWire {
	w := checkWire{
		Domain: a.Name, Available: a.Available, Premium: a.Premium, Price: money.WireOptional(ctx, a.Price), CheckedAt: a.CheckedAt,
	}
	if a.Reason != "" {
		w.Reason = &a.Reason
	}
	if a.Source != "" {
		w.Source = &a.Source
	}
	return w
}

type tldsIn struct{ page.Params }

type checkIn struct {
	Domain string `query:"domain" required:"true" minLength:"1" maxLength:"2048" doc:"The name, in either form" example:"example.com"`
}

type listIn struct {
	page.Params
	Status        string `query:"status" enum:"pending_payment,pending_registration,pending_transfer_in,pending_verification,active,expired,grace,redemption,pending_delete,transferred_out,cancelled,suspended,failed" doc:"Only those in this state"`
	Query         string `query:"q" maxLength:"100" doc:"Part of the name"`
	ClientRef     string `query:"client_ref" maxLength:"256" doc:"Only those with exactly this tag"`
	ExpiresBefore string `query:"expires_before" format:"date-time" doc:"Only those that expire before"`
}

func (in listIn) filter() (Filter, error) {
	f := Filter{Status: Status(in.Status), Query: in.Query}
	if in.ClientRef != "" {
		f.ClientRef = &in.ClientRef
	}
	if in.ExpiresBefore != "" {
		t, err := time.Parse(time.RFC3339, in.ExpiresBefore)
		if err != nil {
			return f, fault.Invalid("expires_before", "expected_date_time")
		}
		f.ExpiresBefore = &t
	}
	return f, nil
}

type domainIn struct {
	Domain int64 `path:"domain" minimum:"1" doc:"Id of the domain"`
}

// contactWire is the registrant of a new registration.
type contactWire struct {
	Name         string `json:"name" minLength:"1" maxLength:"255"`
	Organization string `json:"organization,omitempty" maxLength:"255"`
	Email        string `json:"email" minLength:"3" maxLength:"255"`
	Phone        string `json:"phone" doc:"E.164: a plus sign, the code of the country, the number" example:"+998901234567"`
	Street       string `json:"street" minLength:"1" maxLength:"255"`
	City         string `json:"city" minLength:"1" maxLength:"255"`
	Region       string `json:"region,omitempty" maxLength:"255"`
	PostalCode   string `json:"postal_code,omitempty" maxLength:"16"`
	Country      string `json:"country" doc:"ISO 3166-1 alpha-2, in capitals" example:"UZ"`
}

type orderIn struct {
	IdempotencyKey string `header:"Idempotency-Key"`
	Body           struct {
		Domain      string          `json:"domain" minLength:"1" maxLength:"2048" doc:"The name, in either form" example:"example.com"`
		Operation   string          `json:"operation,omitempty" enum:"register,transfer" doc:"register when left out"`
		Years       int             `json:"years,omitempty" minimum:"1" maximum:"10" doc:"The zone's shortest period when left out; a transfer is for one"`
		Contact     *contactWire    `json:"contact,omitempty" doc:"The registrant. It is handed to the registrar and not kept"`
		Nameservers []string        `json:"nameservers,omitempty" maxItems:"13" doc:"When left out: ours for a registration, and for a transfer those that the domain has"`
		AuthCode    string          `json:"auth_code,omitempty" maxLength:"255" writeOnly:"true" doc:"Of a transfer; write-only"`
		Privacy     bool            `json:"privacy,omitempty"`
		AutoRenew   *bool           `json:"auto_renew,omitempty" doc:"Renew from the wallet; true when left out"`
		Expected    *money.USDCents `json:"expected_usd_cents,omitempty" minimum:"0" doc:"The price that was shown, without tax; another price is price_changed, and nothing happens"`
		ClientRef   *string         `json:"client_ref,omitempty" doc:"A tag of your own, at most 64 characters; no data of a client"`
	}
}

// Operations are the specification's section "Domains", further operations of owners, and those of resellers.
func (s *Service) Operations() []api.Route {
	return slices.Concat(s.publicOperations(), s.settingsOperations(), s.resellerOperations())
}

func (s *Service) publicOperations() []api.Route {
	return []api.Route{
		// Specification, "Open data".
		api.Operation[tldsIn, page.List[tldWire]]{
			ID: "domains.tlds", Method: http.MethodGet, Path: "/api/v1/domains/tlds", Section: api.Domains, Auth: api.Open,
			Description: "What a registration, renewal, transfer and restore cost in each zone, the allowed periods in years, and whether " +
				"the zone has privacy, DNSSEC and names in other scripts. Prices are per year in cents of USD. With a token they are those that " +
				"its account pays for a new domain: a reseller sees its own. What a domain costs that the account has stands in the domain.",
			Summary: "Prices and rules of the zones", Handle: s.tldsOperation,
		},
		// Specification, "Open data": at most 20 checks a minute.
		api.Operation[checkIn, checkWire]{
			ID: "domains.check", Method: http.MethodGet, Path: "/api/v1/domains/check", Section: api.Domains, Auth: api.Open,
			Throttle: api.DomainCheck, Summary: "Whether a domain can be registered", Handle: s.checkOperation,
			Description: "`available` is null when nobody knows, and never true on a doubt. With a token, `price` is what its account pays.",
			Errors:      []*fault.Def{fault.DomainInvalid},
		},
		// Specification, "Domains".
		api.Operation[listIn, page.List[domainWire]]{
			ID: "domains.list", Method: http.MethodGet, Path: "/api/v1/domains", Section: api.Domains, Auth: api.Token,
			Description: "Registrations and transfers, also failed and cancelled ones, with expiry, prices and the state of the last " +
				"operation at the registry. Filters can be combined.",
			Scopes: []string{auth.ScopeDomainsRead}, Summary: "List your domains, the newest first", Handle: s.listOperation,
		},
		// Specification, "Domains".
		api.Operation[domainIn, domainWire]{
			ID: "domains.get", Method: http.MethodGet, Path: "/api/v1/domains/{domain}", Section: api.Domains, Auth: api.Token,
			Description: "The domain as it is known here: its state, expiry, name servers, lock, privacy, prices and the last operation at" +
				" the registry. `service_id` names the service that hosts it.",
			Scopes: []string{auth.ScopeDomainsRead}, Summary: "Get a domain", Errors: []*fault.Def{fault.NotFound}, Handle: s.getOperation,
		},
		// Specification, "Domains": orders a domain and charges the wallet.
		api.Operation[orderIn, domainWire]{
			ID: "domains.order", Method: http.MethodPost, Path: "/api/v1/domains", Section: api.Domains, Auth: api.Token,
			Example: `{"domain": "shop.example", "years": 1, "contact": {"name": "Anna Karimova", "email": "anna@example.com", "phone": "+998901234567", "street": "Navoiy 1", "city": "Tashkent", "country": "UZ"}, "auto_renew": true}`,
			Scopes:  []string{auth.ScopeDomainsWrite}, Status: http.StatusCreated, Summary: "Register a domain, or transfer it here",
			Description: "The price is set aside in the wallet at once, and taken when the registry has done it. If it refuses, the " +
				"domain becomes failed and the money is back in the balance.",
			Errors: []*fault.Def{
				fault.DomainInvalid, fault.DomainUnavailable, fault.PriceChanged, fault.InsufficientFunds, ErrTLDUnsupported, ErrPeriodNotAllowed,
				ErrAuthCodeRequired, ErrContactRequired, ErrNameserverInvalid, ErrPrivacyUnsupported, ErrUnreachable,
				fault.ClientRefTooLong,
			},
			Commit: s.orderOperation,
		},
	}
}

func (s *Service) tldsOperation(ctx context.Context, p auth.Principal, in *tldsIn) (*page.List[tldWire], error) {
	wholesale, err := s.callersPrices(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.priceBook(ctx, in.Params, wholesale)
}

// callersPrices reports whether a caller, who may be nobody, pays wholesale prices.
func (s *Service) callersPrices(ctx context.Context, p auth.Principal) (wholesale bool, err error) {
	if p.AccountID == 0 {
		return false, nil
	}
	return s.wholesale(ctx, s.DB, p.AccountID)
}

func (s *Service) priceBook(ctx context.Context, p page.Params, wholesale bool) (*page.List[tldWire], error) {
	total, err := countTLDs(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	all, err := listTLDs(ctx, s.DB, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	wires := make([]tldWire, len(all))
	for i, t := range all {
		if wires[i], err = wireTLD(ctx, t, wholesale); err != nil {
			return nil, err
		}
	}
	return page.Of(p, total, wires), nil
}

func (s *Service) checkOperation(ctx context.Context, p auth.Principal, in *checkIn) (*checkWire, error) {
	wholesale, err := s.callersPrices(ctx, p)
	if err != nil {
		return nil, err
	}
	a, err := s.Check(ctx, []string{in.Domain}, false, wholesale)
	if err != nil {
		return nil, err
	}
	if a[0].Reason == invalidName {
		return nil, fault.DomainInvalid.With(fault.Fields{"domain": in.Domain})
	}
	w := wireCheck(ctx, a[0])
	return &w, nil
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[domainWire], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	return s.List(ctx, p.AccountID, f, in.Params)
}

// List shows one page of an account's domains, the newest first.
func (s *Service) List(ctx context.Context, accountID int64, f Filter, p page.Params) (*page.List[View], error) {
	rows, total, err := list(ctx, s.DB, accountID, f, p)
	if err == nil {
		err = fill(ctx, s.DB, rows)
	}
	if err == nil {
		err = s.host(ctx, s.DB, accountID, rows)
	}
	if err != nil {
		return nil, err
	}
	wires := make([]View, len(rows))
	for i, d := range rows {
		wires[i] = wire(ctx, d)
	}
	return page.Of(p, total, wires), nil
}

func (s *Service) getOperation(ctx context.Context, p auth.Principal, in *domainIn) (*domainWire, error) {
	return s.show(ctx, s.DB, p.AccountID, in.Domain)
}

// show returns a domain of the account as shown.
func (s *Service) show(ctx context.Context, q db.Querier, accountID, id int64) (*domainWire, error) {
	d, err := getOwn(ctx, q, accountID, id)
	if err == nil {
		d, err = filled(ctx, q, d.id)
	}
	rows := []domain{d}
	if err == nil {
		err = s.host(ctx, q, accountID, rows)
	}
	if err != nil {
		return nil, err
	}
	w := wire(ctx, rows[0])
	return &w, nil
}

// host finds the services that have the account's names among their domains.
func (s *Service) host(ctx context.Context, q db.Querier, accountID int64, rows []domain) error {
	if len(rows) == 0 {
		return nil
	}
	names := make([]string, len(rows))
	for i, d := range rows {
		names[i] = d.name
	}
	by, err := s.Hosts.HostedBy(ctx, q, accountID, names)
	if err != nil {
		return err
	}
	for i := range rows {
		if id, ok := by[rows[i].name]; ok {
			rows[i].serviceID = &id
		}
	}
	return nil
}

func (s *Service) orderOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *orderIn) (*domainWire, error) {
	b := in.Body
	wish := Wish{
		AccountID: p.AccountID, Transfer: b.Operation == "transfer", Domain: b.Domain, Years: b.Years, AuthCode: b.AuthCode,
		Contact: (*registrar.Contact)(b.Contact), Nameservers: b.Nameservers, Privacy: b.Privacy,
		AutoRenew: b.AutoRenew == nil || *b.AutoRenew, Seen: b.Expected, Keyed: in.IdempotencyKey != "",
	}
	if b.ClientRef != nil && *b.ClientRef != "" {
		wish.ClientRef = b.ClientRef
	}
	d, err := s.order(ctx, tx, wish)
	if err != nil {
		return nil, err
	}
	return s.show(ctx, tx, p.AccountID, d.id)
}

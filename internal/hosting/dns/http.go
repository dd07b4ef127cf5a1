package dns

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// recordWire is a DNS record (resources, section 21).
type recordWire struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name" doc:"Relative to the zone; @ is the zone itself" example:"www"`
	Type      Type       `json:"type"`
	Value     string     `json:"value" doc:"An address, a name without the last dot, a text, or data"`
	TTL       int        `json:"ttl" doc:"In seconds"`
	Priority  *int       `json:"priority" doc:"Of MX and SRV"`
	Weight    *int       `json:"weight" doc:"Of SRV"`
	Port      *int       `json:"port" doc:"Of SRV"`
	Flags     *int       `json:"flags" doc:"Of CAA"`
	Tag       *string    `json:"tag" doc:"Of CAA"`
	Disabled  bool       `json:"disabled" doc:"Kept but not served, such as the platform's addresses while a record of yours takes their place"`
	System    bool       `json:"system" doc:"The platform's: addresses follow the service until you change them; the name servers and what mail and certificates need stay the platform's"`
	ManagedBy *string    `json:"managed_by" enum:"nameservers,domains,mail,certificates" doc:"What keeps a record that cannot be changed or deleted; a record of yours for the same name and purpose takes its place, but not that of the name servers. Null for all others"`
	Alias     *aliasWire `json:"alias" doc:"Of ALIAS: what its target leads to; null for all other types"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

// aliasWire is how far the target of an ALIAS is resolved.
type aliasWire struct {
	Status    string     `json:"status" enum:"pending,resolved,unresolved" doc:"pending: the target was not looked up yet. unresolved: it has no public address, and A and AAAA questions are answered SERVFAIL"`
	Addresses []string   `json:"addresses" doc:"Those that are served; a look-up that fails keeps them, and another target until its first look-up"`
	CheckedAt *time.Time `json:"checked_at" doc:"When the target was last looked up; null before that"`
}

func aliasOf(r record) *aliasWire {
	if r.kind != ALIAS {
		return nil
	}
	w := &aliasWire{Status: "resolved", Addresses: r.resolved, CheckedAt: r.lookedUpAt}
	switch {
	case r.lookedUpAt == nil:
		w.Status = "pending"
	case len(r.resolved) == 0:
		w.Status = "unresolved"
	}
	return w
}

func wire(r record) recordWire {
	return recordWire{
		ID: r.id, Name: r.name, Type: r.kind, Value: r.value, TTL: r.ttl, Priority: r.priority, Weight: r.weight, Port: r.port,
		Flags: r.flags, Tag: r.tag, Disabled: r.disabled, System: r.system, ManagedBy: r.managedBy(), Alias: aliasOf(r), CreatedAt: r.createdAt, UpdatedAt: r.updatedAt,
	}
}

// otherWire is a record that is in the way of another; without an id it is one of the
// same import.
type otherWire struct {
	ID    *int64 `json:"id"`
	Name  string `json:"name"`
	Type  Type   `json:"type"`
	Value string `json:"value"`
}

// wishWire is a record of a preview or an import.
type wishWire struct {
	ID       *int64  `json:"id" doc:"Null in a preview"`
	Name     string  `json:"name"`
	Type     Type    `json:"type"`
	Value    string  `json:"value"`
	TTL      int     `json:"ttl"`
	Priority *int    `json:"priority"`
	Weight   *int    `json:"weight"`
	Port     *int    `json:"port"`
	Flags    *int    `json:"flags"`
	Tag      *string `json:"tag"`
}

func wish(id *int64, f fields) wishWire {
	return wishWire{
		ID: id, Name: f.name, Type: f.kind, Value: f.value, TTL: f.ttl, Priority: f.priority, Weight: f.weight, Port: f.port,
		Flags: f.flags, Tag: f.tag,
	}
}

type skippedWire struct {
	wishWire
	Reason string `json:"reason" enum:"soa,system_record,duplicate,type_unsupported"`
}

type refusedWire struct {
	wishWire
	Error         string     `json:"error" enum:"dns_record_invalid,dns_record_conflict"`
	Reason        string     `json:"reason"`
	Message       string     `json:"message"`
	ConflictsWith *otherWire `json:"conflicts_with"`
}

// importWire is what an import did, or would do.
type importWire struct {
	ValidateOnly bool          `json:"validate_only"`
	Added        []wishWire    `json:"added"`
	Skipped      []skippedWire `json:"skipped" doc:"Already there, or not for a zone here"`
	Conflicts    []refusedWire `json:"conflicts" doc:"Cannot be added; an import with one of these is refused as a whole"`
}

func planWire(ctx context.Context, p plan) *importWire {
	w := &importWire{Added: []wishWire{}, Skipped: []skippedWire{}, Conflicts: refusalsOf(ctx, p)}
	for _, f := range p.add {
		w.Added = append(w.Added, wish(nil, f))
	}
	for _, s := range p.skipped {
		w.Skipped = append(w.Skipped, skippedWire{wish(nil, s.fields), s.why})
	}
	return w
}

func refusalsOf(ctx context.Context, p plan) []refusedWire {
	all := []refusedWire{}
	for _, r := range p.refused {
		w := refusedWire{wishWire: wish(nil, r.fields), Error: r.why.Def.Key}
		w.Reason, _ = r.why.Fields["reason"].(string)
		w.ConflictsWith, _ = r.why.Fields["conflicts_with"].(*otherWire)
		for _, texts := range r.why.Invalid {
			w.Message = i18n.T(i18n.Lang(ctx), texts[0].ID, texts[0].Data)
		}
		all = append(all, w)
	}
	return all
}

// createdWire is the new record, or what an import or a preview says.
type createdWire struct {
	*recordWire
	*importWire
}

// Schema implements huma.SchemaProvider.
func (createdWire) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[recordWire](), true, ""), r.Schema(reflect.TypeFor[importWire](), true, ""),
	}}
}

// HTTPStatus tells the edge that a preview created nothing.
func (w createdWire) HTTPStatus() int {
	if w.importWire != nil && w.ValidateOnly {
		return http.StatusOK
	}
	return http.StatusCreated
}

type listIn struct {
	Service int64  `path:"service" minimum:"1" doc:"Id of the service"`
	Zone    string `query:"zone" maxLength:"255" doc:"Name of a zone of the service: an addon or alias domain. By default that of the primary domain"`
	Type    Type   `query:"type" enum:"A,AAAA,ALIAS,CAA,CNAME,DS,MX,NS,PTR,SRV,SSHFP,TLSA,TXT" doc:"Only records of this type"`
	Name    string `query:"name" maxLength:"255" doc:"Records of this name alone"`
	Format  string `query:"format" enum:"json,bind" default:"json" doc:"bind answers the whole zone as text"`
	page.Params
}

type createIn struct {
	Service      int64  `path:"service" minimum:"1" doc:"Id of the service"`
	Zone         string `query:"zone" maxLength:"255" doc:"Name of a zone of the service: an addon or alias domain. By default that of the primary domain"`
	ValidateOnly bool   `query:"validate_only" doc:"Say what would be added, and change nothing"`
	Body         struct {
		Name     string  `json:"name,omitempty" maxLength:"255" doc:"Relative to the zone, or absolute; @ is the zone itself" example:"www"`
		Type     Type    `json:"type,omitempty" doc:"Required unless bind is there"`
		Value    string  `json:"value,omitempty" maxLength:"8192"`
		TTL      *int    `json:"ttl,omitempty" doc:"60 to 86400; by default 3600"`
		Priority *int    `json:"priority,omitempty"`
		Weight   *int    `json:"weight,omitempty"`
		Port     *int    `json:"port,omitempty"`
		Flags    *int    `json:"flags,omitempty"`
		Tag      *string `json:"tag,omitempty" maxLength:"32"`
		Disabled bool    `json:"disabled,omitempty"`
		Bind     string  `json:"bind,omitempty" maxLength:"524288" doc:"A zone file of BIND whose records are added, instead of one record"`
	}
}

type recordIn struct {
	Service   int64 `path:"service" minimum:"1" doc:"Id of the service"`
	DNSRecord int64 `path:"dns_record" minimum:"1" doc:"Id of the record"`
}

type updateIn struct {
	recordIn
	Body struct {
		Name     *string `json:"name,omitempty" maxLength:"255"`
		Value    *string `json:"value,omitempty" maxLength:"8192"`
		TTL      *int    `json:"ttl,omitempty"`
		Priority *int    `json:"priority,omitempty"`
		Weight   *int    `json:"weight,omitempty"`
		Port     *int    `json:"port,omitempty"`
		Flags    *int    `json:"flags,omitempty"`
		Tag      *string `json:"tag,omitempty" maxLength:"32"`
		Disabled *bool   `json:"disabled,omitempty"`
	}
}

// Operations are this section's part of the specification's section "Service
// management": dns; resources, section 21.
func (s *Service) Operations() []api.Route {
	const path = "/api/v1/services/{service}/dns"
	read := []*fault.Def{fault.NotFound, fault.ServiceNotActive, fault.UnsupportedOperation}
	write := append([]*fault.Def{errInvalid, errConflict, fault.ServiceSuspended}, read...)
	return []api.Route{
		api.Operation[listIn, page.List[recordWire]]{
			ID: "dns.list", Method: http.MethodGet, Path: path, Section: api.ServiceManagement,
			Description: "Records of one zone of the service, those of the platform marked `system`. With `format=bind` the answer is the " +
				"zone as a file. A `zone` that the service does not have is `dns_record_invalid`.",
			Auth: api.Token, Scopes: []string{auth.ScopeServicesRead}, Summary: "List the DNS records of a service's zone, or export it",
			ContentTypes: []string{"application/json", "text/dns"}, Errors: append([]*fault.Def{errInvalid}, read...), Stream: s.listOperation,
		},
		api.Operation[createIn, createdWire]{
			ID: "dns.create", Method: http.MethodPost, Path: path, Section: api.ServiceManagement, Status: http.StatusCreated,
			Example: `{"name": "api", "type": "A", "value": "192.0.2.7", "ttl": 600}`,
			Auth:    api.Token, Scopes: []string{auth.ScopeServicesWrite}, Summary: "Add a DNS record, or the records of a zone file",
			Description: "An import adds what the zone does not have and never removes anything. It is refused as a whole when one of " +
				"its records cannot be added; `validate_only` tells without changing anything.",
			Errors: append([]*fault.Def{fault.LimitReached}, write...), Handle: s.createOperation,
		},
		api.Operation[updateIn, recordWire]{
			ID: "dns.update", Method: http.MethodPatch, Path: path + "/{dns_record}", Section: api.ServiceManagement,
			Description: "Members that are left out keep their values; the type cannot be changed. A record that conflicts with another is" +
				" `dns_record_conflict`. The zone changes within a second, caches keep the former one for its TTL.",
			Example: `{"value": "192.0.2.8", "ttl": 600}`,
			Auth:    api.Token, Scopes: []string{auth.ScopeServicesWrite}, Summary: "Change a DNS record", Errors: write,
			Handle: s.updateOperation,
		},
		api.Operation[recordIn, api.Empty]{
			ID: "dns.delete", Method: http.MethodDelete, Path: path + "/{dns_record}", Section: api.ServiceManagement,
			Description: "The zone changes within a second; caches keep the record for its TTL. A record of the platform comes back where " +
				"yours has taken its place.",
			Auth: api.Token, Scopes: []string{auth.ScopeServicesWrite}, Summary: "Delete a DNS record", Errors: write,
			Handle: func(ctx context.Context, p auth.Principal, in *recordIn) (*api.Empty, error) {
				return nil, s.remove(ctx, p.AccountID, in.Service, in.DNSRecord)
			},
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn, w http.ResponseWriter, r *http.Request) error {
	if in.Format == "bind" {
		text, name, err := s.export(ctx, p.AccountID, in.Service, in.Zone)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/dns; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.zone"`)
		_, err = io.WriteString(w, text)
		return err
	}
	rows, total, err := s.list(ctx, p.AccountID, in.Service, in.Zone, filter{in.Type, in.Name}, in.Params)
	if err != nil {
		return err
	}
	wires := make([]recordWire, len(rows))
	for i, row := range rows {
		wires[i] = wire(row)
	}
	return api.WriteList(w, r, page.Of(in.Params, total, wires))
}

func (s *Service) createOperation(ctx context.Context, p auth.Principal, in *createIn) (*createdWire, error) {
	b := in.Body
	if b.Bind != "" {
		return s.importOperation(ctx, p, in)
	}
	f := fields{
		name: b.Name, kind: Type(strings.ToUpper(string(b.Type))), value: b.Value, ttl: defaultTTL, priority: b.Priority,
		weight: b.Weight, port: b.Port, flags: b.Flags, tag: b.Tag, disabled: b.Disabled,
	}
	if b.TTL != nil {
		f.ttl = *b.TTL
	}
	if in.ValidateOnly {
		return previewed(ctx)(s.preview(ctx, p.AccountID, in.Service, in.Zone, func(zone string, all []record) (plan, error) {
			var one plan
			one.consider(zone, &all, f)
			return one, nil
		}))
	}
	r, err := s.create(ctx, p.AccountID, in.Service, in.Zone, f)
	if err != nil {
		return nil, err
	}
	created := wire(r)
	return &createdWire{recordWire: &created}, nil
}

func (s *Service) importOperation(ctx context.Context, p auth.Principal, in *createIn) (*createdWire, error) {
	if in.Body.Type != "" || in.Body.Value != "" || in.Body.Name != "" {
		return nil, invalid("bind", "bind_alone", nil)
	}
	want := func(zone string, all []record) (plan, error) {
		file, err := readBIND(in.Body.Bind, zone)
		if err != nil {
			return plan{}, err
		}
		return planImport(zone, all, file), nil
	}
	if in.ValidateOnly {
		return previewed(ctx)(s.preview(ctx, p.AccountID, in.Service, in.Zone, want))
	}
	done, added, err := s.importBIND(ctx, p.AccountID, in.Service, in.Zone, want)
	if err != nil {
		return nil, err
	}
	w := planWire(ctx, done)
	w.Added = []wishWire{}
	for _, r := range added {
		w.Added = append(w.Added, wish(&r.id, r.fields))
	}
	return &createdWire{importWire: w}, nil
}

func previewed(ctx context.Context) func(plan, error) (*createdWire, error) {
	return func(p plan, err error) (*createdWire, error) {
		if err != nil {
			return nil, err
		}
		w := planWire(ctx, p)
		w.ValidateOnly = true
		return &createdWire{importWire: w}, nil
	}
}

func (s *Service) updateOperation(ctx context.Context, p auth.Principal, in *updateIn) (*recordWire, error) {
	r, err := s.update(ctx, p.AccountID, in.Service, in.DNSRecord, in.edit)
	if err != nil {
		return nil, err
	}
	w := wire(r)
	return &w, nil
}

// edit writes what the request names into a record.
func (in *updateIn) edit(f *fields) {
	b := in.Body
	if b.Name != nil {
		f.name = *b.Name
	}
	if b.Value != nil {
		f.value = *b.Value
	}
	if b.TTL != nil {
		f.ttl = *b.TTL
	}
	if b.Disabled != nil {
		f.disabled = *b.Disabled
	}
	for _, m := range []struct{ to, from **int }{
		{&f.priority, &b.Priority}, {&f.weight, &b.Weight}, {&f.port, &b.Port}, {&f.flags, &b.Flags},
	} {
		if *m.from != nil {
			*m.to = *m.from
		}
	}
	if b.Tag != nil {
		f.tag = b.Tag
	}
}

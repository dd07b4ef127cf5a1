package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

const schemaPrefix = "#/components/schemas/"

// newRegistry makes schemas of Go types. An answer may get more members in a later version, so its schema accepts unknown
// ones; the schemas of bodies are closed (closeObjects). A type is part of bodies or of answers, never of both.
func newRegistry() huma.Registry {
	return tolerant{huma.NewMapRegistry(schemaPrefix, schemaName), map[string]bool{}}
}

// tolerant makes every object schema accept unknown members.
type tolerant struct {
	huma.Registry
	whole map[string]bool // the names of schemas that are made
}

// MarshalJSON writes the schemas, as huma's own registry does.
func (t tolerant) MarshalJSON() ([]byte, error) { return json.Marshal(t.Map()) }

func (t tolerant) Schema(typ reflect.Type, allowRef bool, hint string) *huma.Schema {
	s := t.Registry.Schema(typ, allowRef, hint)
	for _, name := range slices.Collect(maps.Keys(t.Map())) {
		if !t.whole[name] {
			t.complete(name)
		}
	}
	allowUnknown(s)
	return s
}

// complete corrects the schema that huma has made of a type. It adds the members of embedded unexported types, as
// encoding/json does; huma omits them.
func (t tolerant) complete(name string) {
	t.whole[name] = true
	s, typ := t.Map()[name], t.TypeFromRef(schemaPrefix+name)
	if typ != nil && typ.Kind() == reflect.Struct && s.Type == huma.TypeObject {
		for i := range typ.NumField() {
			f := typ.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() && f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
				merge(s, t.Schema(f.Type, false, ""))
			}
		}
	}
	allowUnknown(s)
	allowNull(s, typ)
	for _, member := range s.Properties {
		namesNull(member)
	}
}

// namesNull adds null to the enum of a nullable member: an enum lists all allowed values.
func namesNull(s *huma.Schema) {
	if s.Nullable && len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
}

// merge adds members of from that into does not have.
func merge(into, from *huma.Schema) {
	changed := false
	for name, member := range from.Properties {
		if _, ok := into.Properties[name]; ok {
			continue
		}
		if into.Properties == nil {
			into.Properties = map[string]*huma.Schema{}
		}
		into.Properties[name], changed = member, true
		if slices.Contains(from.Required, name) {
			into.Required = append(into.Required, name)
		}
	}
	if changed {
		slices.Sort(into.Required)
		into.PrecomputeMessages()
	}
}

// allowNull marks members as nullable that point to objects and are always present, as in answers. huma does so for
// scalars only.
func allowNull(s *huma.Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if f.Type.Kind() != reflect.Pointer || p == nil || p.Ref == "" || strings.Contains(options, "omitempty") {
			continue
		}
		null := &huma.Schema{Type: "null", Enum: []any{nil}} // the validator knows no null type
		s.Properties[name] = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, null}}
	}
}

func allowUnknown(s *huma.Schema) {
	if s == nil {
		return
	}
	if no, ok := s.AdditionalProperties.(bool); ok && !no {
		s.AdditionalProperties = nil
	}
	allowUnknown(s.Items)
	for _, p := range s.Properties {
		allowUnknown(p)
	}
}

// schemaName names a schema after its type: wire types are unexported and
// several sections may have one of the same name, so the package comes first.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	pkg := publicName(t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:], name)
	if name == "" {
		name = hint
	}
	if base, arg, generic := strings.Cut(name, "["); generic {
		// List[stead.dev/stead/internal/commerce/orders.orderWire] is the list of orders.
		arg = strings.TrimSuffix(arg, "]")
		arg = arg[strings.LastIndex(arg, "/")+1:]
		argPkg, argName, _ := strings.Cut(arg, ".")
		return title(publicName(argPkg, argName)) + title(strings.TrimSuffix(argName, "Wire")) + base
	}
	name = title(strings.TrimSuffix(name, "Wire"))
	if pkg == "" || pkg == "money" || pkg == "page" || strings.HasPrefix(name, title(strings.TrimSuffix(pkg, "s"))) {
		return name
	}
	return title(pkg) + name
}

// publicName is the package's name in the name of a type's schema. It stays the same when a package is renamed or a type
// moves, because clients know it.
func publicName(pkg, name string) string {
	switch {
	case pkg == "staffapi":
		return "staff"
	case pkg == "sitedomains":
		return "hosting"
	case pkg == "billing":
		return "services"
	case pkg == "reseller" && (name == "Resold" || name == "Happening"):
		return "services"
	default:
		return pkg
	}
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// OpenAPI is the OpenAPI 3.1 document of what is mounted.
func (e *Edge) OpenAPI() *huma.OpenAPI {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:   "Stead",
			Version: e.Version,
			Description: "Web hosting, domains and monitoring against a prepaid wallet.\n\n" +
				"Errors are objects with `error`, a stable key to branch on, and `message`, a translated text never to branch on. " +
				"Lists are objects with `data` and `meta`. Money is USD in cents; only `usd_cents` is authoritative. " +
				"Date-times are RFC 3339 in UTC. POSTs that move money accept an `Idempotency-Key`, kept for 24 hours. " +
				"`?lang=uz|ru|en` chooses the language of messages.",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: e.BaseURL}},
		Paths:   map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas: e.registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"oauth2": {
					Type: "oauth2",
					Flows: &huma.OAuthFlows{AuthorizationCode: &huma.OAuthFlow{
						AuthorizationURL: e.BaseURL + "/oauth/authorize",
						TokenURL:         e.BaseURL + "/oauth/token",
						RefreshURL:       e.BaseURL + "/oauth/token/refresh",
						Scopes:           scopeTexts,
					}},
				},
				"apiKey":       {Type: "http", Scheme: "bearer", Description: "A reseller's API key, `rsk_…` or `rsk_test_…`."},
				"apiKeyHeader": {Type: "apiKey", In: "header", Name: "X-Api-Key", Description: "The same key in a header of its own."},
			},
			Headers: map[string]*huma.Param{
				"RateLimit":        {Description: "What is left of the throttle's window: `r` requests for `t` seconds.", Schema: &huma.Schema{Type: huma.TypeString}},
				"RateLimit-Policy": {Description: "The throttle: `q` requests in `w` seconds.", Schema: &huma.Schema{Type: huma.TypeString}},
				"X-Request-Id":     {Description: "Names the request in our logs.", Schema: &huma.Schema{Type: huma.TypeString}},
				"ETag":             {Description: "Names this answer, for `If-None-Match`.", Schema: &huma.Schema{Type: huma.TypeString}},
				"Idempotency-Replayed": {
					Description: "`true` when the answer is the stored one of an earlier request with the same `Idempotency-Key`: nothing was done again.",
					Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}},
				},
				"Retry-After": {Description: "Seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger}},
			},
		},
	}
	if e.Title != "" {
		doc.Info.Title, doc.Info.Description = e.Title, e.Description
	}
	e.registry.Map()["Error"] = errorSchema()
	used := map[string]bool{}
	for _, d := range e.ops {
		item := doc.Paths[d.Path]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[d.Path] = item
		}
		used[d.tag()] = true
		e.describe(item, d)
	}
	for _, p := range e.pages {
		used[p.Section.Title()] = true
		p.Get.Tags = []string{p.Section.Title()}
		doc.Paths[p.Path] = &huma.PathItem{Get: p.Get}
	}
	if doc.Webhooks = e.webhooks(); len(doc.Webhooks) > 0 {
		used[eventsTag] = true
	}
	doc.Tags = tagsOf(used)
	if !slices.ContainsFunc(e.ops, func(d *declared) bool { return d.Auth == Key }) {
		delete(doc.Components.SecuritySchemes, "apiKey")
		delete(doc.Components.SecuritySchemes, "apiKeyHeader")
	}
	return doc
}

var scopeTexts = map[string]string{
	auth.ScopeProfile:       "read the profile",
	auth.ScopeServicesRead:  "view services",
	auth.ScopeServicesWrite: "manage services (domains, databases, FTP)",
	auth.ScopeOrdersRead:    "view orders",
	auth.ScopeOrdersWrite:   "create, pay, cancel orders",
	auth.ScopeWalletRead:    "view wallet balance and transactions",
	auth.ScopeWalletWrite:   "top up the wallet",
	auth.ScopeAIRead:        "view AI settings, conversations, insights",
	auth.ScopeAIWrite:       "run the AI agent, change its settings, files and insights",
	auth.ScopeDomainsRead:   "view domain registrations",
	auth.ScopeDomainsWrite:  "register domains (charges the wallet)",
	auth.ScopeMonitorsRead:  "view monitors and history",
	auth.ScopeMonitorsWrite: "create and manage monitors",
	auth.ScopeAdmin:         "administrative access; requires the admin role; never granted to third parties",
}

func errorSchema() *huma.Schema {
	s := &huma.Schema{
		Type:        huma.TypeObject,
		Description: "Every refusal. Some keys add members, such as the balance of insufficient_funds.",
		Required:    []string{"error", "message"},
		Properties: map[string]*huma.Schema{
			"error":      {Type: huma.TypeString, Description: "Stable machine key; branch on this."},
			"message":    {Type: huma.TypeString, Description: "Translated text for people; never branch on it."},
			"request_id": {Type: huma.TypeString, Description: "The X-Request-Id of the answer."},
			"errors": {
				Type: huma.TypeObject, Description: "With validation_failed: what is wrong with each member.",
				AdditionalProperties: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
			},
		},
	}
	for _, d := range fault.Defs() {
		s.Properties["error"].Examples = append(s.Properties["error"].Examples, d.Key)
	}
	return s
}

func (e *Edge) describe(item *huma.PathItem, d *declared) {
	op := &huma.Operation{
		OperationID: d.ID, Summary: d.summary, Description: d.description,
		Tags: []string{d.tag()}, Responses: map[string]*huma.Response{},
	}
	if len(d.Staff) > 0 {
		op.Extensions = map[string]any{"x-staff-roles": d.Staff}
	}
	for _, p := range d.input.params {
		if d.Money && p.name == idempotencyKey {
			continue // described once, for all operations
		}
		param := &huma.Param{Name: p.name, In: p.in, Required: p.required, Description: p.doc, Schema: p.schema}
		if p.in == "query" && p.schema.Type == huma.TypeArray {
			param.Explode = new(bool) // false: a list is one value with commas
		}
		op.Parameters = append(op.Parameters, param)
	}
	if d.Money {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: idempotencyKey, In: "header", Schema: keySchema(),
			Description: "Names what you intend, such as paying one order: 1 to 255 printable ASCII characters. A retry with the same key " +
				"within 24 hours of its success is not charged again and gets the first answer, with `Idempotency-Replayed`. A refusal is not " +
				"kept: the same key can be tried again, also with a corrected body.",
			Example: "9f0c7c7e-1f5e-4d5e-9c1b-1f2b8f8a6d51",
		})
	}
	if d.input.body != nil {
		op.RequestBody = &huma.RequestBody{Required: e.bodyNeeded(d.input.body), Content: map[string]*huma.MediaType{"application/json": {Schema: d.input.body}}}
	} else if len(d.accepts) > 0 {
		op.RequestBody = &huma.RequestBody{Required: true, Content: binary(d.accepts)}
	}
	op.Responses[strconv.Itoa(d.Status)] = e.success(d, d.Status)
	if d.revalidated() {
		op.Responses[strconv.Itoa(d.Status)].Headers["ETag"] = &huma.Param{Ref: "#/components/headers/ETag"}
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
			Description: "Nothing has changed since the answer whose `ETag` was sent as `If-None-Match`.",
		}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "The `ETag` of an earlier answer: 304 without a body when it still holds.",
		})
	}
	if d.out.Implements(reflect.TypeFor[statusChooser]()) {
		op.Responses[strconv.Itoa(http.StatusOK)] = e.success(d, http.StatusOK)
	}
	e.refusals(op, d)
	switch d.Auth {
	case Token:
		for _, s := range d.Scopes {
			op.Security = append(op.Security, map[string][]string{"oauth2": {s}})
		}
	case AnyToken:
		op.Security = []map[string][]string{{"oauth2": {}}}
	case Key:
		op.Security = []map[string][]string{{"apiKey": {}}, {"apiKeyHeader": {}}}
	case Open, Own:
		op.Security = []map[string][]string{}
	}
	if d.document != nil {
		d.document(op)
	}
	if op.RequestBody != nil && d.Example != "" {
		if media := op.RequestBody.Content["application/json"]; media != nil {
			media.Example = json.RawMessage(d.Example)
		}
	}
	switch d.Method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodPatch:
		item.Patch = op
	case http.MethodDelete:
		item.Delete = op
	}
}

// keySchema is the form of an Idempotency-Key (idempotency.ParseKey).
func keySchema() *huma.Schema {
	least, most := 1, 255
	return &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: `^[ -~]+$`}
}

// bodyNeeded reports whether a body has required members: an absent body is an empty object.
func (e *Edge) bodyNeeded(s *huma.Schema) bool {
	if s.Ref != "" {
		s = e.registry.SchemaFromRef(s.Ref)
	}
	return len(s.Required) > 0
}

func binary(types []string) map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	for _, t := range types {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return content
}

func (e *Edge) success(d *declared, status int) *huma.Response {
	r := &huma.Response{Description: http.StatusText(status), Headers: map[string]*huma.Param{}}
	for _, h := range []string{"RateLimit", "RateLimit-Policy", "X-Request-Id"} {
		r.Headers[h] = &huma.Param{Ref: "#/components/headers/" + h}
	}
	if d.Money {
		r.Headers["Idempotency-Replayed"] = &huma.Param{Ref: "#/components/headers/Idempotency-Replayed"}
	}
	switch {
	case d.Stream && len(d.contentTypes) > 0:
		r.Content = binary(d.contentTypes)
		if media := r.Content["application/json"]; media != nil && d.out != reflect.TypeFor[Empty]() {
			media.Schema = e.registry.Schema(d.out, true, d.ID) // a stream that may also answer JSON
			media.Example = e.sample(media.Schema)
		}
	case d.out == reflect.TypeFor[Empty]():
		if !d.Stream {
			r.Content = map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}, Example: map[string]any{}}}
		}
	default:
		s := e.registry.Schema(d.out, true, d.ID)
		r.Content = map[string]*huma.MediaType{"application/json": {Schema: s, Example: e.sample(s)}}
	}
	return r
}

// refusals documents the error statuses with their keys.
func (e *Edge) refusals(op *huma.Operation, d *declared) {
	defs := []*fault.Def{fault.SectionDisabled, fault.RateLimited, fault.Unavailable, fault.InvalidRequest} // the last: a query that cannot be read
	if d.Auth == Token || d.Auth == AnyToken {
		defs = append(defs, fault.Unauthenticated, fault.TokenExpired, fault.TokenRevoked, fault.AccountSuspended)
		if d.Write {
			defs = append(defs, fault.SandboxReadOnly)
		}
	}
	if d.Auth == Key {
		defs = append(defs, fault.Unauthenticated, fault.APIKeyInvalid, fault.APIKeyRevoked, fault.AddressNotAllowed, fault.AccountSuspended)
		if d.Write {
			defs = append(defs, fault.ReadOnlyKey)
		}
	}
	if len(d.Scopes) > 0 {
		defs = append(defs, fault.InsufficientScope)
	}
	if d.FirstParty {
		defs = append(defs, fault.Forbidden)
	}
	if d.Recent {
		defs = append(defs, fault.ReauthenticationRequired)
	}
	if len(d.Staff) > 0 {
		defs = append(defs, fault.AdminRequired, fault.RoleRequired, fault.SecondFactorRequired)
	}
	if strings.Contains(d.Path, "{") {
		defs = append(defs, fault.NotFound)
	}
	if len(d.input.params) > 0 || d.input.body != nil || d.strict() {
		defs = append(defs, fault.Validation)
	}
	if d.refuseBody() {
		defs = append(defs, fault.PayloadTooLarge)
	}
	if d.input.body != nil {
		defs = append(defs, fault.MalformedJSON, fault.UnsupportedMediaType, fault.PayloadTooLarge)
	}
	if d.Money {
		defs = append(defs, fault.IdempotencyInProgress, fault.IdempotencyKeyReused, fault.IdempotencyKeyBad)
	}
	defs = append(defs, d.errors...)
	keys := map[int][]string{}
	for _, def := range defs {
		status := def.Kind.Status()
		if !slices.Contains(keys[status], def.Key) {
			keys[status] = append(keys[status], def.Key)
		}
	}
	for status, names := range keys {
		slices.Sort(names)
		r := &huma.Response{
			Description: fmt.Sprintf("%s: `%s`", http.StatusText(status), strings.Join(names, "`, `")),
			Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: schemaPrefix + "Error"}}},
		}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			r.Headers = map[string]*huma.Param{"Retry-After": {Ref: "#/components/headers/Retry-After"}}
		}
		op.Responses[strconv.Itoa(status)] = r
	}
}

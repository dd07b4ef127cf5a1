package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Section is a section of the specification; an operator can switch it off.
type Section string

// The sections, in the specification's order.
const (
	OAuth             Section = "oauth"
	Content           Section = "content"
	Catalog           Section = "catalog"
	Account           Section = "account"
	Services          Section = "services"
	ServiceManagement Section = "service_management"
	Files             Section = "files"
	Addons            Section = "addons"
	Domains           Section = "domains"
	Monitors          Section = "monitors"
	Security          Section = "security"
	Orders            Section = "orders"
	Wallet            Section = "wallet"
	AI                Section = "ai"
	MCP               Section = "mcp"
	Embeds            Section = "embeds"
	Reseller          Section = "reseller"
	// Staff is no section of the specification: the interface of the company's own people, which is always on.
	Staff Section = "staff"
)

// titles are the specification's names of the sections.
var titles = map[Section]string{
	OAuth: "OAuth 2.0", Content: "Content", Catalog: "Catalog", Account: "Account", Services: "Services",
	ServiceManagement: "Service management", Files: "Files", Addons: "Add-ons", Domains: "Domains",
	Monitors: "Monitors", Security: "Security & SLA", Orders: "Orders", Wallet: "Wallet", AI: "AI agent",
	MCP: "MCP", Embeds: "Embeds", Reseller: "Reseller", Staff: "Staff",
}

// Sections lists all sections in the specification's order.
func Sections() []Section {
	return []Section{
		OAuth, Content, Catalog, Account, Services, ServiceManagement, Files, Addons, Domains, Monitors, Security, Orders,
		Wallet, AI, MCP, Embeds, Reseller,
	}
}

// Title is the specification's name of the section.
func (s Section) Title() string { return titles[s] }

// Known tells whether the specification has the section, or it is Staff.
func (s Section) Known() bool { return titles[s] != "" }

// Switchable tells whether operators can switch the section off.
func (s Section) Switchable() bool { return s.Known() && s != Staff }

// Auth says who may call an operation.
type Auth int

// Open operations need no token; Token operations need one with a scope, and AnyToken operations any valid token. Own
// operations authenticate their caller themselves, as the OAuth endpoints do with clients. Resellers call Key
// operations with an API key.
const (
	Open Auth = iota + 1
	Token
	AnyToken
	Own
	Key
)

// DomainCheck is the throttle of domain checks (specification, "Limits").
const DomainCheck = "domain_check"

// Empty is the answer of operations without a result: an object without members (specification, "Endpoints": JSON, and
// 200 or 201).
type Empty struct{}

// Operation is one operation of the interface: its declaration and exactly one
// of Handle, Commit and Stream.
type Operation[In, Out any] struct {
	// ID names the operation, as "orders.pay"; it is the operationId of the
	// OpenAPI document.
	ID      string
	Method  string
	Path    string
	Section Section
	Auth    Auth
	// Scopes lists the scopes of which a token needs any one.
	Scopes []string
	// Staff lists the roles that may call the operation, which then has the scope admin; none for operations of customers.
	Staff []auth.Role
	// OwnerOnly operations show or change secrets of the account, or let a domain leave: staff who are signed in as its owner are refused.
	OwnerOnly bool
	// MovesMoney operations take the account's money, or let something take it later: staff who are signed in as its owner are
	// refused. Every Commit is one.
	MovesMoney bool
	// External operations change something beyond the database, such as files of a service, and begin no transaction in which a
	// change by staff who are signed in as the owner would be recorded: the edge commits that record before the function runs.
	External bool
	// FirstParty operations are for Stead's own applications only.
	FirstParty bool
	// Session operations are for a browser in which the account's owner is signed in. No token may call them, also none of
	// Stead's own applications.
	Session bool
	// Recent operations are Session operations for which the owner must have proved who they are a short time ago. Those of
	// staff are for tokens, too, which Stead's own applications alone get, and not to be left open in a browser.
	Recent bool
	// Visitors are admitted to a Session operation, too: a reseller's client has no account to sign in to, and the visit,
	// which a link that works once has opened, stands for the session and the proof.
	Visitors bool
	// Throttle names another policy than the surface's own.
	Throttle string
	// ThrottleKey distinguishes the callers behind one address, where Auth is Own.
	ThrottleKey func(r *http.Request) string
	// Summary is one line; Description may say more. Both are in English, for
	// the OpenAPI document.
	Summary     string
	Description string
	// Example is a body that the operation takes, as JSON, for the document; bodies of JSON need one.
	Example string
	// Resource marks an operation that is a protected resource of its own: a refusal names its document and the scopes
	// that read (RFC 9728, section 5.1).
	Resource bool
	// Survives marks an open operation that answers without the database: when callers cannot be verified or counted, they
	// are served as nobody, uncounted.
	Survives bool
	// Reads marks a POST that changes nothing: read-only keys may call it.
	Reads bool
	// Status of success; 0 means 200.
	Status int
	// MaxBody bounds the body in bytes; 0 means the edge's bound. Streams are
	// bounded by what they read.
	MaxBody int64
	// Timeout bounds an operation whose work grows with its input; 0 means the edge's bound. Streams have none. A
	// client that disconnects ends it earlier.
	Timeout time.Duration
	// AllowNUL lets strings of the body hold NUL characters, which the
	// database cannot store.
	AllowNUL bool
	// Errors are the refusals beyond those of the phases, for the document.
	Errors []*fault.Def
	// ContentTypes of a Stream's answer, and Accepts of its body, for the
	// document.
	ContentTypes []string
	Accepts      []string
	// Document completes a Stream's description in the document.
	Document func(op *huma.Operation)

	Handle func(ctx context.Context, p auth.Principal, in *In) (*Out, error)
	Commit func(ctx context.Context, tx *db.Tx, p auth.Principal, in *In) (*Out, error)
	Stream func(ctx context.Context, p auth.Principal, in *In, w http.ResponseWriter, r *http.Request) error
}

// Route is a declared operation of any type, ready to be mounted.
type Route interface {
	declare() (*declared, error)
	forStaff() bool
}

// Split separates the operations of staff from the public ones: they are mounted on an edge of their own, which has a
// document of its own.
func Split(routes []Route) (public, staff []Route) {
	for _, r := range routes {
		if r.forStaff() {
			staff = append(staff, r)
		} else {
			public = append(public, r)
		}
	}
	return public, staff
}

func (o Operation[In, Out]) forStaff() bool { return len(o.Staff) > 0 }

// Info describes a mounted operation without its types.
type Info struct {
	ID, Method, Path string
	Section          Section
	Auth             Auth
	Scopes           []string
	Staff            []auth.Role
	OwnerOnly        bool
	MovesMoney       bool
	External         bool
	FirstParty       bool
	Session, Recent  bool
	// Money operations accept an Idempotency-Key.
	Money  bool
	Stream bool
	// Write operations change something; sandbox applications are refused.
	Write  bool
	Status int
	// Example is a body that the operation takes.
	Example string
}

type declared struct {
	Info
	throttle             string
	resource, survives   bool
	visitors             bool
	summary, description string
	maxBody              int64
	timeout              time.Duration
	allowNUL             bool
	errors               []*fault.Def
	contentTypes         []string
	accepts              []string
	throttleKey          func(r *http.Request) string
	document             func(op *huma.Operation)
	in, out              reflect.Type

	handle func(ctx context.Context, p auth.Principal, in any) (any, error)
	commit func(ctx context.Context, tx *db.Tx, p auth.Principal, in any) (any, error)
	stream func(ctx context.Context, p auth.Principal, in any, w http.ResponseWriter, r *http.Request) error

	input *input
}

// declare checks the declaration; a mistake in one stops the program at start.
func (o Operation[In, Out]) declare() (*declared, error) {
	o.Session = o.Session || o.Recent && len(o.Staff) == 0
	o.FirstParty, o.OwnerOnly = o.FirstParty || o.Session, o.OwnerOnly || o.Session
	d := &declared{
		Info: Info{
			ID: o.ID, Method: o.Method, Path: o.Path, Section: o.Section, Auth: o.Auth, Scopes: o.Scopes, Staff: o.Staff, OwnerOnly: o.OwnerOnly,
			MovesMoney: o.MovesMoney || o.Commit != nil, External: o.External, FirstParty: o.FirstParty, Session: o.Session, Recent: o.Recent,
			Money: o.Commit != nil, Stream: o.Stream != nil,
			Write: o.Method != http.MethodGet && !o.Reads, Status: o.Status, Example: o.Example,
		},
		throttle: o.Throttle, resource: o.Resource, survives: o.Survives, visitors: o.Visitors, summary: o.Summary, description: o.Description, maxBody: o.MaxBody,
		timeout: o.Timeout, allowNUL: o.AllowNUL, errors: o.Errors, contentTypes: o.ContentTypes, accepts: o.Accepts,
		throttleKey: o.ThrottleKey, document: o.Document,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
	}
	if d.Status == 0 {
		d.Status = http.StatusOK
	}
	forms := 0
	if o.Handle != nil {
		forms++
		d.handle = func(ctx context.Context, p auth.Principal, in any) (any, error) {
			return answer(o.Handle(ctx, p, in.(*In)))
		}
	}
	if o.Commit != nil {
		forms++
		d.commit = func(ctx context.Context, tx *db.Tx, p auth.Principal, in any) (any, error) {
			return answer(o.Commit(ctx, tx, p, in.(*In)))
		}
	}
	if o.Stream != nil {
		forms++
		d.stream = func(ctx context.Context, p auth.Principal, in any, w http.ResponseWriter, r *http.Request) error {
			return o.Stream(ctx, p, in.(*In), w, r)
		}
	}
	var errs []error
	wrong := func(bad bool, text string) {
		if bad {
			errs = append(errs, fmt.Errorf("operation %q (%s %s): %s", o.ID, o.Method, o.Path, text))
		}
	}
	wrong(forms != 1, "exactly one of Handle, Commit and Stream is needed")
	wrong(!strings.Contains(o.ID, "."), "the id is section.verb")
	wrong(o.Summary == "", "a summary is needed")
	wrong(o.Example != "" && !json.Valid([]byte(o.Example)), "the example is not JSON")
	wrong(!o.Section.Known(), "the section is not the specification's")
	wrong(!strings.HasPrefix(o.Path, "/"), "the path begins with a slash")
	wrong(o.Auth < Open || o.Auth > Key, "auth is needed")
	wrong(o.Auth == Token && len(o.Scopes) == 0, "a protected operation needs a scope")
	wrong(o.Auth != Token && len(o.Scopes) > 0, "scopes need Auth: Token")
	wrong((o.Auth == Own) != (o.ThrottleKey != nil), "who authenticates its callers, and only that, tells them apart")
	wrong(o.Session && o.Auth != Token, "a browser is signed in to an account")
	wrong(o.Visitors && !o.Session, "visitors need to be admitted to what needs a session alone")
	wrong(o.Auth == Own && o.Stream == nil, "an operation that authenticates its callers is a stream")
	wrong(o.Auth == Open && d.Write, "an open operation cannot write")
	wrong(o.Auth != Open && o.Survives, "only open operations survive the database")
	wrong(o.Timeout < 0 || o.Timeout > 0 && o.Handle == nil, "only a Handle may have a time of its own")
	wrong(o.Reads && (o.Method != http.MethodPost || o.Commit != nil), "only a POST that moves no money may say that it reads")
	wrong(o.Commit != nil && o.Method != http.MethodPost, "money moves by POST")
	wrong((len(o.Staff) > 0) != slices.Contains(o.Scopes, auth.ScopeAdmin), "operations of staff, and only these, have the scope admin")
	wrong((len(o.Staff) > 0) != (o.Section == Staff), "operations of staff, and only these, are in the section staff")
	for _, r := range o.Staff {
		wrong(!r.Known(), "unknown role "+string(r))
	}
	for _, s := range o.Scopes {
		known := false
		for _, k := range auth.Scopes {
			known = known || s == k
		}
		wrong(!known, "unknown scope "+s)
	}
	return d, errors.Join(errs...)
}

// answer returns a nil any for a nil *Out, which would otherwise become a non-nil any.
func answer[Out any](out *Out, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if out == nil {
		return Empty{}, nil
	}
	return out, nil
}

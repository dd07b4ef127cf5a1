package auth

import (
	"context"
	"slices"
)

// Role is what a member of staff may do. Accounts of customers have none.
type Role string

// The roles of staff.
const (
	// Owner may do everything, also appoint staff and read the audit log.
	Owner Role = "owner"
	// Billing handles money: orders, refunds, credits, invoices, prices and coupons.
	Billing Role = "billing"
	// Support handles customers: accounts, tickets, content, and signing in as a customer.
	Support Role = "support"
	// Technician handles machines: services, nodes, jobs, webhooks and sections.
	Technician Role = "technician"
	// ReadOnly sees what the others see and changes nothing.
	ReadOnly Role = "read_only"
)

// Roles lists the roles of staff, the widest first.
func Roles() []Role { return []Role{Owner, Billing, Support, Technician, ReadOnly} }

// Known reports whether r is a role of staff.
func (r Role) Known() bool { return slices.Contains(Roles(), r) }

// Via is the surface through which staff make a change.
type Via string

// The surfaces.
const (
	ViaPanel   Via = "panel"
	ViaAPI     Via = "api"
	ViaCommand Via = "command"
	// ViaProgram is a change that no person has asked for, such as the data of a demonstration.
	ViaProgram Via = "program"
)

// Actor is who makes a change, for the audit log. The zero value is the program itself.
type Actor struct {
	// AccountID is the account of the member of staff; 0 for a command, whose operator is Name.
	AccountID int64
	Role      Role
	Name      string
	Via       Via
	Address   string
	RequestID string
}

type actorKey struct{}

// WithActor puts who makes the changes under ctx into it.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf is who makes the changes under ctx.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Name: "stead", Via: ViaProgram}
}

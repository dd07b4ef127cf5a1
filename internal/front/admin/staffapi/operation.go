package staffapi

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
)

// The roles by what they do.
var (
	everyone = auth.Roles()
	owners   = []auth.Role{auth.Owner}
	money    = []auth.Role{auth.Owner, auth.Billing}
	care     = []auth.Role{auth.Owner, auth.Support}
	machines = []auth.Role{auth.Owner, auth.Technician}
)

// Config is what the operations work with.
type Config struct{ Admin *admin.Admin }

// Service makes the operations.
type Service struct{ Config }

// New makes the service.
func New(c Config) *Service { return &Service{c} }

// read is an operation that reads.
func read[In, Out any](id, path, summary string, roles []auth.Role, f func(ctx context.Context, in *In) (*Out, error)) api.Operation[In, Out] {
	op := api.ForStaff[In, Out](id, path, summary, roles)
	op.Description = descriptions[id]
	op.Handle = func(ctx context.Context, _ auth.Principal, in *In) (*Out, error) { return f(ctx, in) }
	return op
}

// change is an operation that changes something.
func change[In, Out any](
	id, method, path, summary string, roles []auth.Role, f func(ctx context.Context, in *In) (*Out, error),
) api.Operation[In, Out] {
	op := read(id, path, summary, roles, f)
	op.Method, op.Example = method, examples[id]
	return op
}

// pay is a dangerous operation: it moves money, in one transaction with its answer.
func pay[In, Out any](
	id, path, summary string, roles []auth.Role, f func(ctx context.Context, tx *db.Tx, in *In) (*Out, error),
) api.Operation[In, Out] {
	op := api.ForStaff[In, Out](id, path, summary, roles)
	op.Description = descriptions[id]
	op.Method, op.Example = http.MethodPost, examples[id]
	op.Commit = func(ctx context.Context, tx *db.Tx, _ auth.Principal, in *In) (*Out, error) { return f(ctx, tx, in) }
	return dangerous(op)
}

// dangerous is an operation for which the caller must have proved who they are a short time ago, in a session of the panel.
func dangerous[In, Out any](op api.Operation[In, Out]) api.Operation[In, Out] {
	op.Recent = true
	return op
}

// pointer returns the address of a value, for answers.
func pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// list is the answer of lists that have no pages.
type list[T any] struct {
	Data []T `json:"data"`
}

func listed[T any](all []T, err error) (*list[T], error) {
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = []T{}
	}
	return &list[T]{all}, nil
}

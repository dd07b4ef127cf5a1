package site

import (
	"context"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ServiceIn is the input of an operation about a service: its id in the path.
type ServiceIn struct {
	Service int64 `path:"service" minimum:"1"`
}

// ListIn is the input of an operation that lists what a service consists of.
type ListIn struct {
	ServiceIn
	page.Params
}

// Changing are the refusals of an operation that changes what a service consists of, and more.
func Changing(more ...*fault.Def) []*fault.Def {
	return append(more, fault.NotFound, fault.ServiceSuspended, fault.ServiceNotActive, fault.UnsupportedOperation)
}

// Listed makes the function of an operation that lists what a service consists of.
func Listed[R, W any](list func(ctx context.Context, accountID, serviceID int64, p page.Params) ([]R, int, error), wire func(R) W) func(
	ctx context.Context, p auth.Principal, in *ListIn) (*page.List[W], error) {
	return func(ctx context.Context, p auth.Principal, in *ListIn) (*page.List[W], error) {
		rows, total, err := list(ctx, p.AccountID, in.Service, in.Params)
		if err != nil {
			return nil, err
		}
		return page.Map(in.Params, total, rows, wire), nil
	}
}

// Answered is what an operation answers of a row; nil with an error.
func Answered[R, W any](wire func(R) W, r R, err error) (*W, error) {
	if err != nil {
		return nil, err
	}
	w := wire(r)
	return &w, nil
}

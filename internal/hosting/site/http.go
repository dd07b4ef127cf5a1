package site

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ServiceIn is the input of an operation about a service: its id in the path.
type ServiceIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

// ListIn is the input of an operation that lists what a service consists of.
type ListIn struct {
	ServiceIn
	page.Params
}

// ServiceID is the service that the operation is about.
func (in ServiceIn) ServiceID() int64 { return in.Service }

// Read completes an operation that reads what a service consists of. Errors are fault.NotFound unless it names others.
func Read[I, O any](o api.Operation[I, O]) api.Operation[I, O] {
	o.Method, o.Section, o.Auth, o.Scopes = http.MethodGet, api.ServiceManagement, api.Token, []string{auth.ScopeServicesRead}
	if o.Errors == nil {
		o.Errors = []*fault.Def{fault.NotFound}
	}
	return o
}

// Write completes an operation that changes what a service consists of. To its errors come those of all such operations.
func Write[I, O any](method string, o api.Operation[I, O]) api.Operation[I, O] {
	o.Method, o.Section, o.Auth, o.Scopes = method, api.ServiceManagement, api.Token, []string{auth.ScopeServicesWrite}
	o.Errors = append(o.Errors, fault.NotFound, fault.ServiceSuspended, fault.ServiceNotActive, fault.UnsupportedOperation)
	return o
}

// Create is Write of an operation that adds something.
func Create[I, O any](o api.Operation[I, O]) api.Operation[I, O] {
	o.Status = http.StatusCreated
	return Write(http.MethodPost, o)
}

// Update is Write of an operation that changes something.
func Update[I, O any](o api.Operation[I, O]) api.Operation[I, O] { return Write(http.MethodPatch, o) }

// Delete is Write of an operation that removes the thing whose id is in the input.
func Delete[I interface{ ServiceID() int64 }](o api.Operation[I, api.Empty], id func(in *I) int64,
	remove func(ctx context.Context, accountID, serviceID, id int64) error,
) api.Operation[I, api.Empty] {
	o.Handle = func(ctx context.Context, p auth.Principal, in *I) (*api.Empty, error) {
		return nil, remove(ctx, p.AccountID, (*in).ServiceID(), id(in))
	}
	return Write(http.MethodDelete, o)
}

// HandleList makes the function of an operation that lists what a service consists of.
func HandleList[R, W any](list func(ctx context.Context, accountID, serviceID int64, p page.Params) ([]R, int, error), wire func(R) W) func(
	ctx context.Context, p auth.Principal, in *ListIn) (*page.List[W], error) {
	return func(ctx context.Context, p auth.Principal, in *ListIn) (*page.List[W], error) {
		rows, total, err := list(ctx, p.AccountID, in.Service, in.Params)
		if err != nil {
			return nil, err
		}
		return page.Map(in.Params, total, rows, wire), nil
	}
}

// Reply is what an operation answers about a row; nil with an error.
func Reply[R, W any](wire func(R) W, r R, err error) (*W, error) {
	if err != nil {
		return nil, err
	}
	w := wire(r)
	return &w, nil
}

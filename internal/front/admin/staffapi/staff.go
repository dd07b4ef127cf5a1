package staffapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

type meWire struct {
	ID         int64    `json:"id"`
	Email      string   `json:"email"`
	Name       string   `json:"name"`
	Role       string   `json:"role" enum:"owner,billing,support,technician,read_only"`
	Operations []string `json:"operations" doc:"The operations that the role may call; a page hides what it may not."`
}

type accountIn struct {
	Account int64 `path:"account" minimum:"1" doc:"Id of the customer's account."`
}

func (in accountIn) who() string { return strconv.FormatInt(in.Account, 10) }

type roleIn struct {
	accountIn
	Body struct {
		Role string `json:"role" enum:"owner,billing,support,technician,read_only"`
	}
}

// staff are the operations about the staff itself.
func (s *Service) staff() []api.Route {
	return []api.Route{
		read("staff.list", "/staff", "The accounts of staff, with their roles", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.User], error) {
			return listed(s.Admin.Staff(ctx))
		}),
		dangerous(change("staff.set_role", http.MethodPut, "/staff/{account}", "Make an account one of staff, or change its role", owners,
			func(ctx context.Context, in *roleIn) (*admin.User, error) {
				return pointer(s.Admin.SetRole(ctx, in.who(), auth.Role(in.Body.Role)))
			})),
		dangerous(change("staff.remove", http.MethodDelete, "/staff/{account}", "Make an account of staff a customer's again", owners,
			func(ctx context.Context, in *accountIn) (*admin.User, error) {
				return pointer(s.Admin.SetRole(ctx, in.who(), ""))
			})),
	}
}

// me is what the pages ask first: who is signed in, and what may be done.
func (s *Service) me(operations func(auth.Role) []string) api.Route {
	op := read[struct{}, meWire]("me", "/me", "Who is signed in, and what the role may do", everyone, nil)
	op.Handle = func(ctx context.Context, p auth.Principal, _ *struct{}) (*meWire, error) {
		u, err := s.Admin.User(ctx, strconv.FormatInt(p.AccountID, 10))
		if err != nil {
			return nil, err
		}
		return &meWire{ID: u.ID, Email: u.Email, Name: u.Name, Role: string(p.Role), Operations: operations(p.Role)}, nil
	}
	return op
}

// Operations are all operations of staff that are served here. allowed lists the ids of the operations that a role may
// call, of all sections.
func (s *Service) Operations(allowed func(auth.Role) []string) []api.Route {
	return slices.Concat([]api.Route{s.me(allowed)}, s.staff(), s.customers(), s.sales(), s.running(), s.content(), s.templates())
}

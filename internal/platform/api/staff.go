package api

import (
	"net/http"

	"stead.dev/stead/internal/platform/auth"
)

// StaffPrefix is the path of all operations of staff.
const StaffPrefix = "/api/v1/admin"

// ForStaff begins the declaration of an operation of staff: a GET below StaffPrefix, with the scope that all of them need.
func ForStaff[In, Out any](id, path, summary string, roles []auth.Role) Operation[In, Out] {
	return Operation[In, Out]{
		ID: "staff." + id, Method: http.MethodGet, Path: StaffPrefix + path, Section: Staff, Auth: Token, Scopes: []string{auth.ScopeAdmin},
		Staff: roles, Summary: summary,
	}
}

package account

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// TestSessionsOfStaffAsCustomersEndWithTheirOwn: who has taken a member of staff's session over may be in a customer's account too.
func TestSessionsOfStaffAsCustomersEndWithTheirOwn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, w *world, s Session) error{
		"the password changes": func(t *testing.T, w *world, s Session) error {
			return w.ChangePassword(t.Context(), s, goodPassword, "another horse battery", home)
		},
		"the other sessions end": func(t *testing.T, w *world, s Session) error { return w.EndOtherSessions(t.Context(), s) },
		"it signs out": func(t *testing.T, w *world, s Session) error {
			other, err := w.SignIn(t.Context(), s.Account.Email, goodPassword, home)
			if err != nil {
				t.Fatal(err)
			}
			return w.SignOut(t.Context(), other.Token)
		},
		"one session ends": func(t *testing.T, w *world, s Session) error {
			other, err := w.SignIn(t.Context(), s.Account.Email, goodPassword, home)
			if err != nil {
				t.Fatal(err)
			}
			return w.EndSession(t.Context(), s.Account.ID, other.Session.ID)
		},
		"the role only reads": func(t *testing.T, w *world, s Session) error {
			return w.SetRole(t.Context(), s.Account.ID, auth.ReadOnly)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				staff := w.anna(t)
				member := staff.Session.Account.ID
				support := auth.Actor{AccountID: member, Role: auth.Support}
				if err := w.SetRole(t.Context(), member, support.Role); err != nil {
					t.Fatal(err)
				}
				customer, err := w.Create(t.Context(), NewAccount{Email: "bob@stead.test", Name: "Bob", Password: goodPassword, Verified: true})
				if err != nil {
					t.Fatal(err)
				}
				own, err := w.SignIn(t.Context(), "bob@stead.test", goodPassword, home)
				if err != nil {
					t.Fatal(err)
				}
				ticket, _, err := w.ActAs(t.Context(), support, customer.ID)
				if err != nil {
					t.Fatal(err)
				}
				acting, err := w.Enter(t.Context(), member, ticket, home)
				if err != nil {
					t.Fatal(err)
				}
				unused, _, err := w.ActAs(t.Context(), support, customer.ID)
				if err != nil {
					t.Fatal(err)
				}
				if !w.alive(t, acting.Token) {
					t.Fatal("nobody acts")
				}
				if err := end(t, w, staff.Session); err != nil {
					t.Fatal(err)
				}
				if w.alive(t, acting.Token) {
					t.Error("the member of staff acts on")
				}
				if _, err := w.Enter(t.Context(), member, unused, home); !errors.Is(err, ErrLink) {
					t.Errorf("a ticket of before is good: %v", err)
				}
				if !w.alive(t, staff.Token) || !w.alive(t, own.Token) {
					t.Error("the session that remains, or the customer's, has ended")
				}
			})
		})
	}
}

// TestARoleThatIsTakenOpensNoSession: the request was let in by the role that it had.
func TestARoleThatIsTakenOpensNoSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		staff := w.anna(t).Session
		customer, err := w.Create(t.Context(), NewAccount{Email: "bob@stead.test", Name: "Bob", Password: goodPassword, Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []auth.Role{auth.ReadOnly, ""} {
			if err := w.SetRole(t.Context(), staff.Account.ID, role); err != nil {
				t.Fatal(err)
			}
			_, _, err := w.ActAs(t.Context(), auth.Actor{AccountID: staff.Account.ID, Role: auth.Support}, customer.ID)
			if !errors.Is(err, fault.Forbidden) {
				t.Errorf("as %q: %v", role, err)
			}
		}
	})
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
)

// staffWorld is a world with one member of staff in each role.
type staffWorld struct {
	*world
	members map[auth.Role]customer
	values  map[string]string // of the parameters of paths
}

func newStaffWorld(t *testing.T, a *App) *staffWorld {
	t.Helper()
	w := &staffWorld{world: newWorld(t, a), members: map[auth.Role]customer{}}
	for _, role := range auth.Roles() {
		id := a.account(t)
		if err := a.accounts.SetRole(t.Context(), id, role); err != nil {
			t.Fatal(err)
		}
		w.members[role] = customer{id: id, token: w.staffToken(id, auth.Scopes...)}
	}
	w.prepare()
	return w
}

// staffToken is a token of the panel, the one application that gets the scope admin.
func (w *staffWorld) staffToken(id int64, scopes ...string) string {
	return w.token(w.t, id, client{id: oauth.PanelClientID, redirect: w.cfg.BaseURL + "/panel/callback"}, scopes...)
}

// prepare makes one of everything that paths name.
func (w *staffWorld) prepare() {
	w.values = map[string]string{
		"account": fmt.Sprint(w.stranger.id),
	}
}

// staffBodies are examples of bodies of the operations of staff.
var staffBodies = map[string]string{
	"staff.staff.set_role": `{"role": "support"}`,
}

// call is a request for an operation of staff.
func (w *staffWorld) call(op api.Info, token string) request {
	w.t.Helper()
	r := request{method: op.Method, token: token, body: staffBodies[op.ID]}
	for i, part := range strings.Split(strings.TrimPrefix(op.Path, "/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part = w.values[strings.TrimSuffix(name, "}")]
			if part == "" {
				w.t.Fatalf("%s: no value for %s; make one in prepare", op.ID, name)
			}
		}
		if i >= 0 {
			r.path += "/" + part
		}
	}
	return r
}

// recorded counts the rows of the audit log.
func (w *staffWorld) recorded() (n int) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), `SELECT COUNT(*) FROM audit_entries`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestEveryOperationOfStaff(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		owner := w.members[auth.Owner]
		before := w.recorded()
		for _, op := range a.staff.Operations() {
			if op.Auth != api.Token || len(op.Staff) == 0 || !slices.Contains(op.Staff, auth.Owner) {
				t.Errorf("%s: an owner may do everything, and only staff", op.ID)
			}
			if op.Write && slices.Contains(op.Staff, auth.ReadOnly) {
				t.Errorf("%s changes something, and the role that only reads may call it", op.ID)
			}
			for name, c := range map[string]struct {
				token, key string
				status     int
			}{
				"without a token":     {"", "unauthenticated", http.StatusUnauthorized},
				"a customer":          {w.owner.token, "admin_required", http.StatusForbidden},
				"a customer's panel":  {w.staffToken(w.owner.id, thirdParty()...), "admin_required", http.StatusForbidden},
				"without the scope":   {w.staffToken(owner.id, thirdParty()...), "insufficient_scope", http.StatusForbidden},
				"with a reseller key": {w.ownersKey, "unauthenticated", http.StatusUnauthorized},
			} {
				if r := a.do(t, w.call(op, c.token)); r.status != c.status || r.key() != c.key {
					t.Errorf("%s %s: %s", op.ID, name, r)
				}
			}
			for _, role := range auth.Roles() {
				if slices.Contains(op.Staff, role) {
					continue
				}
				if r := a.do(t, w.call(op, w.members[role].token)); r.status != http.StatusForbidden || r.key() != "role_required" {
					t.Errorf("%s with the role %s: %s", op.ID, role, r)
				}
			}
		}
		if n := w.recorded(); n != before {
			t.Errorf("refused requests wrote %d rows of the audit log", n-before)
		}
		for _, op := range a.staff.Operations() {
			before := w.recorded()
			r := a.do(t, w.call(op, owner.token))
			if r.status != op.Status {
				t.Errorf("%s as the owner: %s", op.ID, r)
				continue
			}
			if n := w.recorded(); (n > before) != op.Write {
				t.Errorf("%s writes something: %v, and wrote %d rows of the audit log", op.ID, op.Write, n-before)
				continue
			}
			if !op.Write {
				continue
			}
			var log struct {
				Data []audit.Shown `json:"data"`
			}
			a.get(t, owner.token, "/api/v1/admin/audit?limit=1").decode(t, &log)
			e := log.Data[0]
			if e.ActorID == nil || *e.ActorID != owner.id || e.ActorRole != "owner" || e.Via != "panel" || e.Address == "" || e.RequestID == "" || e.Action == "" {
				t.Errorf("%s is recorded as %+v", op.ID, e)
			}
		}
	})
}

func TestTheCommittedDocumentOfStaffIsTheServedOne(t *testing.T) {
	want, err := StaffOpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "api", "admin.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("api/admin.openapi.json is not what the code says: run make openapi")
	}
	public, err := OpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(public), staffPrefix) {
		t.Error("the public document names operations of staff")
	}
}

func TestStaffNeedASecondFactor(t *testing.T) {
	a := start(t, map[string]string{"panel": "sandbox"})
	p, err := a.accounts.Create(t.Context(), account.NewAccount{Email: "owner@example.com", Name: "Owner", Verified: true, Role: auth.Owner})
	if err != nil {
		t.Fatal(err)
	}
	w := &staffWorld{world: &world{App: a, t: t}}
	if r := a.get(t, w.staffToken(p.ID, auth.Scopes...), "/api/v1/admin/me"); r.status != http.StatusForbidden || r.key() != "second_factor_required" {
		t.Errorf("without a second factor: %s", r)
	}
}

func TestTheAuditLogIsOnlyAddedTo(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		id := a.account(t)
		a.credit(t, id, 500)
		found, err := a.audit.List(t.Context(), audit.Filter{AccountID: id, Action: "wallet.credit"}, 0, 10)
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		var before, after struct {
			Balance int64 `json:"balance_usd_cents"`
		}
		if err := json.Unmarshal(found[0].Before, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(found[0].After, &after); err != nil || before.Balance != 0 || after.Balance != 500 {
			t.Errorf("from %s to %s", found[0].Before, found[0].After)
		}
		for _, statement := range []string{`UPDATE audit_entries SET reason = 'another'`, `DELETE FROM audit_entries`} {
			err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, statement)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
}

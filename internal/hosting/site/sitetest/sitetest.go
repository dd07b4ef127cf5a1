// Package sitetest has services for the tests of sections that manage them, without the section that
// sells them.
package sitetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Services keeps services in a table of the test's; it implements site.Services.
type Services struct{ db *db.DB }

// New makes the table, without services, in the database of a test.
func New(t testing.TB, d *db.DB) Services {
	t.Helper()
	s := Services{db: d}
	s.exec(t, `CREATE TABLE test_services (id BIGINT NOT NULL, account_id BIGINT NOT NULL, panel TEXT NOT NULL, ref TEXT NOT NULL,
		username TEXT NOT NULL, status TEXT NOT NULL, domain TEXT NOT NULL, limits TEXT NOT NULL, ipv4 TEXT NOT NULL)`)
	return s
}

// Add makes a service; its Limits default to none.
func (s Services) Add(t testing.TB, on site.Site) {
	t.Helper()
	limits, err := json.Marshal(on.Limits)
	if err != nil {
		t.Fatal(err)
	}
	s.exec(t, `INSERT INTO test_services VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, on.ServiceID, on.AccountID, on.Panel, on.Ref,
		on.Username, on.Status, on.Domain, string(limits), on.IPv4)
}

// SetStatus moves a service to another state.
func (s Services) SetStatus(t testing.TB, serviceID int64, status string) {
	t.Helper()
	s.exec(t, `UPDATE test_services SET status = $1 WHERE id = $2`, status, serviceID)
}

func (s Services) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	err := s.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Site implements site.Services.
func (s Services) Site(ctx context.Context, q db.Querier, accountID, serviceID int64) (site.Site, error) {
	return find(ctx, q, accountID, serviceID, "")
}

// LockSite implements site.Services.
func (s Services) LockSite(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (site.Site, error) {
	return find(ctx, tx, accountID, serviceID, tx.ForUpdate())
}

func find(ctx context.Context, q db.Querier, accountID, serviceID int64, lock string) (site.Site, error) {
	on := site.Site{ServiceID: serviceID, AccountID: accountID}
	var limits string
	err := q.QueryRow(ctx, `SELECT panel, ref, username, status, domain, limits, ipv4 FROM test_services
		WHERE id = $1 AND account_id = $2`+lock, serviceID, accountID).
		Scan(&on.Panel, &on.Ref, &on.Username, &on.Status, &on.Domain, &limits, &on.IPv4)
	if errors.Is(err, db.ErrNoRows) {
		return on, fault.NotFound.New()
	}
	if err == nil {
		on.Limits, err = site.ParseLimits(serviceID, json.RawMessage(limits))
	}
	return on, err
}

// Sandbox implements site.Worlds: account SandboxAccount is a sandbox.
func (s Services) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == SandboxAccount, nil
}

// SandboxAccount is an account of a sandbox.
const SandboxAccount = 99

// SetDomain makes a service known by another domain.
func (s Services) SetDomain(ctx context.Context, tx *db.Tx, serviceID int64, domain string) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET domain = $1 WHERE id = $2`, domain, serviceID)
	return err
}

// Panels are panels by name; it implements site.Panels.
type Panels map[string]panel.Panel

// Panel implements site.Panels.
func (p Panels) Panel(name string) (panel.Panel, bool) {
	found, ok := p[name]
	return found, ok
}

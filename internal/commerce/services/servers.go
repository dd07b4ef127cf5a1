package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// serverWire is a machine that the account has to itself: a service whose product is one, not a place on a machine that
// others are on, too.
type serverWire struct {
	ID         int64            `json:"id" doc:"Of the service"`
	Name       string           `json:"name" doc:"The label of the service"`
	Hostname   *string          `json:"hostname"`
	Type       string           `json:"type" enum:"vps,dedicated"`
	Status     Status           `json:"status" enum:"provisioning,active,past_due,suspended,terminating"`
	Plan       Plan             `json:"plan"`
	Location   *string          `json:"location"`
	IPv4       *string          `json:"ipv4"`
	IPv6       *string          `json:"ipv6"`
	Resources  serverLimitsWire `json:"resources" doc:"-1 is unlimited; null is not said"`
	AutoRenew  bool             `json:"auto_renew"`
	ExpiresAt  *time.Time       `json:"expires_at"`
	CreatedAt  time.Time        `json:"created_at"`
	ServiceURL string           `json:"service_url" doc:"Where the rest is told, and what can be done with it" example:"/api/v1/services/7"`
}

// serverLimitsWire are the limits of a plan that say how large a machine is.
type serverLimitsWire struct {
	CPUPercent  *int64 `json:"cpu_percent" doc:"100 is one core"`
	MemoryMB    *int64 `json:"memory_mb"`
	DiskMB      *int64 `json:"disk_mb"`
	BandwidthGB *int64 `json:"bandwidth_gb" doc:"A month"`
}

type serversIn struct{ page.Params }

// serversOperation is the specification's, section "Account".
func (s *Service) serversOperation() api.Route {
	return api.Operation[serversIn, page.List[serverWire]]{
		ID: "servers.list", Method: http.MethodGet, Path: "/api/v1/servers", Section: api.Account, Auth: api.Token,
		Scopes: []string{auth.ScopeProfile}, Summary: "List the servers that you have to yourself, the newest first",
		Description: "Services of the types `vps` and `dedicated` that are paid and not over. They are managed as services.",
		Handle: func(ctx context.Context, p auth.Principal, in *serversIn) (*page.List[serverWire], error) {
			rows, total, err := servers(ctx, s.DB, p.AccountID, in.Params)
			if err != nil {
				return nil, err
			}
			all := make([]serverWire, len(rows))
			for i, r := range rows {
				if all[i], err = wireServer(r); err != nil {
					return nil, err
				}
			}
			return page.Of(in.Params, total, all), nil
		},
	}
}

func wireServer(r Row) (serverWire, error) {
	w := serverWire{
		ID: r.ID, Name: r.label, Hostname: r.Domain, Type: r.typ, Status: r.Status, Plan: Plan{ID: r.PlanID, Name: r.PlanName, Slug: r.PlanSlug},
		Location: db.OrNull(r.place.location), IPv4: db.OrNull(r.place.ipv4), IPv6: db.OrNull(r.place.ipv6), AutoRenew: r.autoRenew,
		ExpiresAt: r.ExpiresAt, CreatedAt: r.createdAt, ServiceURL: fmt.Sprintf("/api/v1/services/%d", r.ID),
	}
	if err := json.Unmarshal([]byte(r.Limits), &w.Resources); err != nil {
		return w, fmt.Errorf("services: limits of service %d: %w", r.ID, err)
	}
	return w, nil
}

// servers reads one page of an account's machines, the newest first.
func servers(ctx context.Context, q db.Querier, accountID int64, p page.Params) (rows []Row, total int, err error) {
	const where = ` FROM services WHERE account_id = $1 AND type IN ('vps', 'dedicated')
		AND status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating')`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+` ORDER BY id DESC LIMIT $2 OFFSET $3`, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

package jobs

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// Rota gives each service of a table its turn once in a period, all of them spread over it. The table is the section's own, with
// the columns service_id (its key), account_id and next_at.
type Rota struct {
	Table  string
	Period time.Duration
}

// Turn is a service whose turn it is.
type Turn struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

// Add gives a service turns. One that has them keeps its time.
func (r Rota) Add(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO `+r.Table+` (service_id, account_id, next_at) VALUES ($1, $2, $3)
		ON CONFLICT (service_id) DO UPDATE SET account_id = excluded.account_id`, serviceID, accountID, tx.Now.Add(phase(serviceID, r.Period)))
	return err
}

// Remove ends the turns of a service.
func (r Rota) Remove(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM `+r.Table+` WHERE service_id = $1`, serviceID)
	return err
}

// RemoveOf ends the turns of all services of an account.
func (r Rota) RemoveOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM `+r.Table+` WHERE account_id = $1`, accountID)
	return err
}

// Take answers the services whose turn it is, those that wait longest first, and puts each off until its next turn.
func (r Rota) Take(ctx context.Context, tx *db.Tx, limit int) ([]Turn, error) {
	return db.Collect(ctx, tx, func(row db.Row) (t Turn, err error) { return t, row.Scan(&t.AccountID, &t.ServiceID) },
		`UPDATE `+r.Table+` SET next_at = $1 WHERE service_id IN (SELECT service_id FROM `+r.Table+` WHERE next_at <= $2 ORDER BY next_at LIMIT $3)
		RETURNING account_id, service_id`, tx.Now.Add(r.Period), tx.Now, limit)
}

// phase is when in a period a service has its turn: consecutive ids are far apart.
func phase(serviceID int64, period time.Duration) time.Duration {
	return time.Duration(uint64(serviceID)*2654435761%uint64(period/time.Second)) * time.Second //nolint:gosec // a hash; less than the period
}

package credentials

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Password is a password that a service has.
type Password struct {
	Kind  Kind
	Value string
}

// Passwords returns the passwords of one of the account's services, so that whoever shows its files, logs or pages to others
// can leave them out. They are for that alone.
func (s *Service) Passwords(ctx context.Context, accountID, serviceID int64) ([]Password, error) {
	type kept struct {
		sealed
		kind Kind
	}
	rows, err := db.Collect(ctx, s.DB, func(row db.Row) (k kept, err error) { return k, row.Scan(&k.kind, &k.id, &k.version, &k.box) },
		`SELECT kind, id, version, sealed FROM credentials WHERE service_id = $1 AND account_id = $2 ORDER BY id`, serviceID, accountID)
	if err != nil {
		return nil, err
	}
	all := make([]Password, len(rows))
	for i, k := range rows {
		all[i].Kind = k.kind
		if all[i].Value, err = s.open(k.sealed); err != nil {
			return nil, err
		}
	}
	return all, nil
}

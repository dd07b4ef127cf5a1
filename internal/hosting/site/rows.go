package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// Item is what the rows of all collections have. Rows embed it.
type Item struct {
	ID, AccountID, ServiceID int64
	Status                   Status
	FailureKey               *string // an error key; nil unless the row is Failed
	Revision                 int64   // rises with each change of what should be
}

// AsItem implements Row, for the rows that embed an Item.
func (i Item) AsItem() Item { return i }

// Fields are where a row is scanned to: the columns of Item, and more.
func (i *Item) Fields(more ...any) []any {
	return append([]any{&i.ID, &i.AccountID, &i.ServiceID, &i.Status, &i.FailureKey, &i.Revision}, more...)
}

// Row is a row of a collection. It embeds an Item.
type Row interface {
	AsItem() Item
	PanelName() string // on the panel, unique within the service
}

// Table is where the rows of a collection are. It has the columns of Item and created_at.
type Table struct {
	Name    string
	Key     string // the column of Item.ID; "id" when empty
	Columns string // those besides Item's, by commas
	Order   string // of rows; by the key when empty
	Unique  string // columns of which no two rows have the same; Insert answers fault.AlreadyExists then
	// HidesRemoving: what is on its way out has gone already for whoever asks for a row or a page.
	HidesRemoving bool
	Others        []string // the section's other tables whose rows of a service go when the service has ended
}

func (t Table) key() string { return cmp.Or(t.Key, "id") }

func (t Table) order() string { return " ORDER BY " + cmp.Or(t.Order, t.key()) }

func (t Table) selected() string {
	columns := t.key() + ", account_id, service_id, status, failure_key, revision"
	if t.Columns != "" {
		columns += ", " + t.Columns
	}
	return "SELECT " + columns
}

// own is the condition for rows of an account's service that are shown; its parameters are $1 and $2.
func (t Table) own() string {
	where := " FROM " + t.Name + " WHERE service_id = $1 AND account_id = $2"
	if t.HidesRemoving {
		where += " AND status <> 'removing'"
	}
	return where
}

// Values are the columns of a row that say what should be.
type Values map[string]any

// assigned are the columns in an order that does not change, their values, and one parameter for each, from $first on.
func (v Values) assigned(first int) (columns, parameters []string, values []any) {
	for i, column := range slices.Sorted(maps.Keys(v)) {
		columns, values = append(columns, column), append(values, v[column])
		parameters = append(parameters, fmt.Sprintf("$%d", first+i))
	}
	return columns, parameters, values
}

// List reads one page of the rows of an account's service.
func (c Collection[R, C, P]) List(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []R, total int, err error) {
	if err := q.QueryRow(ctx, `SELECT count(*)`+c.Table.own(), serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, c.Scan, c.Table.selected()+c.Table.own()+c.Table.order()+` LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

// OfService reads all rows of a service.
func (c Collection[R, C, P]) OfService(ctx context.Context, q db.Querier, serviceID int64) ([]R, error) {
	return db.Collect(ctx, q, c.Scan, c.Table.selected()+` FROM `+c.Table.Name+` WHERE service_id = $1`+c.Table.order(), serviceID)
}

// Get reads a row of the account's service.
func (c Collection[R, C, P]) Get(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (R, error) {
	r, err := c.Scan(q.QueryRow(ctx, c.Table.selected()+c.Table.own()+` AND `+c.Table.key()+` = $3`, serviceID, accountID, id))
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

// count is how many rows of a service are not on their way out.
func (c Collection[R, C, P]) count(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM `+c.Table.Name+` WHERE service_id = $1 AND status <> 'removing'`, serviceID).Scan(&n)
	return n, err
}

// Insert adds a row of a service that is locked; the panel has to follow (Enqueue).
func (c Collection[R, C, P]) Insert(ctx context.Context, tx *db.Tx, accountID, serviceID int64, v Values) (id int64, err error) {
	const first = 5
	columns, parameters, values := v.assigned(first)
	query := `INSERT INTO ` + c.Table.Name + ` (account_id, service_id, status, created_at, ` + strings.Join(columns, ", ") +
		`) VALUES ($1, $2, $3, $4, ` + strings.Join(parameters, ", ") + `)`
	if c.Table.Unique != "" {
		query += ` ON CONFLICT (` + c.Table.Unique + `) DO NOTHING`
	}
	err = tx.QueryRow(ctx, query+` RETURNING `+c.Table.key(), append([]any{accountID, serviceID, Pending, tx.Now}, values...)...).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.AlreadyExists.New()
	}
	return id, err
}

// Update writes what should be of a row of a service that is locked; the panel has to follow (Enqueue).
func (c Collection[R, C, P]) Update(ctx context.Context, tx *db.Tx, id int64, v Values) error {
	return c.set(ctx, tx, id, Pending, v)
}

// SetRemoving writes that a thing is to go; the panel has to follow (Enqueue).
func (c Collection[R, C, P]) SetRemoving(ctx context.Context, tx *db.Tx, id int64) error {
	return c.set(ctx, tx, id, Removing, nil)
}

func (c Collection[R, C, P]) set(ctx context.Context, tx *db.Tx, id int64, status Status, v Values) error {
	const first = 3
	columns, parameters, values := v.assigned(first)
	query := `UPDATE ` + c.Table.Name + ` SET status = $1, failure_key = NULL, revision = revision + 1`
	for i := range columns {
		query += ", " + columns[i] + " = " + parameters[i]
	}
	_, err := tx.Exec(ctx, query+` WHERE `+c.Table.key()+` = $2`, append([]any{status, id}, values...)...)
	return err
}

// wrote tells whether a statement found the row as it expects it.
func wrote(ctx context.Context, tx *db.Tx, query string, args ...any) (bool, error) {
	n, err := tx.Exec(ctx, query, args...)
	return n == 1, err
}

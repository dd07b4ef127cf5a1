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

// Owned says whose a row is. Rows of a Table embed it.
type Owned struct{ ID, AccountID, ServiceID int64 }

// Item is what the rows of all collections have. They embed it.
type Item struct {
	Owned
	Status     Status
	FailureKey *string // an error key; nil unless the row is Failed
	Revision   int64   // rises with each change of what should be
}

// AsItem implements Row, for the rows that embed an Item.
func (i Item) AsItem() Item { return i }

// Fields adds the columns of Owned to those of a row.
func (o *Owned) Fields(more db.Fields) db.Fields {
	more["id"], more["account_id"], more["service_id"] = &o.ID, &o.AccountID, &o.ServiceID
	return more
}

// Fields adds the columns of Item to those of a row.
func (i *Item) Fields(more db.Fields) db.Fields {
	more["status"], more["failure_key"], more["revision"] = &i.Status, &i.FailureKey, &i.Revision
	return i.Owned.Fields(more)
}

// OnlyFields is Fields for a table with one row for each service, which has no id but the service's.
func (i *Item) OnlyFields(more db.Fields) db.Fields {
	more = i.Fields(more)
	delete(more, "id")
	more["(service_id)"] = &i.ID // another name of the column, which is read to two places
	return more
}

// Row is a row of a collection. It embeds an Item.
type Row interface {
	AsItem() Item
	PanelName() string // on the panel, unique within the service
}

// Table holds rows R of services. It has the columns of Item, or of Owned when no panel follows it.
type Table[R any] struct {
	Name string
	Key  string         // the column of Owned.ID; "id" when empty
	Rows *db.Mapping[R] // by Fields, or OnlyFields, of Item or Owned
	// Plain tables have no status, failure_key and revision: no panel follows their rows.
	Plain     bool
	Order     string // of rows; by the key when empty
	ListOrder string // of pages, where it is another
	Unique    string // columns of which no two rows have the same; Insert answers fault.AlreadyExists then
	// HidesRemoving leaves rows that are Removing out of what Get and List read.
	HidesRemoving bool
	Others        []string // the section's other tables whose rows of a service go when the service has ended
}

func (t Table[R]) key() string { return cmp.Or(t.Key, "id") }

func (t Table[R]) order() string { return " ORDER BY " + cmp.Or(t.Order, t.key()) }

func (t Table[R]) selected() string { return "SELECT " + t.Rows.Columns() }

// own is the condition for rows of an account's service that Get and List read; its parameters are $1 and $2.
func (t Table[R]) own() string {
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

func (t Table[R]) pageOrder() string {
	if t.ListOrder != "" {
		return " ORDER BY " + t.ListOrder
	}
	return t.order()
}

// List reads one page of the rows of an account's service.
func (t Table[R]) List(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []R, total int, err error) {
	if err := q.QueryRow(ctx, `SELECT count(*)`+t.own(), serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, t.Rows.Scan, t.selected()+t.own()+t.pageOrder()+` LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

// OfService reads all rows of a service.
func (t Table[R]) OfService(ctx context.Context, q db.Querier, serviceID int64) ([]R, error) {
	return t.Where(ctx, q, `service_id = $1`+t.order(), serviceID)
}

// Where reads the rows of which a condition holds; it may go on with their order and a limit.
func (t Table[R]) Where(ctx context.Context, q db.Querier, condition string, args ...any) ([]R, error) {
	return db.Collect(ctx, q, t.Rows.Scan, t.selected()+` FROM `+t.Name+` WHERE `+condition, args...)
}

// Get reads a row of the account's service.
func (t Table[R]) Get(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (R, error) {
	return Found(t.Rows.Scan(q.QueryRow(ctx, t.selected()+t.own()+` AND `+t.key()+` = $3`, serviceID, accountID, id)))
}

// Find reads a row of any account: for jobs.
func (t Table[R]) Find(ctx context.Context, q db.Querier, id int64) (R, error) {
	return Found(t.Rows.Scan(q.QueryRow(ctx, t.selected()+` FROM `+t.Name+` WHERE `+t.key()+` = $1`, id)))
}

// Found answers a row that was read, or fault.NotFound where there is none.
func Found[R any](r R, err error) (R, error) {
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

// count is how many rows of a service are not on their way out.
func (t Table[R]) count(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM `+t.Name+` WHERE service_id = $1 AND status <> 'removing'`, serviceID).Scan(&n)
	return n, err
}

// Insert adds a row of a service that is locked.
func (t Table[R]) Insert(ctx context.Context, tx *db.Tx, accountID, serviceID int64, v Values) (id int64, err error) {
	const first = 4
	columns, parameters, values := v.assigned(first)
	query := `INSERT INTO ` + t.Name + ` (account_id, service_id, created_at, ` + strings.Join(columns, ", ") +
		`) VALUES ($1, $2, $3, ` + strings.Join(parameters, ", ") + `)`
	if t.Unique != "" {
		query += ` ON CONFLICT (` + t.Unique + `) DO NOTHING`
	}
	err = tx.QueryRow(ctx, query+` RETURNING `+t.key(), append([]any{accountID, serviceID, tx.Now}, values...)...).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.AlreadyExists.New()
	}
	return id, err
}

// Set writes columns of a row.
func (t Table[R]) Set(ctx context.Context, tx *db.Tx, id int64, v Values) error {
	columns, parameters, values := v.assigned(2)
	for i, parameter := range parameters {
		columns[i] += " = " + parameter
	}
	_, err := tx.Exec(ctx, `UPDATE `+t.Name+` SET `+strings.Join(columns, ", ")+` WHERE `+t.key()+` = $1`, append([]any{id}, values...)...)
	return err
}

// Delete deletes a row.
func (t Table[R]) Delete(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM `+t.Name+` WHERE `+t.key()+` = $1`, id)
	return err
}

// Insert adds a row of a service that is locked; the panel has to follow (Enqueue).
func (c Collection[R, C, P]) Insert(ctx context.Context, tx *db.Tx, accountID, serviceID int64, v Values) (id int64, err error) {
	v = maps.Clone(v)
	v["status"] = Pending
	return c.Table.Insert(ctx, tx, accountID, serviceID, v)
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
	query := `UPDATE ` + c.Name + ` SET status = $1, failure_key = NULL, revision = revision + 1`
	for i := range columns {
		query += ", " + columns[i] + " = " + parameters[i]
	}
	_, err := tx.Exec(ctx, query+` WHERE `+c.key()+` = $2`, append([]any{status, id}, values...)...)
	return err
}

// changedOne executes a statement and tells whether it changed a row.
func changedOne(ctx context.Context, tx *db.Tx, query string, args ...any) (bool, error) {
	n, err := tx.Exec(ctx, query, args...)
	return n == 1, err
}

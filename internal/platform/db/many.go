package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Many does something with in, at once with all that is asked for under the same name by those who go on beside q in one
// transaction (see Group): do answers for each, in their order. For one that goes on alone it is done with that one. So
// what is written for one is a few statements for many.
//
// All who use a name give the same do. It depends on nothing but its arguments, of which q has no time: those of the
// others may be another. An error of it is nobody's: a refusal is an answer.
func Many[Q Querier, In, Out any](ctx context.Context, q Q, name string, in In, do func(ctx context.Context, q Q, all []In) ([]Out, error)) (out Out, err error) {
	tx, ok := any(q).(*Tx)
	if !ok {
		outs, err := do(ctx, q, []In{in})
		if err == nil {
			out = outs[0]
		}
		return out, err
	}
	answer, err := tx.ask(ctx, &ask{name: name, in: in, do: func(ctx context.Context, tx *Tx, ins []any) ([]any, error) {
		all := make([]In, len(ins))
		for i, in := range ins {
			all[i] = in.(In) //nolint:forcetypeassert // the name is one caller's
		}
		outs, err := do(ctx, any(tx).(Q), all) //nolint:forcetypeassert // as above
		if err == nil && len(outs) != len(all) {
			err = fmt.Errorf("db: %s has %d answers for %d", name, len(outs), len(all))
		}
		answers := make([]any, len(outs))
		for i, out := range outs {
			answers[i] = out
		}
		return answers, err
	}})
	if err == nil {
		out, _ = answer.(Out) // a nil error is no error
	}
	return out, err
}

// ask is what one waits for.
type ask struct {
	name string
	in   any
	do   func(ctx context.Context, tx *Tx, ins []any) (outs []any, err error)
	out  any
}

// ask has it answered with those beside, or by itself.
func (tx *Tx) ask(ctx context.Context, a *ask) (any, error) {
	if tx.beside != nil {
		err := tx.beside.wait(a)
		return a.out, err
	}
	outs, err := a.of(ctx, tx, []any{a.in})
	if err != nil {
		return nil, err
	}
	return outs[0], nil
}

// of does what is asked for with all ins, at no time.
func (a *ask) of(ctx context.Context, tx *Tx, ins []any) ([]any, error) {
	now := tx.Now
	tx.Now = time.Time{}
	defer func() { tx.Now = now }()
	return a.do(ctx, tx, ins)
}

// beside is how one of several in a transaction deals with the others.
type beside struct {
	yield func(*ask) bool // lets the others go on until it is answered; false when it never will be
	apart bool            // it cannot go on with them
}

func (b *beside) wait(a *ask) error {
	if b.apart || !b.yield(a) {
		b.apart = true
		return errApart
	}
	return nil
}

// savepoint runs f. What it has written when it fails cannot be undone without the others.
func (b *beside) savepoint(ctx context.Context, tx *Tx, f func(ctx context.Context) error) error {
	before := tx.wrote
	tx.wrote = false
	err := f(ctx)
	if err != nil && tx.wrote {
		b.apart = true
		err = errApart
	}
	tx.wrote = tx.wrote || before
	return err
}

// Each is Many for what has no answer.
func Each[In any](ctx context.Context, tx *Tx, name string, in In, do func(ctx context.Context, tx *Tx, all []In) error) error {
	_, err := Many(ctx, tx, name, in, func(ctx context.Context, tx *Tx, all []In) ([]struct{}, error) {
		return make([]struct{}, len(all)), do(ctx, tx, all)
	})
	return err
}

// FindAll is Many for the rows of a key. read answers those of some keys, of which no two are the same; of tells which
// one's a row is.
func FindAll[Q Querier, K comparable, V any](ctx context.Context, q Q, name string, key K, of func(V) K,
	read func(ctx context.Context, q Q, keys []K) ([]V, error),
) ([]V, error) {
	return Many(ctx, q, name, key, func(ctx context.Context, q Q, keys []K) ([][]V, error) {
		found := map[K][]V{}
		distinct := make([]K, 0, len(keys))
		for _, k := range keys {
			if _, ok := found[k]; !ok {
				found[k], distinct = []V{}, append(distinct, k)
			}
		}
		rows, err := read(ctx, q, distinct)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[of(row)] = append(found[of(row)], row)
		}
		all := make([][]V, len(keys))
		for i, k := range keys {
			all[i] = slices.Clone(found[k])
		}
		return all, nil
	})
}

// Find is FindAll for the one row of a key; ErrNoRows when there is none.
func Find[Q Querier, K comparable, V any](ctx context.Context, q Q, name string, key K, of func(V) K,
	read func(ctx context.Context, q Q, keys []K) ([]V, error),
) (row V, err error) {
	rows, err := FindAll(ctx, q, name, key, of, read)
	switch {
	case err != nil:
		return row, err
	case len(rows) == 0:
		return row, ErrNoRows
	default:
		return rows[0], nil
	}
}

// InsertMany is Many for an INSERT of one row, up to its values, and answers the row's id.
func InsertMany(ctx context.Context, tx *Tx, name, insert string, row ...any) (id int64, err error) {
	return Many(ctx, tx, name, row, func(ctx context.Context, tx *Tx, all [][]any) ([]int64, error) {
		var rows Values
		for _, row := range all {
			rows.Add(row...)
		}
		return Inserted(ctx, tx, insert, &rows)
	})
}

// Inserted completes an INSERT with its rows, and answers their ids, in the order of the rows.
func Inserted(ctx context.Context, tx *Tx, insert string, rows *Values) ([]int64, error) {
	table, args := rows.Table(tx)
	ids, err := Collect(ctx, tx, func(row Row) (id int64, err error) { return id, row.Scan(&id) }, insert+" "+table+" RETURNING id", args...)
	slices.Sort(ids) // they are given in the order of the rows, but not answered so
	return ids, err
}

// NextID takes the next id of a table, for a row that is written with it later in tx. As after an INSERT that is undone,
// nobody has an id that was taken for nothing.
func NextID(ctx context.Context, tx *Tx, table string) (int64, error) {
	return Many(ctx, tx, "id of "+table, struct{}{}, func(ctx context.Context, tx *Tx, all []struct{}) ([]int64, error) {
		if tx.Engine() == "postgres" {
			return Collect(ctx, tx, func(row Row) (id int64, err error) { return id, row.Scan(&id) },
				`SELECT nextval(pg_get_serial_sequence($1, 'id')) FROM generate_series(1, $2)`, table, len(all))
		}
		last := int64(len(all))
		err := tx.QueryRow(ctx, `UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = $2 RETURNING seq`, len(all), table).Scan(&last)
		if errors.Is(err, ErrNoRows) { // it never had a row
			_, err = tx.Exec(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)`, table, last)
		}
		ids := make([]int64, len(all))
		for i := range ids {
			ids[i] = last - int64(len(all)-1-i)
		}
		return ids, err
	})
}

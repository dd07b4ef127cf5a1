package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// noLimit reads all rows.
const noLimit = math.MaxInt32

// filter of products; empty members do not filter.
type filter struct{ category, typ string }

func listCategories(ctx context.Context, q db.Querier, limit, offset int) ([]category, error) {
	return db.Collect(ctx, q, func(r db.Row) (c category, err error) {
		err = r.Scan(&c.ID, &c.Slug, asJSON{&c.Name}, asJSON{&c.Description}, &c.Products)
		return c, err
	}, `SELECT c.id, c.slug, c.name, c.description,
			(SELECT COUNT(*) FROM catalog_products p WHERE p.category_id = c.id AND p.available)
		FROM catalog_categories c WHERE c.available ORDER BY c.position, c.id LIMIT $1 OFFSET $2`, limit, offset)
}

func countCategories(ctx context.Context, q db.Querier) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM catalog_categories WHERE available`).Scan(&n)
	return n, err
}

const productsOnSale = ` FROM catalog_products p JOIN catalog_categories c ON c.id = p.category_id
	WHERE p.available AND c.available AND (CAST($1 AS TEXT) = '' OR c.slug = $1) AND (CAST($2 AS TEXT) = '' OR p.type = $2)`

func countProducts(ctx context.Context, q db.Querier, f filter) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*)`+productsOnSale, f.category, f.typ).Scan(&n)
	return n, err
}

// listProducts reads products with their plans and prices, in three queries
// however many there are.
func listProducts(ctx context.Context, q db.Querier, f filter, limit, offset int) ([]product, error) {
	products, err := db.Collect(ctx, q, func(r db.Row) (p product, err error) {
		err = r.Scan(&p.ID, &p.Slug, &p.CategoryID, &p.CategorySlug, &p.Type, asJSON{&p.Name}, asJSON{&p.Description}, asJSON{&p.Features}, asJSON{&p.Terms})
		p.Plans = []plan{}
		return p, err
	}, `SELECT p.id, p.slug, p.category_id, c.slug, p.type, p.name, p.description, p.features, p.terms`+productsOnSale+`
		ORDER BY p.position, p.id LIMIT $3 OFFSET $4`, f.category, f.typ, limit, offset)
	if err != nil || len(products) == 0 {
		return products, err
	}
	at := map[int64]*product{}
	ids := make([]int64, len(products))
	for i := range products {
		at[products[i].ID] = &products[i]
		ids[i] = products[i].ID
	}
	in, args := db.In(q, 1, ids)
	plans, err := db.Collect(ctx, q, scanPlan, selectPlan+` WHERE available AND product_id `+in+` ORDER BY position, id`, args...)
	if err != nil || len(plans) == 0 {
		return products, err
	}
	prices, err := pricesOf(ctx, q, plans)
	if err != nil {
		return nil, err
	}
	for _, pl := range plans {
		pl.Prices = prices[pl.ID]
		p := at[pl.ProductID]
		p.Plans = append(p.Plans, pl)
	}
	return products, nil
}

const selectPlan = `SELECT id, slug, product_id, name, details, stock, sold, available FROM catalog_plans`

func scanPlan(r db.Row) (p plan, err error) {
	err = r.Scan(&p.ID, &p.Slug, &p.ProductID, asJSON{&p.Name}, asJSON{&p.details}, &p.Stock, &p.Sold, &p.OnSale)
	return p, err
}

// findPlan reads a plan, on sale or not, with its prices and its product. A plan is on sale only while its product and its
// category are.
func findPlan(ctx context.Context, q db.Querier, id int64) (pl plan, pr product, err error) {
	if pl, err = scanPlan(q.QueryRow(ctx, selectPlan+` WHERE id = $1`, id)); err != nil {
		return pl, pr, err
	}
	var onSale bool
	err = q.QueryRow(ctx, `SELECT p.id, p.slug, p.type, p.name, p.available AND c.available
		FROM catalog_products p JOIN catalog_categories c ON c.id = p.category_id WHERE p.id = $1`, pl.ProductID).
		Scan(&pr.ID, &pr.Slug, &pr.Type, asJSON{&pr.Name}, &onSale)
	if err != nil {
		return pl, pr, err
	}
	pl.OnSale = pl.OnSale && onSale
	prices, err := pricesOf(ctx, q, []plan{pl})
	pl.Prices = prices[pl.ID]
	return pl, pr, err
}

func pricesOf(ctx context.Context, q db.Querier, plans []plan) (map[int64][]price, error) {
	ids := make([]int64, len(plans))
	for i, p := range plans {
		ids[i] = p.ID
	}
	in, args := db.In(q, 1, ids)
	out := map[int64][]price{}
	_, err := db.Collect(ctx, q, func(r db.Row) (struct{}, error) {
		var (
			planID int64
			p      price
			first  *int64
		)
		err := r.Scan(&planID, &p.PeriodMonths, &p.Price, &first, &p.Setup)
		p.FirstPeriodPrice = (*money.USDCents)(first)
		out[planID] = append(out[planID], p)
		return struct{}{}, err
	}, `SELECT plan_id, period_months, price, first_period_price, setup FROM catalog_prices
		WHERE plan_id `+in+` ORDER BY plan_id, period_months`, args...)
	return out, err
}

func lockPlansOnSale(ctx context.Context, tx *db.Tx) ([]string, error) {
	return db.Collect(ctx, tx, func(r db.Row) (slug string, err error) {
		err = r.Scan(&slug)
		return slug, err
	}, `SELECT slug FROM catalog_plans WHERE available ORDER BY id`+tx.ForUpdate())
}

// withdrawAll takes everything off sale. An import puts back what the file names, in the same transaction.
func withdrawAll(ctx context.Context, tx *db.Tx) error {
	for _, table := range []string{"catalog_plans", "catalog_products", "catalog_categories", "catalog_addons"} {
		if _, err := tx.Exec(ctx, `UPDATE `+table+` SET available = FALSE WHERE available`); err != nil {
			return err
		}
	}
	return nil
}

func putCategory(ctx context.Context, tx *db.Tx, c category, position int) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO catalog_categories (slug, name, description, position, available)
			VALUES ($1, $2, $3, $4, TRUE)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, description = excluded.description,
			position = excluded.position, available = TRUE
		RETURNING id`, c.Slug, encode(c.Name), encode(c.Description), position).Scan(&id)
	return id, err
}

func putProduct(ctx context.Context, tx *db.Tx, p product, position int) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO catalog_products (slug, category_id, type, name, description, features, terms, position, available)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, TRUE)
		ON CONFLICT (slug) DO UPDATE SET category_id = excluded.category_id, type = excluded.type, name = excluded.name,
			description = excluded.description, features = excluded.features, terms = excluded.terms, position = excluded.position, available = TRUE
		RETURNING id`, p.Slug, p.CategoryID, p.Type, encode(p.Name), encode(p.Description), encode(p.Features), encode(p.Terms), position).Scan(&id)
	return id, err
}

// putPlan writes a plan of a file, and returns which of its prices have changed. It does not change sold: the count of sales
// does not come from the file.
func putPlan(ctx context.Context, tx *db.Tx, p plan, position int) ([]priceChange, error) {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO catalog_plans (slug, product_id, name, details, stock, position, available)
			VALUES ($1, $2, $3, $4, $5, $6, TRUE)
		ON CONFLICT (slug) DO UPDATE SET product_id = excluded.product_id, name = excluded.name, details = excluded.details,
			stock = excluded.stock, position = excluded.position, available = TRUE
		RETURNING id`, p.Slug, p.ProductID, encode(p.Name), encode(p.details), p.Stock, position).Scan(&id)
	if err != nil {
		return nil, err
	}
	was, err := pricesOf(ctx, tx, []plan{{ID: id}})
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM catalog_prices WHERE plan_id = $1`, id); err != nil {
		return nil, err
	}
	for _, x := range p.Prices {
		_, err := tx.Exec(ctx, `INSERT INTO catalog_prices (plan_id, period_months, price, first_period_price, setup)
			VALUES ($1, $2, $3, $4, $5)`, id, x.PeriodMonths, int64(x.Price), (*int64)(x.FirstPeriodPrice), int64(x.Setup))
		if err != nil {
			return nil, err
		}
	}
	return changedPrices(id, was[id], p.Prices), nil
}

// encode writes a value of the catalog's types as JSON, which cannot fail.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("catalog: encode %T: %v", v, err))
	}
	return string(b)
}

// asJSON is the destination of a JSON column, which is decoded into the value that it points to.
type asJSON struct{ dest any }

// Scan implements sql.Scanner.
func (a asJSON) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return json.Unmarshal([]byte(v), a.dest)
	case []byte:
		return json.Unmarshal(v, a.dest)
	default:
		return fmt.Errorf("catalog: a JSON column holds %T", src)
	}
}

// siblings are the plans on sale that a service of pl may move to, in the catalogue's order.
func siblings(ctx context.Context, q db.Querier, pl plan) ([]int64, error) {
	others, err := db.Collect(ctx, q, scanPlan, selectPlan+` WHERE available AND product_id = $1 AND id <> $2 ORDER BY position, id`,
		pl.ProductID, pl.ID)
	if err != nil {
		return nil, err
	}
	named := append(slices.Clone(pl.UpgradeTo), pl.DowngradeTo...)
	var ids []int64
	for _, o := range others {
		if len(named) == 0 || slices.Contains(named, o.Slug) {
			ids = append(ids, o.ID)
		}
	}
	return ids, nil
}

// termsOf reads the terms of the products of plans.
func termsOf(ctx context.Context, q db.Querier, planIDs []int64) (map[int64]Terms, error) {
	all := map[int64]Terms{}
	if len(planIDs) == 0 {
		return all, nil
	}
	in, args := db.In(q, 1, planIDs)
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			planID int64
			t      Terms
		)
		err := row.Scan(&planID, asJSON{&t})
		all[planID] = t
		return struct{}{}, err
	}, `SELECT l.id, p.terms FROM catalog_plans l JOIN catalog_products p ON p.id = l.product_id WHERE l.id `+in, args...)
	return all, err
}

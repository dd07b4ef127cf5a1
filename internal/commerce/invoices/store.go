package invoices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var documentRows = db.Map(func(r *record) db.Fields {
	return db.Fields{
		"id": &r.id, "account_id": &r.accountID, "kind": &r.kind, "seller": &r.seller, "year": &r.year,
		"COALESCE(sequence, 0)": &r.sequence, "order_id": &r.orderID, "topup_id": &r.topupID, "service_id": &r.serviceID,
		"corrects": &r.corrects, "document": db.JSON(&r.document), "subtotal": &r.subtotal, "discount": &r.discount,
		"tax": &r.tax, "tax_included": &r.taxIncluded, "total": &r.total, "credited": &r.credited,
		"credited_tax": &r.creditedTax, "issued_at": &r.issuedAt,
	}
})

// get reads a document whoever has it.
func get(ctx context.Context, q db.Querier, id int64) (record, error) {
	return documentRows.Scan(q.QueryRow(ctx, `SELECT `+documentRows.Columns()+` FROM invoices WHERE id = $1`, id))
}

// getOwn reads a document of the account.
func getOwn(ctx context.Context, q db.Querier, accountID, id int64) (record, error) {
	r, err := documentRows.Scan(q.QueryRow(ctx, `SELECT `+documentRows.Columns()+` FROM invoices WHERE id = $1 AND account_id = $2`, id, accountID))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return r, err
}

// list reads one page of an account's documents, the newest first; an empty kind shows all.
func list(ctx context.Context, q db.Querier, accountID int64, kind Kind, p page.Params) (rows []record, total int, err error) {
	where, args := `account_id = $1`, []any{accountID}
	if kind != "" {
		where, args = where+` AND kind = $2`, append(args, kind)
	}
	if err := q.QueryRow(ctx, `SELECT count(*) FROM invoices WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	n := len(args)
	query := fmt.Sprintf(`SELECT %s FROM invoices WHERE %s ORDER BY id DESC LIMIT $%d OFFSET $%d`, documentRows.Columns(), where, n+1, n+2)
	rows, err = db.Collect(ctx, q, documentRows.Scan, query, append(args, p.Limit(), p.Offset())...)
	return rows, total, err
}

// lockOrder locks the invoice of an order.
func lockOrder(ctx context.Context, tx *db.Tx, orderID int64) (record, error) {
	return documentRows.Scan(tx.QueryRow(ctx, ofOrderQuery+tx.ForUpdate(), orderID))
}

var ofOrderQuery = `SELECT ` + documentRows.Columns() + ` FROM invoices WHERE order_id = $1 AND kind = 'invoice'`

// lockService locks the invoices of a service of which something is left, the newest first.
func lockService(ctx context.Context, tx *db.Tx, accountID, serviceID int64) ([]record, error) {
	return db.Collect(ctx, tx, documentRows.Scan, ofServiceQuery+tx.ForUpdate(), serviceID, accountID)
}

var ofServiceQuery = `SELECT ` + documentRows.Columns() + ` FROM invoices WHERE service_id = $1 AND account_id = $2 AND kind = 'invoice'
	AND credited < total - tax ORDER BY id DESC`

// lockReceipt locks the receipt of a top-up.
func lockReceipt(ctx context.Context, tx *db.Tx, topupID int64) (record, error) {
	return documentRows.Scan(tx.QueryRow(ctx, ofTopupQuery+tx.ForUpdate(), topupID))
}

var ofTopupQuery = `SELECT ` + documentRows.Columns() + ` FROM invoices WHERE topup_id = $1 AND kind = 'receipt'`

// insert writes documents that have no numbers yet.
func insert(ctx context.Context, tx *db.Tx, all []record) error {
	var rows db.Values
	for _, r := range all {
		kept, err := json.Marshal(r.document)
		if err != nil {
			return err
		}
		rows.Add(r.id, r.accountID, r.kind, r.seller, r.year, r.orderID, r.topupID, r.serviceID, r.corrects, string(kept),
			r.subtotal, r.discount, r.tax, r.taxIncluded, r.total, r.issuedAt)
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `INSERT INTO invoices (id, account_id, kind, seller, year, order_id, topup_id, service_id, corrects, document,
		subtotal, discount, tax, tax_included, total, issued_at) `+table, args...)
}

// anyUnnumbered tells whether a document has no number.
func anyUnnumbered(ctx context.Context, q db.Querier) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM invoices WHERE sequence IS NULL)`).Scan(&found)
	return found, err
}

// unnumbered reads documents without numbers, the oldest first.
func unnumbered(ctx context.Context, q db.Querier, limit int) ([]record, error) {
	return db.Collect(ctx, q, documentRows.Scan, `SELECT `+documentRows.Columns()+` FROM invoices WHERE sequence IS NULL ORDER BY id LIMIT $1`, limit)
}

// takeNumbers takes the next n numbers of a series, and answers the first. The series stays locked until the
// transaction ends.
func takeNumbers(ctx context.Context, tx *db.Tx, of series, n int) (first int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO invoices_series AS s (seller, kind, year, last) VALUES ($1, $2, $3, $4)
		ON CONFLICT (seller, kind, year) DO UPDATE SET last = s.last + excluded.last RETURNING last`, of.seller, of.kind, of.year, n).Scan(&first)
	return first - int64(n) + 1, err
}

// setNumbers writes the numbers of documents that had none.
func setNumbers(ctx context.Context, tx *db.Tx, all []record) error {
	var rows db.Values
	for _, r := range all {
		rows.Add(r.id, r.sequence)
	}
	table, args := rows.Table(tx)
	n, err := tx.Exec(ctx, `WITH given (id, sequence) AS (`+table+`)
		UPDATE invoices SET sequence = given.sequence FROM given WHERE invoices.id = given.id AND invoices.sequence IS NULL`, args...)
	if err == nil && n != int64(len(all)) {
		err = fmt.Errorf("%d of %d documents have a number already", int64(len(all))-n, len(all))
	}
	return err
}

// setDocument writes the words of a document that nobody has seen with a number.
func setDocument(ctx context.Context, tx *db.Tx, r record) error {
	kept, err := json.Marshal(r.document)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE invoices SET document = $1 WHERE id = $2`, string(kept), r.id)
	}
	return err
}

// mention is a row of invoices_mentions that no invoice mentions yet.
type mention struct {
	id, accountID int64
	line          line
}

// insertMention does nothing when there is a mention of that kind and subject.
func insertMention(ctx context.Context, tx *db.Tx, m Mention) error {
	_, err := tx.Exec(ctx, `INSERT INTO invoices_mentions (account_id, kind, subject_id, title, domain, amount) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (kind, subject_id) DO NOTHING`, m.AccountID, m.Kind, m.SubjectID, m.Title, m.Domain, m.Amount)
	return err
}

// openMentions reads those of accounts that no invoice mentions yet, the oldest first.
func openMentions(ctx context.Context, q db.Querier, accountIDs []int64) ([]mention, error) {
	in, args := db.In(q, 1, accountIDs)
	return db.Collect(ctx, q, func(row db.Row) (m mention, err error) {
		m.line.Quantity = 1
		err = row.Scan(&m.id, &m.accountID, &m.line.Kind, &m.line.Title, &m.line.Domain, &m.line.Mentioned)
		return m, err
	}, `SELECT id, account_id, kind, title, domain, amount FROM invoices_mentions WHERE invoice_id IS NULL AND account_id `+in+` ORDER BY id`, args...)
}

// setMentioned notes which invoice mentions something.
func setMentioned(ctx context.Context, tx *db.Tx, id, invoiceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE invoices_mentions SET invoice_id = $1 WHERE id = $2`, invoiceID, id)
	return err
}

// deleteOpenMentions removes what no invoice of an account mentions.
func deleteOpenMentions(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM invoices_mentions WHERE account_id = $1 AND invoice_id IS NULL`, accountID)
	return err
}

// credit notes what was taken back of a locked document.
func credit(ctx context.Context, tx *db.Tx, id int64, p part) error {
	_, err := tx.Exec(ctx, `UPDATE invoices SET credited = credited + $1, credited_tax = credited_tax + $2 WHERE id = $3`, p.price, p.tax, id)
	return err
}

const profileColumns = `company, name, tax_number, country, region, city, postal_code, address, email`

// profilesOf reads the billing profiles of accounts; one that has none is missing.
func profilesOf(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]profile, error) {
	in, args := db.In(q, 1, accountIDs)
	all := map[int64]profile{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			id int64
			p  profile
		)
		err := row.Scan(&id, &p.company, &p.name, &p.taxNumber, &p.country, &p.region, &p.city, &p.postalCode, &p.address, &p.email)
		all[id] = p
		return struct{}{}, err
	}, `SELECT account_id, `+profileColumns+` FROM invoices_profiles WHERE account_id `+in, args...)
	return all, err
}

// profileOf is profilesOf for one account; false when it has no profile.
func profileOf(ctx context.Context, q db.Querier, accountID int64) (p profile, ok bool, err error) {
	all, err := profilesOf(ctx, q, []int64{accountID})
	p, ok = all[accountID]
	return p, ok, err
}

func putProfile(ctx context.Context, tx *db.Tx, accountID int64, p profile) error {
	_, err := tx.Exec(ctx, `INSERT INTO invoices_profiles (account_id, `+profileColumns+`, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (account_id) DO UPDATE SET company = excluded.company, name = excluded.name, tax_number = excluded.tax_number,
			country = excluded.country, region = excluded.region, city = excluded.city, postal_code = excluded.postal_code,
			address = excluded.address, email = excluded.email, updated_at = excluded.updated_at`,
		accountID, p.company, p.name, p.taxNumber, p.country, p.region, p.city, p.postalCode, p.address, p.email, tx.Now)
	return err
}

func deleteProfile(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM invoices_profiles WHERE account_id = $1`, accountID)
	return err
}

// Gap is a series whose numbers are not 1, 2, 3, … up to the last that was given.
type Gap struct {
	Seller string
	Kind   Kind
	Year   int
	Last   int64 // given
	Count  int64 // found
	Most   int64 // the highest found
}

// gaps finds them. Documents that wait for their number are none. Every series is read as a whole, along its index.
func gaps(ctx context.Context, q db.Querier) ([]Gap, error) {
	return db.Collect(ctx, q, func(row db.Row) (g Gap, err error) {
		err = row.Scan(&g.Seller, &g.Kind, &g.Year, &g.Last, &g.Count, &g.Most)
		return g, err
	}, `SELECT s.seller, s.kind, s.year, s.last, COUNT(i.sequence), COALESCE(MAX(i.sequence), 0) FROM invoices_series s
		LEFT JOIN invoices i ON i.seller = s.seller AND i.kind = s.kind AND i.year = s.year
		GROUP BY s.seller, s.kind, s.year, s.last
		HAVING COUNT(i.sequence) <> s.last OR COALESCE(MAX(i.sequence), 0) <> s.last ORDER BY s.seller, s.kind, s.year`)
}

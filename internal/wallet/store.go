package wallet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// lock locks the customer's ledger accounts, in the order of their ids, and
// makes them for a new customer. A watched balance is looked at when the
// transaction is done with it.
func (s *Service) lock(ctx context.Context, tx *db.Tx, accountID int64) (*purse, error) {
	p, err := lock(ctx, tx, accountID)
	if err != nil {
		return p, err
	}
	p.company = &s.company
	if p.watched {
		tx.AtEnd(watchName, func(ctx context.Context) error { return s.watch(ctx, tx, accountID) })
	}
	return p, nil
}

func lock(ctx context.Context, tx *db.Tx, accountID int64) (*purse, error) {
	if accountID <= 0 {
		return nil, fmt.Errorf("wallet: there is no account %d", accountID)
	}
	p, err := readPurse(ctx, tx, accountID)
	if err != nil || len(p.books) == 3 {
		return p, err
	}
	for _, k := range []accountKind{customer, held, debt} {
		_, err := tx.Exec(ctx, `INSERT INTO wallet_ledger_accounts (kind, owner_id, balance) VALUES ($1, $2, 0)
			ON CONFLICT (owner_id, kind, name) DO NOTHING`, string(k), accountID)
		if err != nil {
			return nil, fmt.Errorf("wallet: open the ledger accounts of %d: %w", accountID, err)
		}
	}
	return readPurse(ctx, tx, accountID)
}

func readPurse(ctx context.Context, tx *db.Tx, accountID int64) (*purse, error) {
	p := &purse{accountID: accountID, books: map[accountKind]*book{}}
	_, err := db.Collect(ctx, tx, func(r db.Row) (struct{}, error) {
		var (
			kind string
			b    book
		)
		var watched bool
		err := r.Scan(&b.id, &kind, &b.balance, &watched, &p.sandbox)
		p.books[accountKind(kind)] = &b
		p.watched = p.watched || watched
		return struct{}{}, err
	}, `SELECT id, kind, balance, watched, EXISTS (SELECT 1 FROM wallet_sandboxes WHERE account_id = owner_id)
		FROM wallet_ledger_accounts WHERE owner_id = $1 ORDER BY id`+tx.ForUpdate(), accountID)
	if err != nil {
		return nil, fmt.Errorf("wallet: lock the ledger accounts of %d: %w", accountID, err)
	}
	return p, nil
}

// post writes a movement. Debits come first: when one is not covered (errShort)
// nothing has been written.
func post(ctx context.Context, tx *db.Tx, p *purse, m movement) error {
	if err := m.check(); err != nil {
		return err
	}
	for _, debits := range []bool{true, false} {
		for _, l := range m.legs {
			if l.kind.owned() && (l.amount < 0) == debits {
				if err := move(ctx, tx, p.books[l.kind], l); err != nil {
					return err
				}
			}
		}
	}
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO wallet_transactions
			(account_id, type, amount, balance_after, description, reference_type, reference_id, part, created_at, client_ref)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		p.accountID, string(m.typ), int64(m.spendable()), int64(p.balance(customer)), m.description,
		m.ref.Type, m.ref.ID, m.part, tx.Now, m.clientRef).Scan(&id)
	if err != nil {
		return fmt.Errorf("wallet: write %s of %s %d: %w", m.typ, m.ref.Type, m.ref.ID, err)
	}
	if err := postLegs(ctx, tx, p, id, m.legs); err != nil {
		return fmt.Errorf("wallet: post %s of %s %d: %w", m.typ, m.ref.Type, m.ref.ID, err)
	}
	return nil
}

// move changes the balance of a customer's ledger account. The statement itself
// refuses a debit that the balance does not cover.
func move(ctx context.Context, tx *db.Tx, b *book, l leg) error {
	if _, err := b.balance.Add(l.amount); err != nil {
		return fmt.Errorf("wallet: %w: %w", ErrBadAmount, err)
	}
	query, amount := `UPDATE wallet_ledger_accounts SET balance = balance + $1 WHERE id = $2 RETURNING balance`, l.amount
	if l.amount < 0 && l.kind != debt {
		query = `UPDATE wallet_ledger_accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1 RETURNING balance`
		amount = -l.amount
	}
	err := tx.QueryRow(ctx, query, int64(amount), b.id).Scan(&b.balance)
	if errors.Is(err, db.ErrNoRows) {
		return errShort
	}
	if err != nil {
		return fmt.Errorf("wallet: move on %s: %w", l.kind, err)
	}
	return nil
}

// postLegs writes the postings of a transaction in one statement: charges are many.
func postLegs(ctx context.Context, tx *db.Tx, p *purse, transactionID int64, all []leg) error {
	if len(all) == 0 {
		return nil
	}
	var rows []string
	args := []any{transactionID}
	for _, l := range all {
		var (
			id    int64
			after *int64
			err   error
		)
		if l.kind.owned() {
			b := p.books[l.kind]
			balance := int64(b.balance)
			id, after = b.id, &balance
		} else if id, err = p.company.account(ctx, tx, l.kind, p.companyName(l.name)); err != nil {
			return err
		}
		n := len(args)
		rows = append(rows, fmt.Sprintf("($1, $%d, $%d, $%d)", n+1, n+2, n+3))
		args = append(args, id, int64(l.amount), after)
	}
	_, err := tx.Exec(ctx, `INSERT INTO wallet_postings (transaction_id, ledger_account_id, amount, balance_after) VALUES `+
		strings.Join(rows, ", "), args...)
	return err
}

// companyAccounts remembers the ids of the company's ledger accounts, which never change. The
// zero one and nil remember nothing yet, and nothing.
type companyAccounts struct{ known sync.Map }

type companyKey struct {
	kind accountKind
	name string
}

func (c *companyAccounts) account(ctx context.Context, tx *db.Tx, k accountKind, name string) (int64, error) {
	if c == nil {
		return companyAccount(ctx, tx, k, name)
	}
	key := companyKey{k, name}
	if id, ok := c.known.Load(key); ok {
		return id.(int64), nil //nolint:forcetypeassert // nothing else is stored
	}
	id, err := companyAccount(ctx, tx, k, name)
	if err == nil {
		tx.OnCommit(func() { c.known.Store(key, id) }) // one that was opened just now may be undone
	}
	return id, err
}

// companyAccount finds the account, or opens it at its first use.
func companyAccount(ctx context.Context, tx *db.Tx, k accountKind, name string) (id int64, err error) {
	find := func() error {
		return tx.QueryRow(ctx, `SELECT id FROM wallet_ledger_accounts WHERE owner_id = 0 AND kind = $1 AND name = $2`,
			string(k), name).Scan(&id)
	}
	if err = find(); !errors.Is(err, db.ErrNoRows) {
		return id, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO wallet_ledger_accounts (kind, owner_id, name) VALUES ($1, 0, $2)
		ON CONFLICT (owner_id, kind, name) DO NOTHING`, string(k), name)
	if err != nil {
		return 0, err
	}
	return id, find()
}

// entry is a transaction as other movements of its reference need it.
type entry struct {
	accountID int64
	amount    money.USDCents
	clientRef *string
}

// findEntry looks for a movement; its reference, type and part are unique.
func findEntry(ctx context.Context, q db.Querier, ref Reference, typ Type, part int64) (e entry, found bool, err error) {
	err = q.QueryRow(ctx, `SELECT account_id, amount, client_ref FROM wallet_transactions
		WHERE reference_type = $1 AND reference_id = $2 AND type = $3 AND part = $4`, ref.Type, ref.ID, string(typ), part).
		Scan(&e.accountID, &e.amount, &e.clientRef)
	if errors.Is(err, db.ErrNoRows) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("wallet: find %s of %s %d: %w", typ, ref.Type, ref.ID, err)
	}
	return e, true, nil
}

// endsOf are the ways in which the charge of a reference has ended.
func endsOf(ctx context.Context, q db.Querier, ref Reference) ([]Type, error) {
	ends, err := db.Collect(ctx, q, func(r db.Row) (t Type, err error) { return t, r.Scan((*string)(&t)) },
		`SELECT type FROM wallet_transactions WHERE reference_type = $1 AND reference_id = $2 AND type IN ('capture', 'refund') AND part = 0`,
		ref.Type, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("wallet: find the end of %s %d: %w", ref.Type, ref.ID, err)
	}
	return ends, nil
}

func putAdjustment(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents, reason, actor string) (Reference, error) {
	ref := Reference{Type: "adjustment"}
	err := tx.QueryRow(ctx, `INSERT INTO wallet_adjustments (account_id, amount, reason, actor, created_at)
		VALUES ($1, $2, $3, $4, $5) RETURNING id`, accountID, int64(amount), reason, actor, tx.Now).Scan(&ref.ID)
	if err != nil {
		return ref, fmt.Errorf("wallet: write adjustment: %w", err)
	}
	return ref, nil
}

func readBalance(ctx context.Context, q db.Querier, accountID int64) (Balance, error) {
	var b Balance
	_, err := db.Collect(ctx, q, func(r db.Row) (struct{}, error) {
		var (
			kind    string
			balance money.USDCents
		)
		err := r.Scan(&kind, &balance)
		switch accountKind(kind) {
		case customer:
			b.Spendable = balance
		case held:
			b.Held = balance
		case debt:
			b.Debt = -balance
		}
		return struct{}{}, err
	}, `SELECT kind, balance FROM wallet_ledger_accounts WHERE owner_id = $1`, accountID)
	if err != nil {
		return b, fmt.Errorf("wallet: read the balance of %d: %w", accountID, err)
	}
	return b, nil
}

// Captures are the company's side of charges that the customer sees already.
const historyOf = ` FROM wallet_transactions WHERE account_id = $1 AND type <> 'capture'`

func history(ctx context.Context, q db.Querier, accountID int64, limit, offset int) ([]transaction, error) {
	return db.Collect(ctx, q, func(r db.Row) (t transaction, err error) {
		var typ string
		err = r.Scan(&t.ID, &typ, &t.Amount, &t.BalanceAfter, &t.Description, &t.Reference.Type, &t.Reference.ID, &t.CreatedAt, &t.ClientRef)
		t.Type = Type(typ)
		return t, err
	}, `SELECT id, type, amount, balance_after, description, reference_type, reference_id, created_at, client_ref`+historyOf+`
		ORDER BY id DESC LIMIT $2 OFFSET $3`, accountID, limit, offset)
}

func countHistory(ctx context.Context, q db.Querier, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*)`+historyOf, accountID).Scan(&n)
	return n, err
}

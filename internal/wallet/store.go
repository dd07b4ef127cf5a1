package wallet

import (
	"context"
	"errors"
	"fmt"
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

// post writes movements, each on the balances that the one before it leaves. When a debit of one of them is not covered
// (errShort) nothing has been written.
func post(ctx context.Context, tx *db.Tx, p *purse, all ...movement) error {
	var (
		posted   []posting
		balances = p.balances()
		spent    = make([]money.USDCents, len(all)) // what is left to be spent after each
	)
	for n, m := range all {
		if err := m.check(); err != nil {
			return err
		}
		for _, l := range m.legs {
			entry := posting{of: m.typ, leg: l}
			if l.kind.owned() {
				after, err := balances[l.kind].Add(l.amount)
				if err != nil {
					return fmt.Errorf("wallet: %w: %w", ErrBadAmount, err)
				}
				if after < 0 && l.amount < 0 && l.kind != debt {
					return errShort
				}
				balances[l.kind], entry.after = after, &after
			}
			posted = append(posted, entry)
		}
		spent[n] = balances[customer]
	}
	for _, k := range []accountKind{customer, held, debt} {
		if err := move(ctx, tx, p.books[k], balances[k]); err != nil {
			return fmt.Errorf("wallet: %s of %d: %w", k, p.accountID, err)
		}
	}
	ids, err := insertTransactions(ctx, tx, p.accountID, all, spent)
	if err == nil {
		err = insertPostings(ctx, tx, p, ids, posted)
	}
	if err != nil {
		return fmt.Errorf("wallet: post %s of %s %d: %w", all[0].typ, all[0].ref.Type, all[0].ref.ID, err)
	}
	return nil
}

// posting is a leg of a movement, and what the customer's ledger account holds after it.
type posting struct {
	of Type
	leg
	after *money.USDCents // nil: the company's
}

// move makes the balance of a locked ledger account what it is now.
func move(ctx context.Context, tx *db.Tx, b *book, balance money.USDCents) error {
	if balance == b.balance {
		return nil
	}
	n, err := tx.Exec(ctx, `UPDATE wallet_ledger_accounts SET balance = $1 WHERE id = $2 AND balance = $3`, balance, b.id, b.balance)
	if err == nil && n != 1 {
		err = errors.New("the balance is not what it was when it was locked")
	}
	b.balance = balance
	return err
}

// insertTransactions writes the movements of a customer, no two of one type, in one statement, and answers their ids.
func insertTransactions(ctx context.Context, tx *db.Tx, accountID int64, all []movement, spendable []money.USDCents) (map[Type]int64, error) {
	var rows db.Values
	for n, m := range all {
		rows.Add(accountID, string(m.typ), m.spendable(), spendable[n], m.description, m.ref.Type, m.ref.ID, m.part, tx.Now, m.clientRef)
	}
	ids := make(map[Type]int64, len(all))
	_, err := db.Collect(ctx, tx, func(row db.Row) (struct{}, error) {
		var (
			id  int64
			typ string
		)
		err := row.Scan(&id, &typ)
		ids[Type(typ)] = id
		return struct{}{}, err
	}, `INSERT INTO wallet_transactions
		(account_id, type, amount, balance_after, description, reference_type, reference_id, part, created_at, client_ref)
		VALUES `+rows.String()+` RETURNING id, type`, rows.Args()...)
	return ids, err
}

// insertPostings writes the postings of transactions in one statement: charges are many.
func insertPostings(ctx context.Context, tx *db.Tx, p *purse, transactions map[Type]int64, all []posting) error {
	if len(all) == 0 {
		return nil
	}
	var rows db.Values
	for _, l := range all {
		var id int64
		if l.kind.owned() {
			id = p.books[l.kind].id
		} else {
			var err error
			if id, err = p.company.account(ctx, tx, l.kind, p.companyName(l.name)); err != nil {
				return err
			}
		}
		rows.Add(transactions[l.of], id, l.amount, l.after)
	}
	_, err := tx.Exec(ctx, `INSERT INTO wallet_postings (transaction_id, ledger_account_id, amount, balance_after) VALUES `+rows.String(), rows.Args()...)
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

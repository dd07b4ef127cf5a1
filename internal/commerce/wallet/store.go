package wallet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// lock locks a customer's ledger accounts; see lockAll.
func (s *Service) lock(ctx context.Context, tx *db.Tx, accountID int64) (*purse, error) {
	purses, err := s.lockAll(ctx, tx, []int64{accountID})
	return purses[accountID], err
}

// lockAll locks the ledger accounts of customers, in the order of their ids, and makes them for new customers. A watched
// balance is looked at when the transaction is done with it.
func (s *Service) lockAll(ctx context.Context, tx *db.Tx, accountIDs []int64) (map[int64]*purse, error) {
	purses, err := readPurses(ctx, tx, accountIDs)
	if err != nil {
		return nil, err
	}
	opened := false
	for _, id := range accountIDs {
		if len(purses[id].books) < len(ownKinds) {
			opened = true
			if err := openAccounts(ctx, tx, id); err != nil {
				return nil, err
			}
		}
	}
	if opened {
		if purses, err = readPurses(ctx, tx, accountIDs); err != nil {
			return nil, err
		}
	}
	for id, p := range purses {
		p.company = &s.company
		if p.watched {
			tx.AtEnd(watchName, func(ctx context.Context) error { return s.watch(ctx, tx, id) })
		}
	}
	return purses, nil
}

// ownKinds are the kinds of a customer's ledger accounts.
var ownKinds = []accountKind{customer, held, debt}

func openAccounts(ctx context.Context, tx *db.Tx, accountID int64) error {
	if accountID <= 0 {
		return fmt.Errorf("wallet: there is no account %d", accountID)
	}
	for _, k := range ownKinds {
		_, err := tx.Exec(ctx, `INSERT INTO wallet_ledger_accounts (kind, owner_id, balance) VALUES ($1, $2, 0)
			ON CONFLICT (owner_id, kind, name) DO NOTHING`, string(k), accountID)
		if err != nil {
			return fmt.Errorf("wallet: open the ledger accounts of %d: %w", accountID, err)
		}
	}
	return nil
}

// readPurses reads and locks what there is of the customers' ledger accounts. Each customer has a purse.
func readPurses(ctx context.Context, tx *db.Tx, accountIDs []int64) (map[int64]*purse, error) {
	purses := make(map[int64]*purse, len(accountIDs))
	for _, id := range accountIDs {
		purses[id] = &purse{accountID: id, books: map[accountKind]*book{}}
	}
	in, args := db.In(tx, 1, accountIDs)
	_, err := db.Collect(ctx, tx, func(r db.Row) (struct{}, error) {
		var (
			b                book
			ownerID          int64
			kind             string
			watched, sandbox bool
		)
		if err := r.Scan(&b.id, &ownerID, &kind, &b.balance, &watched, &sandbox); err != nil {
			return struct{}{}, err
		}
		p := purses[ownerID]
		p.books[accountKind(kind)] = &b
		p.watched, p.sandbox = p.watched || watched, sandbox
		return struct{}{}, nil
	}, `SELECT id, owner_id, kind, balance, watched, EXISTS (SELECT 1 FROM wallet_sandboxes WHERE account_id = owner_id)
		FROM wallet_ledger_accounts WHERE owner_id `+in+` ORDER BY id`+tx.ForUpdate(), args...)
	if err != nil {
		return nil, fmt.Errorf("wallet: lock the ledger accounts of %d customers: %w", len(accountIDs), err)
	}
	return purses, nil
}

// post writes movements, each on the balances that the one before it leaves. When a debit of one of them is not covered
// (errShort) nothing has been written.
func post(ctx context.Context, tx *db.Tx, p *purse, all ...movement) error {
	refused, err := postAll(ctx, tx, []*journal{{purse: p, movements: all}})
	if err != nil {
		return fmt.Errorf("wallet: post %s of %s %d: %w", all[0].typ, all[0].ref.Type, all[0].ref.ID, err)
	}
	return refused[0]
}

// journal is what is posted together for one customer: all of it or nothing.
type journal struct {
	*purse
	movements []movement
	spent     []money.USDCents // what is left to be spent after each
	posted    []posting
}

// posting is a leg of a movement, and what the customer's ledger account holds after it.
type posting struct {
	of int // which movement
	leg
	after *money.USDCents // nil: the company's
}

// postAll posts journals, each on the balances that the one before it leaves, and returns for each why it was refused.
// Nothing is written of a journal that is refused. Journals of one customer share the purse.
func postAll(ctx context.Context, tx *db.Tx, all []*journal) (refused []error, err error) {
	refused = make([]error, len(all))
	now := map[*book]money.USDCents{}
	var taken []*journal
	for n, b := range all {
		balances, err := b.weigh(now)
		if err != nil {
			refused[n] = err
			continue
		}
		for k, balance := range balances {
			now[b.books[k]] = balance
		}
		taken = append(taken, b)
	}
	if len(taken) == 0 {
		return refused, nil
	}
	if err := setBalances(ctx, tx, now); err != nil {
		return nil, err
	}
	ids, err := insertTransactions(ctx, tx, taken)
	if err != nil {
		return nil, err
	}
	return refused, insertPostings(ctx, tx, taken, ids)
}

// weigh fills in the postings and returns the balances that they leave. now has the balances that journals before this
// one have changed.
func (b *journal) weigh(now map[*book]money.USDCents) (map[accountKind]money.USDCents, error) {
	balances := b.balances()
	for k := range balances {
		if balance, ok := now[b.books[k]]; ok {
			balances[k] = balance
		}
	}
	for n, m := range b.movements {
		if err := m.check(); err != nil {
			return nil, err
		}
		for _, l := range m.legs {
			entry := posting{of: n, leg: l}
			if l.kind.owned() {
				after, err := balances[l.kind].Add(l.amount)
				if err != nil {
					return nil, fmt.Errorf("wallet: %w: %w", ErrBadAmount, err)
				}
				if after < 0 && l.amount < 0 && l.kind != debt {
					return nil, errShort
				}
				balances[l.kind], entry.after = after, &after
			}
			b.posted = append(b.posted, entry)
		}
		b.spent = append(b.spent, balances[customer])
	}
	return balances, nil
}

// setBalances makes the balances of locked ledger accounts what they are now.
func setBalances(ctx context.Context, tx *db.Tx, now map[*book]money.USDCents) error {
	var (
		rows    db.Values
		changed int64
	)
	for b, balance := range now {
		if balance != b.balance {
			rows.Add(b.id, b.balance, balance)
			changed++
		}
	}
	if changed == 0 {
		return nil
	}
	table, args := rows.Table(tx)
	check := func(n int64, err error) error {
		if err == nil && n != changed {
			err = errors.New("a balance is not what it was when it was locked")
		}
		return err
	}
	err := tx.Queue(ctx, check, `WITH moved (id, before, after) AS (`+table+`)
		UPDATE wallet_ledger_accounts SET balance = moved.after FROM moved
		WHERE wallet_ledger_accounts.id = moved.id AND balance = moved.before`, args...)
	if err != nil {
		return err
	}
	for b, balance := range now {
		b.balance = balance
	}
	return nil
}

// insertTransactions writes the movements of journals in one statement, and answers their ids, in order.
func insertTransactions(ctx context.Context, tx *db.Tx, all []*journal) ([]int64, error) {
	var rows db.Values
	for _, b := range all {
		for n, m := range b.movements {
			rows.Add(b.accountID, string(m.typ), m.spendable(), b.spent[n], m.description, m.ref.Type, m.ref.ID, m.part, tx.Now, m.clientRef)
		}
	}
	return db.Inserted(ctx, tx, `INSERT INTO wallet_transactions
		(account_id, type, amount, balance_after, description, reference_type, reference_id, part, created_at, client_ref)`, &rows)
}

// insertPostings writes the postings of journals in one statement; ids are those of their transactions.
func insertPostings(ctx context.Context, tx *db.Tx, all []*journal, ids []int64) error {
	var rows db.Values
	for _, b := range all {
		for _, l := range b.posted {
			var id int64
			if l.kind.owned() {
				id = b.books[l.kind].id
			} else {
				var err error
				if id, err = b.company.account(ctx, tx, l.kind, b.companyName(l.name)); err != nil {
					return err
				}
			}
			rows.Add(ids[l.of], id, l.amount, l.after)
		}
		ids = ids[len(b.movements):]
	}
	if rows.Empty() {
		return nil
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `INSERT INTO wallet_postings (transaction_id, ledger_account_id, amount, balance_after) `+table, args...)
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
	id        int64
	accountID int64
	amount    money.USDCents
	clientRef *string
}

// findEntry looks for a movement; its reference, type and part are unique.
func findEntry(ctx context.Context, q db.Querier, ref sale.Reference, typ Type, part int64) (e entry, found bool, err error) {
	err = q.QueryRow(ctx, `SELECT id, account_id, amount, client_ref FROM wallet_transactions
		WHERE reference_type = $1 AND reference_id = $2 AND type = $3 AND part = $4`, ref.Type, ref.ID, string(typ), part).
		Scan(&e.id, &e.accountID, &e.amount, &e.clientRef)
	if errors.Is(err, db.ErrNoRows) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("wallet: find %s of %s %d: %w", typ, ref.Type, ref.ID, err)
	}
	return e, true, nil
}

// endsOf are the ways in which the charge of a reference has ended.
func endsOf(ctx context.Context, q db.Querier, ref sale.Reference) ([]Type, error) {
	ends, err := db.Collect(ctx, q, func(r db.Row) (t Type, err error) { return t, r.Scan((*string)(&t)) },
		`SELECT type FROM wallet_transactions WHERE reference_type = $1 AND reference_id = $2 AND type IN ('capture', 'refund') AND part = 0`,
		ref.Type, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("wallet: find the end of %s %d: %w", ref.Type, ref.ID, err)
	}
	return ends, nil
}

// capturedOf is what of the charge of a reference has become the company's.
func capturedOf(ctx context.Context, q db.Querier, ref sale.Reference) (amount money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(p.amount), 0) AS BIGINT) FROM wallet_transactions t
		JOIN wallet_postings p ON p.transaction_id = t.id
		JOIN wallet_ledger_accounts a ON a.id = p.ledger_account_id AND a.kind = $1
		WHERE t.reference_type = $2 AND t.reference_id = $3 AND t.type = $4`,
		string(revenue), ref.Type, ref.ID, string(TypeCapture)).Scan(&amount)
	if err != nil {
		return 0, fmt.Errorf("wallet: sum what was captured of %s %d: %w", ref.Type, ref.ID, err)
	}
	return amount, nil
}

func putAdjustment(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents, reason, actor string) (sale.Reference, error) {
	ref := sale.Reference{Type: "adjustment"}
	err := tx.QueryRow(ctx, `INSERT INTO wallet_adjustments (account_id, amount, reason, actor, created_at)
		VALUES ($1, $2, $3, $4, $5) RETURNING id`, accountID, int64(amount), reason, actor, tx.Now).Scan(&ref.ID)
	if err != nil {
		return ref, fmt.Errorf("wallet: write adjustment: %w", err)
	}
	return ref, nil
}

// findAdjustment finds the credit of an operator that a transaction is; fault.NotFound for any other.
func findAdjustment(ctx context.Context, q db.Querier, accountID, transaction int64) (c Credit, err error) {
	c = Credit{AccountID: accountID, Type: TypeAdjustment}
	err = q.QueryRow(ctx, `SELECT reference_type, reference_id, amount FROM wallet_transactions
		WHERE id = $1 AND account_id = $2 AND type = 'adjustment' AND reference_type = 'adjustment' AND amount > 0`, transaction, accountID).
		Scan(&c.Reference.Type, &c.Reference.ID, (*int64)(&c.Amount))
	if errors.Is(err, db.ErrNoRows) {
		return c, fault.NotFound.Wrapf("wallet: transaction %d is no credit of an operator to account %d", transaction, accountID)
	}
	return c, err
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

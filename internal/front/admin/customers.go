package admin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Customer is a line of the list of customers.
type Customer struct {
	ID          int64          `json:"id"`
	Email       string         `json:"email"`
	Name        string         `json:"name"`
	Role        string         `json:"role"`
	Balance     money.USDCents `json:"balance_usd_cents"`
	Services    int64          `json:"services" doc:"Those that are not over."`
	SuspendedAt *time.Time     `json:"suspended_at"`
	ClosedAt    *time.Time     `json:"closed_at"`
	CreatedAt   time.Time      `json:"created_at"`
}

// over are the states in which a service has ended.
const over = `('terminated', 'failed', 'cancelled')`

var customerRows = db.Map(func(c *Customer) db.Fields {
	return db.Fields{
		"u.id": &c.ID, "u.email": &c.Email, "u.name": &c.Name, "u.role": &c.Role, "u.suspended_at": &c.SuspendedAt, "u.closed_at": &c.ClosedAt,
		"u.created_at": &c.CreatedAt,
		"COALESCE((SELECT t.balance_after FROM wallet_transactions t WHERE t.account_id = u.id ORDER BY t.id DESC LIMIT 1), 0)": &c.Balance,
		"(SELECT COUNT(*) FROM services s WHERE s.account_id = u.id AND s.status NOT IN " + over + ")":                          &c.Services,
	}
})

// CustomerFilter selects customers.
type CustomerFilter struct {
	// Query is a part of the address or the name.
	Query string
	// State is open, suspended or closed; empty selects all.
	State string
}

// Customers reads a page of the customers that match, the newest first.
func (a *Admin) Customers(ctx context.Context, f CustomerFilter, p page.Params) (*page.List[Customer], error) {
	const matching = ` FROM account_users u WHERE u.sandbox_of IS NULL
		AND (CAST($1 AS TEXT) = '' OR u.email LIKE $2 ESCAPE '\' OR LOWER(u.name) LIKE $2 ESCAPE '\')
		AND (CAST($3 AS TEXT) = '' OR $3 = CASE WHEN u.closed_at IS NOT NULL THEN 'closed' WHEN u.suspended_at IS NOT NULL THEN 'suspended' ELSE 'open' END)`
	args := []any{f.Query, contains(f.Query), f.State}
	return paged(ctx, a.DB, p, customerRows, matching, ` ORDER BY u.id DESC`, args...)
}

// contains is a pattern of LIKE for texts that contain q, whatever characters q has.
func contains(q string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(q)) + "%"
}

// paged reads a page of rows and counts all of them.
func paged[T any](ctx context.Context, q db.Querier, p page.Params, m *db.Mapping[T], from, order string, args ...any) (*page.List[T], error) {
	var total int
	if err := q.QueryRow(ctx, `SELECT COUNT(*)`+from, args...).Scan(&total); err != nil {
		return nil, err
	}
	n := len(args)
	rows, err := db.Collect(ctx, q, m.Scan, `SELECT `+m.Columns()+from+order+` LIMIT $`+strconv.Itoa(n+1)+` OFFSET $`+strconv.Itoa(n+2),
		append(args[:n:n], p.Limit(), p.Offset())...)
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}

// CustomerView is what the page of a customer begins with. Its lists have operations of their own.
type CustomerView struct {
	User
	Balance      money.USDCents `json:"balance_usd_cents"`
	Held         money.USDCents `json:"held_usd_cents"`
	Debt         money.USDCents `json:"debt_usd_cents"`
	Spent        money.USDCents `json:"spent_usd_cents" doc:"Everything that was paid for orders, without refunds."`
	Services     int64          `json:"services"`
	Orders       int64          `json:"orders"`
	Domains      int64          `json:"domains"`
	OpenTickets  int64          `json:"open_tickets"`
	Reseller     bool           `json:"reseller"`
	LastSignInAt *time.Time     `json:"last_sign_in_at"`
	Notes        []Note         `json:"notes"`
}

// Customer reads what the page of a customer begins with.
func (a *Admin) Customer(ctx context.Context, who string) (v CustomerView, err error) {
	if v.User, err = a.User(ctx, who); err != nil {
		return v, err
	}
	b, err := a.balanceIn(ctx, a.DB, v.ID)
	if err != nil {
		return v, err
	}
	v.Balance, v.Held, v.Debt = b.Balance, b.Held, b.Debt
	if err := a.countOf(ctx, v.ID, &v); err != nil {
		return v, err
	}
	found, err := a.Accounts.Notes(ctx, v.ID)
	v.Notes = make([]Note, len(found))
	for i, n := range found {
		v.Notes[i] = Note(n)
	}
	return v, err
}

func (a *Admin) countOf(ctx context.Context, id int64, v *CustomerView) error {
	return a.DB.QueryRow(ctx, `SELECT
		(SELECT COALESCE(SUM(total - refunded), 0) FROM orders WHERE account_id = $1 AND status = 'completed'),
		(SELECT COUNT(*) FROM services WHERE account_id = $1 AND status NOT IN `+over+`),
		(SELECT COUNT(*) FROM orders WHERE account_id = $1),
		(SELECT COUNT(*) FROM domains WHERE account_id = $1 AND status NOT IN ('transferred_out', 'cancelled', 'failed')),
		EXISTS (SELECT 1 FROM reseller_accounts WHERE account_id = $1),
		(SELECT COUNT(*) FROM tickets WHERE account_id = $1 AND status <> 'closed'),
		(SELECT MAX(created_at) FROM account_sessions WHERE account_id = $1 AND acting_id IS NULL)`, id).
		Scan(&v.Spent, &v.Services, &v.Orders, &v.Domains, &v.Reseller, &v.OpenTickets, &v.LastSignInAt)
}

// Note is what staff have written about a customer, who does not see it.
type Note struct {
	ID        int64     `json:"id"`
	AuthorID  int64     `json:"author_id"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

// AddNote writes a note about a customer.
func (a *Admin) AddNote(ctx context.Context, who, text string, author int64) (Note, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Note{}, err
	}
	s := newRowOf("note", "account_notes", "account_id, author_id").of(u.ID)
	n, err := a.Accounts.AddNote(a.change(ctx, "account.add_note", "", s), u.ID, author, text)
	return Note(n), err
}

// RemoveNote removes a note about a customer.
func (a *Admin) RemoveNote(ctx context.Context, who string, id int64) error {
	u, err := a.User(ctx, who)
	if err != nil {
		return err
	}
	return a.Accounts.RemoveNote(a.change(ctx, "account.remove_note", "", rowOf("note", "account_notes", "account_id, author_id", "id", id).of(u.ID)), u.ID, id)
}

// Movement is a movement of a customer's money.
type Movement struct {
	ID            int64          `json:"id"`
	Type          string         `json:"type"`
	Amount        money.USDCents `json:"amount_usd_cents" doc:"Below zero when it was spent."`
	BalanceAfter  money.USDCents `json:"balance_after_usd_cents"`
	Description   string         `json:"description"`
	ReferenceType string         `json:"reference_type"`
	ReferenceID   int64          `json:"reference_id"`
	Actor         string         `json:"actor" doc:"Of adjustments: who made it."`
	CreatedAt     time.Time      `json:"created_at"`
}

var movementRows = db.Map(func(m *Movement) db.Fields {
	return db.Fields{
		"t.id": &m.ID, "t.type": &m.Type, "t.amount": &m.Amount, "t.balance_after": &m.BalanceAfter, "t.description": &m.Description,
		"t.reference_type": &m.ReferenceType, "t.reference_id": &m.ReferenceID, "t.created_at": &m.CreatedAt,
		"COALESCE((SELECT j.actor FROM wallet_adjustments j WHERE t.reference_type = 'adjustment' AND j.id = t.reference_id), '')": &m.Actor,
	}
})

// Ledger reads a page of the movements of a customer's money, the newest first.
func (a *Admin) Ledger(ctx context.Context, who string, p page.Params) (*page.List[Movement], error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return nil, err
	}
	return paged(ctx, a.DB, p, movementRows, ` FROM wallet_transactions t WHERE t.account_id = $1 AND t.type <> 'capture'`, ` ORDER BY t.id DESC`, u.ID)
}

// DebitIn takes money from a customer in a transaction that is open. Its owner sees the reason. No more can be taken than can
// be spent.
func (a *Admin) DebitIn(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents, reason string) (Balance, error) {
	if strings.TrimSpace(reason) == "" {
		return Balance{}, fault.Validation.Wrapf("a debit needs a reason; its owner sees it")
	}
	if _, err := a.Accounts.Profile(ctx, tx, accountID); err != nil {
		return Balance{}, err
	}
	err := a.record(ctx, tx, "wallet.debit", reason, a.walletOf(accountID), func() error {
		return a.Wallet.Debit(ctx, tx, accountID, amount, reason, actorName(ctx))
	})
	if err != nil {
		return Balance{}, err
	}
	return a.balanceIn(ctx, tx, accountID)
}

// Debit is DebitIn in a transaction of its own.
func (a *Admin) Debit(ctx context.Context, who string, amount money.USDCents, reason string) (Balance, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Balance{}, err
	}
	return a.moveMoney(ctx, func(ctx context.Context, tx *db.Tx) (Balance, error) { return a.DebitIn(ctx, tx, u.ID, amount, reason) })
}

// SignIn is a way into a customer's account for a member of staff.
type SignIn struct {
	// URL is opened in the browser of the member of staff, within a minute; it works once.
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at" doc:"When the session ends by itself."`
}

// SignInAs lets a member of staff sign in to a customer's account. The session is marked, shows no secrets and ends after an
// hour; the customer sees it in the security log. The member of staff is the actor of ctx.
func (a *Admin) SignInAs(ctx context.Context, who, reason string) (SignIn, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return SignIn{}, err
	}
	if u.Role != "" {
		return SignIn{}, errStaffAccount.New()
	}
	ctx = a.change(ctx, "account.sign_in_as", reason, accountSubject(u.ID))
	ticket, until, err := a.Accounts.ActAs(ctx, auth.ActorOf(ctx), u.ID)
	return SignIn{URL: a.BaseURL + "/staff/enter?ticket=" + ticket, ExpiresAt: until}, err
}

package invoices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/signal"
)

// sandboxPrefix begins the numbers of sandboxes, each of which has its own.
const sandboxPrefix = "SANDBOX-"

// Account is a customer as documents need to know one.
type Account struct {
	Name, Email string
	Sandbox     bool
}

// Accounts find customers.
type Accounts interface {
	// Accounts returns those of the ids that exist.
	Accounts(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]Account, error)
}

// Orders show what awaits its payment, and what is not made yet.
type Orders interface {
	// Awaiting is a pending order of the account as its invoice would be now, and until when it can be paid. One that
	// is not there, or is not pending, is not_found.
	Awaiting(ctx context.Context, q db.Querier, accountID, orderID int64) (sale.Bill, time.Time, error)
	// Held returns those of orders that are paid and not made yet: their money is held and may come back as a whole.
	Held(ctx context.Context, q db.Querier, orderIDs []int64) ([]int64, error)
}

// Topups find them.
type Topups interface {
	Receipt(ctx context.Context, q db.Querier, id int64) (sale.Receipt, error)
}

// Signals tell all replicas of changes.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
	Subscribe(topic string, f func(payload string))
}

// Config is what the section works with; all but Prefix and Rules is needed.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Signals Signals
	Events  outbox.Events
	// Seller is the company, as new documents name it.
	Seller Party
	// Prefix stands before the numbers; another one begins series of its own.
	Prefix string
	// Rules are the configuration's taxes, which hold where staff have set none.
	Rules Rules
	// RulesFile is the file that they were read from, for staff who go on from it.
	RulesFile string
	// Zone is the time zone of the books: whose year a number is of, and the dates on documents.
	Zone *time.Location
	// BaseURL is the public address.
	BaseURL string
	Log     *slog.Logger
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Accounts Accounts
	Topups   Topups
	Orders   Orders
	Audit    Recorder
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
	versions *signal.Copy[[]RulesVersion]
	wake     chan struct{} // tells the sequencer of this process that there are documents to be numbered
}

// New makes the section. Connect comes before its operations.
func New(c Config) *Service {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	s := &Service{Config: c, wake: make(chan struct{}, 1)}
	s.versions = signal.NewCopy(nil, s.readVersions)
	return s
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Taxes returns how accounts are taxed now.
func (s *Service) Taxes(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]money.Tax, error) {
	rules := s.now()
	if rules.none() || len(accountIDs) == 0 {
		return nil, nil //nolint:nilnil // nobody is taxed
	}
	profiles, err := profilesOf(ctx, q, accountIDs)
	taxes := make(map[int64]money.Tax, len(accountIDs))
	for _, id := range accountIDs {
		taxes[id] = rules.tax(profiles[id])
	}
	return taxes, err
}

// NextIDs returns the ids of n documents that are made later in the same transaction.
func (s *Service) NextIDs(ctx context.Context, tx *db.Tx, n int) ([]int64, error) {
	return db.NextIDs(ctx, tx, "invoices", n)
}

// Invoice makes the invoices of orders, in the transaction in which they are paid. An order that costs nothing has none.
func (s *Service) Invoice(ctx context.Context, tx *db.Tx, bills []sale.Bill) error {
	bills = slices.DeleteFunc(slices.Clone(bills), func(b sale.Bill) bool { return b.Total == 0 })
	accounts := make([]int64, len(bills))
	for i, b := range bills {
		accounts[i] = b.AccountID
	}
	blanks, err := s.blanks(ctx, tx, accounts)
	if err != nil {
		return err
	}
	for _, b := range bills {
		r := filled(blanks[b.AccountID], b)
		r.id, r.kind, r.orderID, r.issuedAt = b.InvoiceID, Invoice, &b.OrderID, tx.Now
		s.issue(tx, r)
	}
	return nil
}

// Usage makes the invoice of what an account has used and paid. The tax is contained in what was paid, whatever prices are.
func (s *Service) Usage(ctx context.Context, tx *db.Tx, u sale.Usage) error {
	r, err := s.blank(ctx, tx, u.AccountID)
	if err != nil {
		return err
	}
	taxes, err := s.Taxes(ctx, tx, []int64{u.AccountID})
	if err != nil {
		return err
	}
	tax := taxes[u.AccountID]
	tax.Included = true
	if r.id, err = s.nextID(ctx, tx); err != nil {
		return err
	}
	r.kind, r.issuedAt, r.document.Tax = Invoice, tx.Now, tax
	for _, l := range u.Lines {
		r.document.Lines = append(r.document.Lines, line{
			Kind: l.Kind, Title: l.Title, Domain: l.Domain, Quantity: 1, UnitPrice: l.Amount, Total: l.Amount,
		})
		r.total += l.Amount
	}
	r.subtotal = r.total
	if _, r.taxIncluded, err = tax.Of(r.total); err != nil {
		return err
	}
	s.issue(tx, r)
	return nil
}

// filled writes a bill into a blank document.
func filled(r record, b sale.Bill) record {
	r.serviceID = b.ServiceID
	r.document.Order, r.document.Tax = b.Number, b.Tax
	for _, l := range b.Lines {
		r.document.Lines = append(r.document.Lines, line{
			Kind: l.Kind, Title: l.Title, Domain: l.Domain, PeriodMonths: l.PeriodMonths, Quantity: l.Quantity,
			UnitPrice: l.UnitPrice, Setup: l.Setup, Discount: l.Discount, Tax: l.TaxAdded, Total: l.Total,
		})
	}
	r.subtotal, r.discount, r.tax, r.taxIncluded, r.total = b.Subtotal, b.Discount, b.TaxAdded, b.TaxContained, b.Total
	return r
}

// blanks returns a document without lines for each account, between the company and the account as they are now.
func (s *Service) blanks(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]record, error) {
	if len(accountIDs) == 0 {
		return nil, nil //nolint:nilnil // as asked
	}
	accounts, err := s.Accounts.Accounts(ctx, q, accountIDs)
	if err != nil {
		return nil, fmt.Errorf("invoices: accounts: %w", err)
	}
	profiles, err := profilesOf(ctx, q, accountIDs)
	if err != nil {
		return nil, err
	}
	blanks := make(map[int64]record, len(accountIDs))
	for _, id := range accountIDs {
		a, ok := accounts[id]
		if !ok {
			return nil, fmt.Errorf("invoices: account %d: %w", id, fault.NotFound.New())
		}
		r := record{accountID: id, seller: s.Prefix, document: document{Seller: s.Seller, Buyer: s.buyer(profiles[id], a)}}
		if a.Sandbox {
			r.seller = fmt.Sprintf("%s%d-", sandboxPrefix, id)
		}
		blanks[id] = r
	}
	return blanks, nil
}

// blank is blanks for one account.
func (s *Service) blank(ctx context.Context, q db.Querier, accountID int64) (record, error) {
	all, err := s.blanks(ctx, q, []int64{accountID})
	return all[accountID], err
}

// nextID is NextIDs for one document.
func (s *Service) nextID(ctx context.Context, tx *db.Tx) (int64, error) {
	ids, err := s.NextIDs(ctx, tx, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// buyer is the profile of an account, with what the account itself says in the place of what the profile does not.
func (s *Service) buyer(p profile, a Account) Party {
	buyer := p.party()
	if buyer.Name == "" {
		buyer.Name = a.Name
	}
	if buyer.Email == "" && !a.Sandbox {
		buyer.Email = a.Email
	}
	return buyer
}

// documents is the name under which the documents of a transaction are gathered, to be written by one statement at
// its end.
const documents = "invoices"

// afterDocuments is when the documents of a transaction are written; it sorts after the name above.
const afterDocuments = documents + "~"

// issue writes a document, without a number, at the end of the transaction. The sequencer numbers it once that is
// committed (see Number).
func (s *Service) issue(tx *db.Tx, r record) {
	r.year = r.issuedAt.In(s.Zone).Year()
	db.Gather(tx, documents, r, func(ctx context.Context, all []record) error {
		if err := insert(ctx, tx, all); err != nil {
			return fmt.Errorf("invoices: write %d, from %s %d on: %w", len(all), all[0].kind, all[0].id, err)
		}
		tx.OnCommit(s.wakeSequencer)
		return nil
	})
}

// The reasons of credit notes that have a text.
const (
	reasonOrderFailed  = "order_failed"
	reasonTariffChange = "tariff_change"
	reasonTopup        = "topup_reversed"
)

// CancelOrder credits all that is left of the invoice of an order that cannot be made. An order without an invoice
// has nothing to be credited.
func (s *Service) CancelOrder(ctx context.Context, tx *db.Tx, orderID int64) error {
	err := s.cancelOrder(ctx, tx, orderID)
	if !errors.Is(err, db.ErrNoRows) {
		return err
	}
	// It may have been paid in this very transaction.
	tx.AtEnd(afterDocuments, func(ctx context.Context) error {
		if err := s.cancelOrder(ctx, tx, orderID); !errors.Is(err, db.ErrNoRows) {
			return err
		}
		return nil
	})
	return nil
}

// cancelOrder is CancelOrder where an order without an invoice is db.ErrNoRows.
func (s *Service) cancelOrder(ctx context.Context, tx *db.Tx, orderID int64) error {
	r, err := lockOrder(ctx, tx, orderID)
	if err != nil || r.left() == 0 {
		return err
	}
	p, err := r.partOfTotal(r.left())
	if err == nil {
		_, err = s.takeBack(ctx, tx, r, p, reasonOrderFailed)
	}
	return err
}

// CreditService credits what is left of a service's paid time when it moves to a cheaper plan: a price, of which it
// answers what is to be given back, the tax that was added to it being part of that, and of which orders it is. It is
// taken off the invoices of the service, the newest first. What no invoice covers was paid before there were any, and
// is given back as it is. Invoices of orders that are not made yet are left alone: when such an order fails, all that it
// cost comes back.
func (s *Service) CreditService(
	ctx context.Context, tx *db.Tx, accountID, serviceID int64, price money.USDCents,
) (total money.USDCents, byOrder map[int64]money.USDCents, err error) {
	open, err := lockService(ctx, tx, accountID, serviceID)
	if err != nil {
		return 0, nil, fmt.Errorf("invoices: of service %d: %w", serviceID, err)
	}
	ids := make([]int64, len(open))
	for i, r := range open {
		ids[i] = *r.orderID // an invoice of a service is that of an order
	}
	held, err := s.Orders.Held(ctx, tx, ids)
	if err != nil {
		return 0, nil, fmt.Errorf("invoices: of service %d: %w", serviceID, err)
	}
	byOrder = map[int64]money.USDCents{}
	for _, r := range open {
		if price == 0 {
			break
		}
		if slices.Contains(held, *r.orderID) {
			continue
		}
		p, err := r.partOfPrice(price)
		if err != nil {
			return 0, nil, err
		}
		if _, err := s.takeBack(ctx, tx, r, p, reasonTariffChange); err != nil {
			return 0, nil, err
		}
		byOrder[*r.orderID] = p.total() // an order has one invoice
		price -= p.price
		if total, err = total.Add(p.total()); err != nil {
			return 0, nil, err
		}
	}
	total, err = total.Add(price)
	return total, byOrder, err
}

// RefundOrder credits a part of the invoice of an order, or with 0 all that is left of it. It refuses more than that
// with refund_too_large.
func (s *Service) RefundOrder(ctx context.Context, tx *db.Tx, orderID int64, total money.USDCents, reason string) (sale.Refund, error) {
	r, err := lockOrder(ctx, tx, orderID)
	if errors.Is(err, db.ErrNoRows) {
		return sale.Refund{}, fault.NotFound.New()
	}
	if err != nil {
		return sale.Refund{}, err
	}
	if total == 0 {
		total = r.left()
	}
	if total <= 0 || total > r.left() {
		return sale.Refund{}, ErrRefundTooLarge.With(fault.Fields{"left": money.Wire(ctx, r.left())})
	}
	p, err := r.partOfTotal(total)
	if err != nil {
		return sale.Refund{}, err
	}
	id, err := s.takeBack(ctx, tx, r, p, reason)
	return sale.Refund{CreditNote: id, Total: p.total(), Price: p.price}, err
}

// takeBack makes the credit note of a part of a locked document. Seller, buyer and tax are those of the document.
func (s *Service) takeBack(ctx context.Context, tx *db.Tx, r record, p part, reason string) (int64, error) {
	if err := credit(ctx, tx, r.id, p); err != nil {
		return 0, fmt.Errorf("invoices: credit %s %d: %w", r.kind, r.id, err)
	}
	id, err := s.nextID(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("invoices: credit %s %d: %w", r.kind, r.id, err)
	}
	note := record{
		id: id, accountID: r.accountID, kind: CreditNote, seller: r.seller, orderID: r.orderID, topupID: r.topupID, serviceID: r.serviceID,
		corrects: &r.id, subtotal: p.price, tax: p.tax, taxIncluded: p.taxIncluded, total: p.total(), issuedAt: tx.Now,
		document: document{
			Seller: r.document.Seller, Buyer: r.document.Buyer, Tax: r.document.Tax, Order: r.document.Order,
			Gateway: r.document.Gateway, Reason: reason,
			Lines: []line{{Kind: "credit", Quantity: 1, UnitPrice: p.price, Tax: p.tax, Total: p.total()}},
		},
	}
	note.corrected(r.number())
	s.issue(tx, note)
	return id, nil
}

// Follow hears of top-ups: one that succeeded gets a receipt, and what its gateway takes back a credit note.
func (s *Service) Follow(_ context.Context, tx *db.Tx, e outbox.Stored) error {
	db.Gather(tx, "invoices.topups", e.SubjectID, func(ctx context.Context, ids []int64) error {
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) { // it may have been told of several times
			if err := s.follow(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// follow makes what documents of a top-up there are not yet. What is kept is the sum that was taken back, so an event that
// is told twice, late or early changes nothing.
func (s *Service) follow(ctx context.Context, tx *db.Tx, topupID int64) error {
	t, err := s.Topups.Receipt(ctx, tx, topupID)
	if err != nil {
		return fmt.Errorf("invoices: top-up %d: %w", topupID, err)
	}
	r, err := lockReceipt(ctx, tx, topupID)
	if errors.Is(err, db.ErrNoRows) {
		err = s.receipt(ctx, tx, topupID, t)
	}
	if err != nil || t.TakenBack <= r.credited {
		return err
	}
	tx.AtEnd(afterDocuments, func(ctx context.Context) error {
		r, err := lockReceipt(ctx, tx, topupID)
		if err == nil {
			_, err = s.takeBack(ctx, tx, r, part{price: t.TakenBack - r.credited}, reasonTopup)
		}
		return err
	})
	return nil
}

// receipt makes the receipt of a top-up.
func (s *Service) receipt(ctx context.Context, tx *db.Tx, topupID int64, t sale.Receipt) error {
	r, err := s.blank(ctx, tx, t.AccountID)
	if err == nil {
		r.id, err = s.nextID(ctx, tx)
	}
	if err != nil {
		return err
	}
	r.kind, r.topupID, r.issuedAt = Receipt, &topupID, tx.Now
	r.document.Gateway = t.Gateway
	r.document.Lines = []line{{Kind: "topup", Title: t.Gateway, Quantity: 1, UnitPrice: t.Amount, Total: t.Amount}}
	if t.Fee > 0 {
		r.document.Lines = append(r.document.Lines, line{Kind: "fee", Title: t.Gateway, Quantity: 1, UnitPrice: t.Fee, Total: t.Fee})
	}
	if r.total, err = t.Amount.Add(t.Fee); err != nil {
		return err
	}
	r.subtotal = r.total
	s.issue(tx, r)
	return nil
}

// proforma is what the invoice of a pending order would be.
func (s *Service) proforma(ctx context.Context, accountID, orderID int64) (record, error) {
	b, due, err := s.Orders.Awaiting(ctx, s.DB, accountID, orderID)
	if err != nil {
		return record{}, err
	}
	r, err := s.blank(ctx, s.DB, b.AccountID)
	r = filled(r, b)
	r.kind, r.orderID, r.orderNumber, r.dueAt = Proforma, &orderID, b.Number, &due
	return r, err
}

// Profile of an account; one that has not said has what the account itself says.
func (s *Service) profile(ctx context.Context, q db.Querier, accountID int64) (Party, error) {
	p, _, err := profileOf(ctx, q, accountID)
	if err != nil {
		return Party{}, err
	}
	accounts, err := s.Accounts.Accounts(ctx, q, []int64{accountID})
	return s.buyer(p, accounts[accountID]), err
}

// setProfile writes down whom the invoices of an account are for from now on.
func (s *Service) setProfile(ctx context.Context, accountID int64, p profile) (Party, error) {
	p, err := p.check(s.now())
	if err != nil {
		return Party{}, err
	}
	var now Party
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := putProfile(ctx, tx, accountID, p); err != nil {
			return err
		}
		now, err = s.profile(ctx, tx, accountID)
		return err
	})
	return now, err
}

// KindSLACredit is the kind of the lines that mention credits for broken promises of uptime.
const KindSLACredit = "sla_credit"

// Mention is an amount that is put into a wallet without a document of its own.
type Mention struct {
	AccountID int64
	Kind      string // of the line
	SubjectID int64  // what it is about; each is mentioned once
	Title     string // what the kind's text needs: of KindSLACredit the month, such as 2026-10
	Domain    string // empty without one
	Amount    money.USDCents
}

// Mention has the account's next invoice mention an amount that is put into its wallet in this transaction.
func (s *Service) Mention(ctx context.Context, tx *db.Tx, m Mention) error {
	return insertMention(ctx, tx, m)
}

// Forget removes the billing profile of an account that is closed, and what its next invoice would have mentioned. What
// was issued stays: the law has it kept.
func (s *Service) Forget(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := deleteOpenMentions(ctx, tx, accountID); err != nil {
		return err
	}
	return deleteProfile(ctx, tx, accountID)
}

// Verify fails when a series of numbers has a gap.
func (s *Service) Verify(ctx context.Context) error {
	found, err := gaps(ctx, s.DB)
	if err != nil || len(found) == 0 {
		return err
	}
	g := found[0]
	return fmt.Errorf("the numbers of %d series are not gapless, the first: %ss %q of %d were numbered to %d, there are %d up to %d",
		len(found), g.Kind, g.Seller, g.Year, g.Last, g.Count, g.Most)
}

// reason is why a credit note was written, in a language.
func (d document) reason(lang string) string {
	switch d.Reason {
	case reasonOrderFailed, reasonTariffChange, reasonTopup:
		return i18n.T(lang, "invoices.reason."+d.Reason, nil)
	default:
		return d.Reason
	}
}

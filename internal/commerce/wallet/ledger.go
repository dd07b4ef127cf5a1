package wallet

import (
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/money"
)

// accountKind is a kind of ledger account.
type accountKind string

const (
	customer    accountKind = "customer"
	held        accountKind = "held"
	debt        accountKind = "debt"
	clearing    accountKind = "clearing" // one per gateway, named by its key
	fees        accountKind = "fees"
	revenue     accountKind = "revenue"
	adjustments accountKind = "adjustments"
)

// owned accounts are a customer's.
func (k accountKind) owned() bool { return k == customer || k == held || k == debt }

// Type is what a transaction is for (resources, section 4). capture is the
// company's side of a charge and not shown to customers; repayment settles a
// debt.
type Type string

// The types.
const (
	TypeTopup          Type = "topup"
	TypeCharge         Type = "charge"
	TypeCapture        Type = "capture"
	TypeRefund         Type = "refund"
	TypeAdjustment     Type = "adjustment"
	TypeBonus          Type = "bonus"
	TypeSLACredit      Type = "sla_credit"
	TypeReferralReward Type = "referral_reward"
	TypeChargeback     Type = "chargeback"
	TypeReversal       Type = "reversal"
	TypeRepayment      Type = "repayment"
)

// checkReference refuses one that names nothing.
func checkReference(r sale.Reference) error {
	if r.Type == "" || r.ID <= 0 {
		return fmt.Errorf("wallet: the reference %q %d names nothing", r.Type, r.ID)
	}
	return nil
}

// leg is one posting of a movement: a positive amount comes to the account.
type leg struct {
	kind   accountKind
	name   string // of clearing accounts: the gateway
	amount money.USDCents
}

// movement is a transaction to be posted.
type movement struct {
	typ         Type
	ref         sale.Reference
	part        int64
	description string
	clientRef   *string // a reseller's tag
	legs        []leg
}

// spendable is what the movement does to the customer's balance.
func (m movement) spendable() money.USDCents {
	for _, l := range m.legs {
		if l.kind == customer {
			return l.amount
		}
	}
	return 0
}

// check: the legs sum to zero, none is empty, and no account has two.
func (m movement) check() error {
	if err := checkReference(m.ref); err != nil {
		return err
	}
	var sum money.USDCents
	seen := map[[2]string]bool{}
	for _, l := range m.legs {
		var err error
		if sum, err = sum.Add(l.amount); err != nil {
			return fmt.Errorf("wallet: %s: %w", m.typ, err)
		}
		key := [2]string{string(l.kind), l.name}
		if l.amount == 0 || seen[key] {
			return fmt.Errorf("wallet: %s: an empty or double posting to %s", m.typ, l.kind)
		}
		seen[key] = true
	}
	if sum != 0 {
		return fmt.Errorf("wallet: %s: the postings sum to %d, not to zero", m.typ, sum)
	}
	return nil
}

// legs leaves out postings of nothing.
func legs(all ...leg) []leg {
	out := make([]leg, 0, len(all))
	for _, l := range all {
		if l.amount != 0 {
			out = append(out, l)
		}
	}
	return out
}

// Balance of a customer.
type Balance struct {
	// Spendable is the wire's balance: what can be spent.
	Spendable money.USDCents
	// Held is set aside for orders in processing.
	Held money.USDCents
	// Debt, zero or more, is owed to the company after a charge-back of money
	// that had been spent; the next money that comes in repays it.
	Debt money.USDCents
}

// transaction is a row of the customer's history.
type transaction struct {
	ID           int64
	Type         Type
	Amount       money.USDCents
	BalanceAfter money.USDCents
	Description  string
	Reference    sale.Reference
	ClientRef    *string
	CreatedAt    time.Time
}

// book is one of a customer's ledger accounts.
type book struct {
	id      int64
	balance money.USDCents
}

// purse is a customer's ledger accounts, locked.
type purse struct {
	accountID int64
	sandbox   bool // its money is play money
	watched   bool // its owner wants to know when the balance changes
	books     map[accountKind]*book
	company   *companyAccounts
}

// companyName is the name of the company's ledger account on the other side of the
// purse's movements. Play money never stands among real money.
func (p *purse) companyName(name string) string {
	if p.sandbox {
		return "sandbox:" + name
	}
	return name
}

func (p *purse) balance(k accountKind) money.USDCents { return p.books[k].balance }

func (p *purse) balances() map[accountKind]money.USDCents {
	all := map[accountKind]money.USDCents{}
	for k, b := range p.books {
		all[k] = b.balance
	}
	return all
}

// takeBack plans how total is taken back of a top-up of amount (and a fee above
// it) of which before was taken already: from what can be spent, the rest as a
// debt, and what exceeds the amount from the fee.
func takeBack(amount, before, total, spendable money.USDCents) (fromCustomer, asDebt, fromFee money.USDCents, err error) {
	after, err := before.Add(total)
	if err != nil || total <= 0 || before < 0 {
		return 0, 0, 0, errors.Join(ErrBadAmount, err)
	}
	fromWallet := min(after, amount) - min(before, amount)
	fromCustomer = min(fromWallet, spendable)
	return fromCustomer, fromWallet - fromCustomer, total - fromWallet, nil
}

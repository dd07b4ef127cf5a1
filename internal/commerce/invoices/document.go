package invoices

import (
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Kind is what a document is.
type Kind string

// The kinds. A proforma is shown of an order that awaits its payment and is kept nowhere.
const (
	Invoice    Kind = "invoice"
	CreditNote Kind = "credit_note"
	Receipt    Kind = "receipt"
	Proforma   Kind = "proforma"
)

// marks stand in the numbers of the kinds.
var marks = map[Kind]string{Invoice: "INV", CreditNote: "CN", Receipt: "RCP"}

// Status is where a document stands.
type Status string

// The states that documents of these kinds have. A credit note is paid when it is issued: the money is back.
const (
	Unpaid   Status = "unpaid"
	Paid     Status = "paid"
	Refunded Status = "refunded" // all of it
)

// Party is the seller or the buyer of a document.
type Party struct {
	Company      bool   `json:"company" doc:"A business, not a person"`
	Name         string `json:"name"`
	TaxNumber    string `json:"tax_number"`
	Registration string `json:"registration" doc:"In the register of companies; of sellers"`
	Country      string `json:"country" doc:"ISO 3166-1 alpha-2; empty when it is not known"`
	Region       string `json:"region"`
	City         string `json:"city"`
	PostalCode   string `json:"postal_code"`
	Address      string `json:"address"`
	Email        string `json:"email"`
}

// line is one thing that a document is about.
type line struct {
	Kind         string         `json:"kind,omitempty"` // of the order's item
	Title        string         `json:"title"`
	Domain       string         `json:"domain,omitempty"`
	PeriodMonths int            `json:"period_months,omitempty"`
	Quantity     int            `json:"quantity"`
	UnitPrice    money.USDCents `json:"unit_price"`
	Setup        money.USDCents `json:"setup,omitempty"`
	Discount     money.USDCents `json:"discount,omitempty"`
	Tax          money.USDCents `json:"tax,omitempty"`
	Total        money.USDCents `json:"total"`
	Mentioned    money.USDCents `json:"mentioned,omitempty"` // of a mention: what went into the wallet, no part of a sum
}

// document is what is kept of the day on which it was issued.
type document struct {
	Seller Party     `json:"seller"`
	Buyer  Party     `json:"buyer"`
	Lines  []line    `json:"lines"`
	Tax    money.Tax `json:"tax"`
	// Order is the number of the order, Corrects that of the invoice which a credit note takes back from.
	Order    string `json:"order,omitempty"`
	Corrects string `json:"corrects,omitempty"`
	// Reason of a credit note: a word that has a text, or the operator's own.
	Reason  string `json:"reason,omitempty"`
	Gateway string `json:"gateway,omitempty"` // of a receipt
}

// record is a row of the table invoices.
type record struct {
	id, accountID                        int64
	kind                                 Kind
	seller                               string
	year                                 int
	sequence                             int64 // 0: it has no number yet
	orderID, topupID, serviceID          *int64
	corrects                             *int64
	document                             document
	subtotal, discount, tax, taxIncluded money.USDCents
	total                                money.USDCents
	credited, creditedTax                money.USDCents
	issuedAt                             time.Time

	// Of a proforma: it has no row.
	orderNumber string
	dueAt       *time.Time
}

// number is what people call the document: INV-2026-000123. It is empty until the sequencer has given it.
func (r record) number() string {
	switch {
	case r.kind == Proforma:
		return r.orderNumber
	case r.sequence == 0:
		return ""
	}
	return Number(r.seller, r.kind, r.year, r.sequence)
}

// Number is what a document of a seller is called, such as INV-2026-000123.
func Number(seller string, kind Kind, year int, sequence int64) string {
	return fmt.Sprintf("%s%s-%d-%06d", seller, marks[kind], year, sequence)
}

// series is where the document is counted.
func (r record) series() series { return series{r.seller, r.kind, r.year} }

// corrected names the document that a credit note corrects, in its own words and in its line.
func (r *record) corrected(number string) {
	r.document.Corrects, r.document.Lines[0].Title = number, number
}

func (r record) status() Status {
	switch {
	case r.kind == Proforma:
		return Unpaid
	case r.left() == 0:
		return Refunded
	default:
		return Paid
	}
}

// price is what was paid before the tax that was added to it.
func (r record) price() money.USDCents { return r.total - r.tax }

// left is how much of the document can still be given back.
func (r record) left() money.USDCents { return r.total - r.credited - r.creditedTax }

// part is what one credit note takes back of an invoice.
type part struct{ price, tax, taxIncluded money.USDCents }

func (p part) total() money.USDCents { return p.price + p.tax }

// partOfPrice is the part of an invoice whose price is so much, at most what is left of it. Rounding is by the sum
// taken back so far, so that the last part takes back the last cent of the tax.
func (r record) partOfPrice(price money.USDCents) (part, error) {
	price = min(price, r.price()-r.credited)
	tax, err := r.taxUpTo(r.credited+price, r.price())
	if err != nil {
		return part{}, err
	}
	return r.withIncluded(part{price: price, tax: tax})
}

// partOfTotal is the part of an invoice with its tax of which is given back so much.
func (r record) partOfTotal(total money.USDCents) (part, error) {
	total = min(total, r.left())
	tax, err := r.taxUpTo(r.credited+r.creditedTax+total, r.total)
	if err != nil {
		return part{}, err
	}
	// What is left of the price may be less than the rest, and the other way round: the rounding of before.
	tax = max(min(tax, total), total-(r.price()-r.credited))
	return r.withIncluded(part{price: total - tax, tax: tax})
}

// taxUpTo is the tax on top of so much of a whole, less what was taken back of it before.
func (r record) taxUpTo(sum, whole money.USDCents) (money.USDCents, error) {
	if r.tax == 0 {
		return 0, nil
	}
	tax, err := r.tax.MulDiv(int64(sum), int64(whole))
	return max(0, min(tax, r.tax)-r.creditedTax), err
}

// withIncluded adds the tax that the part's price contains.
func (r record) withIncluded(p part) (part, error) {
	if r.taxIncluded == 0 {
		return p, nil
	}
	before, err := r.taxIncluded.MulDiv(int64(r.credited), int64(r.price()))
	if err != nil {
		return p, err
	}
	after, err := r.taxIncluded.MulDiv(int64(r.credited+p.price), int64(r.price()))
	p.taxIncluded = after - before
	return p, err
}

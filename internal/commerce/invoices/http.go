package invoices

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// invoiceWire is the invoice of resources, section 6.
type invoiceWire struct {
	ID          *int64      `json:"id" doc:"Null of a proforma"`
	Number      *string     `json:"number" example:"INV-2026-000123" doc:"Of a proforma: that of its order. Null until the document has its number, which is about a second after the payment; invoice.issued is told then"`
	Kind        Kind        `json:"kind" enum:"invoice,credit_note,receipt,proforma" doc:"receipt: of money that was paid into the wallet"`
	Status      Status      `json:"status" enum:"unpaid,paid,refunded" doc:"refunded: all of it was given back; see credited"`
	Seller      Party       `json:"seller"`
	Buyer       Party       `json:"buyer"`
	Lines       []lineWire  `json:"lines"`
	TaxName     string      `json:"tax_name"`
	TaxRate     float64     `json:"tax_rate" doc:"Percent" example:"12"`
	TaxNote     *string     `json:"tax_note" enum:"reverse_charge,exempt" doc:"Why there is no tax"`
	Subtotal    money.Money `json:"subtotal"`
	Discount    money.Money `json:"discount"`
	Tax         money.Money `json:"tax" doc:"Added to the price"`
	TaxIncluded money.Money `json:"tax_included" doc:"Contained in the price"`
	Total       money.Money `json:"total" doc:"Of a credit note: what was given back"`
	Credited    money.Money `json:"credited" doc:"What credit notes took back of it"`
	OrderID     *int64      `json:"order_id"`
	TopupID     *int64      `json:"topup_id"`
	ServiceID   *int64      `json:"service_id"`
	Corrects    *int64      `json:"corrects_id" doc:"Of a credit note: the document that it takes back from"`
	Reason      *string     `json:"reason" doc:"Of a credit note; in the reader's language, or as an operator wrote it"`
	PDFURL      string      `json:"pdf_url" doc:"The same as PDF; it is fetched with the token or key that this was"`
	IssuedAt    *time.Time  `json:"issued_at"`
	DueAt       *time.Time  `json:"due_at"`
	PaidAt      *time.Time  `json:"paid_at"`
}

type lineWire struct {
	Kind         string      `json:"kind" doc:"That of the order's item; topup and fee of receipts, credit of credit notes; ai_usage of what the AI agent has cost in a month; sla_credit mentions a credit for broken uptime that was put into the wallet since the invoice before"`
	Title        string      `json:"title"`
	Domain       *string     `json:"domain"`
	PeriodMonths *int        `json:"period_months"`
	Quantity     int         `json:"quantity"`
	UnitPrice    money.Money `json:"unit_price"`
	Setup        money.Money `json:"setup"`
	Discount     money.Money `json:"discount"`
	Tax          money.Money `json:"tax" doc:"Added to the price"`
	Total        money.Money `json:"total"`
	Credited     money.Money `json:"credited" doc:"Of sla_credit: what was put into the wallet; no part of a sum. Else 0"`
}

// wire encodes a document; base is the path of the interface through which it was asked for.
func (s *Service) wire(ctx context.Context, r record, base string) invoiceWire {
	d := r.document
	w := invoiceWire{
		Number: optional(r.number()), Kind: r.kind, Status: r.status(), Seller: d.Seller, Buyer: d.Buyer, Lines: make([]lineWire, len(d.Lines)),
		TaxName: d.Tax.Name, TaxRate: float64(d.Tax.BasisPoints) / 100, TaxNote: optional(d.Tax.Note),
		Subtotal: money.Wire(ctx, r.subtotal), Discount: money.Wire(ctx, r.discount), Tax: money.Wire(ctx, r.tax),
		TaxIncluded: money.Wire(ctx, r.taxIncluded), Total: money.Wire(ctx, r.total), Credited: money.Wire(ctx, r.total-r.left()),
		OrderID: r.orderID, TopupID: r.topupID, ServiceID: r.serviceID, Corrects: r.corrects,
		Reason: optional(d.reason(i18n.Lang(ctx))), DueAt: r.dueAt,
	}
	if r.kind == Proforma {
		w.PDFURL = s.BaseURL + base + "orders/" + strconv.FormatInt(*r.orderID, 10) + "/proforma?format=pdf"
	} else {
		w.PDFURL = s.BaseURL + base + "invoices/" + strconv.FormatInt(r.id, 10) + "?format=pdf"
		w.ID, w.IssuedAt, w.DueAt, w.PaidAt = &r.id, &r.issuedAt, &r.issuedAt, &r.issuedAt
	}
	for i, l := range d.Lines {
		w.Lines[i] = lineWire{
			Kind: l.Kind, Title: l.Title, Domain: optional(l.Domain), Quantity: l.Quantity, UnitPrice: money.Wire(ctx, l.UnitPrice),
			Setup: money.Wire(ctx, l.Setup), Discount: money.Wire(ctx, l.Discount), Tax: money.Wire(ctx, l.Tax), Total: money.Wire(ctx, l.Total),
			Credited: money.Wire(ctx, l.Mentioned),
		}
		if l.PeriodMonths > 0 {
			w.Lines[i].PeriodMonths = &l.PeriodMonths
		}
	}
	return w
}

// optional is nil for what is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// The interfaces below which documents are found.
const (
	publicPaths   = "/api/v1/"
	resellerPaths = "/api/v1/reseller/"
)

func pathsOf(p auth.Principal) string {
	if p.KeyID != 0 {
		return resellerPaths
	}
	return publicPaths
}

// eventOf is the document in the data of its event: in USD and English whoever it is told to. Events are sent to
// resellers, whose keys open the paths of theirs.
func (s *Service) eventOf(ctx context.Context, r record) invoiceWire {
	return s.wire(money.WithCurrency(i18n.WithLang(ctx, i18n.English), money.USD), r, resellerPaths)
}

type listIn struct {
	page.Params
	Kind Kind `query:"kind" enum:"invoice,credit_note,receipt" doc:"Only documents of this kind"`
}

// form is how a document is wanted: by Accept, or by format where a link cannot say what it accepts.
type form struct {
	Format string `query:"format" enum:"json,pdf" doc:"What to answer; without it, what Accept prefers, and JSON when it does not say"`
	Accept string `header:"Accept" maxLength:"2048" doc:"application/pdf for the document as a file; JSON otherwise"`
}

type invoiceIn struct {
	form
	Invoice int64 `path:"invoice" minimum:"1" doc:"Id of the document"`
}

type staffInvoiceIn struct {
	form
	Document int64 `path:"document" minimum:"1" doc:"Id of the document"`
}

type proformaIn struct {
	form
	Order int64 `path:"order" minimum:"1" doc:"Id of the order"`
}

type profileIn struct {
	Body struct {
		Company    bool   `json:"company,omitempty" doc:"A business, not a person"`
		Name       string `json:"name" maxLength:"200" doc:"Of the person or the business" example:"Example LLC"`
		TaxNumber  string `json:"tax_number,omitempty" maxLength:"40" doc:"Of a business; what it has to look like depends on the country"`
		Country    string `json:"country" minLength:"2" maxLength:"2" doc:"ISO 3166-1 alpha-2" example:"UZ"`
		Region     string `json:"region,omitempty" maxLength:"100"`
		City       string `json:"city,omitempty" maxLength:"100"`
		PostalCode string `json:"postal_code,omitempty" maxLength:"20"`
		Address    string `json:"address,omitempty" maxLength:"200" doc:"Street and house; required of a business"`
		Email      string `json:"email,omitempty" maxLength:"254" doc:"Of who keeps the books; the account's when it is left out"`
	}
}

// profileWire is a billing profile and what follows from it.
type profileWire struct {
	Party
	TaxName string  `json:"tax_name"`
	TaxRate float64 `json:"tax_rate" doc:"Percent that purchases are taxed by now" example:"12"`
	TaxNote *string `json:"tax_note" enum:"reverse_charge,exempt"`
	// TaxIncluded tells that prices contain it.
	TaxIncluded bool `json:"tax_included" doc:"Prices contain the tax; else it is added to them"`
}

// Operations are invoices, which the specification does not have but for resellers, and the billing profile.
func (s *Service) Operations() []api.Route {
	const how = "JSON, or PDF by `Accept: application/pdf` or `format=pdf`; its words are in the reader's language."
	return []api.Route{
		// Specification, "Reseller": invoices. Here also for everybody else.
		api.Operation[listIn, page.List[invoiceWire]]{
			ID: "invoices.list", Method: http.MethodGet, Path: publicPaths + "invoices", Section: api.Orders,
			Description: "Invoices are numbered without gaps and never change; a credit note takes an amount back. The document of a " +
				"payment is there about a second after it.",
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "List your invoices, credit notes and receipts, the newest first",
			Handle: func(ctx context.Context, p auth.Principal, in *listIn) (*page.List[invoiceWire], error) {
				rows, total, err := list(ctx, s.DB, p.AccountID, in.Kind, in.Params)
				if err != nil {
					return nil, err
				}
				wires := make([]invoiceWire, len(rows))
				for i, r := range rows {
					wires[i] = s.wire(ctx, r, pathsOf(p))
				}
				return page.Of(in.Params, total, wires), nil
			},
		},
		// Specification, "Reseller": JSON, or PDF by Accept.
		api.Operation[invoiceIn, invoiceWire]{
			ID: "invoices.get", Method: http.MethodGet, Path: publicPaths + "invoices/{invoice}", Section: api.Orders,
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "Get an invoice, a credit note or a receipt", Description: how,
			Errors: []*fault.Def{fault.NotFound, ErrNotNumbered}, ContentTypes: []string{"application/json", "application/pdf"},
			Stream: func(ctx context.Context, p auth.Principal, in *invoiceIn, w http.ResponseWriter, _ *http.Request) error {
				r, err := getOwn(ctx, s.DB, p.AccountID, in.Invoice)
				if err != nil {
					return err
				}
				return s.answer(ctx, w, r, in.form, pathsOf(p))
			},
		},
		s.staffGet(),
		api.Operation[proformaIn, invoiceWire]{
			ID: "orders.proforma", Method: http.MethodGet, Path: publicPaths + "orders/{order}/proforma", Section: api.Orders,
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "Get what the invoice of a pending order would be", Description: how,
			Errors: []*fault.Def{fault.NotFound}, ContentTypes: []string{"application/json", "application/pdf"},
			Stream: func(ctx context.Context, p auth.Principal, in *proformaIn, w http.ResponseWriter, _ *http.Request) error {
				r, err := s.proforma(ctx, p.AccountID, in.Order)
				if err != nil {
					return err
				}
				return s.answer(ctx, w, r, in.form, pathsOf(p))
			},
		},
		api.Operation[struct{}, profileWire]{
			ID: "account.billing", Method: http.MethodGet, Path: publicPaths + "me/billing", Section: api.Account,
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "Whom your invoices are for, and how you are taxed",
			Description: "It needs the scope by which invoices are read, which have the same name, address and tax number: consent names them.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*profileWire, error) {
				buyer, err := s.profile(ctx, s.DB, p.AccountID)
				return s.taxed(ctx, p.AccountID, buyer, err)
			},
		},
		api.Operation[profileIn, profileWire]{
			ID: "account.set_billing", OwnerOnly: true, Method: http.MethodPut, Path: publicPaths + "me/billing", Section: api.Account,
			Example: `{"name": "Example LLC", "company": true, "tax_number": "301234567", "country": "UZ", "address": "Navoiy 1"}`,
			Auth:    api.Token, Scopes: []string{auth.ScopeProfile}, FirstParty: true, Summary: "Say whom your invoices are for from now on",
			Description: "What was issued stays as it is. An order that awaits its payment is taxed by what stands here when it is paid.",
			Handle: func(ctx context.Context, p auth.Principal, in *profileIn) (*profileWire, error) {
				b := in.Body
				buyer, err := s.setProfile(ctx, p.AccountID, profile{
					company: b.Company, name: b.Name, taxNumber: b.TaxNumber, country: b.Country, region: b.Region, city: b.City,
					postalCode: b.PostalCode, address: b.Address, email: b.Email,
				})
				return s.taxed(ctx, p.AccountID, buyer, err)
			},
		},
	}
}

// staffGet is how staff read a document of any customer.
func (s *Service) staffGet() api.Route {
	op := api.ForStaff[staffInvoiceIn, invoiceWire]("documents.get", "/invoices/{document}", "An invoice, a credit note or a receipt", auth.Roles())
	op.Description = "JSON, or PDF by `Accept: application/pdf` or `format=pdf`."
	op.Errors, op.ContentTypes = []*fault.Def{fault.NotFound, ErrNotNumbered}, []string{"application/json", "application/pdf"}
	op.Stream = func(ctx context.Context, _ auth.Principal, in *staffInvoiceIn, w http.ResponseWriter, _ *http.Request) error {
		r, err := get(ctx, s.DB, in.Document)
		if errors.Is(err, db.ErrNoRows) {
			err = fault.NotFound.New()
		}
		if err != nil {
			return err
		}
		return s.answer(ctx, w, r, in.form, api.StaffPrefix+"/")
	}
	return op
}

// taxed adds to a profile how it is taxed, or passes the refusal on.
func (s *Service) taxed(ctx context.Context, accountID int64, buyer Party, err error) (*profileWire, error) {
	if err != nil {
		return nil, err
	}
	tax, err := sale.TaxOf(ctx, s.DB, s, accountID)
	if err != nil {
		return nil, err
	}
	return &profileWire{
		Party: buyer, TaxName: tax.Name, TaxRate: float64(tax.BasisPoints) / 100, TaxNote: optional(tax.Note), TaxIncluded: tax.Included,
	}, nil
}

// answer writes a document in the form that is wanted.
func (s *Service) answer(ctx context.Context, w http.ResponseWriter, r record, f form, base string) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept, Accept-Language")
	if !f.pdf() {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(s.wire(ctx, r, base))
	}
	if r.number() == "" {
		return ErrNotNumbered.New()
	}
	content, err := s.pdf(r, i18n.Lang(ctx))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", `inline; filename="`+r.number()+`.pdf"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, err = w.Write(content)
	return err
}

// pdf tells whether the PDF is wanted. A document has these two forms, and JSON is what a client gets that wants
// neither.
func (f form) pdf() bool {
	if f.Format != "" {
		return f.Format == "pdf"
	}
	quality := map[string]float64{}
	for part := range strings.SplitSeq(f.Accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		quality[media] = q
	}
	of := func(names ...string) float64 { // the most specific one counts (RFC 9110, section 12.5.1)
		for _, name := range names {
			if q, ok := quality[name]; ok {
				return q
			}
		}
		return 0
	}
	return of("application/pdf", "application/*", "*/*") > of("application/json", "application/*", "*/*")
}

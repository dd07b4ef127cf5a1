package invoices

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

var pageOne = page.Params{Page: 1, PerPage: 20}

func TestDocumentsAreListedAndReadByTheirOwner(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		first, second := w.sell(1, 1, 9, 1000), w.sell(1, 2, 9, 1000)
		w.sell(2, 3, 8, 1000)
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.CancelOrder(ctx, tx, 1) })
		var listed page.List[invoiceWire]
		w.read(w.call("own", "GET", "/api/v1/invoices", ""), &listed)
		if listed.Meta.Total != 3 || listed.Data[0].Kind != CreditNote || *listed.Data[1].ID != second.id || listed.Data[2].Status != Refunded {
			t.Errorf("%+v", listed)
		}
		w.read(w.call("own", "GET", "/api/v1/invoices?kind=invoice&per_page=1&page=2", ""), &listed)
		if listed.Meta.Total != 2 || len(listed.Data) != 1 || *listed.Data[0].ID != first.id {
			t.Errorf("%+v", listed)
		}
		path := fmt.Sprintf("/api/v1/invoices/%d", second.id)
		var got invoiceWire
		w.read(w.call("own", "GET", path, ""), &got)
		if *got.Number != "INV-2026-000002" || got.TaxName != "QQS" || got.TaxRate != 12 || got.Tax.USDCents != 120 || got.Total.USDCents != 1120 ||
			got.Buyer.Name != "Aziza Karimova" || got.Buyer.Email != "aziza@stead.test" || got.Seller.TaxNumber != "301234567" ||
			*got.OrderID != 2 || *got.ServiceID != 9 || got.PDFURL != "http://stead.test"+path+"?format=pdf" || *got.Lines[0].PeriodMonths != 12 {
			t.Errorf("%+v", got)
		}
		for _, strange := range []string{path, "/api/v1/invoices/999"} {
			if rec := w.call("other", "GET", strange, ""); rec.Code != http.StatusNotFound {
				t.Errorf("%s of another: %d", strange, rec.Code)
			}
		}
	})
}

func TestAnInvoiceStaysAsItWasOnItsDay(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		old := w.sell(1, 1, 9, 1000)
		var before, after json.RawMessage
		path := fmt.Sprintf("/api/v1/invoices/%d", old.id)
		w.read(w.call("own", "GET", path, ""), &before)
		var p profileWire
		w.read(w.call("own", "PUT", "/api/v1/me/billing", `{"company":true,"name":"ООО Ромашка","country":"de","tax_number":"DE123456789","address":"Straße 1","city":"Köln"}`), &p)
		if p.TaxNote == nil || *p.TaxNote != "reverse_charge" || p.TaxRate != 0 || p.Country != "DE" || p.Email != "aziza@stead.test" {
			t.Errorf("%+v", p)
		}
		w.Seller.Name, w.Rules = "Another seller", Rules{}
		w.read(w.call("own", "GET", path, ""), &after)
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("the invoice changed:\n%s", diff)
		}
		if now := w.sell(1, 2, 9, 1000); now.document.Buyer.Name != "ООО Ромашка" || now.document.Seller.Name != "Another seller" || now.tax != 0 {
			t.Errorf("%+v", now)
		}
	})
}

// TestAnApplicationReadsWhatConsentNamesAndWritesNothing: scope profile says nothing of tax numbers.
func TestAnApplicationReadsWhatConsentNamesAndWritesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		for _, c := range []struct {
			token, method string
			want          int
		}{
			{"profile", "GET", http.StatusForbidden},
			{"application", "GET", http.StatusOK},
			{"profile", "PUT", http.StatusForbidden},
			{"application", "PUT", http.StatusForbidden},
			{"own", "PUT", http.StatusOK},
		} {
			if got := w.call(c.token, c.method, "/api/v1/me/billing", `{"name":"Aziza","country":"UZ"}`); got.Code != c.want {
				t.Errorf("%s with %s: %d %s", c.method, c.token, got.Code, got.Body)
			}
		}
	})
}

func TestABillingProfileIsChecked(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		long := strings.Repeat("я", 201)
		for body, field := range map[string]string{
			fmt.Sprintf(`{"name":%q,"country":"UZ"}`, long):                              "name",
			fmt.Sprintf(`{"name":"A","country":"UZ","address":%q}`, long):                "address",
			`{"name":"A","country":"XX"}`:                                                "country",
			`{"name":" ","country":"UZ"}`:                                                "name",
			`{"name":"A\u202eB","country":"UZ"}`:                                         "name",
			`{"name":"A\nB","country":"UZ"}`:                                             "name",
			`{"name":"A","country":"UZ","tax_number":"301234567"}`:                       "tax_number",
			`{"name":"A","country":"UZ","tax_number":"12","company":true,"address":"x"}`: "tax_number",
			`{"name":"A","country":"UZ","company":true}`:                                 "address",
			`{"name":"A","country":"UZ","email":"A <a@stead.test>"}`:                     "email",
			`{"name":"A","country":"UZ","email":"nobody"}`:                               "email",
			`{"country":"UZ","address":"Navoiy 1, Toshkent"}`:                            "name",
		} {
			rec := w.call("own", "PUT", "/api/v1/me/billing", body)
			var answer struct {
				Error  string              `json:"error"`
				Errors map[string][]string `json:"errors"`
			}
			_ = json.Unmarshal(rec.Body.Bytes(), &answer)
			if rec.Code != http.StatusUnprocessableEntity || answer.Errors[field] == nil {
				t.Errorf("%s: %d %s, want %s", body, rec.Code, rec.Body, field)
			}
		}
		var p profileWire
		w.read(w.call("own", "GET", "/api/v1/me/billing", ""), &p)
		if p.Name != "Aziza Karimova" || p.Country != "" || p.TaxName != "QQS" || p.TaxRate != 12 {
			t.Errorf("a refused profile was kept: %+v", p)
		}
	})
}

func TestTheFormIsByAccept(t *testing.T) {
	for accept, pdf := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/pdf": true, "application/pdf, */*": false,
		"application/pdf, */*;q=0.8": true, "application/json;q=0.9, application/pdf;q=0.8": false, "text/html": false,
		"application/*, application/json;q=0.1": true, "application/pdf;q=0": false, "application/pdf;q=x": false, ";;;,,": false,
	} {
		if got := (form{Accept: accept}).pdf(); got != pdf {
			t.Errorf("%q: pdf is %v", accept, got)
		}
	}
	if !(form{Accept: "application/json", Format: "pdf"}).pdf() || (form{Accept: "application/pdf", Format: "json"}).pdf() {
		t.Error("the format does not count before Accept")
	}
}

func TestAProformaIsWhatTheInvoiceWouldBe(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		w.bill = w.billFor(1, 77, 9, 1000)
		var got invoiceWire
		w.read(w.call("own", "GET", "/api/v1/orders/77/proforma", ""), &got)
		if got.ID != nil || *got.Number != "ORD-2026-000007" || got.Kind != Proforma || got.Status != Unpaid || got.Total.USDCents != 1120 ||
			!got.DueAt.Equal(testkit.Start.AddDate(0, 0, 7)) || got.IssuedAt != nil {
			t.Errorf("%+v", got)
		}
		rec := w.call("own", "GET", "/api/v1/orders/77/proforma?format=pdf", "")
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "application/pdf" || !strings.HasPrefix(rec.Body.String(), "%PDF") {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		if rec := w.call("other", "GET", "/api/v1/orders/77/proforma", ""); rec.Code != http.StatusNotFound {
			t.Errorf("another's: %d", rec.Code)
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		testkit.Indexed(t, d, func(q db.Querier) error {
			ctx := context.Background()
			if _, _, err := list(ctx, q, 1, "", pageOne); err != nil {
				return err
			}
			if _, _, err := list(ctx, q, 1, Receipt, pageOne); err != nil {
				return err
			}
			for query, args := range map[string][]any{ofOrderQuery: {1}, ofTopupQuery: {1}, ofServiceQuery: {1, 1}} {
				if _, err := db.Collect(ctx, q, documentRows.Scan, query, args...); err != nil {
					return err
				}
			}
			_, _, err := profileOf(ctx, q, 1)
			return err
		})
	})
}

package invoices

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// readPDF is the text of a document as another program reads it, with one space between words.
func readPDF(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", name, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func TestAPDFSaysWhatTheInvoiceSaysInEachLanguage(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		var p profileWire
		w.read(w.call("own", "PUT", "/api/v1/me/billing", `{"company":true,"name":"«Ромашка» МЧЖ — Oʻzbekiston","country":"UZ","tax_number":"301234567",
			"address":"Ўзбекистон кўчаси, 5-уй","city":"Тошкент","postal_code":"100000"}`), &p)
		r := w.sell(1, 1, 9, 100_000)
		for lang, want := range map[string][]string{
			"en": {"Invoice", "Seller", "Buyer", "Tax number: 301234567", "12 months", "QQS 12%", "Uzbekistan", "Paid on 02.03.2026", "Renewal: Старт — Boshlangʻich"},
			"ru": {"Счёт", "Продавец", "Покупатель", "Налоговый номер: 301234567", "12 месяцев", "Узбекистан", "Оплачено 02.03.2026", "Продление: Старт — Boshlangʻich"},
			"uz": {"Hisob-faktura", "Sotuvchi", "Xaridor", "Soliq raqami: 301234567", "12 oy", "Chegirma", "02.03.2026 kuni hamyondan toʻlangan"},
		} {
			rec := w.call("own", "GET", fmt.Sprintf("/api/v1/invoices/%d", r.id), "", "Accept", "application/pdf", "Accept-Language", lang)
			if rec.Code != 200 || rec.Header().Get("Content-Type") != "application/pdf" ||
				rec.Header().Get("Content-Disposition") != `inline; filename="INV-2026-000001.pdf"` {
				t.Fatalf("%d %v", rec.Code, rec.Header())
			}
			text := readPDF(t, rec.Body.Bytes())
			common := []string{
				"INV-2026-000001", "ORD-2026-000007", "Stead Hosting MChJ", "«Ромашка» МЧЖ — Oʻzbekiston", "Ўзбекистон кўчаси, 5-уй",
				"100000 Тошкент", "example.uz", "$1,001.00", "-$1.00", "$1,000.00", "$120.00", "$1,120.00 USD", "1/1",
			}
			for _, part := range append(want, common...) {
				if !strings.Contains(text, part) {
					t.Errorf("%s: the document does not say %q:\n%s", lang, part, text)
				}
			}
			again, err := w.pdf(r, lang)
			if err != nil || !bytes.Equal(again, rec.Body.Bytes()) {
				t.Errorf("%s: the same document is not the same bytes: %v", lang, err)
			}
		}
	})
}

// drawn is the text of a document.
func draw(t *testing.T, s *Service, r record, lang string) string {
	t.Helper()
	content, err := s.pdf(r, lang)
	if err != nil {
		t.Fatal(err)
	}
	return readPDF(t, content)
}

func TestALongDocumentHasAllItsLinesOnItsPages(t *testing.T) {
	s := New(Config{Zone: time.UTC})
	r := record{id: 1, kind: Invoice, year: 2026, sequence: 7, issuedAt: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), total: 1}
	for n := range 60 {
		r.document.Lines = append(r.document.Lines, line{
			Kind: "new", Title: fmt.Sprintf("Position%03d", n), Domain: strings.Repeat("d", 63) + ".example", PeriodMonths: 1, Quantity: 1, UnitPrice: 5, Total: 5,
		})
	}
	text := draw(t, s, r, "en")
	for n := range 60 {
		if !strings.Contains(text, fmt.Sprintf("Position%03d", n)) {
			t.Errorf("position %d is not there", n)
		}
	}
	if !strings.Contains(text, "5/5") || strings.Count(text, "Amount") != 5 {
		t.Errorf("the pages are not numbered, or a table has no head:\n%s", text)
	}
}

func TestWhatADocumentDependsOnIsSaid(t *testing.T) {
	s := New(Config{Zone: time.UTC})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	included := money.Tax{Name: "MwSt", BasisPoints: 1900, Included: true}
	for want, r := range map[string]record{
		"Contains MwSt 19%: $1.60":  {kind: Invoice, subtotal: 1000, taxIncluded: 160, total: 1000, document: document{Tax: included}},
		"Reverse charge: the tax":   {kind: Invoice, total: 1, document: document{Tax: money.Tax{Name: "MwSt", Note: "reverse_charge"}}},
		"Exempt from tax":           {kind: Invoice, total: 1, document: document{Tax: money.Tax{Name: "MWST", Note: "exempt"}}},
		"no money was paid":         {kind: Invoice, seller: "SANDBOX-3-", total: 1},
		"For document INV-1":        {kind: CreditNote, total: 1, document: document{Corrects: "INV-1", Reason: "order_failed"}},
		"could not be fulfilled":    {kind: CreditNote, total: 1, document: document{Corrects: "INV-1", Reason: "order_failed"}},
		"Reason as it was written":  {kind: CreditNote, total: 1, document: document{Corrects: "INV-1", Reason: "as it was written"}},
		"Paid by stripe":            {kind: Receipt, total: 1, document: document{Gateway: "stripe"}},
		"This is not an invoice":    {kind: Proforma, orderNumber: "ORD-1", dueAt: &day, total: 1},
		"Payable until 02.03.2026":  {kind: Proforma, orderNumber: "ORD-1", dueAt: &day, total: 1},
		"with setup $2.00":          {kind: Invoice, total: 1, document: document{Lines: []line{{Kind: "new", Title: "x", Setup: 200}}}},
		"Registration of a domain:": {kind: Invoice, total: 1, document: document{Lines: []line{{Kind: "domain_register", Title: "x.uz"}}}},
	} {
		r.issuedAt = day
		if text := draw(t, s, r, "en"); !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// FuzzNoTextBreaksADocument: whatever customers are called, there is a document.
func FuzzNoTextBreaksADocument(f *testing.F) {
	for _, name := range []string{"", "😀 emoji", "名前", "\x00\x1b[0m", "a\\)(<</JS", strings.Repeat("W", 5000), "é\u0301\u200b", "\xff\xfe", "\U0010ffff"} {
		f.Add(name)
	}
	s := New(Config{Zone: time.UTC})
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > 10_000 {
			return
		}
		who := Party{Name: name, Address: name, Country: name, Email: name, TaxNumber: name}
		r := record{kind: Invoice, total: 1, issuedAt: time.Unix(0, 0), document: document{
			Seller: who, Buyer: who, Reason: name, Gateway: name, Tax: money.Tax{Name: name, BasisPoints: 100}, Lines: []line{{Title: name, Domain: name}},
		}}
		for _, lang := range i18n.Supported() {
			if content, err := s.pdf(r, lang); err != nil || !bytes.HasPrefix(content, []byte("%PDF")) {
				t.Fatalf("%v", err)
			}
		}
	})
}

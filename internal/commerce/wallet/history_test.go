package wallet

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

type historyAnswer struct {
	Data []struct {
		ID        int64       `json:"id"`
		Type      string      `json:"type"`
		Amount    money.Money `json:"amount"`
		ClientRef *string     `json:"client_ref"`
	} `json:"data"`
	Meta    struct{ Total int }
	Final   bool        `json:"final"`
	Opening money.Money `json:"opening_balance"`
	Closing money.Money `json:"closing_balance"`
	In      money.Money `json:"incoming"`
	Out     money.Money `json:"outgoing"`
}

func (w *world) history(query string) (a historyAnswer) {
	w.t.Helper()
	status, b := w.call("anna", http.MethodGet, "/api/v1/wallet/"+query, "")
	if status != http.StatusOK {
		w.t.Fatalf("%s: %d %s", query, status, b)
	}
	if err := json.Unmarshal(b, &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// moved gives anna two months of movements, and boris one.
func (w *world) moved() {
	w.t.Helper()
	at := func(text string) {
		w.t.Helper()
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			w.t.Fatal(err)
		}
		w.clk.Advance(moment.Sub(w.clk.Now()))
	}
	tagged := func(cents money.USDCents, id int64, tag string) {
		w.must(func(ctx context.Context, tx *db.Tx) error {
			return w.Charge(ctx, tx, sale.Charge{AccountID: 1, Amount: cents, Reference: order(id), Description: tag, ClientRef: &tag})
		})
	}
	w.credit(2, 77)
	at("2031-03-15T10:00:00Z")
	w.credit(1, 5000)
	tagged(1200, 1, "shop, \"one\"")
	w.must(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(1)) })
	at("2031-03-31T23:59:59Z")
	tagged(300, 2, "=HYPERLINK(\"http://evil.example\")")
	at("2031-04-01T00:00:00Z")
	w.must(func(ctx context.Context, tx *db.Tx) error { return w.Release(ctx, tx, order(2), "-1+1") })
	tagged(1000, 3, "shop, \"one\"")
}

func TestTheHistoryIsFiltered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.moved()
		for query, want := range map[string]string{
			"":                               "charge -1000, refund 300, charge -300, charge -1200, adjustment 5000",
			"?type=charge":                   "charge -1000, charge -300, charge -1200",
			"?type=charge,refund&per_page=2": "charge -1000, refund 300",
			"?type=topup":                    "",
			"?type=expiry":                   "",
			"?client_ref=shop,+%22one%22":    "charge -1000, charge -1200",
			"?client_ref=shop":               "",
			"?from=2031-04-01":               "charge -1000, refund 300",
			"?to=2031-04-01T00:00:00Z":       "charge -300, charge -1200, adjustment 5000",
			"?from=2031-03-31T23:59:59Z&to=2031-04-01T02:00:00%2B02:00": "charge -300",
		} {
			var got []string
			for _, x := range w.history("transactions" + query).Data {
				got = append(got, fmt.Sprintf("%s %d", x.Type, x.Amount.USDCents))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%q: %v, want %s", query, got, want)
			}
		}
		for query, field := range map[string]string{
			"?type=capture": "type", "?type=nothing": "type", "?from=yesterday": "from", "?to=2031-02-30": "to", "?from=0001-01-01": "from",
		} {
			for _, path := range []string{"transactions", "transactions.csv"} {
				if status, b := w.call("anna", http.MethodGet, "/api/v1/wallet/"+path+query, ""); status != http.StatusUnprocessableEntity || !strings.Contains(string(b), `"`+field+`"`) {
					t.Errorf("%s%s: %d %s", path, query, status, b)
				}
			}
		}
		if status, _ := w.call("writer", http.MethodGet, "/api/v1/wallet/transactions", ""); status != http.StatusForbidden {
			t.Errorf("without the scope: %d", status)
		}
	})
}

func TestStatementsJoin(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.moved()
		march, april, may := w.history("statement?month=2031-03"), w.history("statement?month=2031-04"), w.history("statement?month=2031-05")
		for name, is := range map[string]bool{
			"march opens with nothing":  march.Opening.USDCents == 0 && march.In.USDCents == 5000 && march.Out.USDCents == -1500,
			"march closes":              march.Closing.USDCents == 3500 && march.Final && march.Meta.Total == 3,
			"april opens as it closed":  april.Opening.USDCents == 3500 && april.In.USDCents == 300 && april.Out.USDCents == -1000,
			"april is what there is":    april.Closing.USDCents == 2800 && !april.Final && len(april.Data) == 2,
			"may opens as april closes": may.Opening.USDCents == 2800 && may.Closing.USDCents == 2800 && len(may.Data) == 0,
		} {
			if !is {
				t.Errorf("not so: %s: %+v %+v %+v", name, march, april, may)
			}
		}
		w.has(1, Balance{Spendable: april.Closing.USDCents, Held: 1000})
		for _, bad := range []string{"", "?month=2031-13", "?month=2031", "?month=1969-12", "?month=9999-12"} {
			if status, _ := w.call("anna", http.MethodGet, "/api/v1/wallet/statement"+bad, ""); status != http.StatusUnprocessableEntity {
				t.Errorf("%q: %d", bad, status)
			}
		}
	})
}

func (w *world) file(path string) (header http.Header, rows [][]string) {
	w.t.Helper()
	rec := apitest.Call(w.edge, "anna", http.MethodGet, "/api/v1/wallet/"+path, "")
	rows, err := csv.NewReader(rec.Body).ReadAll()
	if rec.Code != http.StatusOK || err != nil {
		w.t.Fatalf("%s: %d, %v", path, rec.Code, err)
	}
	return rec.Result().Header, rows
}

func TestFilesForSpreadsheets(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.moved()
		header, rows := w.file("transactions.csv?type=charge")
		if header.Get("Content-Type") != "text/csv; charset=utf-8" || header.Get("Content-Disposition") != `attachment; filename="transactions.csv"` {
			t.Errorf("%v", header)
		}
		want := [][]string{
			csvHeader,
			{"3", "2031-03-15T10:00:00Z", "charge", `shop, "one"`, "-12.00", "38.00", "order", "1", `shop, "one"`},
			{"5", "2031-03-31T23:59:59Z", "charge", `'=HYPERLINK("http://evil.example")`, "-3.00", "35.00", "order", "2", `'=HYPERLINK("http://evil.example")`},
			{"7", "2031-04-01T00:00:00Z", "charge", `shop, "one"`, "-10.00", "28.00", "order", "3", `shop, "one"`},
		}
		if fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%v\nwant %v", rows, want)
		}
		_, rows = w.file("statement.csv?month=2031-04")
		if len(rows) != 5 || rows[1][3] != "Opening balance" || rows[1][5] != "35.00" || rows[2][3] != "'-1+1" || rows[4][3] != "Closing balance" || rows[4][5] != "28.00" {
			t.Errorf("%v", rows)
		}
	})
}

func TestALongHistoryIsReadInParts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.must(func(ctx context.Context, tx *db.Tx) error {
			for range csvBatch + 1 {
				if err := w.Credit(ctx, tx, Credit{AccountID: 1, Amount: 1, Type: TypeBonus}); err != nil {
					return err
				}
			}
			return nil
		})
		if _, rows := w.file("transactions.csv"); len(rows) != csvBatch+2 || rows[csvBatch+1][5] != "5.01" {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestNoCellIsAFormula(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "a=b": "a=b", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", " =1": "' =1", "\t=1": "' =1",
		"\r\n=1": "'  =1", "\u00a0=1": "'\u00a0=1", "＝1": "'＝1", "a\nb": "a b", "|x": "'|x",
	} {
		if got := cell(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[money.USDCents]string{0: "0.00", 5: "0.05", -5: "-0.05", 123456: "1234.56", -1 << 63: "-92233720368547758.08"} {
		if got := dollars(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}

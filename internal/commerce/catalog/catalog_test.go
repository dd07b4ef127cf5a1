package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

var update = flag.Bool("update", false, "write the golden answers anew")

type anyToken struct{}

func (anyToken) Verify(_ context.Context, token string) (auth.Principal, error) {
	if token != "good" {
		return auth.Principal{}, fault.Unauthenticated.New()
	}
	return auth.Principal{AccountID: 1, ApplicationID: 1}, nil
}

func serve(t *testing.T, s *Service, d *db.DB, clk clock.Clock) http.Handler {
	t.Helper()
	return apitest.NewEdge(t, d, clk, anyToken{}, s.Operations())
}

func get(t *testing.T, h http.Handler, path string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, b
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func imported(t *testing.T, d *db.DB, s *Service, text string) (r Report) {
	t.Helper()
	err := d.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = s.Import(ctx, tx, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d)
		if err := d.InTx(t.Context(), s.SeedDemo); err != nil {
			t.Fatal(err)
		}
		h := serve(t, s, d, clk)
		for name, path := range map[string]string{
			"catalog":        "/api/v1/catalog?category=documentation",
			"catalog_uz":     "/api/v1/catalog?type=hosting&lang=uz&per_page=1",
			"catalog_none":   "/api/v1/catalog?category=no-such",
			"categories":     "/api/v1/categories",
			"categories_ru":  "/api/v1/categories?lang=ru&page=2&per_page=1",
			"catalog_beyond": "/api/v1/catalog?page=99",
		} {
			status, body := get(t, h, path)
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", path, status, body)
			}
			golden(t, name, body)
		}
		r := httptest.NewRequest(http.MethodGet, "/api/v1/catalog", nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("without a token: %d", w.Code)
		}
	})
}

func TestExportReadsBackAsTheSameCatalog(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		first := imported(t, d, s, string(demo))
		if first.Products != 2 || first.Plans != 5 || len(first.Withdrawn) != 0 {
			t.Errorf("report: %+v", first)
		}
		exported, err := s.Export(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		before, err := listProducts(t.Context(), d, filter{}, noLimit, 0)
		if err != nil {
			t.Fatal(err)
		}
		imported(t, d, s, string(exported))
		after, err := listProducts(t.Context(), d, filter{}, noLimit, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after, cmp.AllowUnexported(plan{})); diff != "" {
			t.Errorf("ids or content changed:\n%s", diff)
		}
		again, err := s.Export(t.Context(), d)
		if err != nil || !bytes.Equal(exported, again) {
			t.Errorf("the second export differs (%v)", err)
		}
	})
}

const small = `
categories:
  - {slug: hosting, name: Hosting}
products:
  - slug: web
    category: hosting
    type: hosting
    name: Web
    plans:
      - slug: one
        name: One
        stock: 2
        prices: [{months: 1, usd_cents: 500, first_period_usd_cents: 100, setup_usd_cents: 50}, {months: 12, usd_cents: 5000}]
        limits: {disk_mb: 1000}
      - slug: two
        name: Two
        prices: [{months: 1, usd_cents: 900}]
        limits: {disk_mb: -1, domains: 3}
`

func TestAPlanThatTheFileNoLongerNamesIsOffSaleAndComesBack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		ctx, s := t.Context(), newService(d)
		imported(t, d, s, small)
		two := planID(t, d, "two")
		without := small[:strings.Index(small, "      - slug: two")]
		if r := imported(t, d, s, without); !slices.Equal(r.Withdrawn, []string{"two"}) {
			t.Errorf("withdrawn: %v", r.Withdrawn)
		}
		o, err := s.Offer(ctx, d, two, 1)
		if err != nil || o.Available || o.SoldOut || o.Price != 900 {
			t.Errorf("offer of a withdrawn plan: %+v, %v", o, err)
		}
		err = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			if ok, err := s.Take(ctx, tx, buyer, two, 1); ok || err != nil {
				t.Errorf("take of a withdrawn plan: %v, %v", ok, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		imported(t, d, s, small)
		if got := planID(t, d, "two"); got != two {
			t.Errorf("the plan came back as %d, was %d", got, two)
		}
	})
}

func planID(t *testing.T, q db.Querier, slug string) (id int64) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT id FROM catalog_plans WHERE slug = $1`, slug).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnOfferIsThePlanAtThePriceOfAPeriod(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		imported(t, d, s, small)
		ctx := i18n.WithLang(t.Context(), "ru")
		o, err := s.Offer(ctx, d, planID(t, d, "one"), 1)
		if err != nil {
			t.Fatal(err)
		}
		var limits Limits
		if err := json.Unmarshal(o.Limits, &limits); err != nil {
			t.Fatal(err)
		}
		if o.Price != 500 || o.FirstPeriodPrice == nil || *o.FirstPeriodPrice != 100 || o.Setup != 50 || !o.Available ||
			o.PlanName != "One" || o.ProductType != "hosting" || limits.DiskMB != 1000 || limits.Domains != Unlimited {
			t.Errorf("offer: %+v", o)
		}
		if _, err := s.Offer(ctx, d, planID(t, d, "one"), 7); !errors.Is(err, fault.Validation) {
			t.Errorf("a period that is not sold: %v", err)
		}
		if _, err := s.Offer(ctx, d, 9999, 1); !errors.Is(err, fault.Validation) {
			t.Errorf("a plan that does not exist: %v", err)
		}
	})
}

// buyer is an account of the live world, and player a sandbox.
const buyer, player = 1, 99

// worlds knows the sandbox.
type worlds struct{}

func (worlds) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == player, nil
}

// TestASandboxTakesNothingFromTheStock: its services neither use up what customers buy, nor give anything back.
func TestASandboxTakesNothingFromTheStock(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		imported(t, d, s, small)
		one := planID(t, d, "one")
		take := func(accountID, service int64, want bool) {
			t.Helper()
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				ok, err := s.Take(ctx, tx, accountID, one, service)
				if ok != want {
					t.Errorf("account %d takes service %d: %v", accountID, service, ok)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		for service := range int64(3) { // one more than there are
			take(player, service, true)
		}
		take(buyer, 10, true)
		take(buyer, 11, true)
		take(buyer, 12, false)
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return s.Return(ctx, tx, one, 0) }); err != nil {
			t.Fatal(err)
		}
		take(buyer, 12, false)
	})
}

func TestTheLastOneIsSoldOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		imported(t, d, s, small)
		one := planID(t, d, "one")
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			sold int
			last int64 // a service that was sold one
		)
		for service := range int64(8) {
			wg.Go(func() {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					ok, err := s.Take(ctx, tx, buyer, one, service)
					if ok {
						tx.OnCommit(func() { mu.Lock(); sold++; last = service; mu.Unlock() })
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if sold != 2 {
			t.Errorf("%d sold of a stock of 2", sold)
		}
		if o, err := s.Offer(t.Context(), d, one, 1); err != nil || o.Available || !o.SoldOut {
			t.Errorf("offer: %+v, %v", o, err)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if ok, err := s.Take(ctx, tx, buyer, planID(t, tx, "two"), 1); !ok || err != nil {
				t.Errorf("take of a plan without a stock: %v, %v", ok, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		imported(t, d, s, small) // an import says how many may be sold, not that none was
		if o, err := s.Offer(t.Context(), d, one, 1); err != nil || o.Available {
			t.Errorf("after an import: %+v, %v", o, err)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return s.Return(ctx, tx, one, last) }); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Offer(t.Context(), d, one, 1); err != nil || !o.Available {
			t.Errorf("after a return: %+v, %v", o, err)
		}
	})
}

// TestWhatNoStockCountedIsNotSoldAgain: a service that was sold before the plan had a stock, or that came from elsewhere when there
// was none left, gives nothing back.
func TestWhatNoStockCountedIsNotSoldAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		imported(t, d, s, strings.Replace(small, "stock: 2", "", 1))
		one := planID(t, d, "one")
		take := func(service int64) (ok bool) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				ok, err = s.Take(ctx, tx, buyer, one, service)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		giveBack := func(service int64) {
			t.Helper()
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return s.Return(ctx, tx, one, service) }); err != nil {
				t.Fatal(err)
			}
		}
		const before, first, second, third, later = 1, 2, 3, 4, 5
		if !take(before) {
			t.Fatal("a plan without a stock is sold out")
		}
		imported(t, d, s, small)
		if !take(first) || !take(second) || take(third) {
			t.Fatal("a stock of two is not sold twice")
		}
		giveBack(before)
		giveBack(third)
		if take(later) {
			t.Error("a third one is sold")
		}
		for range 2 { // once
			giveBack(first)
		}
		if !take(later) || take(first) {
			t.Error("what came back is not sold once")
		}
	})
}

func TestAFileIsRefusedWholeWithAllItsProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":       {"", []string{"empty"}},
		"no yaml":     {"categories: [", []string{"yaml"}},
		"other shape": {"categories: 7\n", []string{"line 1"}},
		"two documents": {small + "\n---\n" + small, []string{
			"more than one document",
		}},
		"unknown members": {strings.Replace(small, "limits: {disk_mb: 1000}", "limits: {disk_mb: 1000, diskmb: 1}\n        colour: red", 1), []string{
			"field colour not found", "field diskmb not found",
		}},
		"much": {`
categories:
  - {slug: Hosting!, name: {en: Hosting, de: Hosting}}
products:
  - slug: web
    category: missing
    type: "not a type"
    name: ""
    plans:
      - slug: one
        name: One
        stock: -1
        prices: [{months: 0, usd_cents: -5}, {months: 0, usd_cents: 1}]
        limits: {cpu_percent: -3, memory_mb: 0, processes: 0, inodes: 0, mailboxes: 0}
        upgrade_to: [nowhere, one]
        node_labels: {Disk: nvme}
      - slug: one
        name: One
        prices: []
        limits: {disk_mb: 1}
`, []string{
			`slug "Hosting!"`, `name: has no text in "ru"`, `languages other than`, `category "missing"`, `type "not a type"`,
			`product web name: has no text`, `stock must be`, `months is 0`, `-5 cents`, `priced twice`, `disk_mb is needed`,
			`cpu_percent is -3`, `memory_mb is 0`, `processes is 0`, `inodes is 0`, `"nowhere" is none`, `"one" is none`, `node_labels: "Disk=nvme" is not a label`, `the plan "one" is in the file twice`, `at least one price`,
		}},
		"a price in dollars": {strings.Replace(small, "usd_cents: 500", "usd_cents: 5.00", 1), []string{`"5.00" is not a whole number`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(c.text))
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
	d := testkit.SQLite(t, clock.NewFake(testkit.Start))
	s := newService(d)
	imported(t, d, s, small)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := s.Import(ctx, tx, []byte(strings.Replace(small, "slug: two", "slug: one", 1)))
		return err
	})
	if err == nil {
		t.Fatal("a file with a problem was taken")
	}
	if o, err := s.Offer(t.Context(), d, planID(t, d, "two"), 1); err != nil || !o.Available {
		t.Errorf("a refused file changed the catalog: %+v, %v", o, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add(demo)
	f.Add([]byte("categories: [{slug: a, name: {en: &a x, ru: *a, uz: *a}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parse(text); err != nil {
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("an error that is no problem of the file: %v", err)
			}
		}
	})
}

func TestTheShelfShowsWhatCanBeBought(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		if shown, err := s.Shelf(t.Context()); err != nil || len(shown) != 0 {
			t.Fatalf("an empty catalog shows %v, error %v", shown, err)
		}
		if err := d.InTx(t.Context(), s.SeedDemo); err != nil {
			t.Fatal(err)
		}
		shown, err := s.Shelf(i18n.WithLang(t.Context(), "ru"))
		if err != nil || len(shown) != 2 || len(shown[0].Plans) != 3 {
			t.Fatalf("%+v, error %v", shown, err)
		}
		start := shown[0].Plans[0]
		month, year := start.Periods[0], start.Periods[1]
		if shown[0].Name != "Веб-хостинг" || start.Name != "Старт" || month.Months != 1 ||
			month.Price.USDCents != 299 || month.FirstPeriod == nil || month.FirstPeriod.USDCents != 99 || month.SavedPercent != 0 {
			t.Errorf("%+v", shown[0])
		}
		if year.Months != 12 || year.Month.USDCents != 249 || year.SavedPercent != 16 || year.FirstPeriod != nil {
			t.Errorf("%+v", year)
		}
	})
}

// quarterOff is a company whose accounts all are resellers.
type quarterOff struct{}

func (quarterOff) Wholesale(context.Context, db.Querier, int64) (basisPoints int, ok bool, err error) {
	return 2500, true, nil
}

func TestAResellerSeesWhatItPays(t *testing.T) {
	t.Parallel()
	d, clk := testkit.SQLite(t, clock.NewFake(testkit.Start)), clock.NewFake(testkit.Start)
	s := newService(d)
	imported(t, d, s, small)
	retail, _ := get(t, serve(t, s, d, clk), "/api/v1/catalog")
	s.Connect(Needs{Audience: audience{}, Rates: quarterOff{}, Worlds: worlds{}})
	status, body := get(t, serve(t, s, d, clk), "/api/v1/catalog")
	if retail != http.StatusOK || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for want, is := range map[string]bool{`"price":{"usd_cents":375,`: true, `"price":{"usd_cents":500,`: false, `"setup":{"usd_cents":38,`: true} {
		if strings.Contains(string(body), want) != is {
			t.Errorf("%s: %v in %s", want, !is, body)
		}
	}
}

// Whoever begins with the documentation copies its example.
func TestTheExampleOfTheDocumentationImports(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page has no example")
	}
	d := testkit.SQLite(t, clock.NewFake(testkit.Start))
	imported(t, d, newService(d), example)
}

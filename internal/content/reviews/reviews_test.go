package reviews_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// customers have a plan by account.
type customers map[int64]string

func (c customers) Plan(_ context.Context, accountID int64) (string, error) { return c[accountID], nil }

type world struct {
	t *testing.T
	*reviews.Service
	db   *db.DB
	clk  *clock.Fake
	edge http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{t: t, db: d, clk: clk}
		w.Service = reviews.New(reviews.Config{DB: d, Customers: customers{1: "Start", 2: "Pro", 3: "Start"}})
		tokens := apitest.Tokens{}
		for account := range int64(5) {
			tokens[fmt.Sprint(account)] = auth.Principal{AccountID: account, ApplicationID: 1, Scopes: []string{"profile"}, FirstParty: true}
		}
		w.edge = apitest.NewEdge(t, d, clk, tokens, w.Operations())
		f(t, w)
	})
}

const text = "Half a year without a single fault, and answers within the hour."

func (w *world) call(status int, account int64, method, body string) map[string]any {
	w.t.Helper()
	token, path := fmt.Sprint(account), "/api/v1/me/review"
	if account == 0 {
		token, path = "", "/api/v1/reviews"
	}
	rec := apitest.Call(w.edge, token, method, path, body)
	var a map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil || rec.Code != status {
		w.t.Fatalf("%s by %d: %d %s, want %d", method, account, rec.Code, rec.Body, status)
	}
	return a
}

func (w *world) write(status int, account int64, rating int, title string) map[string]any {
	w.t.Helper()
	return w.call(status, account, "PUT", fmt.Sprintf(`{"author": "Anna", "rating": %d, "title": %q, "body": %q, "locale": "en"}`, rating, title, text))
}

// decide approves or rejects what an account has written.
func (w *world) decide(account int64, approve bool) {
	w.t.Helper()
	r, err := w.Own(w.t.Context(), account)
	if err != nil {
		w.t.Fatal(err)
	}
	d := reviews.Decision{ID: r.ID, Version: r.Version, Approve: approve}
	if !approve {
		d.Reason = "It names a person"
	}
	if _, err := w.Decide(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

func TestOnlyApprovedReviewsArePublished(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		if meta := w.call(200, 0, "GET", "")["meta"].(map[string]any); meta["rating_avg"] != nil || meta["rating_count"] != 0.0 {
			t.Errorf("without any: %v", meta)
		}
		w.write(201, 1, 5, "Good")
		w.write(201, 2, 4, "Fair")
		w.write(201, 3, 1, "Bad")
		if own := w.call(200, 1, "GET", ""); own["status"] != "pending" || own["product"] != "Start" {
			t.Errorf("%v", own)
		}
		w.decide(1, true)
		w.clk.Advance(1)
		w.decide(2, true)
		w.decide(3, false)
		list := w.call(200, 0, "GET", "")
		meta := list["meta"].(map[string]any)
		if len(list["data"].([]any)) != 2 || meta["total"] != 2.0 || meta["rating_avg"] != 4.5 || meta["rating_count"] != 2.0 ||
			fmt.Sprint(meta["distribution"]) != "map[1:0 2:0 3:0 4:1 5:1]" {
			t.Errorf("%v", list)
		}
		if own := w.call(200, 3, "GET", ""); own["status"] != "rejected" || own["reason"] != "It names a person" {
			t.Errorf("%v", own)
		}
		// A change is read again before it is published; the same text is none.
		w.write(200, 1, 5, "Good")
		if own := w.call(200, 1, "GET", ""); own["status"] != "approved" {
			t.Errorf("written again: %v", own)
		}
		w.write(200, 1, 2, "Not so good")
		if meta := w.call(200, 0, "GET", "")["meta"].(map[string]any); meta["rating_count"] != 1.0 || meta["rating_avg"] != 4.0 {
			t.Errorf("after a change: %v", meta)
		}
	})
}

func TestStaffDecideOnWhatTheyHaveRead(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.write(201, 1, 5, "Good")
		read, err := w.Own(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		w.write(200, 1, 5, "Buy at my shop")
		for _, d := range []reviews.Decision{
			{ID: read.ID, Version: read.Version, Approve: true},
			{ID: read.ID + 1, Version: 1, Approve: true},
			{ID: read.ID, Version: read.Version + 1},
			{ID: read.ID, Version: read.Version + 1, Approve: true, Reason: "why"},
		} {
			if _, err := w.Decide(t.Context(), d); err == nil {
				t.Errorf("%+v was decided", d)
			}
		}
		pending, total, err := w.List(t.Context(), reviews.Pending, page.Params{Page: 1, PerPage: 20})
		if err != nil || total != 1 || len(pending) != 1 || pending[0].Title != "Buy at my shop" {
			t.Errorf("%v, %d, %v", pending, total, err)
		}
	})
}

func TestWhoHasNoServiceWritesNoReview(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		if a := w.write(422, 4, 5, "Never a customer"); a["error"] != "review_needs_service" {
			t.Errorf("%v", a)
		}
		for name, body := range map[string]string{
			"six stars":      fmt.Sprintf(`{"author": "A", "rating": 6, "title": "T", "body": %q, "locale": "en"}`, text),
			"no author":      fmt.Sprintf(`{"author": "   ", "rating": 5, "title": "T", "body": %q, "locale": "en"}`, text),
			"turned text":    fmt.Sprintf(`{"author": "A", "rating": 5, "title": "a\u202eb", "body": %q, "locale": "en"}`, text),
			"only blanks":    fmt.Sprintf(`{"author": "A", "rating": 5, "title": "T", "body": %q, "locale": "en"}`, strings.Repeat(" ", 40)),
			"other language": fmt.Sprintf(`{"author": "A", "rating": 5, "title": "T", "body": %q, "locale": "de"}`, text),
		} {
			if a := w.call(422, 1, "PUT", body); a["error"] != "validation_failed" {
				t.Errorf("%s: %v", name, a)
			}
		}
		w.call(404, 1, "GET", "")
		w.call(404, 1, "DELETE", "")
	})
}

func TestAReviewGoesWithItsAuthor(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.write(201, 1, 5, "Good")
		w.write(201, 2, 5, "Good")
		w.call(200, 1, "DELETE", "")
		w.call(404, 1, "GET", "")
		if err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Closed(ctx, tx, 2) }); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Own(t.Context(), 2); !errors.Is(err, fault.NotFound) {
			t.Errorf("of a closed account: %v", err)
		}
	})
}

// TestSamplesSayThatTheyAre: they are made once, and search engines are not told of them.
func TestSamplesSayThatTheyAre(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for range 2 {
			if err := w.db.InTx(t.Context(), w.SeedDemo); err != nil {
				t.Fatal(err)
			}
		}
		all := w.call(200, 0, "GET", "")["data"].([]any)
		if len(all) != 3 {
			t.Fatalf("%v", all)
		}
		for _, one := range all {
			r := one.(map[string]any)
			if r["sample"] != true || r["product"] != nil || len(r["body"].(string)) < 50 {
				t.Errorf("%v", r)
			}
		}
		if rating, err := w.RealRating(t.Context()); err != nil || rating.Count != 0 {
			t.Errorf("%+v, %v", rating, err)
		}
	})
}

func TestTheListsAreReadFromIndexes(t *testing.T) {
	t.Parallel()
	d := testkit.SQLite(t, clock.NewFake(testkit.Start))
	testkit.Indexed(t, d, func(q db.Querier) error { return reviews.ReadAll(t.Context(), q) })
}

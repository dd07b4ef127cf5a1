package reviews

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// Customers knows what accounts have bought.
type Customers interface {
	// Plan returns the name of a plan that the account has paid for and still has; empty when there is none.
	Plan(ctx context.Context, accountID int64) (string, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB        *db.DB
	Customers Customers
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// Published lists approved reviews, the newest first, with their number and the rating of all.
func (s *Service) Published(ctx context.Context, p page.Params) ([]Review, Rating, error) {
	rating, err := rate(ctx, s.DB, true)
	if err != nil {
		return nil, rating, err
	}
	all, err := list(ctx, s.DB, Approved, p)
	return all, rating, err
}

// RealRating is the rating without samples, for what search engines are told.
func (s *Service) RealRating(ctx context.Context) (Rating, error) { return rate(ctx, s.DB, false) }

// Own returns the account's review, or fault.NotFound.
func (s *Service) Own(ctx context.Context, accountID int64) (Review, error) {
	return ofAccount(ctx, s.DB, accountID)
}

// Write makes the account's review, or changes it. It reports whether the review is new. One that is written again with
// the same text keeps its state.
func (s *Service) Write(ctx context.Context, accountID int64, t Text) (r Review, made bool, err error) {
	if t, err = t.normal(); err != nil {
		return r, false, err
	}
	plan, err := s.Customers.Plan(ctx, accountID)
	if err != nil {
		return r, false, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err = ofAccount(ctx, tx, accountID)
		switch {
		case errors.Is(err, fault.NotFound):
			if plan == "" {
				return errNoService.New()
			}
			if made, err = insert(ctx, tx, Review{AccountID: accountID, Text: t, Product: plan, Status: Pending}); err != nil {
				return err
			}
			if !made { // another request was first
				err = update(ctx, tx, accountID, t)
			}
		case err == nil && r.Text != t:
			err = update(ctx, tx, accountID, t)
		}
		if err == nil {
			r, err = ofAccount(ctx, tx, accountID)
		}
		return err
	})
	return r, made, err
}

// Delete removes the account's review; fault.NotFound when it has none.
func (s *Service) Delete(ctx context.Context, accountID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := remove(ctx, tx, accountID)
		if err == nil && n == 0 {
			err = fault.NotFound.New()
		}
		return err
	})
}

// Closed removes the review of an account that is closed.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	if _, err := remove(ctx, tx, accountID); err != nil {
		return fmt.Errorf("reviews: close account %d: %w", accountID, err)
	}
	return nil
}

// List lists the reviews in a state, the newest first, and counts them; for operators.
func (s *Service) List(ctx context.Context, status Status, p page.Params) ([]Review, int, error) {
	total, err := count(ctx, s.DB, status)
	if err != nil {
		return nil, 0, err
	}
	all, err := list(ctx, s.DB, status, p)
	return all, total, err
}

// Decision is what an operator decides about a version of a review.
type Decision struct {
	ID      int64
	Version int
	Approve bool
	Reason  string // of a rejection; its author reads it
}

// Decide approves or rejects a review, also one that was decided about before. Its errors are for operators.
func (s *Service) Decide(ctx context.Context, d Decision) (r Review, err error) {
	status := Approved
	if !d.Approve {
		status = Rejected
		if d.Reason = oneLine(d.Reason); !isLine(d.Reason, maxReason) {
			return r, fault.Validation.Wrapf("say why, in one line of at most %d characters: its author reads it", maxReason)
		}
	} else if utf8.RuneCountInString(d.Reason) > 0 {
		return r, fault.Validation.Wrapf("only a rejection has a reason")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		decided, err := decide(ctx, tx, d, status)
		if err != nil {
			return err
		}
		r, err = find(ctx, tx, d.ID)
		if err == nil && !decided {
			err = errChanged
		}
		return err
	})
	return r, err
}

// SeedDemo adds a few samples for the demonstration, once. Each says that it is one.
func (s *Service) SeedDemo(ctx context.Context, tx *db.Tx) error {
	there, err := hasSamples(ctx, tx)
	if err != nil || there {
		return err
	}
	for _, sample := range []struct {
		key, locale string
		rating      int
	}{{"first", i18n.Uzbek, 5}, {"second", i18n.Russian, 4}, {"third", i18n.English, 5}} {
		text := func(of string) string { return i18n.T(sample.locale, "reviews.sample."+sample.key+"."+of, nil) }
		r := Review{
			Text: Text{
				Author: i18n.T(sample.locale, "reviews.sample.author", nil), Rating: sample.rating,
				Title: text("title"), Body: text("body"), Locale: sample.locale,
			},
			Sample: true, Status: Approved,
		}
		if _, err := insert(ctx, tx, r); err != nil {
			return err
		}
	}
	return nil
}

package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// Review is a customer's review as operators see it.
type Review struct {
	ID        int64     `json:"id"`
	Version   int       `json:"version"`
	AccountID int64     `json:"account_id,omitempty"` // 0 for a sample
	Status    string    `json:"status"`
	Author    string    `json:"author"`
	Rating    int       `json:"rating"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	Product   string    `json:"product"`
	Locale    string    `json:"locale"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func reviewOf(r reviews.Review) Review {
	return Review{
		ID: r.ID, Version: r.Version, AccountID: r.AccountID, Status: string(r.Status), Author: r.Author, Rating: r.Rating, Title: r.Title,
		Body: r.Body, Product: r.Product, Locale: r.Locale, Reason: r.Reason, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// ListReviews lists the reviews in a state, the newest first.
func (a *Admin) ListReviews(ctx context.Context, status string, p page.Params) (*page.List[Review], error) {
	for _, s := range reviews.Statuses() {
		if string(s) == status {
			found, total, err := a.Reviews.List(ctx, s, p)
			return page.Map(p, total, found, reviewOf), err
		}
	}
	return nil, fault.Validation.Wrapf("%q is no state of a review: pending, approved or rejected", status)
}

// ApproveReview publishes the version of a review that the operator has read.
func (a *Admin) ApproveReview(ctx context.Context, id int64, version int) (Review, error) {
	r, err := a.Reviews.Decide(a.change(ctx, "review.approve", "", reviewSubject(id)), reviews.Decision{ID: id, Version: version, Approve: true})
	return reviewOf(r), err
}

// RejectReview takes a review from the public list, or keeps it from there. Its author reads the reason.
func (a *Admin) RejectReview(ctx context.Context, id int64, version int, reason string) (Review, error) {
	r, err := a.Reviews.Decide(a.change(ctx, "review.reject", reason, reviewSubject(id)), reviews.Decision{ID: id, Version: version, Reason: reason})
	return reviewOf(r), err
}

func reviewSubject(id int64) subject {
	return rowOf("review", "reviews", "account_id, status, version, reason, decided_at", "id", id)
}

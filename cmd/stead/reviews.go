package main

import (
	"io"

	"stead.dev/stead/internal/front/admin"
)

// reviewsCmd has the commands for customers' reviews.
type reviewsCmd struct {
	List    reviewsList    `cmd:"" help:"List reviews: those that nobody has read yet, or those in another state."`
	Approve reviewsApprove `cmd:"" help:"Publish a review."`
	Reject  reviewsReject  `cmd:"" help:"Keep a review from the public list, or take it off; its author reads why."`
}

type reviewsList struct {
	Status string `help:"pending, approved or rejected." default:"pending" enum:"pending,approved,rejected"`
	paging
}

// Run lists reviews.
func (c *reviewsList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListReviews(e.ctx, c.Status, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			for i, r := range list.Data {
				if i > 0 {
					row(w)
				}
				printReview(w, r)
			}
		})
	})
}

func printReview(w io.Writer, r admin.Review) {
	row(w, "id, version", r.ID, r.Version)
	if r.AccountID == 0 {
		row(w, "account", "none: a sample")
	} else {
		row(w, "account", r.AccountID)
	}
	row(w, "state", r.Status)
	row(w, "stars", r.Rating)
	row(w, "author", r.Author)
	row(w, "plan", r.Product)
	row(w, "written", r.UpdatedAt.Format("2006-01-02 15:04 MST"))
	row(w, "title", r.Title)
	row(w, "text", r.Body)
	if r.Reason != "" {
		row(w, "rejected for", r.Reason)
	}
}

// readVersion names what an operator has read: the author may have changed it since.
type readVersion struct {
	ID      int64 `arg:"" help:"Its id."`
	Version int   `arg:"" help:"The version that you have read, as the list shows it."`
}

type reviewsApprove struct{ readVersion }

// Run publishes a review.
func (c *reviewsApprove) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		r, err := a.ApproveReview(e.ctx, c.ID, c.Version)
		return e.showReview(r, err)
	})
}

type reviewsReject struct {
	readVersion
	Reason string `help:"Why; its author reads it." required:""`
}

// Run rejects a review.
func (c *reviewsReject) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		r, err := a.RejectReview(e.ctx, c.ID, c.Version, c.Reason)
		return e.showReview(r, err)
	})
}

func (e *environment) showReview(r admin.Review, err error) error {
	if err != nil {
		return err
	}
	return e.show(r, func(w io.Writer) { printReview(w, r) })
}

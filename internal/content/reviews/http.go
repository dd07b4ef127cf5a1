package reviews

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// reviewWire is a published review (resources, section 12).
type reviewWire struct {
	ID        int64     `json:"id"`
	Author    string    `json:"author" doc:"The name that its author wants to be shown"`
	Rating    int       `json:"rating" minimum:"1" maximum:"5"`
	Title     string    `json:"title"`
	Body      string    `json:"body" doc:"Plain text; lines end with \\n"`
	Product   *string   `json:"product" doc:"The plan that its author has; null for a sample"`
	Locale    string    `json:"locale" enum:"uz,ru,en" doc:"Language that it is written in"`
	Sample    bool      `json:"sample" doc:"Made up for a demonstration"`
	CreatedAt time.Time `json:"created_at"`
}

func wire(r Review) reviewWire {
	w := reviewWire{
		ID: r.ID, Author: r.Author, Rating: r.Rating, Title: r.Title, Body: r.Body, Locale: r.Locale, Sample: r.Sample, CreatedAt: r.CreatedAt,
	}
	if r.Product != "" {
		w.Product = &r.Product
	}
	return w
}

// ownWire is a review as its author sees it.
type ownWire struct {
	reviewWire
	Status    Status    `json:"status" enum:"pending,approved,rejected" doc:"pending: staff have not read it yet"`
	Reason    *string   `json:"reason" doc:"Why it was rejected"`
	UpdatedAt time.Time `json:"updated_at"`

	made bool
}

// HTTPStatus tells the edge whether the review was made.
func (w ownWire) HTTPStatus() int {
	if w.made {
		return http.StatusCreated
	}
	return http.StatusOK
}

func wireOwn(r Review, made bool) *ownWire {
	w := ownWire{reviewWire: wire(r), Status: r.Status, UpdatedAt: r.UpdatedAt, made: made}
	if r.Reason != "" {
		w.Reason = &r.Reason
	}
	return &w
}

// ratingMeta is the meta of the list (specification, "Other resources").
type ratingMeta struct {
	page.Meta
	RatingAvg    *float64     `json:"rating_avg" doc:"Mean of all approved ratings, rounded to hundredths; null without any"`
	RatingCount  int          `json:"rating_count"`
	Distribution distribution `json:"distribution" doc:"How many gave so many stars"`
}

type distribution struct {
	One   int `json:"1"`
	Two   int `json:"2"`
	Three int `json:"3"`
	Four  int `json:"4"`
	Five  int `json:"5"`
}

type listWire struct {
	Data []reviewWire `json:"data"`
	Meta ratingMeta   `json:"meta"`
}

type writeIn struct {
	Body struct {
		Author string `json:"author" minLength:"1" maxLength:"60" doc:"The name to show" example:"Dilnoza K."`
		Rating int    `json:"rating" minimum:"1" maximum:"5"`
		Title  string `json:"title" minLength:"1" maxLength:"120" doc:"One line"`
		Body   string `json:"body" minLength:"20" maxLength:"4000" doc:"Plain text"`
		Locale string `json:"locale" enum:"uz,ru,en" doc:"Language that it is written in"`
	}
}

// Operations are the section's part of the interface.
func (s *Service) Operations() []api.Route {
	const own = "/api/v1/me/review"
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[page.Params, listWire]{
			ID: "reviews.list", Method: http.MethodGet, Path: "/api/v1/reviews", Section: api.Content, Auth: api.Open,
			Summary:     "List what customers say, the newest first",
			Description: "Approved reviews only. `meta` has the rating of all of them, not of this page.",
			Handle: func(ctx context.Context, _ auth.Principal, in *page.Params) (*listWire, error) {
				all, rating, err := s.Published(ctx, *in)
				if err != nil {
					return nil, err
				}
				d := rating.Distribution
				out := &listWire{Data: make([]reviewWire, len(all)), Meta: ratingMeta{
					Meta: page.MetaOf(*in, rating.Count), RatingCount: rating.Count, Distribution: distribution{d[0], d[1], d[2], d[3], d[4]},
				}}
				if rating.Count > 0 {
					average := rating.Average()
					out.Meta.RatingAvg = &average
				}
				for i, r := range all {
					out.Data[i] = wire(r)
				}
				return out, nil
			},
		},
		api.Operation[struct{}, ownWire]{
			ID: "reviews.own", Method: http.MethodGet, Path: own, Section: api.Content, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Description: "Your review with its state. Without a review the answer is `not_found`.",
			Summary:     "Read the caller's own review", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*ownWire, error) {
				r, err := s.Own(ctx, p.AccountID)
				return wireOwn(r, false), err
			},
		},
		api.Operation[writeIn, ownWire]{
			ID: "reviews.write", Method: http.MethodPut, Path: own, Section: api.Content, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Example: `{"author": "Anna K.", "rating": 5, "title": "It simply works", "body": "Half a year without a single fault.", "locale": "en"}`,
			Status:  http.StatusCreated, Summary: "Write the caller's review, or change it",
			Description: "An account has one review, and needs a paid service to write it (`review_needs_service`). It is published once " +
				"staff have approved it; a change takes it from the public list until they have read it again. 201 when it is new.",
			Errors: []*fault.Def{errNoService},
			Handle: func(ctx context.Context, p auth.Principal, in *writeIn) (*ownWire, error) {
				b := in.Body
				r, made, err := s.Write(ctx, p.AccountID, Text{Author: b.Author, Rating: b.Rating, Title: b.Title, Body: b.Body, Locale: b.Locale})
				return wireOwn(r, made), err
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "reviews.delete", Method: http.MethodDelete, Path: own, Section: api.Content, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Description: "The review disappears from the site at once. You can write another one later.",
			Summary:     "Delete the caller's review", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*api.Empty, error) {
				return nil, s.Delete(ctx, p.AccountID)
			},
		},
	}
}

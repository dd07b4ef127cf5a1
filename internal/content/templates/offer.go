package templates

import (
	"context"
	"slices"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Offer is a template as staff see it.
type Offer struct {
	*Template
	// Services counts the services that have it.
	Services int
	// Offered says that customers see it and can install it.
	Offered bool
}

// Offers lists all templates, also those that are not offered, in the order of their ids.
func (s *Service) Offers(ctx context.Context) ([]Offer, error) {
	counts, err := s.used(ctx)
	if err != nil {
		return nil, err
	}
	out, err := hidden(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	all := make([]Offer, 0, len(All()))
	for _, t := range All() {
		all = append(all, Offer{Template: t, Services: counts[t.Slug], Offered: !out[t.ID]})
	}
	return all, nil
}

// SetOffered says whether customers see a template and can install it. It returns fault.NotFound for one that is not there.
func (s *Service) SetOffered(ctx context.Context, id int64, offered bool) (o Offer, err error) {
	t := byID(id)
	if t == nil {
		return o, fault.NotFound.New()
	}
	set := hide
	if offered {
		set = show
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return set(ctx, tx, id) }); err != nil {
		return o, err
	}
	counts, err := s.used(ctx)
	return Offer{Template: t, Services: counts[t.Slug], Offered: offered}, err
}

// IsOffered reports whether customers see the template with the id.
func (s *Service) IsOffered(ctx context.Context, q db.Querier, id int64) (bool, error) {
	out, err := isHidden(ctx, q, id)
	return !out, err
}

// Offered lists the templates that customers see, in the order of their ids.
func (s *Service) Offered(ctx context.Context) ([]*Template, error) {
	out, err := hidden(ctx, s.DB)
	return slices.DeleteFunc(slices.Clone(All()), func(t *Template) bool { return out[t.ID] }), err
}

// offered returns a template that customers see, or fault.NotFound.
func (s *Service) offered(ctx context.Context, id int64) (*Template, error) {
	t := byID(id)
	if t == nil {
		return nil, fault.NotFound.New()
	}
	out, err := isHidden(ctx, s.DB, id)
	if err == nil && out {
		err = fault.NotFound.New()
	}
	return t, err
}

package llm

import (
	"errors"
	"fmt"
)

// Offer is a catalog with a client of each model.
type Offer struct {
	*Catalog
	clients map[string]Client
}

// NewOffer connects the models of a catalog. Everything that is wrong is reported at once.
func NewOffer(c *Catalog, connect func(Model) (Client, error)) (*Offer, error) {
	o := &Offer{Catalog: c, clients: map[string]Client{}}
	var wrong []error
	for _, m := range c.models {
		client, err := connect(m)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("model %q: %w", m.Name, err))
			continue
		}
		o.clients[m.Name] = client
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return o, nil
}

// Default returns the first model; false when none is offered.
func (o *Offer) Default() (Model, bool) {
	if len(o.models) == 0 {
		return Model{}, false
	}
	return o.models[0], true
}

// Client returns the client of a model; false when it is not offered.
func (o *Offer) Client(name string) (Client, bool) {
	client, ok := o.clients[name]
	return client, ok
}

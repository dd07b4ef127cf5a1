// Package rdap asks RDAP servers whether a name is free, and when its registration ends (RFC 9082, RFC 9083). It knows the
// server of a zone by configuration, or by the list of IANA (RFC 9224), and says nothing on any doubt.
package rdap

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

const (
	waitFor   = 8 * time.Second
	maxAnswer = 1 << 20
	mediaType = "application/rdap+json"
)

// Source asks by HTTP.
type Source struct {
	client *http.Client
	// server answers the base address for a name; empty where there is none.
	server func(ctx context.Context, name string) string
}

// New makes a source.
func New(client *http.Client, server func(ctx context.Context, name string) string) *Source {
	return &Source{client, server}
}

// Name implements registrar.Source.
func (*Source) Name() string { return "rdap" }

// domain is the part of an answer that is read.
type domain struct {
	Class  string `json:"objectClassName"`
	Name   string `json:"ldhName"`
	Events []struct {
		Action string    `json:"eventAction"`
		Date   time.Time `json:"eventDate"`
	} `json:"events"`
}

// Lookup implements registrar.Source.
func (s *Source) Lookup(ctx context.Context, name string) (registrar.Availability, error) {
	base := s.server(ctx, name)
	if base == "" {
		return registrar.Availability{Name: name}, nil
	}
	_, taken, err := s.ask(ctx, base, name)
	if err != nil {
		return registrar.Availability{Name: name}, err
	}
	return registrar.Known(name, taken), nil
}

// Expires returns when the registration of a name ends, and false when it is not registered; registrar.ErrNoExpiry where nobody
// says it.
func (s *Source) Expires(ctx context.Context, name string) (at time.Time, registered bool, err error) {
	base := s.server(ctx, name)
	if base == "" {
		return at, false, registrar.ErrNoExpiry
	}
	d, registered, err := s.ask(ctx, base, name)
	if err != nil || !registered {
		return at, false, err
	}
	for _, e := range d.Events {
		if e.Action == "expiration" {
			return e.Date.UTC(), true, nil
		}
	}
	return at, false, registrar.ErrNoExpiry
}

// ask asks a server for a name. A name is free when the server says 404 in RDAP's own media type (RFC 7480, section 5.3):
// a 404 of a web server that is none of RDAP says nothing.
func (s *Source) ask(ctx context.Context, base, name string) (d domain, taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/domain/"+url.PathEscape(name), nil)
	if err != nil {
		return d, false, err
	}
	req.Header.Set("Accept", mediaType)
	resp, err := s.client.Do(req)
	if err != nil {
		return d, false, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != mediaType {
		return d, false, fmt.Errorf("rdap: %s answered %s with %q", base, resp.Status, media)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return d, false, nil
	case http.StatusOK:
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&d); err != nil {
			return d, false, fmt.Errorf("rdap: %s: %w", base, err)
		}
		if d.Class != "domain" || !strings.EqualFold(strings.TrimSuffix(d.Name, "."), name) {
			return d, false, fmt.Errorf("rdap: %s answered something else than %s", base, name)
		}
		return d, true, nil
	default:
		return d, false, fmt.Errorf("rdap: %s answered %s", base, resp.Status)
	}
}

// Package rdap asks RDAP servers whether a name is free (RFC 9082, RFC 9083). It knows the server of a
// zone by configuration, and says nothing on any doubt.
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

// Lookup implements registrar.Source. A name is free when the server says 404 in RDAP's own media type (RFC
// 7480, section 5.3): a 404 of a web server that is none of RDAP says nothing.
func (s *Source) Lookup(ctx context.Context, name string) (registrar.Availability, error) {
	out := registrar.Availability{Name: name}
	base := s.server(ctx, name)
	if base == "" {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/domain/"+url.PathEscape(name), nil)
	if err != nil {
		return out, err
	}
	req.Header.Set("Accept", "application/rdap+json")
	resp, err := s.client.Do(req)
	if err != nil {
		return out, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/rdap+json" {
		return out, fmt.Errorf("rdap: %s answered %s with %q", base, resp.Status, media)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		free := true
		out.Available = &free
		return out, nil
	case http.StatusOK:
		var d struct {
			Class string `json:"objectClassName"`
			Name  string `json:"ldhName"`
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&d); err != nil {
			return out, fmt.Errorf("rdap: %s: %w", base, err)
		}
		if d.Class != "domain" || !strings.EqualFold(strings.TrimSuffix(d.Name, "."), name) {
			return out, fmt.Errorf("rdap: %s answered something else than %s", base, name)
		}
		free := false
		out.Available, out.Reason = &free, "taken"
		return out, nil
	default:
		return out, fmt.Errorf("rdap: %s answered %s", base, resp.Status)
	}
}

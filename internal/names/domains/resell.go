package domains

import (
	"context"
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// maxChecked bounds the names of one check.
const maxChecked = 20

type checksIn struct {
	Domains string `query:"domains" required:"true" minLength:"1" maxLength:"8192" doc:"The names, at most 20, with commas between them" example:"example.com,example.net"`
}

// names are the requested names without duplicates.
func (in checksIn) names() ([]string, error) {
	var names []string
	seen := map[string]bool{}
	for name := range strings.SplitSeq(in.Domains, ",") {
		if name = strings.TrimSpace(name); name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(names) > maxChecked {
		return nil, fault.Invalid("domains", "value")
	}
	return names, nil
}

// resellerOperations are the operations that differ between resellers and customers. The others are mounted a second
// time (api.Resold).
func (s *Service) resellerOperations() []api.Route {
	return []api.Route{
		// Specification, "Reseller".
		api.Operation[tldsIn, page.List[tldWire]]{
			ID: "reseller.domains.tlds", Method: http.MethodGet, Path: "/api/v1/reseller/domains/tlds", Section: api.Reseller, Auth: api.Key,
			Summary: "Wholesale prices and rules of the zones",
			Description: "What a registration, renewal, transfer and restore cost you in each zone, the allowed periods in years, and whether the zone " +
				"has privacy, DNSSEC and names in other scripts. Prices are per year in cents of USD.",
			Handle: func(ctx context.Context, _ auth.Principal, in *tldsIn) (*page.List[tldWire], error) {
				return s.priceBook(ctx, in.Params, true)
			},
		},
		// Specification, "Reseller": at most 20 checks a minute.
		api.Operation[checksIn, page.List[checkWire]]{
			ID: "reseller.domains.check", Method: http.MethodGet, Path: "/api/v1/reseller/domains/check", Section: api.Reseller, Auth: api.Key,
			Throttle: api.DomainCheck, Summary: "Whether domains can be registered",
			Description: "`available` is null when nobody knows, and never true on a doubt. A sandbox key asks the sandbox's registry.",
			Errors:      []*fault.Def{fault.DomainInvalid}, Handle: s.checksOperation,
		},
	}
}

func (s *Service) checksOperation(ctx context.Context, p auth.Principal, in *checksIn) (*page.List[checkWire], error) {
	names, err := in.names()
	if err != nil {
		return nil, err
	}
	sandbox, err := s.Worlds.Sandbox(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	all, err := s.Check(ctx, names, sandbox, true)
	if err != nil {
		return nil, err
	}
	wires := make([]checkWire, len(all))
	for i, a := range all {
		wires[i] = wireCheck(ctx, a)
	}
	return page.Of(page.Params{Page: 1, PerPage: maxChecked}, len(wires), wires), nil
}

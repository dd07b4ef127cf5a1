package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
)

// kept is a domain in a backup.
type kept struct {
	Name         string  `json:"name"`
	Kind         Kind    `json:"kind"`
	DocumentRoot *string `json:"document_root,omitempty"`
	RedirectTo   *string `json:"redirect_to,omitempty"`
}

// Export answers the domains of a service for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	rows, err := ofService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, d := range rows {
		if d.status != Removing {
			all = append(all, kept{d.name, d.kind, d.documentRoot, d.redirectTo})
		}
	}
	if all == nil {
		return nil, nil
	}
	return json.Marshal(all)
}

// Import gives a service that came back the domains that it had. A name that somebody else has by now
// stays theirs, and one that is the operator's by now the operator's: the document was kept by a machine, and is what
// that machine says. HTTPS is not forced until the service has certificates again.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted []kept
	if err := json.Unmarshal(document, &wanted); err != nil {
		return fmt.Errorf("hosting: document of a backup: %w", err)
	}
	if _, err := s.Services.LockSite(ctx, tx, accountID, serviceID); err != nil {
		return err
	}
	rows, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, k := range wanted {
		d := domain{accountID: accountID, serviceID: serviceID, name: k.Name, kind: k.Kind, documentRoot: k.DocumentRoot, status: Pending}
		if i := slices.IndexFunc(rows, func(r domain) bool { return r.name == k.Name }); i >= 0 {
			d = rows[i]
		} else if k.Kind == Primary {
			continue // the service has another one by now
		} else if _, err := domainname.ForSite(k.Name, s.ReservedDomains); err != nil {
			continue
		} else if d.id, err = s.insert(ctx, tx, d); errors.Is(err, fault.DomainUnavailable) {
			continue
		} else if err != nil {
			return err
		}
		if d.kind != k.Kind {
			continue
		}
		d.documentRoot, d.redirectTo = k.DocumentRoot, k.RedirectTo
		if err := setWish(ctx, tx, d); err != nil {
			return err
		}
	}
	return s.enqueueApply(ctx, tx, accountID, serviceID)
}

package dns

import (
	"cmp"
	"context"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nameserver"
)

// Merged is what became of records that came from elsewhere.
type Merged struct {
	Added, There int
	Refused      []MergeRefusal
}

// MergeRefusal is a record that the zone cannot have, or does not take, and the key of why.
type MergeRefusal struct{ Record, Reason string }

// Merge adds records, each a line of a zone file, to the zone that has the name, in a transaction of the caller's. What the zone has stays, the platform's
// records too, and what is in its way is left out: each record is judged by itself.
func (s *Service) Merge(ctx context.Context, tx *db.Tx, accountID, serviceID int64, name string, lines []string) (m Merged, err error) {
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err == nil {
		err = changeable(on)
	}
	if err != nil {
		return m, err
	}
	var file []nameserver.Record
	for _, line := range lines {
		records, err := readBIND(line+"\n", name)
		if err != nil {
			m.Refused = append(m.Refused, MergeRefusal{line, "it cannot be read"})
			continue
		}
		file = append(file, records...)
	}
	in, own, err := s.ZoneOf(ctx, tx, serviceID, name)
	if err != nil {
		return m, err
	}
	in = cmp.Or(in, name)
	if in != name && !own {
		return m, fault.DomainUnavailable.Wrapf("dns: %s is in a zone of another service", name)
	}
	z, err := s.ensureNamed(ctx, tx, on, in)
	if err != nil {
		return m, err
	}
	err = s.changeZone(ctx, tx, z, "import", func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
		p := planImport(z.name, all, file)
		m.note(p)
		added, err := addPlanned(ctx, tx, z, all, p)
		m.Added = len(added)
		return len(added) > 0, err
	})
	return m, err
}

// note counts what a plan does not add.
func (m *Merged) note(p plan) {
	for _, r := range p.skipped {
		if r.why == "duplicate" {
			m.There++
			continue
		}
		m.Refused = append(m.Refused, MergeRefusal{shownRecord(r.fields), r.why})
	}
	for _, r := range p.refused {
		reason := r.why.Def.Key
		if of, ok := r.why.Fields["reason"].(string); ok {
			reason = of
		}
		m.Refused = append(m.Refused, MergeRefusal{shownRecord(r.fields), reason})
	}
}

func shownRecord(f fields) string { return fmt.Sprintf("%s %s %s", f.name, f.kind, f.value) }

package dns

import (
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
	var z zone
	switch {
	case err != nil:
		return m, err
	case in == "" || in == name:
		z, err = s.ensureNamed(ctx, tx, on, name)
	case !own:
		return m, fault.DomainUnavailable.Wrapf("dns: %s is in a zone of another service", name)
	default:
		z, err = s.ensureNamed(ctx, tx, on, in)
	}
	if err != nil {
		return m, err
	}
	all, err := ofZone(ctx, tx, z.id)
	if err != nil {
		return m, err
	}
	before := all
	p := planImport(z.name, all, file)
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
	if len(p.add) == 0 {
		return m, nil
	}
	if len(all)+len(p.add) > maxRecords {
		return m, fault.LimitReached.New()
	}
	for _, f := range p.add {
		if _, err := insertRecord(ctx, tx, z, record{fields: f}); err != nil {
			return m, err
		}
		m.Added++
	}
	if err := insertSnapshot(ctx, tx, z, "import", before); err != nil {
		return m, err
	}
	if _, err := s.placeSets(ctx, tx, z, false); err != nil {
		return m, err
	}
	if err := s.resolveSoon(ctx, tx, z); err != nil {
		return m, err
	}
	_, err = s.bumpSerial(ctx, tx, z)
	return m, err
}

func shownRecord(f fields) string { return fmt.Sprintf("%s %s %s", f.name, f.kind, f.value) }

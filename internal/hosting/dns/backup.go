package dns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// savedRecord is a record in a backup or a snapshot.
type savedRecord struct {
	Name     string  `json:"name"` // relative to the zone
	Type     Type    `json:"type"`
	Value    string  `json:"value"`
	TTL      int     `json:"ttl"`
	Priority *int    `json:"priority,omitempty"`
	Weight   *int    `json:"weight,omitempty"`
	Port     *int    `json:"port,omitempty"`
	Flags    *int    `json:"flags,omitempty"`
	Tag      *string `json:"tag,omitempty"`
	Disabled bool    `json:"disabled,omitempty"`
}

// savedZone is a zone of a service in a backup: the customer's own records. The platform writes its records anew.
type savedZone struct {
	Zone    string        `json:"zone"`
	Records []savedRecord `json:"records"`
}

// savedZones are the zone of the primary domain and those of other domains.
type savedZones struct {
	savedZone
	Others []savedZone `json:"others,omitempty"`
}

func (k savedRecord) fields() fields {
	return fields{
		name: k.Name, kind: k.Type, value: k.Value, ttl: k.TTL, priority: k.Priority, weight: k.Weight, port: k.Port, flags: k.Flags,
		tag: k.Tag, disabled: k.Disabled,
	}
}

func savedFrom(f fields) savedRecord {
	return savedRecord{f.name, f.kind, f.value, f.ttl, f.priority, f.weight, f.port, f.flags, f.tag, f.disabled}
}

func (r record) customers() bool { return !r.system && r.owner == "" }

// Export answers what customers wrote into the zones of a service, for its backups; nil
// when its primary domain has no zone.
func (s *Service) Export(ctx context.Context, q db.Querier, accountID, serviceID int64) (json.RawMessage, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil || on.Domain == "" {
		return nil, err
	}
	zones, err := zonesOf(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var document savedZones
	for _, z := range zones {
		all, err := ofZone(ctx, q, z.id)
		if err != nil {
			return nil, err
		}
		saved := savedZone{Zone: z.name, Records: []savedRecord{}}
		for _, r := range all {
			if r.customers() {
				saved.Records = append(saved.Records, savedFrom(r.fields))
			}
		}
		if z.name == on.Domain {
			document.savedZone = saved
		} else {
			document.Others = append(document.Others, saved)
		}
	}
	if document.Zone == "" {
		return nil, nil
	}
	return json.Marshal(document)
}

// Import makes what customers wrote into the zones of a service as a backup has it. An
// address of the service that is the same as one of them becomes the customer's. The zones
// before are kept as snapshots. Zones of domains that the service has no longer are left
// out.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted savedZones
	if err := site.ReadDocument(document, &wanted); err != nil {
		return fmt.Errorf("dns: %w", err)
	}
	if err := s.changeIn(ctx, tx, accountID, serviceID, "", "import", s.restore(wanted.savedZone)); err != nil || len(wanted.Others) == 0 {
		return err
	}
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	if err := s.settleSites(ctx, tx, on); err != nil { // the domains may have come back just now
		return err
	}
	zones, err := zonesOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, other := range wanted.Others {
		i := slices.IndexFunc(zones, func(z zone) bool { return z.name == other.Zone && z.name != on.Domain })
		if i < 0 {
			continue
		}
		if err := s.changeIn(ctx, tx, accountID, serviceID, other.Zone, "import", s.restore(other)); err != nil {
			return err
		}
	}
	return nil
}

// restore is the change of a zone to what a backup has of it.
func (s *Service) restore(wanted savedZone) func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
	return func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
		if len(wanted.Records) > maxRecords {
			return false, fault.LimitReached.New()
		}
		add := make([]fields, len(wanted.Records))
		for i, k := range wanted.Records {
			f := k.fields()
			f.name = absolute(z.name, f.name) + "." // a relative name may look like an absolute one
			parsed, err := f.parse(z.name)
			if err != nil {
				return false, err
			}
			add[i] = parsed
		}
		return s.replace(ctx, tx, z, all, add)
	}
}

// replace makes the customers' records of a zone those that are wanted. Records of sets are left alone, and are in nobody's
// way: what gives way to them is placed anew after every change.
func (s *Service) replace(ctx context.Context, tx *db.Tx, z zone, all []record, wanted []fields) (changed bool, err error) {
	there := make([]bool, len(wanted))
	var left []record
	for _, r := range all {
		stays := !r.customers()
		for i, f := range wanted {
			if !stays && !there[i] && r.same(f) && r.ttl == f.ttl && r.disabled == f.disabled {
				stays, there[i] = true, true
			}
		}
		if stays {
			if r.owner == "" {
				left = append(left, r)
			}
			continue
		}
		changed = true
		if err := deleteRecord(ctx, tx, r.id); err != nil {
			return changed, err
		}
	}
	for i, f := range wanted {
		if there[i] {
			continue
		}
		changed = true
		if left, err = giveWay(ctx, tx, z, left, f); err != nil {
			return changed, err
		}
		r, err := insertRecord(ctx, tx, z, record{fields: f})
		if err != nil {
			return changed, err
		}
		left = append(left, r)
	}
	return changed, nil
}

// giveWay takes the platform's address away that f says too, and answers the rest.
func giveWay(ctx context.Context, tx *db.Tx, z zone, all []record, f fields) ([]record, error) {
	for {
		c := conflict(z.name, all, record{fields: f})
		if c == nil {
			return all, nil
		}
		if c.with == nil || !c.with.serviceAddress() {
			return all, c.refusal()
		}
		id := c.with.id
		if err := deleteRecord(ctx, tx, id); err != nil {
			return all, err
		}
		var rest []record
		for _, r := range all {
			if r.id != id {
				rest = append(rest, r)
			}
		}
		all = rest
	}
}

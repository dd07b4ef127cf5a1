package dns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

// SetSystem makes records the set of owner in the zones of the service, in place of the set before; none ends it. They
// are served and listed as the system's, and customers cannot change or delete them. Names that are in no zone of the
// service wait for one.
//
// A customer's own records win (yields): beside them a record of a set is not served, and it comes back when they go.
// Placed tells. The caller may hold the lock of the service already. It is an error when a record cannot be served at
// all; nothing has changed then.
func (s *Service) SetSystem(ctx context.Context, tx *db.Tx, accountID, serviceID int64, owner string, records []site.Record) error {
	if _, err := s.Services.LockSite(ctx, tx, accountID, serviceID); err != nil {
		return err
	}
	if owner == "" {
		return errors.New("dns: a set of records has an owner")
	}
	for _, r := range records {
		if Type(r.Type) == ALIAS || Type(r.Type) == NS {
			return fmt.Errorf("dns: %s's record %s: a set has no %s", owner, r.Name, r.Type)
		}
		if _, err := fieldsOf(r).parse(registrable(r.Name)); err != nil {
			return fmt.Errorf("dns: %s's record %s %s %q: %w", owner, r.Name, r.Type, r.Value, err)
		}
	}
	changed, err := putSet(ctx, tx, accountID, serviceID, owner, records)
	if err != nil || !changed {
		return err
	}
	zones, err := zonesOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, z := range zones {
		if z, err = lockZone(ctx, tx, z.id); err != nil {
			return err
		}
		if _, err := s.placeSets(ctx, tx, z, true); err != nil {
			return err
		}
	}
	return nil
}

// Placed returns for each record of the owner's set are in a zone now, in the order of the set.
func (s *Service) Placed(ctx context.Context, q db.Querier, serviceID int64, owner string) ([]bool, error) {
	wanted, err := setsOf(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	zones, err := zonesOf(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var placed []bool
	for _, set := range wanted {
		if set.owner != owner {
			continue
		}
		for _, r := range set.records {
			z, ok := closest(zones, r.Name)
			if !ok {
				placed = append(placed, false)
				continue
			}
			all, err := ofZone(ctx, q, z.id)
			if err != nil {
				return nil, err
			}
			f, err := fieldsOf(r).parse(z.name)
			placed = append(placed, err == nil && slices.ContainsFunc(all, func(there record) bool {
				return there.owner == owner && there.same(f)
			}))
		}
	}
	return placed, nil
}

// ZoneOf is the zone of the service that a name is in; ok is false when it has none, or another service has the
// closest one.
func (s *Service) ZoneOf(ctx context.Context, q db.Querier, serviceID int64, name string) (zone string, ok bool, err error) {
	for above := name; strings.Contains(above, "."); _, above, _ = strings.Cut(above, ".") {
		z, err := zoneNamed(ctx, q, above)
		if err != nil || z.id != 0 {
			return z.name, z.id != 0 && z.serviceID == serviceID, err
		}
	}
	return "", false, nil
}

// fieldsOf are what a record of a set says, with the default TTL where it has none.
func fieldsOf(r site.Record) fields {
	f := fields{
		name: r.Name + ".", kind: Type(r.Type), value: r.Value, ttl: r.TTL, priority: r.Priority, weight: r.Weight, port: r.Port,
		flags: r.Flags, tag: r.Tag,
	}
	if f.ttl == 0 {
		f.ttl = defaultTTL
	}
	return f
}

// set is a row of dns_sets.
type set struct {
	owner   string
	records []site.Record
}

// closest finds the zone that a name is in.
func closest(zones []zone, name string) (found zone, ok bool) {
	for _, z := range zones {
		if (name == z.name || strings.HasSuffix(name, "."+z.name)) && len(z.name) > len(found.name) {
			found, ok = z, true
		}
	}
	return found, ok
}

// placeSets writes the records of sets into a zone where no record of the customer stands in for them, and disables the
// service's addresses where one does. The zone is locked. With snapshot it stores the zone before its first change and bumps
// the serial. It returns whether anything changed.
func (s *Service) placeSets(ctx context.Context, tx *db.Tx, z zone, snapshot bool) (bool, error) {
	sets, err := setsOf(ctx, tx, z.serviceID)
	if err != nil {
		return false, err
	}
	zones, err := zonesOf(ctx, tx, z.serviceID)
	if err != nil {
		return false, err
	}
	all, err := ofZone(ctx, tx, z.id)
	if err != nil {
		return false, err
	}
	todo := placement(z, zones, sets, all)
	if len(todo.add)+len(todo.remove)+len(todo.toggle) == 0 {
		return false, nil
	}
	if snapshot {
		if err := insertSnapshot(ctx, tx, z, "system", all); err != nil {
			return false, err
		}
	}
	for _, r := range todo.remove {
		if err := deleteRecord(ctx, tx, r.id); err != nil {
			return false, err
		}
	}
	for _, r := range todo.toggle {
		if err := setDisabled(ctx, tx, r); err != nil {
			return false, err
		}
	}
	for _, r := range todo.add {
		if _, err := insertRecord(ctx, tx, z, r); err != nil {
			return false, err
		}
	}
	if snapshot {
		_, err = s.bumpSerial(ctx, tx, z)
	}
	return true, err
}

// placement compares the records of sets and the service's addresses in a zone with what they should be.
func placement(z zone, zones []zone, sets []set, all []record) settlement {
	var todo settlement
	var others, there []record
	for _, r := range all {
		if r.serviceAddress() && r.disabled != displaced(all, r, z.ipv4, z.ipv6) {
			r.disabled = !r.disabled
			todo.toggle = append(todo.toggle, r)
		}
		if r.owner == "" {
			others = append(others, r)
		} else {
			there = append(there, r)
		}
	}
	placed := slices.Clone(others)
	for _, set := range sets {
		for _, want := range set.records {
			if in, ok := closest(zones, want.Name); !ok || in.id != z.id {
				continue
			}
			f, err := fieldsOf(want).parse(z.name)
			if err != nil { // such as a name that is too long below this zone
				continue
			}
			r := record{fields: f, system: true, owner: set.owner}
			if yields(others, r) || conflict(z.name, placed, r) != nil {
				continue
			}
			placed = append(placed, r)
			i := slices.IndexFunc(there, func(t record) bool { return t.owner == r.owner && t.ttl == r.ttl && t.same(f) })
			if i < 0 {
				todo.add = append(todo.add, r)
				continue
			}
			there = slices.Delete(there, i, i+1)
		}
	}
	todo.remove = there
	return todo
}

// yields tells that the customer has records of its own for what r is for: of that name and type. Texts are for many
// things: one stands in for another when both begin with the same version, as v=spf1 (RFC 7208, section 4.5) and
// v=DMARC1 do. What else the two exclude, conflict says.
func yields(others []record, r record) bool {
	return slices.ContainsFunc(others, func(own record) bool {
		if own.disabled || own.name != r.name {
			return false
		}
		if isAddress(own) && isAddress(r) {
			return true // else visitors would reach both
		}
		return own.kind == r.kind && (r.kind != TXT || (version(r.value) != "" && version(own.value) == version(r.value)))
	})
}

// displaced tells that the customer has an address or a CNAME at the name of r, an address of the service: visitors must not
// reach both. Addresses of the customer's that are the service's own displace none.
func displaced(all []record, r record, ipv4, ipv6 string) bool {
	return slices.ContainsFunc(all, func(own record) bool {
		return own.customers() && !own.disabled && own.name == r.name && (isAddress(own) || own.kind == CNAME) &&
			own.value != ipv4 && own.value != ipv6
	})
}

func isAddress(r record) bool { return r.kind == A || r.kind == AAAA || r.kind == ALIAS }

// version is how a text says what it is for, in lower case; empty when it does not.
func version(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(text)), " ")
	first, _, _ = strings.Cut(first, ";")
	if !strings.HasPrefix(first, "v=") {
		return ""
	}
	return first
}

// registrable stands in for the zone of a name: its last two labels.
func registrable(name string) string {
	words := strings.Split(name, ".")
	return strings.Join(words[max(0, len(words)-2):], ".")
}

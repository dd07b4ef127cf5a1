package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
)

// hasZone tells whether the service has a zone.
func live(on site.Site) bool {
	switch on.Status {
	case "active", "past_due", "suspended":
		return on.Domain != "" && !on.Sandbox // a sandbox's names are nobody's
	default:
		return false
	}
}

// changeable says why the zone takes no changes, or nil.
func changeable(on site.Site) error {
	if on.Domain == "" || on.Sandbox {
		return fault.UnsupportedOperation.New()
	}
	return on.Changeable()
}

// Signals carries news to all replicas.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
}

// Resolver looks the targets of ALIAS records up; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Domains are the domains of services.
type Domains interface {
	// Hosted lists those of a service, the primary one first. The account stands in the query.
	Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]site.Domain, error)
	// Cleared tells whether a name that the account uses is known to be its own, or leads here: the name servers do not
	// answer for others.
	Cleared(ctx context.Context, q db.Querier, accountID int64, name string) (bool, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Queue    jobs.Enqueuer
	Signals  Signals
	Services site.Services
	Domains  Domains
	Resolver Resolver
	// Nameservers are the public ones, at least one.
	Nameservers []string
	// Catalog is the name of the catalog zone.
	Catalog string
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// topic is the signal that a zone changed; its payload is the zone's id, or nothing
// when zones came or went.
const topic = "dns.zone"

func (s *Service) signal(ctx context.Context, tx *db.Tx, zoneID int64) error {
	return s.Signals.Send(ctx, tx, topic, strconv.FormatInt(zoneID, 10))
}

// zone reads a zone of one of the account's services, made should it not be there; "" is that of the primary domain.
func (s *Service) zone(ctx context.Context, accountID, serviceID int64, name string) (zone, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return zone{}, err
	}
	if err := changeable(on); err != nil && on.Status != "suspended" {
		return zone{}, err
	}
	if name, err = zoneOf(ctx, s.DB, on, name); err != nil {
		return zone{}, err
	}
	z, err := zoneNamed(ctx, s.DB, name)
	if err != nil || (z.serviceID == serviceID && z.settledFor != "") {
		return z, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		z, err = s.ensure(ctx, tx, on, name)
		return err
	})
	return z, err
}

// zoneOf is the name of the zone of a service that a request names: by default that of the primary domain, which need not
// be there yet.
func zoneOf(ctx context.Context, q db.Querier, on site.Site, name string) (string, error) {
	if name == "" {
		return on.Domain, nil
	}
	name, err := ascii(strings.TrimSuffix(name, "."))
	if err != nil {
		return "", invalid("zone", "zone", nil)
	}
	if name == on.Domain {
		return name, nil
	}
	z, err := zoneNamed(ctx, q, name)
	if err == nil && (z.id == 0 || z.serviceID != on.ServiceID) {
		err = invalid("zone", "zone", nil)
	}
	return name, err
}

// ensure makes the zone of a domain of a service as it should be: there, and with the
// system's records of today. The service is locked, and the zone is then.
func (s *Service) ensure(ctx context.Context, tx *db.Tx, on site.Site, name string) (zone, error) {
	if !live(on) {
		return zone{}, fault.ServiceNotActive.New()
	}
	return s.ensureNamed(ctx, tx, on, name)
}

// ensureNamed is ensure for the zone of one of the domains of a service that is live.
func (s *Service) ensureNamed(ctx context.Context, tx *db.Tx, on site.Site, name string) (zone, error) {
	z, err := zoneNamed(ctx, tx, name)
	if err != nil {
		return z, err
	}
	if z.id != 0 && z.serviceID != on.ServiceID {
		// A name belongs to one service. The service that had it before has left its zone.
		if err := s.end(ctx, tx, namedOfTheOne, z.serviceID, z.name); err != nil {
			return z, err
		}
		z = zone{}
	}
	if z.id == 0 {
		z = zone{accountID: on.AccountID, serviceID: on.ServiceID, name: name, serial: nextSerial(0, tx.Now)}
		if z.id, err = insertZone(ctx, tx, z); err != nil {
			return z, err
		}
	} else if z, err = lockZone(ctx, tx, z.id); err != nil { // the job that looks ALIASes up changes the serial without the service
		return z, err
	}
	wanted, err := s.wanted(ctx, tx, z, on)
	if err != nil || wanted == z {
		return z, err
	}
	return s.settleZone(ctx, tx, z, wanted)
}

// wanted is a zone as it should be.
func (s *Service) wanted(ctx context.Context, q db.Querier, z zone, on site.Site) (zone, error) {
	var err error
	z.settledFor, z.ipv4, z.ipv6 = s.nameservers(), on.IPv4, on.IPv6
	z.published, err = s.Domains.Cleared(ctx, q, z.accountID, z.name)
	return z, err
}

// Rename moves the zone of a service to another name, with all its records. Nothing happens when the service has no zone
// of the name.
func (s *Service) Rename(ctx context.Context, tx *db.Tx, serviceID int64, from, to string) error {
	z, err := zoneNamed(ctx, tx, from)
	if err != nil || z.serviceID != serviceID {
		return err
	}
	if z, err = lockZone(ctx, tx, z.id); err != nil {
		return err
	}
	z.name, z.published, z.settledFor = to, false, "" // the next look settles it
	if err := setName(ctx, tx, z); err != nil {
		return err
	}
	bumpCatalog(tx)
	_, err = s.bumpSerial(ctx, tx, z)
	return err
}

func (s *Service) nameservers() string { return strings.Join(s.Nameservers, " ") }

// settleZone makes the system's records of a zone those of wanted.
func (s *Service) settleZone(ctx context.Context, tx *db.Tx, z, wanted zone) (zone, error) {
	all, err := ofZone(ctx, tx, z.id)
	if err != nil {
		return z, err
	}
	fresh := z.settledFor == ""
	todo := settle(z, all, s.Nameservers, wanted.ipv4, wanted.ipv6)
	if !fresh {
		if err := insertSnapshot(ctx, tx, z, "system", all); err != nil {
			return z, err
		}
	}
	for _, r := range todo.remove {
		if err := deleteRecord(ctx, tx, r.id); err != nil {
			return z, err
		}
	}
	for _, r := range todo.add {
		if _, err := insertRecord(ctx, tx, z, r); err != nil {
			return z, err
		}
	}
	if err := setSettled(ctx, tx, wanted); err != nil {
		return z, err
	}
	if _, err := s.placeSets(ctx, tx, wanted, false); err != nil {
		return z, err
	}
	if fresh || z.published != wanted.published {
		bumpCatalog(tx)
	}
	return s.bumpSerial(ctx, tx, wanted)
}

// bumpSerial gives a zone that has changed its next serial, and signals the name servers.
func (s *Service) bumpSerial(ctx context.Context, tx *db.Tx, z zone) (zone, error) {
	z.serial = nextSerial(z.serial, tx.Now)
	if err := setSerial(ctx, tx, z); err != nil {
		return z, err
	}
	return z, s.signal(ctx, tx, z.id)
}

// end deletes zones.
func (s *Service) end(ctx context.Context, tx *db.Tx, condition string, args ...any) error {
	ids, err := deleteZones(ctx, tx, condition, args...)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		if err := s.signal(ctx, tx, id); err != nil {
			return err
		}
	}
	bumpCatalog(tx)
	return nil
}

// change runs f on a zone of a service that takes changes, with the service locked,
// so that changes follow each other. What f returns as changed gets a snapshot of what
// was before, and a serial.
func (s *Service) change(ctx context.Context, accountID, serviceID int64, name, cause string,
	f func(ctx context.Context, tx *db.Tx, z zone, all []record) (changed bool, err error),
) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.changeIn(ctx, tx, accountID, serviceID, name, cause, f)
	})
}

// changeRecord is change for the zone that a record is in.
func (s *Service) changeRecord(ctx context.Context, accountID, serviceID, id int64, cause string,
	f func(ctx context.Context, tx *db.Tx, z zone, all []record) (changed bool, err error),
) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		name, err := zoneWith(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		return s.changeIn(ctx, tx, accountID, serviceID, name, cause, f)
	})
}

// changeIn is change within a transaction.
func (s *Service) changeIn(ctx context.Context, tx *db.Tx, accountID, serviceID int64, name, cause string,
	f func(ctx context.Context, tx *db.Tx, z zone, all []record) (changed bool, err error),
) error {
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	if err := changeable(on); err != nil {
		return err
	}
	if name, err = zoneOf(ctx, tx, on, name); err != nil {
		return err
	}
	z, err := s.ensure(ctx, tx, on, name)
	if err != nil {
		return err
	}
	return s.changeZone(ctx, tx, z, cause, f)
}

// changeZone is change for a zone whose service is locked.
func (s *Service) changeZone(ctx context.Context, tx *db.Tx, z zone, cause string,
	f func(ctx context.Context, tx *db.Tx, z zone, all []record) (changed bool, err error),
) error {
	all, err := ofZone(ctx, tx, z.id)
	if err != nil {
		return err
	}
	changed, err := f(ctx, tx, z, all)
	if err != nil || !changed {
		return err
	}
	if err := insertSnapshot(ctx, tx, z, cause, all); err != nil {
		return err
	}
	if _, err := s.placeSets(ctx, tx, z, false); err != nil {
		return err
	}
	if err := s.resolveSoon(ctx, tx, z); err != nil {
		return err
	}
	_, err = s.bumpSerial(ctx, tx, z)
	return err
}

// list answers one page of the records of a service's zone.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, name string, f filter, p page.Params) ([]record, int, error) {
	z, err := s.zone(ctx, accountID, serviceID, name)
	if err != nil {
		return nil, 0, err
	}
	if f.name != "" {
		if f.name, err = owner(z.name, f.name); err != nil {
			return nil, 0, err
		}
	}
	return list(ctx, s.DB, z.id, f, p)
}

// export answers the zone of a service as a zone file.
func (s *Service) export(ctx context.Context, accountID, serviceID int64, of string) (text, name string, err error) {
	z, err := s.zone(ctx, accountID, serviceID, of)
	if err != nil {
		return "", "", err
	}
	all, err := ofZone(ctx, s.DB, z.id)
	if err != nil {
		return "", "", err
	}
	return bind(z, all, s.Nameservers), z.name, nil
}

// create adds a record.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, name string, f fields) (record, error) {
	var created record
	err := s.change(ctx, accountID, serviceID, name, "create", func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
		parsed, err := f.parse(z.name)
		if err != nil {
			return false, err
		}
		if c := conflict(z.name, all, record{fields: parsed}); c != nil {
			return false, c.refusal()
		}
		if len(all) >= maxRecords {
			return false, fault.LimitReached.New()
		}
		created, err = insertRecord(ctx, tx, z, record{fields: parsed})
		return true, err
	})
	return created, err
}

// preview says what adding records would do, and changes nothing.
func (s *Service) preview(ctx context.Context, accountID, serviceID int64, name string, want func(zone string, all []record) (plan, error)) (plan, error) {
	z, err := s.zone(ctx, accountID, serviceID, name)
	if err != nil {
		return plan{}, err
	}
	all, err := ofZone(ctx, s.DB, z.id)
	if err != nil {
		return plan{}, err
	}
	return want(z.name, all)
}

// importBIND adds the records of a zone file: all that the zone does not have, or
// none when one of them cannot be.
func (s *Service) importBIND(ctx context.Context, accountID, serviceID int64, name string, want func(zone string, all []record) (plan, error)) (plan, []record, error) {
	var p plan
	var added []record
	err := s.change(ctx, accountID, serviceID, name, "import", func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
		var err error
		if p, err = want(z.name, all); err != nil {
			return false, err
		}
		if len(p.refused) > 0 {
			return false, errConflict.With(fault.Fields{"reason": "import", "conflicts": refusalsOf(ctx, p)})
		}
		added, err = addPlanned(ctx, tx, z, all, p)
		return len(added) > 0, err
	})
	return p, added, err
}

// addPlanned adds what a plan adds to the records of a zone.
func addPlanned(ctx context.Context, tx *db.Tx, z zone, all []record, p plan) (added []record, err error) {
	if len(all)+len(p.add) > maxRecords {
		return nil, fault.LimitReached.New()
	}
	for _, f := range p.add {
		r, err := insertRecord(ctx, tx, z, record{fields: f})
		if err != nil {
			return nil, err
		}
		added = append(added, r)
	}
	return added, nil
}

// update changes a record as edit says. A system record becomes the customer's own.
func (s *Service) update(ctx context.Context, accountID, serviceID, id int64, edit func(*fields)) (record, error) {
	var r record
	err := s.changeRecord(ctx, accountID, serviceID, id, "update", func(ctx context.Context, tx *db.Tx, z zone, all []record) (bool, error) {
		var err error
		if r, err = getRecord(all, id); err != nil {
			return false, err
		}
		if r.fixed() {
			return false, (&clash{"system_record", &r}).refusal()
		}
		changed := r
		changed.name = absolute(z.name, r.name) + "." // a relative name may look like an absolute one
		edit(&changed.fields)
		if changed.fields, err = changed.parse(z.name); err != nil {
			return false, err
		}
		changed.system = false
		if c := conflict(z.name, all, changed); c != nil {
			return false, c.refusal()
		}
		if changed.same(r.fields) && !r.system && changed.ttl == r.ttl && changed.disabled == r.disabled {
			return false, nil
		}
		r, err = updateRecord(ctx, tx, changed)
		return true, err
	})
	return r, err
}

// remove deletes a record.
func (s *Service) remove(ctx context.Context, accountID, serviceID, id int64) error {
	return s.changeRecord(ctx, accountID, serviceID, id, "delete", func(ctx context.Context, tx *db.Tx, _ zone, all []record) (bool, error) {
		r, err := getRecord(all, id)
		if err != nil {
			return false, err
		}
		if r.fixed() {
			return false, (&clash{"system_record", &r}).refusal()
		}
		return true, deleteRecord(ctx, tx, id)
	})
}

// Follow handles the events of services and their domains: the zones follow.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "service.terminated", "service.provision_failed":
		// This may be told late, when the service has come back already, with its records.
		if on, err := s.Services.LockSite(ctx, tx, e.AccountID, e.SubjectID); err == nil && !on.Ended() {
			return nil
		} else if err != nil && !errors.Is(err, fault.NotFound) {
			return err
		}
		return errors.Join(deleteSets(ctx, tx, e.SubjectID), s.end(ctx, tx, ofTheService, e.SubjectID))
	case "site_domain.removed":
		var d struct{ Name string }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return fmt.Errorf("dns: event %d: %w", e.ID, err)
		}
		back, err := s.has(ctx, tx, e, d.Name)
		if err == nil && !back {
			err = s.end(ctx, tx, namedOfTheOne, e.SubjectID, d.Name)
		}
		if err != nil {
			return err
		}
		return s.follow(ctx, tx, e)
	case "service.provisioned", "service.updated", "service.unsuspended", "service.restored", "service.migrated", "site_domain.added",
		"site_domain.verification_changed", "site_domain.displaced", "site_domain.reinstated":
		return s.follow(ctx, tx, e)
	}
	return nil
}

// has tells whether the service of an event has a name again that the event says is gone: it may be told late.
func (s *Service) has(ctx context.Context, tx *db.Tx, e outbox.Stored, name string) (bool, error) {
	on, err := s.Services.LockSite(ctx, tx, e.AccountID, e.SubjectID)
	if errors.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil || !live(on) || on.Domain == name {
		return live(on) && on.Domain == name, err
	}
	names, err := s.names(ctx, tx, e.AccountID, e.SubjectID)
	return slices.Contains(names, name), err
}

// follow makes the zones of a service as they should be.
func (s *Service) follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	on, err := s.Services.LockSite(ctx, tx, e.AccountID, e.SubjectID)
	if err != nil || !live(on) {
		return err
	}
	if _, err := s.ensure(ctx, tx, on, on.Domain); err != nil {
		return err
	}
	return s.settleSites(ctx, tx, on)
}

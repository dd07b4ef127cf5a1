package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

const zoneColumns = `id, account_id, service_id, name, serial, settled_for, published, ipv4, ipv6, lowered`

func scanZone(row db.Row) (z zone, err error) {
	err = row.Scan(&z.id, &z.accountID, &z.serviceID, &z.name, &z.serial, &z.settledFor, &z.published, &z.ipv4, &z.ipv6, &z.lowered)
	return z, err
}

// zoneNamed finds the zone of a name, whoever's it is; zero when there is none.
func zoneNamed(ctx context.Context, q db.Querier, name string) (zone, error) {
	z, err := scanZone(q.QueryRow(ctx, `SELECT `+zoneColumns+` FROM dns_zones WHERE name = $1`, name))
	if errors.Is(err, db.ErrNoRows) {
		return zone{}, nil
	}
	return z, err
}

// zoneWith is the name of the zone of a service that a record is in; empty when it is in none.
func zoneWith(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (name string, err error) {
	err = q.QueryRow(ctx, `SELECT z.name FROM dns_records r JOIN dns_zones z ON z.id = r.zone_id
		WHERE r.id = $1 AND z.service_id = $2 AND z.account_id = $3`, id, serviceID, accountID).Scan(&name)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return name, err
}

// lockZone reads a zone that no other transaction changes until tx ends.
func lockZone(ctx context.Context, tx *db.Tx, id int64) (zone, error) {
	return scanZone(tx.QueryRow(ctx, `SELECT `+zoneColumns+` FROM dns_zones WHERE id = $1`+tx.ForUpdate(), id))
}

// zonesOf are the zones of a service.
func zonesOf(ctx context.Context, q db.Querier, serviceID int64) ([]zone, error) {
	return db.Collect(ctx, q, scanZone, `SELECT `+zoneColumns+` FROM dns_zones WHERE service_id = $1 ORDER BY id`, serviceID)
}

func insertZone(ctx context.Context, tx *db.Tx, z zone) (int64, error) {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO dns_zones (account_id, service_id, name, serial, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5) RETURNING id`, z.accountID, z.serviceID, z.name, int64(z.serial), tx.Now).Scan(&id)
	return id, err
}

func setSerial(ctx context.Context, tx *db.Tx, z zone) error {
	_, err := tx.Exec(ctx, `UPDATE dns_zones SET serial = $1, updated_at = $2 WHERE id = $3`, int64(z.serial), tx.Now, z.id)
	return err
}

func setSettled(ctx context.Context, tx *db.Tx, z zone) error {
	_, err := tx.Exec(ctx, `UPDATE dns_zones SET settled_for = $1, ipv4 = $2, ipv6 = $3, published = $4 WHERE id = $5`,
		z.settledFor, z.ipv4, z.ipv6, z.published, z.id)
	return err
}

// setName writes the name of a zone that goes on under another one.
func setName(ctx context.Context, tx *db.Tx, z zone) error {
	_, err := tx.Exec(ctx, `UPDATE dns_zones SET name = $1, published = $2, settled_for = $3 WHERE id = $4`, z.name, z.published, z.settledFor, z.id)
	return err
}

// setLowered writes whether the system's records of a zone have a short TTL.
func setLowered(ctx context.Context, tx *db.Tx, z zone) error {
	_, err := tx.Exec(ctx, `UPDATE dns_zones SET lowered = $1 WHERE id = $2`, z.lowered, z.id)
	return err
}

// deleteZones ends zones with all that is in them, and answers which they were. The
// condition is one of the two below.
func deleteZones(ctx context.Context, tx *db.Tx, condition string, args ...any) ([]int64, error) {
	return db.Collect(ctx, tx, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `DELETE FROM dns_zones WHERE `+condition+` RETURNING id`, args...)
}

const (
	ofTheService  = `service_id = $1`
	namedOfTheOne = `service_id = $1 AND name = $2`
)

// unsettled are zones after one whose system records are of other name servers.
func unsettled(ctx context.Context, q db.Querier, nameservers string, after int64, limit int) ([]zone, error) {
	return db.Collect(ctx, q, scanZone,
		`SELECT `+zoneColumns+` FROM dns_zones WHERE settled_for <> $1 AND id > $2 ORDER BY id LIMIT $3`, nameservers, after, limit)
}

const recordColumns = `id, name, type, value, ttl, priority, weight, port, flags, tag, disabled, system, owner, resolved, looked_up_at, created_at, updated_at`

func scanRecord(row db.Row) (record, error) {
	var r record
	var resolved string
	err := row.Scan(r.targets(&resolved)...)
	if err == nil {
		err = r.readResolved(resolved)
	}
	return r, err
}

// targets are where the recordColumns go.
func (r *record) targets(resolved *string) []any {
	return []any{
		&r.id, &r.name, &r.kind, &r.value, &r.ttl, &r.priority, &r.weight, &r.port, &r.flags, &r.tag, &r.disabled, &r.system,
		&r.owner, resolved, &r.lookedUpAt, &r.createdAt, &r.updatedAt,
	}
}

func (r *record) readResolved(text string) error {
	if err := json.Unmarshal([]byte(text), &r.resolved); err != nil {
		return fmt.Errorf("dns: addresses of record %d: %w", r.id, err)
	}
	return nil
}

// ofZone reads all records of a zone, those of its own name first.
func ofZone(ctx context.Context, q db.Querier, zoneID int64) ([]record, error) {
	return db.Collect(ctx, q, scanRecord, `SELECT `+recordColumns+` FROM dns_records WHERE zone_id = $1`+inOrder, zoneID)
}

const inOrder = ` ORDER BY CASE WHEN name = '@' THEN 0 ELSE 1 END, name, type, id`

// filter is what a list is narrowed to; empty is all.
type filter struct {
	kind Type
	name string
}

func list(ctx context.Context, q db.Querier, zoneID int64, f filter, p page.Params) (rows []record, total int, err error) {
	const where = ` FROM dns_records WHERE zone_id = $1
		AND (CAST($2 AS TEXT) = '' OR type = $2) AND (CAST($3 AS TEXT) = '' OR name = $3)`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, zoneID, f.kind, f.name).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scanRecord, `SELECT `+recordColumns+where+inOrder+` LIMIT $4 OFFSET $5`,
		zoneID, f.kind, f.name, p.Limit(), p.Offset())
	return rows, total, err
}

// due is when an ALIAS is looked up: at once. Other records never are.
func (f fields) due(now time.Time) *time.Time {
	if f.kind != ALIAS {
		return nil
	}
	return &now
}

func insertRecord(ctx context.Context, tx *db.Tx, z zone, r record) (record, error) {
	return scanRecord(tx.QueryRow(ctx, `INSERT INTO dns_records (zone_id, account_id, name, type, value, ttl, priority, weight, port,
			flags, tag, disabled, system, owner, resolve_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16) RETURNING `+recordColumns,
		z.id, z.accountID, r.name, r.kind, r.value, r.ttl, r.priority, r.weight, r.port, r.flags, r.tag, r.disabled, r.system,
		r.owner, r.due(tx.Now), tx.Now))
}

// updateRecord writes a record as its customer wants it. An ALIAS with another target keeps the addresses of the former one
// until the look-up.
func updateRecord(ctx context.Context, tx *db.Tx, r record) (record, error) {
	return scanRecord(tx.QueryRow(ctx, `UPDATE dns_records SET name = $1, value = $2, ttl = $3, priority = $4, weight = $5, port = $6,
			flags = $7, tag = $8, disabled = $9, system = $10, resolve_at = $11, updated_at = $12, looked_up_at = CASE WHEN value = $2 THEN looked_up_at END
		WHERE id = $13 RETURNING `+recordColumns,
		r.name, r.value, r.ttl, r.priority, r.weight, r.port, r.flags, r.tag, r.disabled, r.system, r.due(tx.Now), tx.Now, r.id))
}

// setDisabled writes whether a record is left out of what is served.
func setDisabled(ctx context.Context, tx *db.Tx, r record) error {
	_, err := tx.Exec(ctx, `UPDATE dns_records SET disabled = $1, updated_at = $2 WHERE id = $3`, r.disabled, tx.Now, r.id)
	return err
}

func deleteRecord(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM dns_records WHERE id = $1`, id)
	return err
}

// insertSnapshot keeps the zone as it is, and the last ones before it.
func insertSnapshot(ctx context.Context, tx *db.Tx, z zone, cause string, all []record) error {
	rows, err := snapshotOf(all)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO dns_snapshots (zone_id, serial, cause, records, created_at) VALUES ($1, $2, $3, $4, $5)`,
		z.id, int64(z.serial), cause, rows, tx.Now)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM dns_snapshots WHERE zone_id = $1 AND id NOT IN
		(SELECT id FROM dns_snapshots WHERE zone_id = $1 ORDER BY id DESC LIMIT $2)`, z.id, keepSnapshots)
	return err
}

// bumpCatalog grows the serial of the catalog, at the end of tx: all transactions in which zones come or go share its row,
// and would otherwise wait for one another from here on.
func bumpCatalog(tx *db.Tx) {
	db.Gather(tx, "dns.catalog", struct{}{}, func(ctx context.Context, _ []struct{}) error { return growCatalog(ctx, tx) })
}

func growCatalog(ctx context.Context, tx *db.Tx) error {
	var serial uint32
	if err := tx.QueryRow(ctx, `SELECT serial FROM dns_catalog WHERE id = 1`+tx.ForUpdate()).Scan(&serial); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE dns_catalog SET serial = $1 WHERE id = 1`, int64(nextSerial(serial, tx.Now)))
	return err
}

// Renumber gives each zone, and the catalog, a serial above those that were given before tx: after a restore the secondaries have
// zones that are newer than the restored ones, and would keep them.
func (s *Service) Renumber(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `UPDATE dns_zones SET updated_at = $2, serial = CASE WHEN serial < $1 THEN $1 ELSE serial + 1 END`, tx.Now.Unix(), tx.Now); err != nil {
		return err
	}
	return growCatalog(ctx, tx)
}

// alias is an ALIAS that is due to be looked up.
type alias struct {
	id, zoneID int64
	target     string
}

func aliasesDue(ctx context.Context, q db.Querier, now time.Time, limit int) ([]alias, error) {
	return db.Collect(ctx, q, func(row db.Row) (a alias, err error) {
		err = row.Scan(&a.id, &a.zoneID, &a.target)
		return a, err
	}, `SELECT id, zone_id, value FROM dns_records WHERE resolve_at IS NOT NULL AND resolve_at <= $1 ORDER BY resolve_at LIMIT $2`,
		now, limit)
}

// aliasIsDue tells whether a zone has an ALIAS that is to be looked up.
func aliasIsDue(ctx context.Context, tx *db.Tx, zoneID int64) (due bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM dns_records WHERE zone_id = $1 AND resolve_at IS NOT NULL AND resolve_at <= $2)`,
		zoneID, tx.Now).Scan(&due)
	return due, err
}

// setResolved writes what a look found; nil keeps what is there, unless that is of a former target. It answers whether that
// is something else than before. A record that changed meanwhile is left alone.
func setResolved(ctx context.Context, tx *db.Tx, a alias, found []string, next time.Time) (bool, error) {
	other := ` AND resolved <> $5`
	if found == nil {
		found, other = []string{}, other+` AND looked_up_at IS NULL`
	}
	text, err := json.Marshal(found)
	if err != nil {
		return false, err
	}
	const lookedUp, ofTarget = `resolve_at = $1, looked_up_at = $2`, ` WHERE id = $3 AND value = $4`
	changed, err := tx.Exec(ctx, `UPDATE dns_records SET resolved = $5, `+lookedUp+ofTarget+other, next, tx.Now, a.id, a.target, string(text))
	if err != nil || changed > 0 {
		return changed > 0, err
	}
	_, err = tx.Exec(ctx, `UPDATE dns_records SET `+lookedUp+ofTarget, next, tx.Now, a.id, a.target)
	return false, err
}

// head is what distinguishes versions of zones.
type head struct {
	id     int64
	name   string
	serial uint32
}

// heads reads those of some zones, or of all, that name servers answer for.
func heads(ctx context.Context, q db.Querier, ids []int64) ([]head, error) {
	query, args := `SELECT id, name, serial FROM dns_zones WHERE published`, []any(nil)
	if ids != nil {
		var in string
		in, args = db.In(q, 1, ids)
		query += ` AND id ` + in
	}
	return db.Collect(ctx, q, func(row db.Row) (h head, err error) {
		err = row.Scan(&h.id, &h.name, &h.serial)
		return h, err
	}, query, args...)
}

// published is a zone as it is to be served, and since when.
type published struct {
	name    string
	serial  uint32
	changed time.Time
}

// publishedZones reads those of all zones that name servers answer for.
func publishedZones(ctx context.Context, q db.Querier) ([]published, error) {
	return db.Collect(ctx, q, func(row db.Row) (v published, err error) {
		err = row.Scan(&v.name, &v.serial, &v.changed)
		return v, err
	}, `SELECT name, serial, updated_at FROM dns_zones WHERE published`)
}

// zoneRecord is a record with its zone, read by one statement, so that serial and
// records belong together.
type zoneRecord struct {
	zone
	record
}

func zonesWithRecords(ctx context.Context, q db.Querier, ids []int64) ([]zoneRecord, error) {
	in, args := db.In(q, 1, ids)
	return db.Collect(ctx, q, func(row db.Row) (zr zoneRecord, err error) {
		var resolved string
		err = row.Scan(append([]any{&zr.zone.id, &zr.name, &zr.serial, &zr.lowered}, zr.targets(&resolved)...)...)
		if err == nil {
			err = zr.readResolved(resolved)
		}
		return zr, err
	}, `SELECT z.id, z.name, z.serial, z.lowered, r.`+strings.ReplaceAll(recordColumns, ", ", ", r.")+`
		FROM dns_zones z JOIN dns_records r ON r.zone_id = z.id WHERE z.id `+in+` ORDER BY z.id, r.id`, args...)
}

// catalog reads the catalog's serial and the zones that belong to it. A zone without
// records is not settled yet.
func catalog(ctx context.Context, q db.Querier) (serial uint32, zones []head, err error) {
	zones, err = db.Collect(ctx, q, func(row db.Row) (h head, err error) {
		err = row.Scan(&serial, &h.id, &h.name)
		return h, err
	}, `SELECT c.serial, COALESCE(z.id, 0), COALESCE(z.name, '')
		FROM dns_catalog c LEFT JOIN dns_zones z ON z.settled_for <> '' AND z.published ORDER BY z.id`)
	if len(zones) == 1 && zones[0].id == 0 {
		zones = nil
	}
	return serial, zones, err
}

// getRecord finds a record among those of a zone.
func getRecord(all []record, id int64) (record, error) {
	for _, r := range all {
		if r.id == id {
			return r, nil
		}
	}
	return record{}, fault.NotFound.New()
}

// setsOf reads the sets that are wanted in the zones of a service.
func setsOf(ctx context.Context, q db.Querier, serviceID int64) ([]set, error) {
	return db.Collect(ctx, q, func(row db.Row) (s set, err error) {
		var records string
		if err = row.Scan(&s.owner, &records); err == nil {
			err = json.Unmarshal([]byte(records), &s.records)
		}
		return s, err
	}, `SELECT owner, records FROM dns_sets WHERE service_id = $1 ORDER BY id`, serviceID)
}

// putSet writes a set, or deletes an empty one, and answers whether it is another than before.
func putSet(ctx context.Context, tx *db.Tx, accountID, serviceID int64, owner string, records []site.Record) (bool, error) {
	if len(records) == 0 {
		n, err := tx.Exec(ctx, `DELETE FROM dns_sets WHERE service_id = $1 AND owner = $2`, serviceID, owner)
		return n > 0, err
	}
	text, err := json.Marshal(records)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `INSERT INTO dns_sets (account_id, service_id, owner, records, updated_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (service_id, owner) DO UPDATE SET account_id = EXCLUDED.account_id, records = EXCLUDED.records,
			updated_at = EXCLUDED.updated_at WHERE dns_sets.records <> EXCLUDED.records`,
		accountID, serviceID, owner, string(text), tx.Now)
	return n > 0, err
}

func deleteSets(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM dns_sets WHERE service_id = $1`, serviceID)
	return err
}

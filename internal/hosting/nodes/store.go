package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/port/panel"
)

// nodeRows reads nodes_nodes.
var nodeRows = db.Map(func(n *Node) db.Fields {
	return db.Fields{
		"id": &n.ID, "name": &n.Name, "location": &n.Location, "labels": db.JSON(&n.Labels), "region": &n.RegionName, "checks": &n.Checks, "state": &n.State, "maintenance": &n.Maintenance, "address": &n.Address, "version": &n.Version,
		"max_accounts": &n.MaxAccounts, "disk_percent": &n.DiskPercent,
		"placed_accounts": &n.Placed, "placed_disk_mb": &n.PlacedDiskMB,
		"capabilities": db.JSON(&n.Capabilities),
		"disk_mb":      &n.Capacity.DiskMB, "disk_free_mb": &n.Capacity.DiskFreeMB,
		"memory_mb": &n.Capacity.MemoryMB, "memory_free_mb": &n.Capacity.MemoryFreeMB,
		"cpus": &n.Capacity.CPUs, "load_percent / 100.0": &n.Capacity.Load, "accounts": &n.Capacity.Accounts, "mail_queue": &n.Capacity.MailQueue,
		"certificate_ends_at": &n.CertificateEndsAt, "token_expires_at": &n.TokenExpiresAt,
		"joined_at": &n.JoinedAt, "last_seen_at": &n.LastSeenAt, "created_at": &n.CreatedAt,
	}
})

func found(n Node, err error) (Node, error) {
	if errors.Is(err, db.ErrNoRows) {
		return n, fault.NotFound.New()
	}
	return n, err
}

// list reads all nodes but the removed.
func list(ctx context.Context, q db.Querier) ([]Node, error) {
	return db.Collect(ctx, q, nodeRows.Scan, `SELECT `+nodeRows.Columns()+` FROM nodes_nodes WHERE state <> 'removed' ORDER BY id`)
}

func get(ctx context.Context, q db.Querier, id int64) (Node, error) {
	return found(nodeRows.Scan(q.QueryRow(ctx, `SELECT `+nodeRows.Columns()+` FROM nodes_nodes WHERE id = $1`, id)))
}

func lock(ctx context.Context, tx *db.Tx, id int64) (Node, error) {
	return found(nodeRows.Scan(tx.QueryRow(ctx, `SELECT `+nodeRows.Columns()+` FROM nodes_nodes WHERE id = $1`+tx.ForUpdate(), id)))
}

// lockNamed reads a node that is there by its name.
func lockNamed(ctx context.Context, tx *db.Tx, name string) (Node, error) {
	return found(nodeRows.Scan(tx.QueryRow(ctx,
		`SELECT `+nodeRows.Columns()+` FROM nodes_nodes WHERE name = $1 AND state <> 'removed'`+tx.ForUpdate(), name)))
}

// lockInvited reads the node that a token is for.
func lockInvited(ctx context.Context, tx *db.Tx, tokenHash []byte) (Node, error) {
	return found(nodeRows.Scan(tx.QueryRow(ctx, `SELECT `+nodeRows.Columns()+` FROM nodes_nodes WHERE token_hash = $1`+tx.ForUpdate(), tokenHash)))
}

func insert(ctx context.Context, tx *db.Tx, n NewNode, tokenHash []byte, expires time.Time) (id int64, err error) {
	labels, err := json.Marshal(n.Labels.With(nil, nil))
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO nodes_nodes (name, location, state, max_accounts, disk_percent, token_hash,
			token_expires_at, created_at, region, labels) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		n.Name, n.Location, Joining, n.MaxAccounts, n.DiskPercent, tokenHash, expires, tx.Now, n.Region, string(labels)).Scan(&id)
	return id, err
}

func setToken(ctx context.Context, tx *db.Tx, id int64, tokenHash []byte, expires time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET token_hash = $1, token_expires_at = $2 WHERE id = $3`, tokenHash, expires, id)
	return err
}

// setJoined makes an invited node active, or leaves it draining, and its token good no more.
func setJoined(ctx context.Context, tx *db.Tx, id int64, state State, address, version string, certificateEnds time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET state = $1, address = $2, version = $3, certificate_ends_at = $4,
			token_hash = NULL, token_expires_at = NULL, joined_at = $5 WHERE id = $6`,
		state, address, version, certificateEnds, tx.Now, id)
	return err
}

func setState(ctx context.Context, tx *db.Tx, id int64, state State) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET state = $1 WHERE id = $2`, state, id)
	return err
}

func setShare(ctx context.Context, tx *db.Tx, n Node) error {
	labels, err := json.Marshal(n.Labels)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE nodes_nodes SET location = $1, max_accounts = $2, disk_percent = $3, labels = $4 WHERE id = $5`,
		n.Location, n.MaxAccounts, n.DiskPercent, string(labels), n.ID)
	return err
}

func setMaintenance(ctx context.Context, tx *db.Tx, id int64, on bool) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET maintenance = $1 WHERE id = $2`, on, id)
	return err
}

func setChecks(ctx context.Context, tx *db.Tx, n Node) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET region = $1, checks = $2 WHERE id = $3`, n.RegionName, n.Checks, n.ID)
	return err
}

// setRemoved ends a node.
func setRemoved(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET state = $1, token_hash = NULL, token_expires_at = NULL WHERE id = $2`, Removed, id)
	return err
}

func setCertificate(ctx context.Context, tx *db.Tx, id int64, ends time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET certificate_ends_at = $1 WHERE id = $2`, ends, id)
	return err
}

func setReport(ctx context.Context, tx *db.Tx, id int64, r nodelink.Report) error {
	if r.Capabilities == nil {
		r.Capabilities = []string{}
	}
	capabilities, err := json.Marshal(r.Capabilities)
	if err != nil {
		return err
	}
	c := r.Capacity
	_, err = tx.Exec(ctx, `UPDATE nodes_nodes SET address = $1, version = $2, capabilities = $3, disk_mb = $4,
			disk_free_mb = $5, memory_mb = $6, memory_free_mb = $7, cpus = $8, load_percent = $9, accounts = $10,
			last_seen_at = $11, mail_queue = $12 WHERE id = $13`,
		r.Address, r.Version, string(capabilities), c.DiskMB, c.DiskFreeMB, c.MemoryMB, c.MemoryFreeMB, c.CPUs,
		int64(math.Round(c.Load*100)), c.Accounts, tx.Now, c.MailQueue, id)
	return err
}

func putPanel(ctx context.Context, tx *db.Tx, name string, capabilities []panel.Capability) error {
	text, err := json.Marshal(capabilities)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO nodes_panels (name, capabilities, told_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET capabilities = $2, told_at = $3`, name, string(text), tx.Now)
	return err
}

func panelCapabilities(ctx context.Context, q db.Querier, name string) (all []panel.Capability, known bool, err error) {
	err = q.QueryRow(ctx, `SELECT capabilities FROM nodes_panels WHERE name = $1`, name).Scan(db.JSON(&all))
	if errors.Is(err, db.ErrNoRows) {
		return nil, false, nil
	}
	return all, err == nil, err
}

// take gives a service room on a node; false when the node has it no more.
func take(ctx context.Context, tx *db.Tx, id int64, need Need) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE nodes_nodes SET placed_accounts = placed_accounts + 1, placed_disk_mb = placed_disk_mb + $1
		WHERE id = $2 AND state = 'active' AND placed_disk_mb + $1 <= disk_mb * disk_percent / 100
		AND (max_accounts = 0 OR placed_accounts < max_accounts)`, need.DiskMB, id)
	if err != nil || n == 0 {
		return false, err
	}
	err = insertPlacement(ctx, tx, id, need)
	return err == nil, err
}

// takeAnyway is take without a bound.
func takeAnyway(ctx context.Context, tx *db.Tx, id int64, need Need) error {
	n, err := tx.Exec(ctx, `UPDATE nodes_nodes SET placed_accounts = placed_accounts + 1, placed_disk_mb = placed_disk_mb + $1
		WHERE id = $2`, need.DiskMB, id)
	if err != nil || n == 0 {
		return err
	}
	return insertPlacement(ctx, tx, id, need)
}

func insertPlacement(ctx context.Context, tx *db.Tx, id int64, need Need) error {
	_, err := tx.Exec(ctx, `INSERT INTO nodes_placements (service_id, node_id, disk_mb, created_at) VALUES ($1, $2, $3, $4)`,
		need.ServiceID, id, need.DiskMB, tx.Now)
	return err
}

// placed is the node of a service; false when it has none.
func placed(ctx context.Context, q db.Querier, serviceID int64) (id int64, ok bool, err error) {
	err = q.QueryRow(ctx, `SELECT node_id FROM nodes_placements WHERE service_id = $1`, serviceID).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// servicesOn are those that have room on a node.
func servicesOn(ctx context.Context, q db.Querier, id int64) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (service int64, err error) {
		err = row.Scan(&service)
		return service, err
	}, `SELECT service_id FROM nodes_placements WHERE node_id = $1`, id)
}

// giveBack frees the room of a service; one that has none is left alone.
func giveBack(ctx context.Context, tx *db.Tx, serviceID int64) error {
	var id, diskMB int64
	err := tx.QueryRow(ctx, `DELETE FROM nodes_placements WHERE service_id = $1 RETURNING node_id, disk_mb`, serviceID).Scan(&id, &diskMB)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE nodes_nodes SET placed_accounts = placed_accounts - 1, placed_disk_mb = placed_disk_mb - $1
		WHERE id = $2`, diskMB, id)
	return err
}

// resize gives a service another amount of the disk of its node.
func resize(ctx context.Context, tx *db.Tx, serviceID, diskMB int64) error {
	_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET placed_disk_mb = placed_disk_mb + $1
			- (SELECT disk_mb FROM nodes_placements WHERE service_id = $2)
		WHERE id = (SELECT node_id FROM nodes_placements WHERE service_id = $2)`, diskMB, serviceID)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE nodes_placements SET disk_mb = $1 WHERE service_id = $2`, diskMB, serviceID)
	}
	return err
}

// authority reads the authority's certificate and sealed key; false when there is none yet.
func authority(ctx context.Context, q db.Querier) (certificate, key []byte, ok bool, err error) {
	var text string
	err = q.QueryRow(ctx, `SELECT certificate, key FROM nodes_authority WHERE id = 1`).Scan(&text, &key)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil, false, nil
	}
	return []byte(text), key, err == nil, err
}

// insertAuthority leaves one alone that is there.
func insertAuthority(ctx context.Context, tx *db.Tx, certificate, key []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO nodes_authority (id, certificate, key, created_at) VALUES (1, $1, $2, $3)
		ON CONFLICT (id) DO NOTHING`, string(certificate), key, tx.Now)
	return err
}

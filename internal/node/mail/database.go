package mail

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver of the databases
)

// database is a file of SQLite that a daemon looks things up in. Nobody but this package writes it. It holds nothing
// that the records do not say: one that is missing, damaged, or from before the machine's last start is made anew.
//
// A daemon's process that runs as another user reads it while it is written, which needs a journal that is rolled back
// (a write-ahead log is also written by readers). A reader that comes while a change becomes valid has to wait, for well under
// a millisecond, because nothing is synced.
type database struct {
	path   string
	gid    int // group that may read it
	schema schema

	db      *sql.DB
	digests map[string]digest // digests of its rows, by account
	seen    stamp             // the file after the last write
}

// schema are the tables of a database, by name. Every row belongs to an account.
type schema map[string]struct {
	columns []string
	key     int // number of key columns, the first ones
}

// row is one row of a table, with a value for each column.
type row struct {
	table  string
	values []string
}

// digest identifies the rows of an account. The zero value is that of no rows.
type digest [sha256.Size]byte

func digestOf(rows []row) digest {
	if len(rows) == 0 {
		return digest{}
	}
	h := sha256.New()
	for _, r := range rows {
		_, _ = fmt.Fprintf(h, "%q %q\n", r.table, r.values) // a hash accepts everything
	}
	return digest(h.Sum(nil))
}

// stamp identifies a version of a file.
type stamp struct {
	inode uint64
	size  int64
	at    time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	s := stamp{size: info.Size(), at: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s, nil
}

const (
	databaseBusy = 10 * time.Second // how long a change waits for readers
	// ofAccounts stores the digests, and madeWith what created the database.
	ofAccounts = "accounts"
	madeWith   = "made_with"
)

// statements create the tables. Within an account the first row with a key counts; of several accounts, while a domain
// moves, any of them.
func (s schema) statements() []string {
	all := []string{
		"CREATE TABLE " + ofAccounts + " (account TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID",
		"CREATE TABLE " + madeWith + " (schema TEXT NOT NULL, boot TEXT NOT NULL)",
	}
	for _, name := range s.names() {
		t := s[name]
		all = append(all,
			fmt.Sprintf("CREATE TABLE %s (%s TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (%s, account)) WITHOUT ROWID",
				name, strings.Join(t.columns, " TEXT NOT NULL, "), strings.Join(t.columns[:t.key], ", ")),
			fmt.Sprintf("CREATE INDEX %s_of_account ON %s (account)", name, name))
	}
	return all
}

func (s schema) names() []string {
	var all []string
	for name := range s {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// boot identifies the time since the machine started.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func dataSource(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", databaseBusy.Milliseconds())}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

func connect(path string) (*sql.DB, error) {
	// A database lost in a power failure is created again. Pages are written when a change commits, and not before.
	db, err := sql.Open("sqlite", dataSource(path, "synchronous(OFF)", "journal_mode(DELETE)", "cache_spill(0)", "temp_store(MEMORY)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// open opens the database if it exists and is sound, and reads its digests.
func (d *database) open(ctx context.Context) (err error) {
	if err := d.close(); err != nil {
		return err
	}
	if _, err := os.Stat(d.path); err != nil {
		return err
	}
	db, err := connect(d.path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	var layout, made, sound string
	if err := db.QueryRowContext(ctx, "SELECT schema, boot FROM "+madeWith).Scan(&layout, &made); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound); err != nil {
		return err
	}
	if now := boot(); layout != strings.Join(d.schema.statements(), ";") || made != now || now == "" || sound != "ok" {
		return errors.New("it is damaged, or not of this program and this start of the machine")
	}
	rows, err := db.QueryContext(ctx, "SELECT account, digest FROM "+ofAccounts)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // was read only
	digests := map[string]digest{}
	for rows.Next() {
		var account string
		var sum []byte
		if err := rows.Scan(&account, &sum); err != nil {
			return err
		}
		if len(sum) != sha256.Size {
			return errors.New("it has no digest of " + account)
		}
		digests[account] = digest(sum)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	d.db, d.digests = db, digests
	d.seen, err = stampOf(d.path)
	return err
}

// create replaces the database by one with the rows of all accounts: readers of the former one keep it until they open
// it again.
func (d *database) create(ctx context.Context, all map[string][]row) error {
	err := d.close()
	fresh := d.path + ".new"
	err = errors.Join(err, remove(fresh), remove(fresh+"-journal"))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = f.Chown(0, d.gid)
	if err == nil {
		err = f.Chmod(0o640)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	db, err := connect(fresh)
	if err != nil {
		return err
	}
	digests := map[string]digest{}
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		for _, statement := range d.schema.statements() {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO "+madeWith+" VALUES (?, ?)", strings.Join(d.schema.statements(), ";"), boot())
		if err != nil {
			return err
		}
		return d.insert(ctx, tx, all, digests)
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	// A journal of the former database, left by a crash, must not be rolled back into this one.
	if err := remove(d.path + "-journal"); err != nil {
		return err
	}
	if err := os.Rename(fresh, d.path); err != nil {
		return err
	}
	if d.db, err = connect(d.path); err != nil {
		return err
	}
	d.digests = digests
	d.seen, err = stampOf(d.path)
	return err
}

// replace replaces the rows of accounts, where they differ.
func (d *database) replace(ctx context.Context, all map[string][]row) error {
	different, digests := map[string][]row{}, map[string]digest{}
	for account, rows := range all {
		if digestOf(rows) != d.digests[account] {
			different[account] = rows
		}
	}
	if len(different) == 0 {
		return nil
	}
	err := inTx(ctx, d.db, func(tx *sql.Tx) error {
		for _, name := range append(d.schema.names(), ofAccounts) {
			for account := range different {
				if _, err := tx.ExecContext(ctx, "DELETE FROM "+name+" WHERE account = ?", account); err != nil { //nolint:gosec // names of the schema
					return err
				}
			}
		}
		return d.insert(ctx, tx, different, digests)
	})
	if err != nil {
		return err
	}
	for account := range different {
		if sum, ok := digests[account]; ok {
			d.digests[account] = sum
		} else {
			delete(d.digests, account)
		}
	}
	d.seen, err = stampOf(d.path)
	return err
}

// insert adds the rows of accounts, and stores their digests.
func (d *database) insert(ctx context.Context, tx *sql.Tx, all map[string][]row, digests map[string]digest) error {
	for name := range d.schema {
		if err := d.insertInto(ctx, tx, name, all); err != nil {
			return err
		}
	}
	for account, rows := range all {
		if len(rows) == 0 {
			continue
		}
		sum := digestOf(rows)
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+ofAccounts+" VALUES (?, ?)", account, sum[:]); err != nil {
			return err
		}
		digests[account] = sum
	}
	return nil
}

// insertInto adds the rows of one table.
func (d *database) insertInto(ctx context.Context, tx *sql.Tx, table string, all map[string][]row) (err error) {
	marks := "?" + strings.Repeat(", ?", len(d.schema[table].columns))
	stmt, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO "+table+" VALUES ("+marks+")") //nolint:gosec // names of the schema
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for account, rows := range all {
		for _, r := range rows {
			if r.table != table {
				continue
			}
			values := make([]any, 0, len(r.values)+1)
			for _, v := range r.values {
				values = append(values, v)
			}
			if _, err := stmt.ExecContext(ctx, append(values, account)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// intact reports whether nobody has changed the file since the last write.
func (d *database) intact() bool {
	now, err := stampOf(d.path)
	return err == nil && d.db != nil && now == d.seen
}

func (d *database) close() error {
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db, d.digests = nil, nil
	return err
}

func inTx(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// remove removes a file that may be missing.
func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Package whmcs reads the database of a WHMCS installation, or a copy of it, and writes nothing there. Versions before 8 have no
// table of users: then clients sign in by their own address.
package whmcs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Client is a customer there.
type Client struct {
	ID    int64
	Email string // by which its owner signs in
	// Address is the client's own one for mail; "" when it is Email, too.
	Address  string
	Verified bool   // its owner has proved Email
	NoUser   bool   // nobody can sign in as it
	Name     string // of the person, else of the company
	Language string // such as english
	Status   string // Active, Inactive, Closed
	Currency string // of Credit, such as USD
	Credit   string // a decimal number
}

// Service is something that a client pays for, or has paid for.
type Service struct {
	ID       int64
	ClientID int64
	Product  int64
	Name     string // of the product
	Domain   string
	Status   string // such as Active
	Cycle    string // such as Annually
	Amount   string // a decimal number, in the client's currency
	NextDue  string // a date; "" when there is none
	// SuspendReason is why staff have suspended it; "" where it was not said, as when it was not paid.
	SuspendReason string
	Cancelling    bool // its client has asked for its end
}

// Domain is a registered name.
type Domain struct {
	ID       int64
	ClientID int64
	Name     string
	Status   string // such as Active
	Expires  string // a date; "" when there is none
	Renews   bool   // by itself
}

// Installation is what is read.
type Installation struct {
	Clients  []Client
	Services []Service
	Domains  []Domain
	// Unpaid are the invoices that wait for money, Addons what services have beside their products. Neither is imported.
	Unpaid, Addons int64
}

// ErrPassword refuses a password in a DSN, where other users of the machine can see it.
var ErrPassword = errors.New("the DSN has a password in it, which other users of this machine can see: leave it out and say --password-stdin")

// readTimeout bounds how long the server may be silent.
const readTimeout = 2 * time.Minute

// Read reads an installation as it is at one moment. The DSN is that of the Go driver, such as user@tcp(127.0.0.1:3306)/whmcs.
func Read(ctx context.Context, dsn, password string) (*Installation, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN is not like user@tcp(127.0.0.1:3306)/whmcs: %w", err)
	}
	if config.Passwd != "" {
		return nil, ErrPassword
	}
	if config.DBName == "" {
		return nil, errors.New("the DSN names no database: user@tcp(127.0.0.1:3306)/whmcs")
	}
	config.Passwd, config.ReadTimeout, config.Timeout, config.ParseTime = password, readTimeout, readTimeout, false
	config.AllowAllFiles = false
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Addr, err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	tables, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, needed := range []string{"tblclients", "tblcurrencies", "tblhosting", "tblproducts"} {
		if !tables[needed] {
			return nil, fmt.Errorf("%s is no database of WHMCS: it has no table %s", config.DBName, needed)
		}
	}
	in := &Installation{}
	if in.Clients, err = clients(ctx, tx, tables["tblusers"] && tables["tblusers_clients"]); err != nil {
		return nil, fmt.Errorf("read the clients: %w", err)
	}
	if in.Services, err = services(ctx, tx, tables["tblcancelrequests"]); err != nil {
		return nil, fmt.Errorf("read the services: %w", err)
	}
	if tables["tbldomains"] {
		if in.Domains, err = domains(ctx, tx); err != nil {
			return nil, fmt.Errorf("read the domain names: %w", err)
		}
	}
	for _, count := range []struct {
		table, query string
		into         *int64
	}{
		{"tblinvoices", "SELECT COUNT(*) FROM tblinvoices WHERE status = 'Unpaid'", &in.Unpaid},
		{"tblhostingaddons", "SELECT COUNT(*) FROM tblhostingaddons WHERE status IN ('Active', 'Suspended')", &in.Addons},
	} {
		if tables[count.table] {
			if err := tx.QueryRowContext(ctx, count.query).Scan(count.into); err != nil {
				return nil, fmt.Errorf("count %s: %w", count.table, err)
			}
		}
	}
	return in, nil
}

func tablesOf(ctx context.Context, tx *sql.Tx) (map[string]bool, error) {
	names, err := query(ctx, tx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()", func(row *sql.Rows) (name string, err error) {
		return name, row.Scan(&name)
	})
	tables := map[string]bool{}
	for _, name := range names {
		tables[strings.ToLower(name)] = true
	}
	return tables, err
}

func query[T any](ctx context.Context, tx *sql.Tx, statement string, scan func(*sql.Rows) (T, error)) (all []T, err error) {
	rows, err := tx.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// A client may have several users; its owner's address is the one that matters. Numbers are read as text: nothing is rounded.
const (
	clientsWithUsers = `SELECT c.id, COALESCE(MIN(u.email), ''), COALESCE(MAX(u.email_verified_at IS NOT NULL), 0), c.email, c.firstname, c.lastname,
			c.companyname, c.language, c.status, COALESCE(MIN(k.code), ''), CAST(c.credit AS CHAR)
		FROM tblclients c LEFT JOIN tblcurrencies k ON k.id = c.currency
		LEFT JOIN tblusers_clients uc ON uc.client_id = c.id AND uc.owner = 1 LEFT JOIN tblusers u ON u.id = uc.auth_user_id
		GROUP BY c.id, c.email, c.firstname, c.lastname, c.companyname, c.language, c.status, c.credit ORDER BY c.id`
	clientsAlone = `SELECT c.id, c.email, 0, c.email, c.firstname, c.lastname, c.companyname, c.language, c.status, COALESCE(k.code, ''), CAST(c.credit AS CHAR)
		FROM tblclients c LEFT JOIN tblcurrencies k ON k.id = c.currency ORDER BY c.id`
)

func clients(ctx context.Context, tx *sql.Tx, users bool) ([]Client, error) {
	statement := clientsAlone
	if users {
		statement = clientsWithUsers
	}
	return query(ctx, tx, statement, func(row *sql.Rows) (Client, error) {
		var c Client
		var first, last, company string
		err := row.Scan(&c.ID, &c.Email, &c.Verified, &c.Address, &first, &last, &company, &c.Language, &c.Status, &c.Currency, &c.Credit)
		if c.Email == "" {
			c.Email, c.NoUser = c.Address, true
		}
		if strings.EqualFold(c.Email, c.Address) {
			c.Address = ""
		}
		if c.Name = plain(first + " " + last); c.Name == "" {
			c.Name = plain(company)
		}
		return c, err
	})
}

func services(ctx context.Context, tx *sql.Tx, requests bool) ([]Service, error) {
	cancelling := "FALSE"
	if requests {
		cancelling = "EXISTS (SELECT 1 FROM tblcancelrequests r WHERE r.relid = h.id)"
	}
	statement := `SELECT h.id, h.userid, h.packageid, COALESCE(p.name, ''), h.domain, h.domainstatus, h.billingcycle, CAST(h.amount AS CHAR),
			COALESCE(CAST(h.nextduedate AS CHAR), ''), h.suspendreason, ` + cancelling + `
		FROM tblhosting h LEFT JOIN tblproducts p ON p.id = h.packageid ORDER BY h.id`
	return query(ctx, tx, statement, func(row *sql.Rows) (Service, error) {
		var s Service
		err := row.Scan(&s.ID, &s.ClientID, &s.Product, &s.Name, &s.Domain, &s.Status, &s.Cycle, &s.Amount, &s.NextDue, &s.SuspendReason, &s.Cancelling)
		s.Name, s.Domain, s.SuspendReason, s.NextDue = plain(s.Name), plain(s.Domain), plain(s.SuspendReason), date(s.NextDue)
		return s, err
	})
}

func domains(ctx context.Context, tx *sql.Tx) ([]Domain, error) {
	const statement = `SELECT id, userid, domain, status, COALESCE(CAST(expirydate AS CHAR), ''), donotrenew FROM tbldomains ORDER BY id`
	return query(ctx, tx, statement, func(row *sql.Rows) (Domain, error) {
		var (
			d    Domain
			ends bool
		)
		err := row.Scan(&d.ID, &d.ClientID, &d.Name, &d.Status, &d.Expires, &ends)
		d.Name, d.Expires, d.Renews = plain(d.Name), date(d.Expires), !ends
		return d, err
	})
}

// date makes the date that WHMCS writes for none an empty one.
func date(text string) string {
	if strings.HasPrefix(text, "0000") {
		return ""
	}
	return text
}

// PaidUntil is the day on which the next period begins; ok is false where there is none.
func (s Service) PaidUntil() (day time.Time, ok bool) {
	day, err := time.Parse(time.DateOnly, s.NextDue)
	return day, err == nil
}

// Overdue reports whether a service was suspended because it was not paid: that is how WHMCS does it by itself.
func (s Service) Overdue(now time.Time) bool {
	until, ok := s.PaidUntil()
	return ok && until.Before(now) && (s.SuspendReason == "" || strings.EqualFold(s.SuspendReason, "Overdue on Payment"))
}

// plain undoes the escaping with which WHMCS stores texts.
func plain(text string) string { return strings.Join(strings.Fields(html.UnescapeString(text)), " ") }

// Months of a billing cycle.
var cycles = map[string]int{
	"monthly": 1, "quarterly": 3, "semi-annually": 6, "semiannually": 6, "annually": 12, "biennially": 24, "triennially": 36,
}

// Months returns how long a billing cycle is; ok is false for one that is no period, or not known.
func (s Service) Months() (months int, ok bool) {
	months, ok = cycles[strings.ToLower(strings.TrimSpace(s.Cycle))]
	return months, ok
}

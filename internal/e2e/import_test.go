package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"stead.dev/stead/internal/platform/testkit"
)

// newMariaDB starts a database server and returns the DSN of its administrator, without a database.
func newMariaDB(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "stead-whmcs") // short: the path of a socket has 107 characters at most
	if err != nil {
		t.Fatal(err)
	}
	me, err := osuser.Current()
	if err != nil {
		t.Fatal(err)
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	install := exec.Command("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db",
		"--datadir="+data, "--user="+me.Username)
	install.Env = append(os.Environ(), "TMPDIR="+dir) // servers of other tests have their temporary tables in the machine's
	made, err := install.CombinedOutput()
	if err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, tail(string(made), 2000))
	}
	c := exec.Command("/usr/sbin/mariadbd", "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking", "--user="+me.Username)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = os.RemoveAll(dir)
	})
	dsn := "root@unix(" + socket + ")/"
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testkit.Eventually(t, time.Minute, func() bool { return db.PingContext(t.Context()) == nil }, "MariaDB answers")
	return dsn
}

// whmcsTables are the columns of WHMCS 8 that an import reads, and some that it does not.
//
//nolint:misspell // packageid is what WHMCS calls it
const whmcsTables = `
CREATE TABLE tblcurrencies (id INT PRIMARY KEY, code TEXT NOT NULL);
CREATE TABLE tblclients (id INT PRIMARY KEY, firstname TEXT NOT NULL, lastname TEXT NOT NULL, companyname TEXT NOT NULL, email TEXT NOT NULL,
	password TEXT NOT NULL, language TEXT NOT NULL, currency INT NOT NULL, credit DECIMAL(16,2) NOT NULL, status ENUM('Active','Inactive','Closed') NOT NULL);
CREATE TABLE tblusers (id INT PRIMARY KEY, email VARCHAR(255) NOT NULL, password TEXT NOT NULL, email_verified_at TIMESTAMP NULL);
CREATE TABLE tblusers_clients (id INT PRIMARY KEY AUTO_INCREMENT, auth_user_id INT NOT NULL, client_id INT NOT NULL, owner TINYINT NOT NULL);
CREATE TABLE tblproducts (id INT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tblhosting (id INT PRIMARY KEY, userid INT NOT NULL, packageid INT NOT NULL, domain TEXT NOT NULL, amount DECIMAL(16,2) NOT NULL,
	billingcycle TEXT NOT NULL, nextduedate DATE, domainstatus TEXT NOT NULL, suspendreason TEXT NOT NULL);
CREATE TABLE tblcancelrequests (id INT PRIMARY KEY AUTO_INCREMENT, relid INT NOT NULL, reason TEXT NOT NULL, type TEXT NOT NULL);
CREATE TABLE tblhostingaddons (id INT PRIMARY KEY, hostingid INT NOT NULL, status TEXT NOT NULL);
CREATE TABLE tblinvoices (id INT PRIMARY KEY, status TEXT NOT NULL);
CREATE TABLE tbldomains (id INT PRIMARY KEY, userid INT NOT NULL, domain TEXT NOT NULL, status TEXT NOT NULL, expirydate DATE, donotrenew TINYINT NOT NULL);
INSERT INTO tblcurrencies VALUES (1, 'USD'), (2, 'UZS'), (3, 'RUB');
INSERT INTO tblclients VALUES
	(1, 'Anna', 'O&#039;Brien', 'Ltd', 'billing@anna.example', '$2y$10$x', 'russian', 1, 12.34, 'Active'),
	(2, '', '', 'Tea &amp; Co', 'tea@example.com', '$2y$10$x', 'uzbek', 2, 126500.00, 'Inactive'),
	(3, 'Closed', 'Client', '', 'closed@example.com', '', 'english', 1, 5.00, 'Closed'),
	(4, 'No', 'Rate', '', 'rate@example.com', '', 'english', 3, 100.00, 'Active'),
	(5, 'Same', 'User', '', 'other@anna.example', '', '', 1, 1.00, 'Active'),
	(6, 'Below', 'Zero', '', 'below@example.com', '', '', 1, -3.00, 'Active'),
	(7, 'Is', 'Here', '', 'demo@stead.example', '', '', 1, 2.00, 'Active'),
	(8, 'No', 'Mail', '', 'nothing', '', '', 1, 0.00, 'Active'),
	(9, 'No', 'User', '', 'alone@example.com', '', 'klingon', 1, 0.00, 'Active');
INSERT INTO tblusers VALUES (11, 'anna@example.com', '$2y$10$x', NOW()), (12, 'tea@example.com', '$2y$10$x', NULL), (13, 'helper@example.com', '', NOW()),
	(14, 'rate@example.com', '', NULL);
INSERT INTO tblusers_clients (auth_user_id, client_id, owner) VALUES (11, 1, 1), (13, 1, 0), (12, 2, 1), (11, 5, 1), (14, 4, 1);
INSERT INTO tblproducts VALUES (1, 'Hosting S'), (2, 'VPS');
INSERT INTO tblhosting VALUES
	(101, 1, 1, 'anna.example', 24.00, 'Annually', CURDATE() + INTERVAL 90 DAY, 'Active', ''),
	(102, 1, 1, 'old.example', 2.00, 'Monthly', '2020-03-01', 'Terminated', ''),
	(103, 2, 1, 'tea.example', 90000.00, 'Fortnightly', CURDATE() + INTERVAL 5 DAY, 'Active', ''),
	(104, 2, 2, '', 10.00, 'Monthly', CURDATE() + INTERVAL 5 DAY, 'Suspended', ''),
	(105, 2, 1, 'free.example', 0.00, 'Free Account', '0000-00-00', 'Active', ''),
	(106, 99, 1, 'nobody.example', 1.00, 'Monthly', CURDATE() + INTERVAL 5 DAY, 'Active', ''),
	(107, 4, 1, 'rate.example', 1.00, 'Monthly', CURDATE() + INTERVAL 5 DAY, 'Pending', ''),
	(108, 1, 1, 'late.example', 3.00, 'Monthly', CURDATE() - INTERVAL 5 DAY, 'Suspended', 'Overdue on Payment'),
	(109, 2, 1, 'spam.example', 126500.00, 'Annually', CURDATE() + INTERVAL 60 DAY, 'Suspended', 'Spam &amp; more'),
	(110, 1, 1, 'ANNA.example', 2.00, 'Monthly', CURDATE() + INTERVAL 60 DAY, 'Active', ''),
	(111, 1, 1, 'ends.example', 2.00, 'Monthly', CURDATE() + INTERVAL 10 DAY, 'Active', ''),
	(112, 1, 1, 'ever.example', 2.00, 'Monthly', '2099-01-01', 'Active', '');
INSERT INTO tblcancelrequests (relid, reason, type) VALUES (111, '', 'End of Billing Period');
INSERT INTO tblhostingaddons VALUES (1, 101, 'Active'), (2, 102, 'Terminated');
INSERT INTO tblinvoices VALUES (1, 'Unpaid'), (2, 'Paid');
INSERT INTO tbldomains VALUES (1, 1, 'taken-anna.com', 'Active', CURDATE() + INTERVAL 90 DAY, 0), (2, 1, 'old.com', 'Expired', '2025-01-01', 1),
	(3, 2, 'away.com', 'Transferred Away', NULL, 0), (4, 3, 'closed.com', 'Active', NULL, 0);
`

type importCounts struct {
	Found, New, Already, Ended int
	Left                       int `json:"left_out"`
}

type imported struct {
	Applied                    bool
	Clients, Domains, Services importCounts
	Sum                        int64 `json:"sum_usd_cents"`
	Rows                       []importedRow
	Unpaid                     int64 `json:"unpaid_invoices"`
	Addons                     int64
}

type importedRow struct {
	Kind, Becomes, Reason, Status, Plan string
	ID                                  int64
	Notes                               []string
	AccountID                           int64 `json:"account_id"`
	ServiceID                           int64 `json:"service_id"`
	Months                              int
	Renewal                             *int64 `json:"renewal_usd_cents"`
}

// becomes are the rows of a kind, with what becomes of each.
func (r imported) becomes(kind string) map[int64]string {
	all := map[int64]string{}
	for _, row := range r.Rows {
		if row.Kind == kind {
			all[row.ID] = strings.TrimSpace(row.Becomes + " " + row.Reason)
		}
	}
	return all
}

func (r imported) row(kind string, id int64) importedRow {
	for _, row := range r.Rows {
		if row.Kind == kind && row.ID == id {
			return row
		}
	}
	return importedRow{}
}

// differ names the rows that do not become what is wanted of them. A reason is a part of the real one.
func differ(got, want map[int64]string) (wrong []string) {
	for id, text := range got {
		becomes, reason, _ := strings.Cut(want[id], " ")
		if !strings.HasPrefix(text, becomes) || want[id] == "" || !strings.Contains(text, reason) {
			wrong = append(wrong, fmt.Sprintf("%d: %q, want %q", id, text, want[id]))
		}
	}
	if len(got) != len(want) {
		wrong = append(wrong, fmt.Sprintf("%d rows, want %d", len(got), len(want)))
	}
	return wrong
}

// newWHMCS is the database of a WHMCS installation. do executes statements in it, of which the DSN is answered.
func newWHMCS(t *testing.T) (dsn string, do func(statement string)) {
	t.Helper()
	dsn = newMariaDB(t)
	db, err := sql.Open("mysql", dsn+"?multiStatements=true&sql_mode=''")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	do = func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE DATABASE whmcs; CREATE DATABASE nothing")
	do("USE whmcs;" + whmcsTables)
	return dsn, do
}

// importedServices are the services of an installation by their domains.
func (in *installation) importedServices(t *testing.T) map[string][]importedService {
	t.Helper()
	var list struct{ Data []importedService }
	in.must(t, &list, "admin", "services", "list", "--per-page", "50")
	all := map[string][]importedService{}
	for _, s := range list.Data {
		all[s.Domain] = append(all[s.Domain], s)
	}
	return all
}

type importedService struct {
	ID                          int64
	Domain, Status, Plan, Panel string
	SuspendReason               string    `json:"suspend_reason"`
	ExpiresAt                   time.Time `json:"expires_at"`
}

// TestClientsOfWHMCSAreImportedOnce with their balances and services; what cannot be is said.
func TestClientsOfWHMCSAreImportedOnce(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		dsn, do := newWHMCS(t)
		in.env = append(in.env, "STEAD_DEMO=true") // commands have the server's settings
		in.serve(t)
		mapping := filepath.Join(t.TempDir(), "map.yaml")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(mapping, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("rates: {UZS: 12650}\nproducts: {1: start}\n")
		arguments := []string{"admin", "import", "whmcs", "--from", dsn + "whmcs", "--map", mapping}
		balance := func(who string) int64 {
			t.Helper()
			var b struct {
				Cents int64 `json:"balance_usd_cents"`
			}
			in.must(t, &b, "admin", "wallet", "show", who)
			return b.Cents
		}

		var dry, first, second imported
		in.must(t, &dry, arguments...)
		if _, _, code := in.run(t, "admin", "users", "show", "anna@example.com"); code != 3 {
			t.Error("a dry run made an account")
		}
		if all := in.importedServices(t); len(all) != 0 {
			t.Errorf("a dry run made services: %v", all)
		}
		in.must(t, &first, append(arguments, "--apply")...)
		for name, r := range map[string]imported{"dry": dry, "first": first} {
			if r.Applied != (name == "first") || r.Clients != (importCounts{Found: 9, New: 3, Left: 6}) || r.Sum != 1234+1000 || r.Unpaid != 1 || r.Addons != 1 ||
				r.Services != (importCounts{Found: 12, New: 4, Left: 7, Ended: 1}) || r.Domains != (importCounts{Found: 4, Left: 3, Ended: 1}) {
				t.Errorf("%s: %+v", name, r)
			}
			for kind, want := range map[string]map[int64]string{
				"client": {
					1: "new", 2: "new", 3: "left_out closed; its balance of 5.00 USD is left, too", 4: "left_out no rate of RUB", 5: "left_out client 1 has the same",
					6: "left_out below zero", 7: "left_out an account here", 8: "left_out no valid address", 9: "new",
				},
				"domain": {
					1: "left_out our registrar does not hold it", 2: "left_out our registrar does not hold it", 3: "ended", 4: "left_out its client 3 is left out",
				},
				"service": {
					101: "new", 102: "ended", 103: "left_out Fortnightly", 104: "left_out no plan for product 2", 105: "left_out Free Account",
					106: "left_out client 99 is not there", 107: "left_out its client 4 is left out", 108: "new", 109: "new",
					110: "left_out service 101 has the same domain", 111: "new", 112: "left_out more than 10 years",
				},
			} {
				for _, wrong := range differ(r.becomes(kind), want) {
					t.Errorf("%s: %s %s", name, kind, wrong)
				}
			}
			one := r.row("service", 101)
			if one.Plan != "start" || one.Months != 12 || one.Renewal == nil || *one.Renewal != 2400 || (one.ServiceID != 0) != r.Applied || (one.AccountID != 0) != r.Applied {
				t.Errorf("%s: service 101: %+v", name, one)
			}
			for id, note := range map[int64]string{108: "until its client pays", 109: "Spam & more", 111: "asked for its end"} {
				if notes := strings.Join(r.row("service", id).Notes, "; "); !strings.Contains(notes, note) {
					t.Errorf("%s: notes of service %d: %q", name, id, notes)
				}
			}
			if len(r.row("client", 1).Notes) != 1 || len(r.row("client", 9).Notes) != 1 {
				t.Errorf("%s: notes of clients: %+v", name, r.Rows)
			}
		}
		var anna struct {
			Name, Locale string
			Verified     bool `json:"email_verified"`
		}
		in.must(t, &anna, "admin", "users", "show", "anna@example.com")
		if anna.Name != "Anna O'Brien" || anna.Locale != "ru" || !anna.Verified {
			t.Errorf("anna: %+v", anna)
		}
		in.must(t, &anna, "admin", "users", "show", "tea@example.com")
		if anna.Name != "Tea & Co" || anna.Locale != "uz" || anna.Verified {
			t.Errorf("tea: %+v", anna)
		}

		// The accounts are made on the machine, and nobody pays again for what is paid there.
		want := map[string]importedService{
			"anna.example": {Status: "active"}, "ends.example": {Status: "active"},
			"late.example": {Status: "suspended", SuspendReason: "unpaid"}, "spam.example": {Status: "suspended", SuspendReason: "manual"},
		}
		days := map[string]int{"anna.example": 90, "ends.example": 10, "late.example": -5, "spam.example": 60}
		testkit.Eventually(t, time.Minute, func() bool {
			for _, all := range in.importedServices(t) {
				if all[0].Status == "provisioning" {
					return false
				}
			}
			return true
		}, "the services are provisioned")
		all := in.importedServices(t)
		for domain, w := range want {
			got := all[domain]
			if len(got) != 1 || got[0].Status != w.Status || got[0].SuspendReason != w.SuspendReason || got[0].Panel == "" || got[0].Plan != "start" {
				t.Errorf("%s: %+v", domain, got)
				continue
			}
			var until string
			if err := newDate(t, dsn, days[domain], &until); err != nil || got[0].ExpiresAt.UTC().Format(time.DateTime) != until {
				t.Errorf("%s is paid until %v, want %s, %v", domain, got[0].ExpiresAt, until, err)
			}
		}
		if len(all) != len(want) {
			t.Errorf("services: %+v", all)
		}
		if a, tea := balance("anna@example.com"), balance("tea@example.com"); a != 1234 || tea != 1000 {
			t.Errorf("balances: %d, %d", a, tea)
		}

		// What is new is added; what was imported is not touched again, though it has changed there.
		do(`UPDATE whmcs.tblclients SET credit = 99 WHERE id = 1; INSERT INTO whmcs.tblclients VALUES (20, 'New', 'One', '', 'new@example.com', '', '', 1, 0.07, 'Active');
			UPDATE whmcs.tblhosting SET domainstatus = 'Active', amount = 1, nextduedate = '2026-01-01' WHERE id IN (101, 108);
			INSERT INTO whmcs.tblhosting VALUES (120, 1, 2, 'second.example', 5.00, 'Quarterly', CURDATE() + INTERVAL 40 DAY, 'Active', '')`)
		write("rates: {UZS: 12650, RUB: 80}\nproducts: {1: start, 2: start}\nprices: catalog\n")
		in.must(t, &second, append(arguments, "--apply")...)
		if second.Clients != (importCounts{Found: 10, New: 2, Already: 3, Left: 5}) || second.Sum != 7+125 || balance("anna@example.com") != 1234 || balance("rate@example.com") != 125 {
			t.Errorf("second: %+v", second)
		}
		for id, becomes := range map[int64]string{101: "there", 108: "there", 109: "there", 111: "there", 107: "left_out it is pending there", 120: "left_out not valid here: period_months"} {
			if got := second.becomes("service")[id]; got != becomes {
				t.Errorf("second: service %d: %q, want %q", id, got, becomes)
			}
		}
		write("rates: {UZS: 12650, RUB: 80}\nproducts: {1: start, 2: start}\n")
		var third imported
		in.must(t, &third, append(arguments, "--apply")...)
		if got := third.becomes("service")[120]; got != "new" { // the plan is not sold for three months; the price and the period are kept
			t.Errorf("third: service 120: %q", got)
		}
		after := in.importedServices(t)
		if late := after["late.example"]; len(late) != 1 || late[0].Status != "suspended" || len(after["anna.example"]) != 1 || len(after) != len(want)+1 {
			t.Errorf("after another run: %+v", after)
		}
		stdout, _, code := in.run(t, arguments...)
		for _, text := range []string{
			"10 found, 0 new, 5 by an earlier import, 5 left out", "--apply", "service 101", "start for 1 month,", "LEFT OUT", "domain 1 ", "1 add-ons",
		} {
			if code != 0 || !strings.Contains(stdout, text) {
				t.Errorf("fourth: exit code %d, no %q in\n%s", code, text, stdout)
			}
		}
		for name, c := range map[string]struct {
			code int
			args []string
			says string
		}{
			"a password in the DSN": {1, []string{"--from", "root:secret@tcp(127.0.0.1:1)/whmcs"}, "--password-stdin"},
			"no database":           {1, []string{"--from", dsn}, "names no database"},
			"another database":      {1, []string{"--from", dsn + "nothing"}, "no table tblclients"},
			"no server":             {1, []string{"--from", "root@unix(/nothing)/whmcs"}, "connect"},
		} {
			_, stderr, code := in.run(t, append([]string{"admin", "import", "whmcs"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "secret") {
				t.Errorf("%s: exit code %d, %s", name, code, stderr)
			}
		}
		for text, code := range map[string]int{"rates: {UZS: none}": 2, "rate: {}": 2, "prices: mine": 2, "products: {1: no-such-plan}": 3} {
			write(text)
			if _, stderr, got := in.run(t, arguments...); got != code {
				t.Errorf("%s: exit code %d, %s", text, got, stderr)
			}
		}
	})
}

// newDate reads the begin of a day of the database's calendar.
func newDate(t *testing.T, dsn string, days int, into *string) error {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRowContext(t.Context(), "SELECT CONCAT(CURDATE() + INTERVAL ? DAY, ' 00:00:00')", days).Scan(into)
}

// TestAnImportOfWHMCSThatIsKilledIsCompleted by the next run: each client and each service is there once.
func TestAnImportOfWHMCSThatIsKilledIsCompleted(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		dsn, do := newWHMCS(t)
		for i := range 30 {
			do(fmt.Sprintf(`INSERT INTO whmcs.tblclients VALUES (%[1]d, 'A', 'B', '', 'c%[1]d@example.com', '', '', 1, 1.00, 'Active');
				INSERT INTO whmcs.tblhosting VALUES (%[1]d, %[1]d, 1, 'c%[1]d.example', 24.00, 'Annually', CURDATE() + INTERVAL 90 DAY, 'Active', '')`, 200+i))
		}
		in.env = append(in.env, "STEAD_DEMO=true")
		in.serve(t)
		mapping := filepath.Join(t.TempDir(), "map.yaml")
		if err := os.WriteFile(mapping, []byte("products: {1: start}"), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments := []string{"admin", "import", "whmcs", "--from", dsn + "whmcs", "--map", mapping, "--apply"}
		killed := 0
		for part := range 5 { // it is killed when there are so many more services
			ctx, kill := context.WithCancel(t.Context())
			c := exec.CommandContext(ctx, in.binary(), arguments...)
			c.Env = in.env
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = c.Wait(); close(ended) }()
			testkit.Eventually(t, time.Minute, func() bool {
				select {
				case <-ended:
					return true
				default:
					return len(in.importedServices(t)) > 4*part
				}
			}, "services are there")
			kill()
			<-ended
			if c.ProcessState.ExitCode() != 0 {
				killed++
			}
		}
		if killed == 0 {
			t.Error("every run had ended before it was killed")
		}
		var r imported
		in.must(t, &r, arguments...)
		testkit.Eventually(t, 2*time.Minute, func() bool {
			all := in.importedServices(t)
			for _, s := range all {
				if len(s) != 1 || s[0].Status == "provisioning" {
					return false
				}
			}
			return len(all) >= 30
		}, "each service is there once")
		for i := range 30 {
			id := int64(200 + i)
			if becomes := r.becomes("client")[id]; becomes != "there" && becomes != "new" {
				t.Errorf("client %d: %s", id, becomes)
			}
			var b struct {
				Cents int64 `json:"balance_usd_cents"`
			}
			if i%10 == 0 {
				in.must(t, &b, "admin", "wallet", "show", fmt.Sprintf("c%d@example.com", id))
				if b.Cents != 100 {
					t.Errorf("client %d has %d", id, b.Cents)
				}
			}
		}
	})
}

package e2e

import (
	"database/sql"
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
	billingcycle TEXT NOT NULL, nextduedate DATE, domainstatus TEXT NOT NULL);
CREATE TABLE tblinvoices (id INT PRIMARY KEY, status TEXT NOT NULL);
CREATE TABLE tbldomains (id INT PRIMARY KEY, status TEXT NOT NULL);
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
	(101, 1, 1, 'anna.example', 24.00, 'Annually', '2027-03-01', 'Active'),
	(102, 1, 1, 'old.example', 2.00, 'Monthly', '2020-03-01', 'Terminated'),
	(103, 2, 1, 'tea.example', 90000.00, 'Fortnightly', '2027-01-01', 'Active'),
	(104, 2, 2, '', 10.00, 'Monthly', '2027-01-01', 'Suspended'),
	(105, 2, 1, 'free.example', 0.00, 'Free Account', '0000-00-00', 'Active'),
	(106, 99, 1, 'nobody.example', 1.00, 'Monthly', '2027-01-01', 'Active'),
	(107, 4, 1, 'rate.example', 1.00, 'Monthly', '2027-01-01', 'Pending');
INSERT INTO tblinvoices VALUES (1, 'Unpaid'), (2, 'Paid');
INSERT INTO tbldomains VALUES (1, 'Active'), (2, 'Expired');
`

type imported struct {
	Applied bool
	Clients struct{ Found, Imported, Already, Left int }
	Sum     int64 `json:"sum_usd_cents"`
	Left    []struct {
		ID           int64
		What, Reason string
	}
	Notes    []struct{ ID int64 }
	Services []struct {
		ID        int64
		AccountID *int64 `json:"account_id"`
		Plan      string
		Months    int
		NextDue   string `json:"next_due"`
	}
	Refused []struct {
		ID     int64
		Reason string
	}
	Ended           int
	Unpaid, Domains int64
}

// TestClientsOfWHMCSAreImportedOnce with their balances; what cannot be is said.
func TestClientsOfWHMCSAreImportedOnce(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		dsn := newMariaDB(t)
		db, err := sql.Open("mysql", dsn+"?multiStatements=true&sql_mode=''")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		do := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		do("CREATE DATABASE whmcs; CREATE DATABASE nothing")
		do("USE whmcs;" + whmcsTables)
		in.serve(t, "--demo")
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
		in.must(t, &first, append(arguments, "--apply")...)
		for name, r := range map[string]imported{"dry": dry, "first": first} {
			if r.Applied != (name == "first") || r.Clients.Found != 9 || r.Clients.Imported != 3 || r.Clients.Left != 6 || r.Sum != 1234+1000 || len(r.Notes) != 2 ||
				r.Ended != 1 {
				t.Errorf("%s: %+v", name, r)
			}
			why := map[int64]string{}
			for _, left := range r.Left {
				why[left.ID] = left.Reason
			}
			for id, reason := range map[int64]string{
				3: "closed; its balance of 5.00 USD is left, too", 4: "no rate of RUB", 5: "client 1 has the same", 6: "below zero", 7: "an account here", 8: "no valid address",
			} {
				if !strings.Contains(why[id], reason) {
					t.Errorf("%s: client %d: %q", name, id, why[id])
				}
			}
			refused := map[int64]string{}
			for _, s := range r.Refused {
				refused[s.ID] = s.Reason
			}
			for id, reason := range map[int64]string{103: "Fortnightly", 104: "no plan for product 2", 105: "Free Account", 106: "client 99 is not there"} {
				if !strings.Contains(refused[id], reason) {
					t.Errorf("%s: service %d: %q", name, id, refused[id])
				}
			}
			if len(r.Services) != 2 || r.Services[0].ID != 101 || r.Services[0].Months != 12 || r.Services[0].NextDue != "2027-03-01" || r.Services[0].Plan != "start" ||
				(r.Services[0].AccountID != nil) != r.Applied || r.Services[1].AccountID != nil {
				t.Errorf("%s: services %+v", name, r.Services)
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
		if a, tea := balance("anna@example.com"), balance("tea@example.com"); a != 1234 || tea != 1000 {
			t.Errorf("balances: %d, %d", a, tea)
		}

		// What is new is added; what was imported is not touched again, though it has changed there.
		do("UPDATE whmcs.tblclients SET credit = 99 WHERE id = 1; INSERT INTO whmcs.tblclients VALUES (20, 'New', 'One', '', 'new@example.com', '', '', 1, 0.07, 'Active')")
		write("rates: {UZS: 12650, RUB: 80}\nproducts: {1: start}\n")
		in.must(t, &second, append(arguments, "--apply")...)
		if second.Clients.Already != 3 || second.Clients.Imported != 2 || second.Sum != 7+125 || balance("anna@example.com") != 1234 || balance("rate@example.com") != 125 {
			t.Errorf("second: %+v", second)
		}
		if stdout, _, code := in.run(t, arguments...); code != 0 || !strings.Contains(stdout, "10 found, 0 imported, 5 by an earlier import, 5 left out") || !strings.Contains(stdout, "--apply") {
			t.Errorf("third: exit code %d\n%s", code, stdout)
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
		for text, code := range map[string]int{"rates: {UZS: none}": 2, "rate: {}": 2, "products: {1: no-such-plan}": 3} {
			write(text)
			if _, stderr, got := in.run(t, arguments...); got != code {
				t.Errorf("%s: exit code %d, %s", text, got, stderr)
			}
		}
	})
}

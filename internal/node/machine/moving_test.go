package machine

import (
	"database/sql"
	"fmt"
	"net"
	"net/smtp"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// rcpt offers a machine a message for an address.
func rcpt(t *testing.T, cfg Config, address string) error {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Mail.Ports.SMTP))
	must(t, err)
	c, err := smtp.NewClient(conn, "localhost")
	must(t, err)
	defer c.Close()
	must(t, c.Hello("sender.example"))
	must(t, c.Mail(""))
	return c.Rcpt(address)
}

// completed waits for a task.
func completed(t *testing.T, p panelnode.Panel, ref, id string) {
	t.Helper()
	testkit.Eventually(t, 2*time.Minute, func() bool {
		task, err := p.BackupTask(t.Context(), ref, id)
		must(t, err)
		if task.Status == panel.TaskFailed {
			t.Fatalf("%s: %v", id, task.Failure)
		}
		return task.Status == panel.TaskCompleted
	}, id+" is complete")
}

// TestASiteWithProgramsMovesToAnotherMachine: with daemons, a site of PHP with a database and a mailbox is held, copied, made on
// the other machine and opened there; what is answered at each moment, on both machines.
func TestASiteWithProgramsMovesToAnotherMachine(t *testing.T) {
	shared := filepath.Join(nodetest.Dir(t), "shared")
	machine := func() (panelnode.Panel, Config) {
		m, p, cfg := open(t, func(c *Config) {
			c.Backups.Repository, c.PreviewDomain, c.IPv4 = shared, "", "127.0.0.1"
			c.Mail.Hostname = "mx.stead.test"
			ports := reflect.ValueOf(&c.Mail.Ports).Elem()
			for i := range ports.NumField() {
				ports.Field(i).SetInt(int64(testkit.Port(t)))
			}
		})
		for capability, err := range m.Unready() {
			t.Fatalf("%s does not start: %v", capability, err)
		}
		return p, cfg
	}
	from, at := machine()
	to, there := machine()
	ctx := t.Context()
	const ref, host, address = "7", "shop.example", "info@shop.example"
	const move = 3
	fill := func(p panelnode.Panel) (d panel.Database) {
		t.Helper()
		d, err := p.SetDatabase(ctx, ref, panel.Database{Name: "shop_db", Engine: panel.MariaDB, Password: neighboursPassword})
		must(t, err)
		_, err = p.SetMailbox(ctx, ref, panel.Mailbox{
			Address: address, PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe", QuotaMB: 5,
		})
		must(t, err)
		return d
	}
	query := func(d panel.Database, statement string) (answer string, err error) {
		cfg := mysql.NewConfig()
		cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName = d.Users[0].Name, neighboursPassword, "tcp", fmt.Sprintf("127.0.0.1:%d", d.Port), d.Name
		c, err := mysql.NewConnector(cfg)
		must(t, err)
		db := sql.OpenDB(c)
		defer db.Close()
		if strings.HasPrefix(statement, "SELECT") {
			return answer, db.QueryRowContext(ctx, statement).Scan(&answer)
		}
		_, err = db.ExecContext(ctx, statement)
		return "", err
	}
	answers := func(what string, cfg Config, status int, text string) {
		t.Helper()
		if got, body, h := get(t, cfg, host, "/"); got != status || !strings.Contains(body, text) || status == 503 && h.Get("Retry-After") != "60" {
			t.Errorf("%s: %d %q %v, want %d %q", what, got, body, h, status, text)
		}
	}
	deferred := func(what string, cfg Config) {
		t.Helper()
		if err := rcpt(t, cfg, address); err == nil || !strings.HasPrefix(err.Error(), "450") {
			t.Errorf("%s: %v", what, err)
		}
	}

	_, err := from.CreateAccount(ctx, panel.AccountSpec{Ref: ref, Username: "shop", PrimaryDomain: host})
	must(t, err)
	d := fill(from)
	put(t, from, ref, "/public_html/index.php", `<?php echo "SHOP ", PHP_MAJOR_VERSION, " ", file_get_contents("stock.txt");`)
	put(t, from, ref, "/public_html/stock.txt", "five")
	for _, statement := range []string{"CREATE TABLE orders (id INT)", "INSERT INTO orders VALUES (1), (2)"} {
		_, err := query(d, statement)
		must(t, err)
	}
	answers("before", at, 200, "five")
	must(t, rcpt(t, at, address))

	must(t, from.HoldAccount(ctx, ref, panel.Hold{Move: move, Try: 1}))
	answers("held", at, 503, "moving")
	if status, body, _ := get(t, at, host, "/stock.txt"); status != 200 || body != "five" {
		t.Errorf("held, its file: %d %q", status, body)
	}
	deferred("held", at)
	if _, err := query(d, "INSERT INTO orders VALUES (3)"); err == nil {
		t.Error("held, its database is written")
	}
	parts := []panel.BackupPart{panel.PartFiles, panel.PartDatabases, panel.PartMail}
	_, err = from.StartBackup(ctx, ref, panel.BackupRequest{ID: "last", Parts: parts})
	must(t, err)
	completed(t, from, ref, "last")
	passport, err := from.BackupPassport(ctx, ref, "last")
	must(t, err)

	must(t, to.AdoptBackup(ctx, ref, passport))
	_, err = to.CreateAccount(ctx, panel.AccountSpec{Ref: ref, Username: "shop", PrimaryDomain: host, Epoch: 1, Arriving: true})
	must(t, err)
	moved := fill(to)
	_, err = to.StartRestore(ctx, ref, panel.RestoreRequest{ID: "restore", Backup: "last", Parts: parts})
	must(t, err)
	completed(t, to, ref, "restore")
	answers("arriving", there, 503, "moving")
	deferred("arriving", there)
	must(t, to.ReleaseAccount(ctx, ref, move))
	answers("arrived", there, 200, "five")
	must(t, rcpt(t, there, address))
	if rows, err := query(moved, "SELECT COUNT(*) FROM orders"); err != nil || rows != "2" {
		t.Errorf("its database has %s orders, %v", rows, err)
	}

	put(t, to, ref, "/public_html/stock.txt", "four")
	proof, err := to.Proof(ctx)
	must(t, err)
	must(t, from.ForwardAccount(ctx, ref, 1, panel.Forward{
		HTTP: fmt.Sprintf("127.0.0.1:%d", there.Ports.HTTP), HTTPS: fmt.Sprintf("127.0.0.1:%d", there.Ports.HTTPS), Proof: proof,
	}))
	answers("forwarded", at, 200, "four")
	deferred("forwarded", at)
	must(t, from.DropAccount(ctx, ref, 1))
	if status, _, _ := get(t, at, host, "/"); status != 404 {
		t.Errorf("dropped: %d", status)
	}
	if err := rcpt(t, at, address); err == nil || strings.HasPrefix(err.Error(), "4") {
		t.Errorf("dropped, its mail: %v", err)
	}
}

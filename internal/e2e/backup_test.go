package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/smtp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/testkit"
)

const mailPassword = "a password of a mailbox"

// Destroys everything of a customer, and restores it byte for byte. A damaged backup is refused, and changes nothing.
func TestABackupBringsEverythingBackAndADamagedOneNothing(t *testing.T) {
	t.Parallel()
	const domain = "annas-shop.test"
	h := newHost(t, "STEAD_MAIL_HOST=mx.annas-shop.test", "STEAD_ACME_EMAIL=")
	p := h.serve(t, "--demo")
	c := p.signIn(t)
	service := h.buy(t, c, domain)
	at := func(rest string) string { return fmt.Sprintf("/api/v1/services/%d%s", service, rest) }

	// The customer's content: files, two databases, a mailbox with a message, a record and a cron job.
	put := func(name string, content []byte) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"path": name, "content": base64.StdEncoding.EncodeToString(content), "encoding": "base64"})
		if err != nil {
			t.Fatal(err)
		}
		c.must("PUT", at("/files/content"), string(body), &struct{}{})
	}
	c.must("POST", at("/files/directories"), `{"path": "/public_html/deep/er"}`, &struct{}{})
	put("/public_html/index.html", []byte("<h1>Anna's shop</h1>"))
	put("/public_html/deep/er/bytes", []byte{0, 1, 2, 255, '\n', 0})
	put("/public_html/deep/пробел имя.txt", []byte("a name with a blank"))
	maria := h.database(t, c, p, service, "shop", "mariadb")
	postgres := h.database(t, c, p, service, "books", "postgresql")
	maria.write(t)
	postgres.write(t)
	var box struct{ ID int64 }
	c.must("POST", at("/mailboxes"), fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": %q, "quota_mb": 50}`, domain, mailPassword), &box)
	address := "info@" + domain
	testkit.Eventually(t, time.Minute, func() bool { return h.deliver(address) == nil }, "a letter is taken")
	var letter string
	testkit.Eventually(t, time.Minute, func() bool {
		letters, err := h.letters(address)
		if err != nil || len(letters) != 1 {
			return false
		}
		letter = letters[0]
		return true
	}, "the letter is there")
	var record, job struct{ ID int64 }
	c.must("POST", at("/dns"), `{"name": "kept", "type": "TXT", "value": "as it was"}`, &record)
	c.must("POST", at("/cron"), `{"expression": "5 4 * * *", "command": "echo kept"}`, &job)

	before := h.tree(t)
	backup := h.backup(t, c, service)

	// Destroy it.
	status, answer, err := c.call("DELETE", at("/files?path=/public_html/deep&recursive=true"), "", "")
	if err != nil || status >= 300 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	put("/public_html/index.html", []byte("defaced"))
	put("/public_html/left-behind.php", []byte("<?php"))
	maria.destroy(t)
	postgres.destroy(t)
	for _, path := range []string{fmt.Sprintf("/mailboxes/%d", box.ID), fmt.Sprintf("/dns/%d", record.ID), fmt.Sprintf("/cron/%d", job.ID)} {
		if status, answer, err := c.call("DELETE", at(path), "", ""); err != nil || status >= 300 {
			t.Fatalf("%s: %d %s %v", path, status, answer, err)
		}
	}
	testkit.Eventually(t, time.Minute, func() bool {
		_, err := h.letters(address)
		return err != nil
	}, "the mailbox is gone")

	// Restore it.
	if state := h.restore(t, c, service, backup); state != "completed" {
		t.Fatalf("the restore is %s", state)
	}
	if after := h.tree(t); !maps.Equal(before, after) {
		t.Errorf("the files are not as they were:\n%v\n%v", before, after)
	}
	maria.check(t)
	postgres.check(t)
	testkit.Eventually(t, time.Minute, func() bool {
		letters, err := h.letters(address)
		return err == nil && slices.Equal(letters, []string{letter})
	}, "the letter is back, byte for byte")
	has := func(path, text string) bool {
		_, answer, err := c.call("GET", at(path), "", "")
		return err == nil && strings.Contains(string(answer), text)
	}
	testkit.Eventually(t, time.Minute, func() bool { return has("/dns", "as it was") && has("/cron", "echo kept") }, "record and cron job are back")

	// Damage it: one byte in each pack of the repository.
	put("/public_html/index.html", []byte("newer than the backup"))
	before = h.tree(t)
	packs, err := filepath.Glob(filepath.Join(h.dir, "data/node/backups/repositories/*/data/*/*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("%d packs, %v", len(packs), err)
	}
	for _, pack := range packs {
		damage(t, pack)
	}
	if state := h.restore(t, c, service, backup); state != "failed" {
		t.Errorf("the restore of a damaged backup is %s", state)
	}
	if after := h.tree(t); !maps.Equal(before, after) {
		t.Error("a damaged backup touched the files")
	}
	maria.check(t)
	postgres.check(t)
	if !has("/backups", "backup_not_restorable") {
		t.Error("the backup is not said to be damaged")
	}
}

// damage inverts a byte of a file.
func damage(t *testing.T, name string) {
	t.Helper()
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 0xff
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

type backupState struct {
	ID      int64
	Status  string
	Restore *struct{ Status string }
}

// backup makes one and waits until it is complete.
func (h *host) backup(t *testing.T, c *customer, service int64) (id int64) {
	t.Helper()
	path := fmt.Sprintf("/api/v1/services/%d/backups", service)
	var made backupState
	c.must("POST", path, `{"note": "before the end"}`, &made)
	testkit.Eventually(t, 2*time.Minute, func() bool { return h.backupOf(c, service, made.ID).Status == "completed" }, "the backup is complete")
	return made.ID
}

func (h *host) backupOf(c *customer, service, id int64) (found backupState) {
	var list struct{ Data []backupState }
	c.must("GET", fmt.Sprintf("/api/v1/services/%d/backups", service), "", &list)
	for _, b := range list.Data {
		if b.ID == id {
			found = b
		}
	}
	return found
}

// restore restores a whole backup and returns the final state.
func (h *host) restore(t *testing.T, c *customer, service, id int64) (state string) {
	t.Helper()
	path := fmt.Sprintf("/api/v1/services/%d/backups/%d/restore", service, id)
	if status, answer, err := c.call("POST", path, `{}`, ""); err != nil || status >= 300 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	testkit.Eventually(t, 3*time.Minute, func() bool {
		b := h.backupOf(c, service, id)
		if b.Restore != nil {
			state = b.Restore.Status
		}
		return state == "completed" || state == "failed"
	}, "the restore ends")
	return state
}

// tree is every file of the first account's home, except those that the machine itself writes: modes, owners and
// contents.
func (h *host) tree(t *testing.T) map[string]string {
	t.Helper()
	homes, err := filepath.Glob(filepath.Join(h.dir, "data/node/accounts/*/home/public_html"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("%v, %v", homes, err)
	}
	all := map[string]string{}
	err = filepath.WalkDir(homes[0], func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		entry := fmt.Sprint(info.Mode(), ownerID(info))
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			entry += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		all[strings.TrimPrefix(name, homes[0])] = entry
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// customersDatabase is a database as the customer's programs reach it.
type customersDatabase struct {
	engine, name, user, password, host string
	port                               int
}

func (h *host) database(t *testing.T, c *customer, p *process, service int64, name, engine string) customersDatabase {
	t.Helper()
	path := fmt.Sprintf("/api/v1/services/%d/databases", service)
	var made struct{ Name string }
	c.must("POST", path, fmt.Sprintf(`{"name": %q, "engine": %q}`, name, engine), &made)
	d := customersDatabase{engine: engine, name: made.Name}
	testkit.Eventually(t, time.Minute, func() bool { return d.find(c, service) }, "the database is there")
	d.password = p.reveal(t, service)
	return d
}

// find asks the API where the database is, and by whom it is used; false when it is not there yet.
func (d *customersDatabase) find(c *customer, service int64) bool {
	c.t.Helper()
	var list struct {
		Data []struct {
			Name, Status string
			Host         *string
			Port         *int
			Users        []struct{ Name string }
		}
	}
	c.must("GET", fmt.Sprintf("/api/v1/services/%d/databases", service), "", &list)
	for _, found := range list.Data {
		if found.Name == d.name && found.Status == "active" && len(found.Users) == 1 && found.Host != nil && found.Port != nil {
			d.user, d.host, d.port = found.Users[0].Name, *found.Host, *found.Port
			return true
		}
	}
	return false
}

func (d customersDatabase) do(t *testing.T, query string) (text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if d.engine == "postgresql" {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s:%d/%s?sslmode=disable", d.user, d.password, d.host, d.port, d.name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		if strings.HasPrefix(query, "SELECT") {
			err = conn.QueryRow(ctx, query).Scan(&text)
		} else {
			_, err = conn.Exec(ctx, query)
		}
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return text
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = d.user, d.password, "tcp", fmt.Sprintf("%s:%d", d.host, d.port), d.name
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if strings.HasPrefix(query, "SELECT") {
		err = db.QueryRowContext(ctx, query).Scan(&text)
	} else {
		_, err = db.ExecContext(ctx, query)
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

func (d customersDatabase) write(t *testing.T) {
	t.Helper()
	d.do(t, `CREATE TABLE goods (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL)`)
	d.do(t, `INSERT INTO goods VALUES (1, 'ўзбек атлас'), (2, 'it''s; -- tea')`)
}

func (d customersDatabase) destroy(t *testing.T) {
	t.Helper()
	d.do(t, `DROP TABLE goods`)
}

func (d customersDatabase) check(t *testing.T) {
	t.Helper()
	for id, want := range map[int]string{1: "ўзбек атлас", 2: "it's; -- tea"} {
		if got := d.do(t, fmt.Sprintf(`SELECT name FROM goods WHERE id = %d`, id)); got != want {
			t.Errorf("%s: row %d is %q", d.engine, id, got)
		}
	}
}

// dial connects to a daemon for one short dialogue.
func (h *host) dial(service string) (net.Conn, error) {
	const most = 20 * time.Second
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", h.ports[service]), most)
	if err != nil {
		return nil, err
	}
	return bounded{conn}, conn.SetDeadline(time.Now().Add(most))
}

// bounded is a connection whose deadline a client cannot change.
type bounded struct{ net.Conn }

func (bounded) SetReadDeadline(time.Time) error  { return nil }
func (bounded) SetWriteDeadline(time.Time) error { return nil }

// deliver delivers a message like another mail server.
func (h *host) deliver(to string) error {
	conn, err := h.dial("smtp")
	if err != nil {
		return err
	}
	client, err := smtp.NewClient(conn, "127.0.0.1")
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() { _ = client.Close() }()
	if err := client.Mail("boris@elsewhere.uz"); err != nil {
		return err
	}
	if err := client.Rcpt(to); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "From: boris@elsewhere.uz\r\nTo: %s\r\nSubject: Kept\r\n\r\nA letter that is kept.\r\n", to); err != nil {
		return err
	}
	return w.Close()
}

// letters are the complete messages of a mailbox.
func (h *host) letters(user string) (all []string, err error) {
	conn, err := h.dial("imaps")
	if err != nil {
		return nil, err
	}
	c := imapclient.New(tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), nil)
	defer func() { _ = c.Close() }()
	if err := c.WaitGreeting(); err != nil {
		return nil, err
	}
	if err := c.Login(user, mailPassword).Wait(); err != nil {
		return nil, err
	}
	selected, err := c.Select("INBOX", nil).Wait()
	if err != nil || selected.NumMessages == 0 {
		return nil, err
	}
	var set imap.SeqSet
	set.AddRange(1, selected.NumMessages)
	whole := &imap.FetchItemBodySection{Peek: true}
	messages, err := c.Fetch(set, &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{whole}}).Collect()
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		all = append(all, string(m.FindBodySection(whole)))
	}
	return all, nil
}

package machine

import (
	"context"
	"crypto/tls"
	"database/sql"
	"fmt"
	"net/smtp"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

const (
	suspendRounds = 3
	suspendWait   = 30 * time.Second
)

// TestASuspensionHoldsAtOnce has every way into an account closed when the suspension is answered, and nothing waits for a timer
// then: visits of its site, and FTP, SSH, SFTP, database, IMAP and submission sessions that are under way. It logs how long each
// stayed open.
func TestASuspensionHoldsAtOnce(t *testing.T) {
	_, p, cfg := open(t, func(c *Config) {
		c.IPv4 = "127.0.0.1"
		c.Mail = Mail{Hostname: "mx.stead.test"}
		ports := reflect.ValueOf(&c.Mail.Ports).Elem()
		for i := range ports.NumField() {
			ports.Field(i).SetInt(int64(testkit.Port(t)))
		}
	})
	alice := welcome(t, p, "alice")
	_, err := p.SetShellAccess(t.Context(), "alice", true)
	alice.must(err)
	put(t, p, "alice", "/public_html/index.php", `<?php echo "here";`)
	const password = "a password of alice"
	addresses := map[panel.DatabaseEngine]string{
		panel.MariaDB:    fmt.Sprintf("alice_shop:%s@tcp(127.0.0.1:%d)/alice_shop", password, cfg.Ports.MariaDB),
		panel.PostgreSQL: fmt.Sprintf("host=127.0.0.1 port=%d user=alice_blog password='%s' dbname=alice_blog sslmode=disable", cfg.Ports.PostgreSQL, password),
	}
	for engine, name := range map[panel.DatabaseEngine]string{panel.MariaDB: "alice_shop", panel.PostgreSQL: "alice_blog"} {
		_, err := p.SetDatabase(t.Context(), "alice", panel.Database{Name: name, Engine: engine, Password: password, PasswordVersion: "1"})
		alice.must(err)
	}
	const address = "info@alice.example"
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	alice.must(err)
	_, err = p.SetMailbox(t.Context(), "alice", panel.Mailbox{
		Address: address, PasswordHash: "{BLF-CRYPT}" + string(hash), QuotaMB: 5, Protocols: panel.MailProtocols{IMAP: true, SMTPOut: true},
	})
	alice.must(err)
	insecure := &tls.Config{InsecureSkipVerify: true}
	session := func(driver string, engine panel.DatabaseEngine) *sql.Conn {
		db, err := sql.Open(driver, addresses[engine])
		alice.must(err)
		t.Cleanup(func() { _ = db.Close() })
		conn, err := db.Conn(t.Context())
		alice.must(err)
		return conn
	}

	for range suspendRounds {
		transfer, err := alice.ftp()
		alice.must(err)
		shell := alice.connect()
		files, err := sftp.NewClient(alice.connect())
		alice.must(err)
		mariaDB, postgres := session("mysql", panel.MariaDB), session("pgx", panel.PostgreSQL)
		mailbox, err := imapclient.DialTLS(fmt.Sprintf("127.0.0.1:%d", cfg.Mail.Ports.IMAPS), &imapclient.Options{TLSConfig: insecure})
		alice.must(err)
		t.Cleanup(func() { _ = mailbox.Close() })
		alice.must(mailbox.Login(address, password).Wait())
		submission, err := smtp.Dial(fmt.Sprintf("127.0.0.1:%d", cfg.Mail.Ports.Submission))
		alice.must(err)
		t.Cleanup(func() { _ = submission.Close() })
		alice.must(submission.StartTLS(insecure))
		alice.must(submission.Auth(smtp.PlainAuth("", address, password, "127.0.0.1")))
		query := func(on *sql.Conn) func() bool {
			return func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), suspendWait)
				defer cancel()
				_, err := on.ExecContext(ctx, "SELECT 1")
				return err == nil
			}
		}
		ways := map[string]func() bool{ // whether it is open
			"web": func() bool { status, _, _ := get(t, cfg, "alice.example", "/"); return status == 200 },
			"FTP": func() bool { return transfer.NoOp() == nil },
			"SSH": func() bool {
				s, err := shell.NewSession()
				if err == nil {
					_ = s.Close()
				}
				return err == nil
			},
			"SFTP":    func() bool { _, err := files.Getwd(); return err == nil },
			"MariaDB": query(mariaDB), "PostgreSQL": query(postgres),
			"IMAP": func() bool { return mailbox.Noop().Wait() == nil },
			"submission": func() bool {
				return submission.Reset() == nil && submission.Mail(address) == nil && submission.Rcpt(address) == nil
			},
		}
		for name, isOpen := range ways {
			if !isOpen() {
				t.Fatalf("%s does not work before", name)
			}
		}
		var (
			watching sync.WaitGroup
			answered atomic.Bool
			mu       sync.Mutex
			closed   = map[string]time.Duration{}
		)
		since := clock.Stopwatch()
		for name, isOpen := range ways {
			watching.Go(func() {
				for {
					after := answered.Load()
					if !isOpen() {
						break
					}
					if after {
						t.Errorf("%s is open after the answer", name)
						return
					}
					time.Sleep(10 * time.Millisecond) // sleeps: it asks again and again
				}
				took := since()
				mu.Lock()
				defer mu.Unlock()
				closed[name] = took
			})
		}
		alice.must(p.SuspendAccount(t.Context(), "alice"))
		took := since()
		answered.Store(true)
		watching.Wait()
		t.Logf("closed after %v, and answered after %v", closed, took)
		alice.must(p.UnsuspendAccount(t.Context(), "alice"))
	}
}

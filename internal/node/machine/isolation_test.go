package machine

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/smtp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // a client as a customer has it
	"github.com/pkg/sftp"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// neighbours are two accounts of one machine with everything that accounts have. Alice attacks Bob.
type neighbours struct {
	t            *testing.T
	m            *Machine
	p            panelnode.Panel
	cfg          Config
	ahead        *atomic.Int64 // of the machine's clock
	alice, bob   *visitor
	mine, theirs accounts.Account
	victim       int // a process of Bob's
}

const neighboursPassword = "the secret of a database"

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	n := &neighbours{t: t, ahead: new(atomic.Int64)}
	n.m, n.p, n.cfg = open(t, func(c *Config) {
		c.IPv4 = "127.0.0.1"
		c.Now = func() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }
		c.Mail.Hostname = "mx.stead.test"
		ports := reflect.ValueOf(&c.Mail.Ports).Elem()
		for i := range ports.NumField() {
			ports.Field(i).SetInt(int64(testkit.Port(t)))
		}
	})
	for capability, err := range n.m.Unready() {
		t.Fatalf("%s does not start: %v", capability, err)
	}
	n.alice, n.bob = welcome(t, n.p, "alice"), welcome(t, n.p, "bob")
	for _, v := range []*visitor{n.alice, n.bob} {
		_, err := n.p.SetShellAccess(t.Context(), v.ref, true)
		must(t, err)
		put(t, n.p, v.ref, "/public_html/config.php", `<?php $password = "secret of `+v.ref+`";`)
		for _, e := range []panel.DatabaseEngine{panel.MariaDB, panel.PostgreSQL} {
			_, err := n.p.SetDatabase(t.Context(), v.ref, panel.Database{Name: database(v.ref, e), Engine: e, Password: neighboursPassword})
			must(t, err)
		}
		_, err = n.p.SetMailbox(t.Context(), v.ref, panel.Mailbox{
			Address: "info@" + v.ref + ".example", PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe", QuotaMB: 5,
		})
		must(t, err)
		_, err = n.p.SetCronJob(t.Context(), v.ref, panel.CronJob{ID: "yearly", Expression: "0 0 1 1 *", Command: "true", Enabled: true})
		must(t, err)
	}
	var err error
	n.mine, err = n.m.Lookup("alice")
	must(t, err)
	n.theirs, err = n.m.Lookup("bob")
	must(t, err)
	get(t, n.cfg, "bob.example", "/config.php") // Bob's logs and his PHP are there
	get(t, n.cfg, "alice.example", "/config.php")
	working := identity.Command(t.Context(), n.theirs, "/bin/sh", "-c", "sleep 1000; : secret-of-bob-in-a-command")
	must(t, working.Start())
	n.victim = working.Process.Pid
	t.Cleanup(func() { _ = working.Cancel(); _ = working.Wait() })
	return n
}

func database(ref string, e panel.DatabaseEngine) string { return ref + "_" + string(e)[:2] }

// attack is something that Alice's programs try, and the same with what is Alice's own, which works.
// Words: @ is the home of who is attacked, and of Alice in own; LOGS are the machine's logs; VICTIM is
// a process of whom is attacked.
type attack struct{ kind, name, command, own string }

var attacks = []attack{
	{"read", "a file", `cat @/private.txt`, `cat @/private.txt`},
	{"read", "a program's secrets", `cat @/public_html/config.php`, `cat @/public_html/config.php`},
	{"read", "by a symbolic link", `ln -sfn @ ~/l && cat ~/l/private.txt`, `ln -sfn @ ~/l && cat ~/l/private.txt`},
	{"read", "by a hard link", `rm -f ~/h; ln @/private.txt ~/h && cat ~/h`, `rm -f ~/h; ln @/private.txt ~/h && cat ~/h`},
	{"read", "the memory of a process", `head -c1 /proc/VICTIM/environ`, ``},
	{"read", "the commands of a process", `grep -q . /proc/VICTIM/cmdline`, `kill -0 $$`},
	{"read", "logs", `cat LOGS/bob/access.log LOGS/bob/php.log LOGS/bob/error.log | grep .`, ``},
	{"read", "the system's secrets", `cat /etc/shadow`, `cat /etc/passwd`},
	{"read", "the key of a certificate", `cat LOGS/../nginx/certificates/bob.example`, ``},
	{"list", "the certificates", `ls LOGS/../nginx/certificates`, ``},
	{"list", "a home", `ls @`, `ls @`},
	{"list", "a site", `ls @/public_html`, `ls @/public_html`},
	{"list", "accounts", `ls @/../..`, `ls @`},
	{"list", "logs", `ls LOGS`, ``},
	{"list", "the logs of an account", `ls LOGS/bob`, ``},
	{"list", "processes", `ls /proc/*/cmdline | grep /VICTIM/ || ls /proc/VICTIM`, `ls /proc/self/cmdline`},
	{"write", "a file", `echo x >@/public_html/x`, `echo x >@/public_html/x`},
	{"write", "a log", `echo x >>LOGS/bob/access.log`, ``},
	{"write", "the journal of another's database", `touch LOGS/../databases/mariadb/data/bob_ma/x LOGS/../databases/postgresql/data/x`, ``},
	{"signal", "a process", `kill -CONT VICTIM`, `sleep 9 & kill $!`},
	{"signal", "the web server", `kill -CONT $NGINX`, `kill -CONT $$`},
	{"fill", "a home", `head -c 100000 /dev/zero >@/fill`, `head -c 100000 /dev/zero >@/fill && rm @/fill`},
	{"fill", "by giving files away", `: >~/gift; chown BOB ~/gift`, `: >~/gift && chown $(id -u) ~/gift`},
	{"fill", "a log", `head -c 100000 /dev/zero >>LOGS/bob/php.log`, ``},
	{"connect", "the socket of PHP", `python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect("LOGS/../php/run/bob-` + "PHPVERSION" + `.sock")'`, ``},
	{"connect", "the server of databases as its superuser", `mariadb --no-defaults -S LOGS/../databases/mariadb/run/mariadb.sock -u root -e 'SELECT 1'`, ``},
	{"become", "another user", `su BOBNAME -c true </dev/null`, ``},
	{"become", "root", `unshare -m true 2>/dev/null || mount -t tmpfs none ~/tmp`, ``},
}

// script has all attacks write a line of what became of them.
func (n *neighbours) script() string {
	var b strings.Builder
	home := strings.NewReplacer
	logs := filepath.Join(n.cfg.Dir, "logs")
	for i, a := range attacks {
		other := home("@", n.theirs.Home, "LOGS", logs, "VICTIM", strconv.Itoa(n.victim), "BOBNAME", n.theirs.User.Name, "BOB", strconv.Itoa(n.theirs.User.UID),
			"$NGINX", strconv.Itoa(n.cfg.Supervisor.PID("nginx")), "PHPVERSION", n.php())
		fmt.Fprintf(&b, "( %s ) >/dev/null 2>&1 && echo attack %d done || echo attack %d refused\n", other.Replace(a.command), i, i)
		if a.own != "" {
			fmt.Fprintf(&b, "( %s ) >/dev/null 2>&1 && echo own %d done || echo own %d refused\n", strings.ReplaceAll(a.own, "@", n.mine.Home), i, i)
		}
	}
	return b.String()
}

func (n *neighbours) php() string {
	state, err := n.p.PHPSettings(n.t.Context(), "bob")
	must(n.t, err)
	return state.Version
}

// judge reads what the script wrote.
func (n *neighbours) judge(t *testing.T, said string) {
	t.Helper()
	for i, a := range attacks {
		t.Run(a.kind+" "+a.name, func(t *testing.T) {
			if !strings.Contains(said, fmt.Sprintf("attack %d refused\n", i)) {
				t.Errorf("not refused: %s", a.command)
			}
			if a.own != "" && !strings.Contains(said, fmt.Sprintf("own %d done\n", i)) {
				t.Errorf("the control did not work: %s", a.own)
			}
		})
	}
	if t.Failed() {
		t.Logf("it said: %s", said)
	}
}

// TestAnAccountIsClosedToItsNeighbour is the matrix of what an account's programs and users may try
// against another account of the machine, by every way in which something of theirs runs there.
// What needs more than a line is in the tests of the facilities: links that are exchanged while they are
// followed (files, ftp), forwarding (ssh), programs' options (php), definers and grants (databases).
func TestAnAccountIsClosedToItsNeighbour(t *testing.T) {
	n := newNeighbours(t)
	before, err := n.p.Usage(t.Context(), "bob")
	must(t, err)
	script := n.script()
	put(t, n.p, "alice", "/attack.sh", script)

	t.Run("cron", func(t *testing.T) {
		_, err := n.p.SetCronJob(t.Context(), "alice", panel.CronJob{ID: "attack", Expression: "* * * * *", Command: "sh ~/attack.sh", Enabled: true})
		must(t, err)
		n.ahead.Store(int64(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))))
		var said string
		testkit.Eventually(t, time.Minute, func() bool {
			states, err := n.p.CronStates(t.Context(), "alice")
			must(t, err)
			for _, s := range states {
				if s.ID == "attack" && len(s.Runs) > 0 {
					said = s.Runs[0].Output
				}
			}
			return said != ""
		}, "the job ran")
		must(t, n.p.RemoveCronJob(t.Context(), "alice", "attack"))
		n.judge(t, said)
	})
	t.Run("shell", func(t *testing.T) { n.judge(t, n.alice.run(n.alice.connect(), "sh ~/attack.sh")+"\n") })
	// A program of Alice's that somebody made more of than PHP allows: a process of the user where PHP's are.
	t.Run("a PHP process taken over", func(t *testing.T) {
		master := n.cfg.Supervisor.PID("php" + n.php() + "-fpm-1")
		cmd := exec.CommandContext(t.Context(), "nsenter", "--mount=/proc/"+strconv.Itoa(master)+"/ns/mnt", "-S", strconv.Itoa(n.mine.User.UID),
			"-G", strconv.Itoa(n.mine.User.GID), "sh", filepath.Join(n.mine.Home, "attack.sh"))
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + n.mine.Home}
		said, err := cmd.Output()
		must(t, err)
		n.judge(t, string(said))
	})
	t.Run("PHP", n.byPHP)
	t.Run("the web server", n.byLinks)
	t.Run("SFTP", n.bySFTP)
	t.Run("FTP", n.byFTP)
	t.Run("databases", n.byDatabases)
	t.Run("mail", n.byMail)
	t.Run("files of the machine", n.filesOfTheMachine)
	t.Run("sockets of the machine", n.socketsOfTheMachine)

	// Nothing of it all is Bob's now, and nothing of his has grown.
	after, err := n.p.Usage(t.Context(), "bob")
	must(t, err)
	if after.DiskBytes > before.DiskBytes+90000 { // an attack writes 100000
		t.Errorf("Bob has %d bytes, and had %d", after.DiskBytes, before.DiskBytes)
	}
	if syscall.Kill(n.victim, 0) != nil {
		t.Error("Bob's process has ended")
	}
}

func (n *neighbours) byPHP(t *testing.T) {
	put(t, n.p, "alice", "/public_html/try.php", `<?php
		$p = $_GET["p"];
		$r = match ($_GET["do"]) {
			"read" => @file_get_contents($p), "list" => @scandir($p) ?: false, "write" => @file_put_contents($p, str_repeat("x", 100000)),
			"copy" => @copy($p, $_SERVER["HOME"] . "/copied"), "stat" => @stat($p), "connect" => @stream_socket_client($p, $e, $m, 2),
			"include" => (@include $p) !== false, "signal" => function_exists("posix_kill") && posix_kill((int) $p, 0),
			"run" => function_exists("shell_exec") && shell_exec($p), "cache" => function_exists("opcache_get_status") && opcache_get_status(),
		};
		echo $r === false || $r === null ? "REFUSED" : "DONE";`)
	for _, a := range []struct{ do, theirs, own string }{
		{"read", n.theirs.Home + "/private.txt", n.mine.Home + "/private.txt"},
		{"read", n.mine.Home + "/../../bob/home/private.txt", n.mine.Home + "/public_html/../private.txt"},
		{"read", "/proc/" + strconv.Itoa(n.victim) + "/cmdline", ""},
		{"read", filepath.Join(n.cfg.Dir, "logs", "bob", "access.log"), ""},
		{"read", "/etc/passwd", ""},
		{"read", filepath.Join(n.cfg.Dir, "nginx", "certificates", "bob.example"), ""},
		{"include", n.theirs.Home + "/public_html/config.php", n.mine.Home + "/public_html/config.php"},
		{"list", n.theirs.Home, n.mine.Home},
		{"list", "glob://" + n.theirs.Home + "/*", ""},
		{"stat", n.theirs.Home + "/private.txt", n.mine.Home + "/private.txt"},
		{"copy", n.theirs.Home + "/private.txt", n.mine.Home + "/private.txt"},
		{"write", n.theirs.Home + "/public_html/x", n.mine.Home + "/x"},
		{"write", filepath.Join(n.cfg.Dir, "logs", "bob", "php.log"), ""},
		{"signal", strconv.Itoa(n.victim), ""},
		{"run", "cat " + n.theirs.Home + "/private.txt", ""},
		{"cache", "", ""},
		{"connect", "unix://" + filepath.Join(n.cfg.Dir, "php", "run", "bob-"+n.php()+".sock"), "tcp://127.0.0.1:" + strconv.Itoa(n.cfg.Ports.HTTP)},
	} {
		t.Run(a.do+" "+filepath.Base(a.theirs), func(t *testing.T) {
			query := func(p string) string {
				_, body, _ := get(t, n.cfg, "alice.example", "/try.php?"+url.Values{"do": {a.do}, "p": {p}}.Encode())
				return body
			}
			if got := query(a.theirs); got != "REFUSED" {
				t.Errorf("%s: %q", a.theirs, got)
			}
			if a.own == "" {
				return
			}
			if got := query(a.own); got != "DONE" {
				t.Errorf("the control %s: %q", a.own, got)
			}
		})
	}
}

// byLinks: nginx passes all homes, so it must not follow where a customer leads it.
func (n *neighbours) byLinks(t *testing.T) {
	put(t, n.p, "bob", "/public_html/page.txt", "PAGE")
	put(t, n.p, "alice", "/public_html/page.txt", "PAGE")
	must(t, identity.Do(n.mine, func() error {
		at := filepath.Join(n.mine.Home, "public_html")
		return errors.Join(os.Symlink(n.theirs.Home, filepath.Join(at, "dir")), os.Symlink(filepath.Join(n.theirs.Home, "public_html", "page.txt"), filepath.Join(at, "file.txt")),
			os.Symlink(filepath.Join(n.theirs.Home, "public_html", "config.php"), filepath.Join(at, "theirs.php")),
			os.Symlink(filepath.Join(n.cfg.Dir, "nginx", "certificates", "bob.example"), filepath.Join(at, "key.txt")), os.Symlink("page.txt", filepath.Join(at, "own.txt")))
	}))
	for _, path := range []string{"/dir/public_html/page.txt", "/file.txt", "/theirs.php", "/dir/public_html/config.php", "/key.txt"} {
		if status, body, _ := get(t, n.cfg, "alice.example", path); status == 200 {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if status, body, _ := get(t, n.cfg, "alice.example", "/own.txt"); status != 200 || body != "PAGE" {
		t.Errorf("the control: %d %q", status, body)
	}
}

func (n *neighbours) bySFTP(t *testing.T) {
	_, err := n.p.SetShellAccess(t.Context(), "alice", false)
	must(t, err)
	files, err := sftp.NewClient(n.alice.connect())
	must(t, err)
	defer files.Close()
	for what, try := range map[string]func(home string) error{
		"read": func(home string) error { _, err := files.Open(home + "/private.txt"); return err },
		"list": func(home string) error { _, err := files.ReadDir(home); return err },
		"link": func(home string) error {
			if err := files.Symlink(home, "/home/sl"); err != nil {
				return err
			}
			_, err := files.ReadDir("/home/sl")
			return errors.Join(err, files.Remove("/home/sl"))
		},
		"hard link": func(home string) error {
			return errors.Join(files.Link(home+"/private.txt", "/home/hl"), files.Remove("/home/hl"))
		},
		"fill": func(home string) error { _, err := files.Create(home + "/fill"); return err },
		"give": func(home string) error {
			uid := n.mine.User.UID
			if home != "/home" {
				uid = n.theirs.User.UID
			}
			return files.Chown("/home/private.txt", uid, n.mine.User.GID)
		},
	} {
		t.Run(what, func(t *testing.T) {
			for _, home := range []string{n.theirs.Home, "/home/../../../bob/home", "/../bob/home"} {
				if try(home) == nil {
					t.Errorf("%s was done", home)
				}
			}
			if err := try("/home"); err != nil {
				t.Errorf("the control: %v", err)
			}
		})
	}
}

func (n *neighbours) byFTP(t *testing.T) {
	c, err := n.alice.ftp()
	must(t, err)
	must(t, identity.Do(n.mine, func() error {
		at := filepath.Join(n.mine.Home, "public_html")
		return errors.Join(os.Symlink(n.theirs.Home, filepath.Join(at, "ftplink")), os.Mkdir(filepath.Join(at, "ftpdir"), 0o755))
	}))
	must(t, c.Stor("/ftpdir/private.txt", strings.NewReader("x")))
	for what, try := range map[string]func(dir string) error{
		"read": func(dir string) error {
			r, err := c.Retr(dir + "/private.txt")
			if err != nil {
				return err
			}
			_, err = io.ReadAll(r)
			return errors.Join(err, r.Close())
		},
		"list": func(dir string) error {
			list, err := c.List(dir)
			if err == nil && len(list) == 0 {
				err = errors.New("nothing")
			}
			return err
		},
		"enter": func(dir string) error { return errors.Join(c.ChangeDir(dir), c.ChangeDir("/")) },
		"fill":  func(dir string) error { return c.Stor(dir+"/fill", strings.NewReader("x")) },
		"rename": func(dir string) error {
			return errors.Join(c.Rename(dir+"/private.txt", "/got"), c.Rename("/got", dir+"/private.txt"))
		},
	} {
		t.Run(what, func(t *testing.T) {
			for _, dir := range []string{n.theirs.Home, "/ftplink", "../../../bob/home", "/ftpdir/../../../../bob/home"} {
				if try(dir) == nil {
					t.Errorf("%s was done", dir)
				}
			}
			if err := try("/ftpdir"); err != nil {
				t.Errorf("the control: %v", err)
			}
		})
	}
}

func (n *neighbours) byDatabases(t *testing.T) {
	mariadb := func(user, name string) (*sql.DB, error) {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.DBName, c.Net, c.Addr = user, neighboursPassword, name, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.cfg.Ports.MariaDB))
		return sql.Open("mysql", c.FormatDSN())
	}
	postgres := func(user, name string) (*sql.DB, error) {
		return sql.Open("pgx", fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable", n.cfg.Ports.PostgreSQL, user, neighboursPassword, name))
	}
	for e, dial := range map[panel.DatabaseEngine]func(user, name string) (*sql.DB, error){panel.MariaDB: mariadb, panel.PostgreSQL: postgres} {
		t.Run(string(e), func(t *testing.T) {
			mine, theirs := database("alice", e), database("bob", e)
			connect := func(user, name string) *sql.Conn {
				t.Helper()
				db, err := dial(user, name)
				must(t, err)
				t.Cleanup(func() { _ = db.Close() })
				c, err := db.Conn(t.Context())
				must(t, err)
				return c
			}
			bob, alice := connect(theirs, theirs), connect(mine, mine)
			id, kill := "CONNECTION_ID()", "KILL %d"
			if e == panel.PostgreSQL {
				id, kill = "pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
			}
			var session int
			must(t, bob.QueryRowContext(t.Context(), "SELECT "+id).Scan(&session))
			for _, c := range []*sql.Conn{bob, alice} {
				_, err := c.ExecContext(t.Context(), "CREATE TABLE letters (words TEXT)")
				must(t, err)
				_, err = c.ExecContext(t.Context(), "INSERT INTO letters VALUES ('x')")
				must(t, err)
			}
			schema := map[panel.DatabaseEngine]string{panel.MariaDB: theirs + ".", panel.PostgreSQL: theirs + ".public."}[e]
			own := map[panel.DatabaseEngine]string{panel.MariaDB: mine + ".", panel.PostgreSQL: mine + ".public."}[e]
			for _, a := range [][2]string{
				{"SELECT words FROM " + schema + "letters", "SELECT words FROM " + own + "letters"},
				{"INSERT INTO " + schema + "letters VALUES ('fill')", "INSERT INTO " + own + "letters VALUES ('fill')"},
				{"CREATE TABLE " + schema + "fill (a INT)", "CREATE TABLE " + own + "fill (a INT)"},
				{"DROP TABLE " + schema + "letters", "DROP TABLE " + own + "fill"},
				{fmt.Sprintf(kill, session), ""},
				{map[panel.DatabaseEngine]string{panel.MariaDB: "SELECT 'x' INTO OUTFILE '/tmp/stead-isolation'", panel.PostgreSQL: "COPY letters TO PROGRAM 'true'"}[e], ""},
				{map[panel.DatabaseEngine]string{panel.MariaDB: "LOAD DATA INFILE '/etc/passwd' INTO TABLE letters", panel.PostgreSQL: "COPY letters FROM '/etc/passwd'"}[e], ""},
				{map[panel.DatabaseEngine]string{panel.MariaDB: "SELECT * FROM mysql.global_priv", panel.PostgreSQL: "SELECT rolpassword FROM pg_authid"}[e], ""},
				{map[panel.DatabaseEngine]string{panel.MariaDB: "SHOW TABLES FROM " + theirs, panel.PostgreSQL: "SELECT pg_read_file('pg_hba.conf')"}[e], ""},
				{map[panel.DatabaseEngine]string{panel.MariaDB: "SET PASSWORD FOR " + theirs + "@localhost = PASSWORD('x')", panel.PostgreSQL: "ALTER ROLE " + theirs + " PASSWORD 'x'"}[e], ""},
			} {
				t.Run(a[0], func(t *testing.T) {
					if all(alice.QueryContext(t.Context(), a[0])) == nil {
						t.Error("it was done")
					}
					if a[1] == "" {
						return
					}
					if _, err := alice.ExecContext(t.Context(), a[1]); err != nil {
						t.Errorf("the control %s: %v", a[1], err)
					}
				})
			}
			// What others do is nobody's business. That PostgreSQL names databases and roles is known: see docs/databases.md.
			look := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER <> SUBSTRING_INDEX(USER(), '@', 1)"
			if e == panel.PostgreSQL {
				look = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename <> current_user AND (query <> '<insufficient privilege>' OR client_addr IS NOT NULL)"
			}
			var seen int
			must(t, alice.QueryRowContext(t.Context(), look).Scan(&seen))
			if seen > 0 {
				t.Errorf("%d sessions of others are seen", seen)
			}
			must(t, bob.PingContext(t.Context()))
			db, err := dial(mine, theirs)
			must(t, err)
			defer db.Close()
			if db.PingContext(t.Context()) == nil {
				t.Error("Alice is in Bob's database")
			}
		})
	}
}

// all reads what a query answers.
func all(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() { //nolint:revive // the server may refuse in the middle
	}
	return rows.Err()
}

func (n *neighbours) byMail(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(n.cfg.Dir, "mail", "submit", strconv.Itoa(n.mine.User.UID)))
	must(t, err)
	var login struct{ Address, User, Password string }
	must(t, json.Unmarshal(data, &login))
	sends := func(from string) error {
		conn, err := net.Dial("tcp", login.Address)
		must(t, err)
		c, err := smtp.NewClient(conn, "localhost")
		must(t, err)
		defer c.Close()
		must(t, c.Auth(smtp.PlainAuth("", login.User, login.Password, "localhost")))
		if err := c.Mail(from); err != nil {
			return err
		}
		return c.Rcpt("info@alice.example")
	}
	for _, from := range []string{"info@bob.example", "bob@bob.example", "anything@bob.example", "Info@BOB.example", "info+x@bob.example", ""} {
		if sends(from) == nil {
			t.Errorf("Alice sends as %q", from)
		}
	}
	if err := sends("info@alice.example"); err != nil {
		t.Errorf("the control: %v", err)
	}
	conn, err := net.Dial("tcp", login.Address)
	must(t, err)
	c, err := smtp.NewClient(conn, "localhost")
	must(t, err)
	defer c.Close()
	if c.Auth(smtp.PlainAuth("", "bob", login.Password, "localhost")) == nil {
		t.Error("Alice is Bob with her own password")
	}
}

// openToAll is what says nothing about any account and holds no secret.
var openToAll = regexp.MustCompile(`^(php/[0-9.]+/(php\.ini|ini\.d/[0-9a-z.-]+|masters/[0-9]+/(php-fpm\.conf|generation\.conf|fpm\.pid))|ssh/session|nginx/(pages/\.?[0-9a-z_]+\.html|nginx\.pid)|` +
	`databases/(postgresql/(postgresql|pg_hba)\.conf|mariadb/my\.cnf)|mail/conf/(dovecot\.conf|rspamd\.(conf|lua)|rspamd/local\.d/[a-z0-9_-]+\.conf|redis\.conf|sieve/(bin/learn|(junk|spam|ham)\.(sieve|svbin))|postfix/((main|master)\.cf|(un)?marked|silent|received))|mail/state/instances|mail/run/rspamd\.pid)$`)

// filesOfTheMachine: of all that the machine keeps, Alice opens her own and what is the same for everybody.
func (n *neighbours) filesOfTheMachine(t *testing.T) {
	var all []string
	own := 0
	must(t, filepath.WalkDir(n.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != n.mine.Home {
			all = append(all, path)
		}
		if err == nil && path == n.mine.Home {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
	for _, path := range all {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeSocket) != 0 {
			continue
		}
		name, err := filepath.Rel(n.cfg.Dir, path)
		must(t, err)
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			t.Fatal("no stat")
		}
		hers := int(st.Uid) == n.mine.User.UID || int(st.Gid) == n.mine.User.GID
		read := func() bool {
			return identity.Do(n.mine, func() error {
				f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					err = f.Close()
				}
				return err
			}) == nil
		}()
		wrote := !info.IsDir() && identity.Do(n.mine, func() error {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				err = f.Close()
			}
			return err
		}) == nil
		switch {
		case hers:
			own++
		case wrote:
			t.Errorf("%s: %s can be written", name, info.Mode())
		case read && !info.IsDir() && !openToAll.MatchString(name):
			t.Errorf("%s: %s can be read", name, info.Mode())
		}
		if info.IsDir() && !hers && identity.Do(n.mine, func() error {
			f, err := os.CreateTemp(path, "x")
			if err == nil {
				err = errors.Join(f.Close(), os.Remove(f.Name()))
			}
			return err
		}) == nil {
			t.Errorf("%s: files can be made there", name)
		}
	}
	if len(all) < 100 || own == 0 {
		t.Errorf("%d files, %d of Alice's", len(all), own)
	}
}

// socketsOfTheMachine: of the machine's sockets Alice reaches those that are meant for everybody.
func (n *neighbours) socketsOfTheMachine(t *testing.T) {
	meant := []string{"ssh/join", "nginx/status.sock", "databases/mariadb/run/mariadb.sock", "mail/s/settings"}
	found := 0
	must(t, filepath.WalkDir(n.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSocket {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
		name, err := filepath.Rel(n.cfg.Dir, path)
		must(t, err)
		found++
		reached := false
		for _, kind := range []string{"unix", "unixgram"} {
			c, err := dialAs(t.Context(), n.mine, kind, path)
			if err == nil {
				reached = true
				_ = c.Close()
			}
		}
		if reached != slices.Contains(meant, name) {
			t.Errorf("%s: reached %v", name, reached)
		}
		return nil
	}))
	if found < 10 {
		t.Errorf("%d sockets", found)
	}
}

// dialAs connects as a user: package net would from another thread.
func dialAs(_ context.Context, a accounts.Account, kind, path string) (*os.File, error) {
	sort := syscall.SOCK_STREAM
	if kind == "unixgram" {
		sort = syscall.SOCK_DGRAM
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, sort|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	err = identity.Do(a, func() error { return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}) })
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

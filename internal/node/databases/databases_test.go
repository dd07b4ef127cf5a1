package databases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestADatabaseIsUsedDumpedAndImported(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("alice")
		d := m.set("alice", "alice_shop", e)
		if d.Host != "127.0.0.1" || d.Port == 0 || d.Version == "" || d.Password != "" || len(d.Users) != 1 || d.Users[0].Name != "alice_shop" {
			t.Errorf("answered %+v", d)
		}
		own := m.own(d)
		works(t, own, "CREATE TABLE things (id INT PRIMARY KEY, name VARCHAR(200))",
			`INSERT INTO things VALUES (1, 'It''s; a "thing" -- not a comment'), (2, 'ўзбек 漢字 😀')`,
			"CREATE VIEW seen AS SELECT name FROM things")
		switch e {
		case panel.MariaDB:
			works(t, own, `INSERT INTO things VALUES (3, 'a \\ and \' b\n /* c */ */')`,
				"CREATE TRIGGER t BEFORE INSERT ON things FOR EACH ROW BEGIN SET NEW.name = CONCAT(NEW.name, ';'); SET @x = 1; END",
				"CREATE PROCEDURE p() BEGIN DECLARE x INT DEFAULT 0; SET x = x + 1; SELECT x; END")
		default:
			works(t, own, `INSERT INTO things VALUES (3, E'a \\ and \' b\n /* c */ */ \\.')`, `INSERT INTO things VALUES (4, E'\n\\.\n')`,
				"CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $x$ BEGIN RETURN a; END; $x$",
				"CREATE FUNCTION g(a int) RETURNS int BEGIN ATOMIC SELECT CASE a WHEN 1 THEN 2 ELSE 3 END; SELECT a; END",
				"CREATE EXTENSION citext", "SELECT lo_from_bytea(0, 'large')")
		}
		const all = "SELECT CONCAT(id, name) FROM things ORDER BY id"
		before, text := column(t, own, all), m.dump("alice", "alice_shop")
		works(t, own, "DELETE FROM things WHERE id = 1", "UPDATE things SET name = 'spoiled'")
		m.must(m.load("alice", "alice_shop", text))
		if after := column(t, own, all); after != before {
			t.Errorf("after the import\n%s\nwas\n%s", after, before)
		}
		if seen := column(t, own, "SELECT count(*) FROM seen"); seen != column(t, own, "SELECT count(*) FROM things") {
			t.Errorf("the view shows %s", seen)
		}
		// A restore takes what came since away.
		dir := t.TempDir()
		a, _ := m.lookup("alice")
		if n, err := m.DumpBackup(t.Context(), a, dir); err != nil || n != 1 {
			t.Fatalf("backup: %d, %v", n, err)
		}
		works(t, own, "CREATE TABLE late (id INT)", "UPDATE things SET name = 'spoiled'")
		m.must(m.LoadBackup(t.Context(), a, dir, []string{"alice_other"}))
		fails(t, own, "CREATE TABLE late (id INT)")
		m.must(m.LoadBackup(t.Context(), a, dir, nil))
		own = m.own(d)
		if after := column(t, own, all); after != before {
			t.Errorf("after the restore\n%s\nwas\n%s", after, before)
		}
		works(t, own, "CREATE TABLE late (id INT)")
		m.pass(time.Hour)
		m.apply("alice")
		var u panel.Usage
		m.must(m.Count(t.Context(), a, &u))
		list, err := m.ListDatabases(t.Context(), "alice")
		if err != nil || len(list) != 1 || list[0].SizeBytes < 10_000 || u.DiskBytes != list[0].SizeBytes {
			t.Errorf("size: %+v, %v, usage %d", list, err, u.DiskBytes)
		}
		// Another password ends the former.
		if _, err := m.SetDatabase(t.Context(), "alice", panel.Database{Name: "alice_shop", Engine: e, Password: "another"}); err != nil {
			t.Fatal(err)
		}
		fails(t, m.own(d), "SELECT 1")
		works(t, m.connect(e, "alice_shop", "another", "alice_shop"), "SELECT 1")
		// Of one version there is one password, and the panel says which it has.
		for _, c := range []struct{ version, pass, valid string }{{"v1", "first", "first"}, {"v1", "not set", "first"}, {"v2", "second", "second"}} {
			d, err := m.SetDatabase(t.Context(), "alice", panel.Database{Name: "alice_shop", Engine: e, Password: c.pass, PasswordVersion: c.version})
			if err != nil || d.PasswordVersion != c.version {
				t.Errorf("%+v: %+v, %v", c, d, err)
			}
			works(t, m.connect(e, "alice_shop", c.valid, "alice_shop"), "SELECT 1")
		}
		m.must(m.RemoveDatabase(t.Context(), "alice", "alice_shop"))
		fails(t, m.connect(e, "alice_shop", "second", "alice_shop"), "SELECT 1")
		if err := m.RemoveDatabase(t.Context(), "alice", "alice_shop"); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

func TestNobodyGetsToAnothersDatabase(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("bob")
		m.account("eve")
		theirs := m.set("bob", "bob_secrets", e)
		mine := m.set("eve", "eve_db", e)
		m.set("eve", "eve_second", e)
		// In a pattern the underscore of eve_db is any character.
		m.account("evexdb")
		works(t, m.own(theirs), "CREATE TABLE cards (number VARCHAR(20))", "INSERT INTO cards VALUES ('4111')")
		own := m.own(mine)

		for _, database := range []string{"bob_secrets", "eve_second", "mysql", "template1", "postgres", "information_schema"} {
			if e != panel.PostgreSQL && (database == "information_schema" || database == "template1" || database == "postgres") {
				continue
			}
			fails(t, m.connect(e, "eve_db", password, database), "SELECT 1")
		}
		for _, user := range []string{"root", "stead", "postgres", "mysql", ""} {
			if e == panel.PostgreSQL && user == "" {
				continue
			}
			fails(t, m.connect(e, user, "", ""), "SELECT 1")
		}
		stolen := filepath.Join(os.TempDir(), "stolen-by-eve")
		forbidden := map[panel.DatabaseEngine][]string{
			panel.MariaDB: {
				"USE bob_secrets", "SELECT * FROM bob_secrets.cards", "SHOW TABLES FROM bob_secrets", "SHOW CREATE DATABASE bob_secrets",
				"CREATE DATABASE evexdb", "CREATE DATABASE bob_more", "DROP DATABASE bob_secrets", "SELECT * FROM mysql.global_priv",
				"SELECT LOAD_FILE('/etc/passwd') INTO @x FROM mysql.user", "SELECT 1 INTO OUTFILE '" + stolen + "'",
				"LOAD DATA INFILE '/etc/passwd' INTO TABLE loot", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE loot", "SET GLOBAL local_infile = 1",
				"CREATE USER x@localhost", "GRANT ALL ON *.* TO eve_db@localhost", "SET ROLE root", "INSTALL SONAME 'ha_federatedx'",
				"CREATE VIEW v AS SELECT * FROM bob_secrets.cards", "CREATE DEFINER = bob_secrets@localhost VIEW v AS SELECT 1",
				"CREATE DEFINER = root@localhost PROCEDURE p() SELECT * FROM bob_secrets.cards", "KILL 1", "SHOW GRANTS FOR bob_secrets@localhost",
				"RENAME TABLE bob_secrets.cards TO eve_db.cards", "FLUSH PRIVILEGES", "SHUTDOWN",
			},
			panel.PostgreSQL: {
				"SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')", "SELECT lo_import('/etc/passwd')", "COPY (SELECT 1) TO '" + stolen + "'",
				"COPY (SELECT 1) TO PROGRAM 'id'", "CREATE EXTENSION dblink", "CREATE EXTENSION file_fdw", "CREATE ROLE x", "CREATE DATABASE x",
				"ALTER ROLE eve_db SUPERUSER", "ALTER ROLE bob_secrets PASSWORD 'x'", "SET ROLE bob_secrets", "SET SESSION AUTHORIZATION stead",
				"SELECT * FROM pg_authid", "ALTER SYSTEM SET port = 1", "GRANT CONNECT ON DATABASE bob_secrets TO eve_db", "DROP DATABASE bob_secrets",
				"ALTER DATABASE eve_db OWNER TO eve_db", "CREATE FUNCTION c() RETURNS int LANGUAGE c AS 'libc.so.6', 'getpid'", "DROP DATABASE eve_db",
				"GRANT pg_read_server_files TO eve_db", "CREATE TABLESPACE x LOCATION '/tmp'", "SET temp_file_limit = -1", "SELECT pg_reload_conf()",
			},
		}
		works(t, own, "CREATE TABLE loot (line TEXT)")
		for _, statement := range forbidden[e] {
			fails(t, own, statement)
		}
		if _, err := os.Stat(stolen); err == nil {
			t.Error("a file was written")
		}
		switch e {
		case panel.MariaDB:
			// What a table has elsewhere nobody would count, and would be there when the account has ended.
			elsewhere := t.TempDir()
			m.must(os.Chmod(filepath.Dir(elsewhere), 0o777))
			m.must(os.Chmod(elsewhere, 0o777))
			for _, engine := range []string{"InnoDB", "MyISAM", "Aria"} {
				works(t, own, fmt.Sprintf("CREATE TABLE in_%s (a INT) ENGINE = %s DATA DIRECTORY = '%s'", engine, engine, elsewhere))
			}
			if there, err := os.ReadDir(elsewhere); err != nil || len(there) > 0 {
				t.Errorf("files elsewhere: %v, %v", there, err)
			}
			if got := column(t, own, "SELECT COALESCE(LOAD_FILE('/etc/passwd'), 'nothing')"); got != "nothing" {
				t.Errorf("a file was read: %s", got)
			}
			for _, query := range []string{
				"SHOW DATABASES", "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA", "SELECT TABLE_SCHEMA FROM information_schema.TABLES",
				"SELECT GRANTEE FROM information_schema.USER_PRIVILEGES", "SELECT GRANTEE FROM information_schema.SCHEMA_PRIVILEGES",
				"SELECT USER FROM information_schema.PROCESSLIST", "SELECT TABLE_SCHEMA FROM information_schema.COLUMNS",
			} {
				if seen := column(t, own, query); strings.Contains(seen, "bob") || strings.Contains(seen, "eve_second") {
					t.Errorf("%s shows %s", query, seen)
				}
			}
		default:
			// The server tells everybody the names of databases and roles; what is in them it does not.
			for _, query := range []string{
				"SELECT table_catalog FROM information_schema.tables", "SELECT catalog_name FROM information_schema.schemata",
				"SELECT query FROM pg_stat_activity WHERE usename <> current_user AND query IS NOT NULL AND query NOT LIKE '<insuff%'",
				"SELECT has_database_privilege('bob_secrets', 'CONNECT')::text || has_database_privilege('template1', 'CONNECT')::text",
			} {
				if seen := column(t, own, query); strings.Contains(seen, "bob") || strings.Contains(seen, "true") || strings.Contains(seen, "cards") {
					t.Errorf("%s shows %s", query, seen)
				}
			}
		}

		// Through the facility.
		if _, err := m.DumpDatabase(t.Context(), "eve", "bob_secrets"); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("a dump of another's: %v", err)
		}
		for _, script := range []string{
			"USE bob_secrets; DELETE FROM cards;", "\\c bob_secrets\nDELETE FROM cards;", "\\! touch " + stolen + "\n", "system touch " + stolen + "\n",
			"source /etc/passwd\n", "\\i /etc/passwd\n", "SET GLOBAL max_connections = 1;", "DELIMITER //\nDROP DATABASE bob_secrets//\n",
			"CREATE DEFINER=`root`@`localhost` PROCEDURE p() SELECT 1;", "ALTER ROLE eve_db SUPERUSER;", "DELETE FROM bob_secrets.cards;",
			"RESET SESSION AUTHORIZATION; DROP ROLE bob_secrets;", "COPY t FROM PROGRAM 'touch " + stolen + "';", "SELECT 'not ended", "/* not ended",
			"SELECT 1; \\\\ \\! touch " + stolen, "/*! DROP DATABASE bob_secrets */; DROP DATABASE bob_secrets", "\\copy t from '/etc/passwd'\n",
			"COPY (SELECT 1) TO PROGRAM 'touch " + stolen + "';", "SELECT $a$ not ended $b$;",
		} {
			if err := m.load("eve", "eve_db", script); !errors.Is(err, panel.ErrInvalid) {
				t.Errorf("import of %q: %v", script, err)
			}
		}
		if _, err := os.Stat(stolen); err == nil {
			t.Error("a file was written")
		}
		if cards := column(t, m.own(theirs), "SELECT number FROM cards"); cards != "4111" {
			t.Errorf("the other's cards: %s", cards)
		}
		for _, name := range []string{
			"bob_x", "eve", "eve_", "eve_x`; DROP", "eve_X", "eve_a-b", "eve__", "eve_" + strings.Repeat("a", 25), "mysql", "EVE_a", "eve_a\n", "eve_ä", "",
		} {
			if _, err := m.SetDatabase(t.Context(), "eve", panel.Database{Name: name, Engine: e, Password: password}); !errors.Is(err, panel.ErrInvalid) {
				t.Errorf("the name %q: %v", name, err)
			}
		}
		for what, d := range map[string]panel.Database{
			"no password": {Name: "eve_new", Engine: e}, "charset": {Name: "eve_new", Engine: e, Password: "x", Charset: "utf8; DROP"},
			"engine": {Name: "eve_new", Engine: "oracle", Password: "x"}, "size": {Name: "eve_new", Engine: e, Password: "x", MaxSizeMB: -1},
			"other charset": {Name: "eve_db", Engine: e, Charset: panel.DatabaseCharsets(e)[1]},
		} {
			if _, err := m.SetDatabase(t.Context(), "eve", d); !errors.Is(err, panel.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestASuspendedAccountsUsersAreRefused(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("carol")
		d := m.set("carol", "carol_db", e)
		own := m.own(d)
		works(t, own, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
		session, err := own.Conn(t.Context())
		m.must(err)
		defer session.Close()
		m.suspend("carol", true)
		if _, err := session.ExecContext(t.Context(), "SELECT 1"); err == nil {
			t.Error("a session goes on")
		}
		fails(t, m.own(d), "SELECT 1")
		if _, err := m.SetDatabase(t.Context(), "carol", d); !errors.Is(err, panel.ErrSuspended) {
			t.Errorf("a change: %v", err)
		}
		if err := m.load("carol", "carol_db", "SELECT 1;"); !errors.Is(err, panel.ErrSuspended) {
			t.Errorf("an import: %v", err)
		}
		if text := m.dump("carol", "carol_db"); !strings.Contains(text, "INSERT INTO `t`") && !strings.Contains(text, "COPY public.t") {
			t.Errorf("dumped while suspended: %s", text)
		}
		m.suspend("carol", false)
		if got := column(t, m.own(d), "SELECT a FROM t"); got != "1" {
			t.Errorf("after the suspension: %s", got)
		}
	})
}

func TestWhatSomebodyChangedByHandIsPutRight(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("dave")
		m.account("other")
		d := m.set("dave", "dave_db", e)
		m.set("other", "other_db", e)
		works(t, m.own(d), "CREATE TABLE t (a INT)")
		for what, statements := range map[string]map[panel.DatabaseEngine][]string{
			"the user is gone":        {panel.MariaDB: {"DROP USER dave_db@localhost"}, panel.PostgreSQL: {"ALTER ROLE dave_db NOLOGIN PASSWORD NULL"}},
			"another password":        {panel.MariaDB: {"SET PASSWORD FOR dave_db@localhost = PASSWORD('x')"}, panel.PostgreSQL: {"ALTER ROLE dave_db PASSWORD 'x'"}},
			"from everywhere":         {panel.MariaDB: {"CREATE USER dave_db@'%' IDENTIFIED BY 'x'"}, panel.PostgreSQL: {"GRANT CONNECT ON DATABASE dave_db TO PUBLIC"}},
			"more privileges":         {panel.MariaDB: {"GRANT ALL ON *.* TO dave_db@localhost WITH GRANT OPTION"}, panel.PostgreSQL: {"ALTER ROLE dave_db SUPERUSER CREATEDB"}},
			"another's database":      {panel.MariaDB: {"GRANT SELECT ON other_db.* TO dave_db@localhost"}, panel.PostgreSQL: {"GRANT other_db TO dave_db"}},
			"a table":                 {panel.MariaDB: {"GRANT SELECT ON mysql.global_priv TO dave_db@localhost"}, panel.PostgreSQL: {"GRANT pg_read_server_files TO dave_db"}},
			"a role":                  {panel.MariaDB: {"CREATE ROLE IF NOT EXISTS boss", "GRANT boss TO dave_db@localhost"}, panel.PostgreSQL: {"GRANT stead TO dave_db"}},
			"no limit of sessions":    {panel.MariaDB: {"ALTER USER dave_db@localhost WITH MAX_USER_CONNECTIONS 0"}, panel.PostgreSQL: {"ALTER ROLE dave_db CONNECTION LIMIT -1"}},
			"the owner":               {panel.MariaDB: {"REVOKE ALL ON `dave\\_db`.* FROM dave_db@localhost"}, panel.PostgreSQL: {"ALTER DATABASE dave_db OWNER TO dave_db"}},
			"a user that nobody made": {panel.MariaDB: {"CREATE USER dave_new@localhost"}, panel.PostgreSQL: {"CREATE ROLE dave_new LOGIN"}},
		} {
			m.admin(e, statements[e]...)
			m.apply("dave")
			var state string
			if e == panel.MariaDB {
				state = m.state("SELECT CONCAT(User, '@', Host) FROM mysql.global_priv WHERE User LIKE 'dave%'") + "|" +
					m.state("SHOW GRANTS FOR dave_db@localhost")
				if want := "dave_db@localhost|"; !strings.HasPrefix(state, want) || strings.Contains(state, "other") || strings.Contains(state, "boss") ||
					strings.Count(state, "GRANT ") != 2 || strings.Contains(state, "ON *.* TO") && !strings.Contains(state, "GRANT USAGE ON *.*") {
					t.Errorf("%s: %s", what, state)
				}
			} else {
				p := m.servers[e].(*postgres)
				now, err := p.found(t.Context(), "dave_db")
				m.must(err)
				if now.attributes != noAttributes || now.members != 0 || now.owner != "stead" || now.sessions != p.sessions(1) ||
					fmt.Sprint(now.acl) != "[dave_db=CTc/stead stead=CTc/stead]" {
					t.Errorf("%s: %+v", what, now)
				}
				if roles, _ := p.strings(t.Context(), "SELECT rolname::text FROM pg_roles WHERE rolname LIKE 'dave%'"); len(roles) != 1 {
					t.Errorf("%s: roles %v", what, roles)
				}
			}
			own := m.own(d)
			works(t, own, "SELECT a FROM t")
			// Where all is as it should be, nothing is done: sessions go on.
			session, err := own.Conn(t.Context())
			m.must(err)
			m.apply("dave")
			if _, err := session.ExecContext(t.Context(), "SELECT 1"); err != nil {
				t.Errorf("%s: a session was ended for nothing: %v", what, err)
			}
			m.must(session.Close())
		}
		if e == panel.MariaDB {
			m.admin(e, "DROP DATABASE dave_db")
			m.apply("dave")
			works(t, m.own(d), "CREATE TABLE t (a INT)")
		}
	})
}

// state is what the MariaDB server answers the agent.
func (m *machine) state(query string) string {
	m.t.Helper()
	rows, err := m.servers[panel.MariaDB].(*mariaDB).strings(m.t.Context(), query)
	m.must(err)
	return strings.Join(rows, "\n")
}

func TestADatabaseThatIsTooLargeTakesNothingMore(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.must(m.Close()) // the test looks when it is to
		m.account("fred")
		base := int64(1)
		if e == panel.PostgreSQL {
			base = 8 // an empty one has 7.5 MB
		}
		d, err := m.SetDatabase(t.Context(), "fred", panel.Database{Name: "fred_db", Engine: e, Password: password, MaxSizeMB: base + 1})
		m.must(err)
		works(t, m.own(d), "CREATE TABLE t (a INT, b TEXT)")
		fill := "INSERT INTO t SELECT seq, REPEAT('x', 1000) FROM seq_1_to_4000"
		if e == panel.PostgreSQL {
			fill = "INSERT INTO t SELECT i, string_agg(md5((i * 100 + j)::text), '') FROM generate_series(1, 4000) i, generate_series(1, 32) j GROUP BY i"
		}
		works(t, m.own(d), fill)
		if e == panel.MariaDB {
			works(t, m.own(d), "ANALYZE TABLE t")
		}
		// No reconciliation comes in between.
		m.look(t.Context())
		m.watching.Wait()
		own := m.own(d)
		fails(t, own, fill)
		fails(t, own, "CREATE TABLE u (a INT)")
		if list, err := m.ListDatabases(t.Context(), "fred"); err != nil || !list[0].Full || list[0].SizeBytes < base<<20 {
			t.Errorf("%+v, %v", list, err)
		}
		if e == panel.PostgreSQL {
			works(t, own, "BEGIN READ WRITE; TRUNCATE t; COMMIT")
		} else {
			works(t, own, "TRUNCATE t")
		}
		m.look(t.Context())
		m.watching.Wait()
		works(t, m.own(d), "INSERT INTO t VALUES (1, 'x')")
		// A larger bound does too, and one far too large closes the PostgreSQL database.
		works(t, m.own(d), fill)
		d.MaxSizeMB, d.Password = 100, ""
		_, err = m.SetDatabase(t.Context(), "fred", d)
		m.must(err)
		works(t, m.own(d), "INSERT INTO t VALUES (1, 'x')")
		d.MaxSizeMB = 1
		_, err = m.SetDatabase(t.Context(), "fred", d)
		m.must(err)
		if e == panel.PostgreSQL {
			fails(t, m.own(d), "SELECT 1")
		} else {
			works(t, m.own(d), "SELECT 1")
		}
	})
}

// TestASlowAccountDelaysNobodysLimit: what one account waits for does not stop the look at the databases of others.
func TestASlowAccountDelaysNobodysLimit(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.must(m.Close())
		if e != panel.MariaDB {
			return // the watch is the same for both
		}
		own := map[string]*sql.DB{}
		for _, name := range []string{"sam", "tom"} {
			m.account(name)
			d, err := m.SetDatabase(t.Context(), name, panel.Database{Name: name + "_db", Engine: e, Password: password, MaxSizeMB: 2})
			m.must(err)
			own[name] = m.own(d)
			works(t, own[name], "CREATE TABLE t (a INT, b TEXT)")
		}
		full := func(name string) bool {
			list, err := m.ListDatabases(t.Context(), name)
			m.must(err)
			return list[0].Full
		}
		for busy, other := range map[string]string{"sam": "tom", "tom": "sam"} { // a look is in no order: one of them comes first
			for _, db := range own {
				works(t, db, "INSERT INTO t SELECT seq, REPEAT('x', 1000) FROM seq_1_to_4000")
				works(t, db, "ANALYZE TABLE t")
			}
			unlock := m.lock(busy)
			looked := make(chan struct{})
			go func() {
				defer close(looked)
				m.look(t.Context())
			}()
			testkit.Eventually(t, 30*time.Second, func() bool { return full(other) }, "the limit of "+other+" holds while "+busy+" is busy")
			unlock()
			<-looked
			m.watching.Wait()
			if !full(busy) {
				t.Errorf("the limit of %s does not hold afterwards", busy)
			}
			for _, db := range own {
				works(t, db, "TRUNCATE t")
			}
			m.look(t.Context())
			m.watching.Wait()
		}
	})
}

// TestALookComesInTime: a database cannot grow for longer than the promise, however long a look takes.
func TestALookComesInTime(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, time.Second: 10 * time.Second, 2 * time.Second: 18 * time.Second, 5 * time.Second: 20 * time.Second,
		20 * time.Second: 5 * time.Second, time.Minute: time.Second,
	} {
		if got := watchPause(took); got != want {
			t.Errorf("after a look of %v: %v, want %v", took, got, want)
		}
	}
}

func TestWhatWasInterruptedIsFinished(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("gina")
		verifier, err := m.servers[e].verifier(password)
		m.must(err)
		// Recorded, not yet made; and an account of before had the name.
		m.must(m.servers[e].create(t.Context(), "gina_new", panel.DatabaseCharsets(e)[0]))
		m.must(m.servers[e].apply(t.Context(), login{name: "gina_new", verifier: verifier}))
		works(t, m.connect(e, "gina_new", password, "gina_new"), "CREATE TABLE old (a INT)")
		if _, err := m.records.Update("gina", func(rec *stored) error {
			rec.Databases = append(rec.Databases, database{Name: "gina_new", Engine: e, Charset: panel.DatabaseCharsets(e)[0], Verifier: verifier})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		m.reopen()
		if list, err := m.ListDatabases(t.Context(), "gina"); err != nil || len(list) != 1 || list[0].PasswordVersion != "" {
			t.Errorf("what is not made is not listed as such: %+v, %v", list, err)
		}
		m.apply("gina")
		d := panel.Database{Name: "gina_new", Engine: e}
		fails(t, m.own(d), "SELECT * FROM old")
		works(t, m.own(d), "CREATE TABLE t (a INT)")
		// Its end was noted and begun.
		if _, err := m.records.Update("gina", func(rec *stored) error {
			rec.Databases[0].Ending = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		m.reopen()
		if list, err := m.ListDatabases(t.Context(), "gina"); err != nil || len(list) != 0 {
			t.Errorf("what ends is listed: %v, %v", list, err)
		}
		m.apply("gina")
		there, err := m.servers[e].present(t.Context(), []string{"gina_new"})
		if err != nil || there["gina_new"] || len(m.records.Get("gina").Databases) != 0 {
			t.Errorf("still there: %v, %v", there, err)
		}
		// An account that ends leaves nothing to the next of its name.
		m.set("gina", "gina_a", e)
		m.set("gina", "gina_b", e)
		a, _ := m.lookup("gina")
		m.must(m.Remove(t.Context(), a))
		m.must(m.Remove(t.Context(), a))
		users, dbs, err := m.servers[e].others(t.Context(), "gina_", nil)
		if err != nil || len(users)+len(dbs) != 0 {
			t.Errorf("left: %v %v %v", users, dbs, err)
		}
	})
}

func TestServersOutliveTheAgentAndComeBack(t *testing.T) {
	m := newMachine(t)
	m.account("hugo")
	for _, e := range engines {
		d := m.set("hugo", "hugo_"+string(e)[:5], e)
		works(t, m.own(d), "CREATE TABLE t (a INT)")
	}
	for _, name := range []string{mariaDBName, postgresName} {
		before := m.cfg.Supervisor.PID(name)
		m.reopen()
		if after := m.cfg.Supervisor.PID(name); after != before || after == 0 {
			t.Errorf("%s was process %d and is %d", name, before, after)
		}
		if out, err := exec.Command("ps", "-o", "user=,args=", "-p", fmt.Sprint(before)).Output(); err != nil || strings.HasPrefix(string(out), "root") ||
			strings.Contains(string(out), "assword") {
			t.Errorf("%s: %s %v", name, out, err)
		}
		m.must(m.cfg.Supervisor.Restart(t.Context(), name))
	}
	// Other settings take the servers' being started anew.
	pid := m.cfg.Supervisor.PID(mariaDBName)
	m.cfg.MariaDB.MaxSessions = 77
	m.reopen()
	if m.cfg.Supervisor.PID(mariaDBName) == pid || m.state("SELECT @@max_connections") != "77" {
		t.Error("other settings are not followed")
	}
	// So do those that were written by an agent that was killed then, for the next one.
	m.must(m.cfg.Supervisor.Close())
	next, err := daemon.NewProcesses(daemon.Config{Dir: filepath.Join(filepath.Dir(m.cfg.Dir), "daemons"), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	m.must(err)
	t.Cleanup(func() { _ = next.Close() })
	m.cfg.Supervisor, m.cfg.MariaDB.MaxSessions, m.cfg.PostgreSQL.MaxSessions = next, 78, 78
	maria := newMariaDB(filepath.Join(m.cfg.Dir, "mariadb"), m.cfg.MariaDB.complete("mysql"), next, nil)
	m.must(daemon.Unread(filepath.Join(maria.dir, "unread")).Write(maria.config(), maria.settings(), 0o644))
	m.reopen()
	if got := m.state("SELECT @@max_connections"); got != "78" {
		t.Errorf("MariaDB has the settings of before: %s", got)
	}
	if got, err := m.servers[panel.PostgreSQL].(*postgres).strings(t.Context(), "SHOW max_connections"); err != nil || got[0] != "78" {
		t.Errorf("PostgreSQL has the settings of before: %v, %v", got, err)
	}
	for _, e := range engines {
		d := panel.Database{Name: "hugo_" + string(e)[:5], Engine: e}
		testkit.Eventually(t, time.Minute, func() bool {
			_, err := m.own(d).ExecContext(t.Context(), "SELECT * FROM t")
			return err == nil
		}, "the database is there after a restart")
		m.apply("hugo")
	}
}

// TestALockedTableEndsADump: a machine makes few backups at a time, and a lock may be held for ever.
func TestALockedTableEndsADump(t *testing.T) {
	m := newMachine(t)
	m.cfg.MariaDB.LockWait, m.cfg.PostgreSQL.LockWait = time.Second, time.Second
	m.reopen()
	m.account("iris")
	for _, e := range engines {
		d := m.set("iris", "iris_"+string(e), e)
		own := m.own(d)
		works(t, own, "CREATE TABLE t (a INT)")
		customer, err := own.Conn(t.Context())
		m.must(err)
		lock := "LOCK TABLES t WRITE"
		if e == panel.PostgreSQL {
			lock = "BEGIN; LOCK TABLE t"
		}
		if _, err := customer.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		r, err := m.DumpDatabase(ctx, "iris", d.Name)
		m.must(err)
		if _, err := io.Copy(io.Discard, r); err == nil || ctx.Err() != nil {
			t.Errorf("%s: dumped with %v", e, err)
		}
		m.must(r.Close())
		cancel()
		m.must(customer.Close())
	}
}

// TestADatabaseThatIsTooLargeIsBackedUpWhole: what its user may no longer do keeps nothing out of a dump.
func TestADatabaseThatIsTooLargeIsBackedUpWhole(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("holly")
		d := m.set("holly", "holly_db", e)
		parts := []string{"CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT a FROM t"}
		if e == panel.MariaDB {
			parts = append(parts, "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = NEW.a + 1",
				"CREATE PROCEDURE p() SELECT 1", "CREATE FUNCTION f() RETURNS INT RETURN 1",
				"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", "CREATE SEQUENCE s")
		} else {
			parts = append(parts, "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
				"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g()", "CREATE SEQUENCE s")
		}
		works(t, m.own(d), parts...)
		works(t, m.own(d), "INSERT INTO t VALUES (41)")
		lines := func() (said []string) {
			for line := range strings.Lines(m.dump("holly", "holly_db")) {
				if !strings.HasPrefix(line, "-- Dump completed on") && !strings.HasPrefix(line, `\`) {
					said = append(said, line)
				}
			}
			return said
		}
		whole := lines()
		verifier, err := m.servers[e].verifier(password)
		m.must(err)
		for _, h := range []hold{holdGrowth, holdAll} {
			m.must(m.servers[e].apply(t.Context(), login{name: d.Name, verifier: verifier, hold: h, closed: h == holdAll}))
			if now := lines(); !slices.Equal(whole, now) {
				t.Errorf("hold %d: dumped\n%s\nwas\n%s", h, strings.Join(now, ""), strings.Join(whole, ""))
			}
		}
	})
}

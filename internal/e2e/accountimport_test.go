package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/front/admin/archive/archivetest"
	"stead.dev/stead/internal/platform/testkit"
)

const oldConfig = `<?php
define( 'DB_NAME', 'alice_wp' );
define( 'DB_USER', 'alice_wp' );
define( 'DB_PASSWORD', 'the former password' );
define( 'DB_HOST', 'localhost' );
$table_prefix = 'wp_';
`

// oldSite shows a row of its database, like WordPress by what stands in wp-config.php.
const oldSite = `<?php
require __DIR__ . '/wp-config.php';
[$host, $port] = explode(':', DB_HOST);
$db = new mysqli($host, DB_USER, DB_PASSWORD, DB_NAME, (int) $port);
$db->set_charset('utf8mb4');
echo 'blog: ', $db->query('SELECT option_value FROM wp_options WHERE option_id = 1')->fetch_row()[0];
`

const oldDump = "/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS `wp_options`;\n" +
	"CREATE TABLE `wp_options` (\n  `option_id` int NOT NULL,\n  `option_value` text NOT NULL,\n  PRIMARY KEY (`option_id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;\n" +
	"INSERT INTO `wp_options` VALUES (1,'Алиса it\\'s');\n/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`alice`@`%` SQL SECURITY DEFINER */\n" +
	"/*!50001 VIEW `wp_view` AS select `wp_options`.`option_id` AS `option_id` from `wp_options` */;\n"

// accountThing is a line of the report of an import.
type accountThing struct {
	Kind, Name, As, State, Reason string
	Count, There                  int64
}

type accountReport struct {
	Applied, Complete bool
	Items             []accountThing
}

func (r accountReport) find(kind, name string) accountThing {
	i := slices.IndexFunc(r.Items, func(t accountThing) bool { return t.Kind == kind && t.Name == name })
	if i < 0 {
		return accountThing{State: "nothing"}
	}
	return r.Items[i]
}

// A site with a database and a mailbox lives elsewhere; afterwards its visitors, and its mail program with the former password, find it here.
func TestAnAccountIsBroughtFromABackupOfHestia(t *testing.T) {
	t.Parallel()
	const domain = "alice-blog.test"
	hash, err := bcrypt.GenerateFromPassword([]byte(mailPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	letter := formerLetter(domain)
	archived := archivetest.Hestia{
		User: "alice", IP: "192.0.2.10",
		Sites: []archivetest.HestiaSite{
			{Domain: domain, Alias: "www." + domain, Files: []archivetest.Entry{
				{Name: "./public_html/"},
				{Name: "./public_html/wp-config.php", Body: oldConfig},
				{Name: "./public_html/index.php", Body: oldSite},
				{Name: "./public_html/large.bin", Body: strings.Repeat("large", 400_000)},
				{Name: "./public_html/etc", Link: "/etc"},
				{Name: "./public_html/../../../../etc/cron.d/evil", Body: "* * * * * root id"},
			}},
			{Domain: "alice-shop.test", Files: []archivetest.Entry{{Name: "./public_html/index.html", Body: "the shop"}, {Name: "./private/settings", Body: "kept"}}},
		},
		Databases: []archivetest.HestiaDatabase{
			{Name: "alice_wp", User: "alice_wp", Type: "mysql", Dump: oldDump},
			{Name: "alice_pg", User: "alice_pg", Type: "pgsql", Dump: "DROP TABLE public.goods;\nDROP SCHEMA public;\nCREATE SCHEMA public;\nCREATE TABLE public.goods (id integer, name text);\nINSERT INTO public.goods VALUES (1, 'tea');\n"},
		},
		Mail: []archivetest.HestiaMail{{
			Domain: domain, Accounts: []string{archivetest.Account("info", "{BLF-CRYPT}"+string(hash), "ALIAS=sales QUOTA=100")},
			Files: []archivetest.Entry{
				{Name: "info/"},
				{Name: "info/cur/"},
				{Name: fmt.Sprintf("info/cur/1700000000.M1P1.old,S=%d:2,S", len(letter)), Body: letter},
				{Name: "info/.Sent/cur/1700000001.M2P1.old:2,S", Body: letter},
				{Name: "info/subscriptions", Body: "Sent\n"},
				{Name: "info/cur/link", Link: "/etc/passwd"},
			},
		}},
		Zones: []archivetest.HestiaZone{{Domain: domain, Records: []string{
			archivetest.Record(1, "@", "A", "", "192.0.2.10"), archivetest.Record(2, "crm", "A", "", "198.51.100.7"), archivetest.Record(3, "@", "NS", "", "ns1.old.example."),
		}}},
		Cron: []string{archivetest.Job(1, "0", "3", "php /home/alice/web/"+domain+"/public_html/cron.php")},
	}
	file := filepath.Join(t.TempDir(), "alice.2024-05-06_07-08-09.tar")
	if err := os.WriteFile(file, archived.Bytes(t), 0o600); err != nil {
		t.Fatal(err)
	}

	h := newHost(t, "STEAD_MAIL_HOST=mx."+domain, "STEAD_ACME_EMAIL=")
	p := h.serve(t, "--demo")
	c := p.signIn(t)
	service := h.buy(t, c, domain)
	command := []string{"admin", "import", "hestia", file, "--service", fmt.Sprint(service)}

	// A dry run says what would come, and changes nothing.
	var dry accountReport
	h.must(t, &dry, append(command, "--dry-run")...)
	if dry.Applied || dry.find("database", "alice_wp").State != "new" || dry.find("mail", "info@"+domain).Count != 2 || dry.find("files", domain).Count != 3 ||
		dry.find("site", "alice-shop.test").As != "/sites/alice-shop.test/public_html" {
		t.Errorf("the dry run: %+v", dry)
	}
	var databases struct{ Data []struct{ Name string } }
	c.must("GET", fmt.Sprintf("/api/v1/services/%d/databases", service), "", &databases)
	if len(databases.Data) != 0 {
		t.Errorf("the dry run has made %v", databases)
	}

	h.brings(t, domain, "/etc/cron.d/evil", command...)

	// The second run does no harm to what has been changed here, and says what was there.
	testkit.Eventually(t, time.Minute, func() bool {
		letters, err := h.letters("info@" + domain)
		return err == nil && len(letters) == 2
	}, "the new letter is there")
	status, answer, err := c.call("PUT", fmt.Sprintf("/api/v1/services/%d/files/content", service), `{"path": "/public_html/large.bin", "content": "changed here"}`, "")
	if err != nil || status >= 300 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	h.bringsNothingMore(t, command...)
	if letters, err := h.letters("info@" + domain); err != nil || len(letters) != 2 {
		t.Errorf("%d letters after the second run, %v", len(letters), err)
	}
	var entries struct {
		Data []struct{ Action, Reason string }
	}
	h.must(t, &entries, "admin", "audit", "list")
	if !slices.ContainsFunc(entries.Data, func(e struct{ Action, Reason string }) bool {
		return e.Action == "service.imported" && strings.Contains(e.Reason, "1 mailbox new")
	}) {
		t.Errorf("the audit log has %+v", entries)
	}
}

// formerLetter is in alice's mailbox on the machine that she leaves.
func formerLetter(domain string) string {
	return "From: boris@elsewhere.uz\r\nTo: info@" + domain + "\r\nSubject: Kept\r\n\r\nA letter from before.\r\n"
}

// brings imports the account of alice, whichever panel its backup is of, and checks that its sites are served and that its mailbox has its
// letter and takes another. Nothing is at outside, to which a name in the archive leads.
func (h *host) brings(t *testing.T, domain, outside string, command ...string) {
	t.Helper()
	var first accountReport
	h.must(t, &first, command...)
	if !first.Complete {
		t.Errorf("%+v", first)
	}
	h.visitor(t, domain).shows("http://"+domain+"/", "blog: Алиса it's")
	h.visitor(t, "alice-shop.test").eventually("http://alice-shop.test/", func(r page) bool { return r.body == "the shop" }, "the shop is served")
	letters, err := h.letters("info@" + domain)
	if err != nil || len(letters) != 1 || letters[0] != formerLetter(domain) {
		t.Errorf("the mailbox has %q, %v", letters, err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return h.deliver("sales@"+domain) == nil }, "a new letter is taken")
	if uid := h.ownerOf(t, "wp-config.php"); uid == 0 {
		t.Error("files are root's")
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a name led out of the archive")
	}
}

// bringsNothingMore repeats an import.
func (h *host) bringsNothingMore(t *testing.T, command ...string) {
	t.Helper()
	var second accountReport
	h.must(t, &second, command...)
	for _, thing := range second.Items {
		if thing.State == "new" || thing.State == "failed" {
			t.Errorf("the second run: %+v", thing)
		}
	}
}

// TestAnImportGoesOnWithoutWhatTheMachineLacks: the demo's node has no databases. The command, which does not know that, reports one that
// failed, and brings the files.
func TestAnImportGoesOnWithoutWhatTheMachineLacks(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	p := in.serve(t, "--demo")
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "100", "--reason", "a test")
	c := p.signIn(t)
	order, _ := c.order(c.plan(), "alice.example.com")
	c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
	testkit.Eventually(t, time.Minute, func() bool { return c.isActive("alice.example.com") }, "the service is active")
	file := filepath.Join(t.TempDir(), "alice.tar")
	archived := archivetest.Hestia{
		User: "alice", IP: "192.0.2.10",
		Sites: []archivetest.HestiaSite{{Domain: "alice.example.com", Files: []archivetest.Entry{{Name: "./public_html/a.txt", Body: "a"}}}},
		Databases: []archivetest.HestiaDatabase{
			{Name: "alice_wp", User: "alice_wp", Type: "mysql", Dump: "CREATE TABLE a (b INT);\n"},
		},
	}
	if err := os.WriteFile(file, archived.Bytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := in.run(t, "admin", "import", "hestia", file, "--service", "99"); code != 3 || !strings.Contains(stderr, "there is no service 99") {
		t.Errorf("an import into nothing: exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code := in.run(t, "admin", "import", "hestia", file, "--service", "1", "--json")
	var r accountReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v in %s%s", err, stdout, stderr)
	}
	if failed := r.find("database", "s1_wp"); code != 1 || r.Complete || failed.State != "failed" {
		t.Errorf("exit code %d, the database is %+v\n%s", code, failed, stderr)
	}
	if files := r.find("files", "alice.example.com"); files.State != "new" || files.Count != 1 {
		t.Errorf("the files are %+v\n%s", files, stderr)
	}
}

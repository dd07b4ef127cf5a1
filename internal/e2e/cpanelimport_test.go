package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/admin/archive/archivetest"
)

// cpanelHash is mailPassword as cPanel keeps it: openssl passwd -6 -salt oldsalt.
const cpanelHash = "$6$oldsalt$mbDZlRSBu7BWNWFi.Oxkh.3wmSOxinn2LGG8XYl2hDwF8ajFjAQJsxhGRZyAYUsA/YbkRqNxZBy6OpuRj0GuR0"

// cpmove is an account as pkgacct of cPanel packs it, with what has no place here too.
func cpmove(t *testing.T, domain, letter string) []byte {
	t.Helper()
	const top = "cpmove-alice/"
	user := func(root string) string {
		return "---\ndocumentroot: /home/alice/" + root + "\ngroup: alice\nhomedir: /home/alice\nip: 192.0.2.10\nowner: root\nphpopenbasedirprotect: 1\nport: 80\nscriptalias:\n  -\n    path: /home/alice/" +
			root + "/cgi-bin\n    url: /cgi-bin/\nuser: alice\nusecanonicalname: 'Off'\n"
	}
	return archivetest.Gzip(t, archivetest.Tar(t,
		archivetest.Entry{Name: top},
		archivetest.Entry{Name: top + "version", Body: "pkgacct version: 10\narchive version: 4\n"},
		archivetest.Entry{Name: top + "homedir_paths", Body: "/home/alice\n"},
		archivetest.Entry{Name: top + "shadow", Body: "$6$x$y"},
		archivetest.Entry{Name: top + "cp/alice", Body: "BWLIMIT=unlimited\nDNS=" + domain + "\nDNS1=shop." + domain + "\nHASSHELL=0\nIP=192.0.2.10\nOWNER=root\nPLAN=default\nUSER=alice\n"},
		archivetest.Entry{Name: top + "userdata/"},
		archivetest.Entry{Name: top + "userdata/main", Body: "---\naddon_domains:\n  alice-shop.test: alice-shop." + domain + "\nmain_domain: " + domain + "\nparked_domains: []\nsub_domains:\n  - alice-shop." + domain + "\n"},
		archivetest.Entry{Name: top + "userdata/" + domain, Body: user("public_html") + "serveralias: www." + domain + "\n"},
		archivetest.Entry{Name: top + "userdata/" + domain + "_SSL", Body: user("public_html")},
		archivetest.Entry{Name: top + "userdata/alice-shop." + domain, Body: user("public_html/shop") + "serveralias: alice-shop.test www.alice-shop.test\n"},
		archivetest.Entry{Name: top + "mysql/"},
		archivetest.Entry{Name: top + "mysql/alice_wp.create", Body: "/*M!999999\\- enable the sandbox mode */ \nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `alice_wp` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n"},
		archivetest.Entry{Name: top + "mysql/alice_wp.sql", Body: "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib 10.11.9-MariaDB\n" + oldDump},
		archivetest.Entry{Name: top + "mysql.sql", Body: "-- cPanel mysql backup\nGRANT USAGE ON *.* TO 'alice_wp'@'localhost' IDENTIFIED BY PASSWORD '*00';\nGRANT ALL PRIVILEGES ON `alice\\_wp`.* TO 'alice_wp'@'localhost';\n"},
		archivetest.Entry{Name: top + "dnszones/" + domain + ".db", Body: "; cPanel first:11.110.0.5 (update_time):1700000000\n$TTL 14400\n@\t86400\tIN\tSOA\tns1.old.example.\troot.old.example.\t(\n\t2024050601 ;Serial Number\n\t3600 ;refresh\n\t1800 ;retry\n\t1209600 ;expire\n\t86400 )\n" +
			domain + ".\t86400\tIN\tNS\tns1.old.example.\n" + domain + ".\t14400\tIN\tA\t192.0.2.10\ncrm\t14400\tIN\tA\t198.51.100.7\n" + domain + ".\t14400\tIN\tMX\t0\t" + domain + ".\n"},
		archivetest.Entry{Name: top + "va/" + domain, Body: "*: \":fail: No Such User Here\"\nsales@" + domain + ": info@" + domain + "\n"},
		archivetest.Entry{Name: top + "cron/alice", Body: "MAILTO=\"\"\nSHELL=\"/usr/local/cpanel/bin/jailshell\"\n0 3 * * * /usr/local/bin/php /home/alice/public_html/cron.php\n"},
		archivetest.Entry{Name: top + "homedir/"},
		archivetest.Entry{Name: top + "homedir/www", Link: "public_html"},
		archivetest.Entry{Name: top + "homedir/access-logs", Link: "/etc/apache2/logs/domlogs/alice"},
		archivetest.Entry{Name: top + "homedir/.cpanel/datastore/x", Body: "x"},
		archivetest.Entry{Name: top + "homedir/public_html/"},
		archivetest.Entry{Name: top + "homedir/public_html/wp-config.php", Body: oldConfig},
		archivetest.Entry{Name: top + "homedir/public_html/index.php", Body: oldSite},
		archivetest.Entry{Name: top + "homedir/public_html/large.bin", Body: strings.Repeat("large", 400_000)},
		archivetest.Entry{Name: top + "homedir/public_html/etc", Link: "/etc"},
		archivetest.Entry{Name: top + "homedir/public_html/../../../etc/cron.d/evil-cpanel", Body: "* * * * * root id"},
		archivetest.Entry{Name: top + "homedir/public_html/shop/index.html", Body: "the shop"},
		archivetest.Entry{Name: top + "homedir/etc/" + domain + "/passwd", Body: "info:x:1001:1001::/home/alice/mail/" + domain + "/info:/home/alice\n"},
		archivetest.Entry{Name: top + "homedir/etc/" + domain + "/shadow", Body: "info:" + cpanelHash + ":19849::::::\n", Mode: 0o640},
		archivetest.Entry{Name: top + "homedir/etc/" + domain + "/quota", Body: "info:104857600\n"},
		archivetest.Entry{Name: top + "homedir/mail/"},
		archivetest.Entry{Name: top + "homedir/mail/.info@" + strings.ReplaceAll(domain, ".", "_"), Link: domain + "/info"},
		archivetest.Entry{Name: top + "homedir/mail/cur/1.of-the-system", Body: letter},
		archivetest.Entry{Name: top + "homedir/mail/" + domain + "/info/maildirsize", Body: "104857600S\n100 1\n"},
		archivetest.Entry{Name: top + "homedir/mail/" + domain + "/info/cur/"},
		archivetest.Entry{Name: top + fmt.Sprintf("homedir/mail/%s/info/cur/1700000000.M1P1.old,S=%d,W=%d:2,S", domain, len(letter), len(letter)), Body: letter},
		archivetest.Entry{Name: top + "homedir/mail/" + domain + "/info/.Sent/cur/1700000001.M2P1.old:2,S", Body: letter},
		archivetest.Entry{Name: top + "homedir/mail/" + domain + "/info/subscriptions", Body: "V\t2\n\nSent\n"},
	))
}

// TestAnAccountIsBroughtFromABackupOfCPanel: the site of a full backup is served, its database has its rows, and its mailbox opens with
// the former password.
func TestAnAccountIsBroughtFromABackupOfCPanel(t *testing.T) {
	t.Parallel()
	const domain = "alice-cpanel.test"
	letter := formerLetter(domain)
	file := filepath.Join(t.TempDir(), "cpmove-alice.tar.gz")
	if err := os.WriteFile(file, cpmove(t, domain, letter), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "STEAD_MAIL_HOST=mx."+domain, "STEAD_ACME_EMAIL=")
	p := h.serve(t, "--demo")
	c := p.signIn(t)
	service := h.buy(t, c, domain)
	command := []string{"admin", "import", "cpanel", file, "--service", fmt.Sprint(service)}

	var dry accountReport
	h.must(t, &dry, append(command, "--dry-run")...)
	if dry.Applied || dry.find("database", "alice_wp").State != "new" || dry.find("mail", "info@"+domain).Count != 2 || dry.find("files", domain).Count != 3 {
		t.Errorf("the dry run: %+v", dry)
	}
	h.brings(t, domain, "/etc/cron.d/evil-cpanel", command...)
	var jobs struct {
		Data []struct{ Expression, Command string }
	}
	c.must("GET", fmt.Sprintf("/api/v1/services/%d/cron", service), "", &jobs)
	if len(jobs.Data) != 1 || jobs.Data[0].Expression != "0 3 * * *" || strings.Contains(jobs.Data[0].Command, "/home/alice") {
		t.Errorf("cron jobs: %+v", jobs)
	}

	h.bringsNothingMore(t, command...)
}

package cpanel

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/front/admin/archive/archivetest"
	"stead.dev/stead/internal/port/panel"
)

const hash = "$6$salt$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func home(prefix string) []archivetest.Entry {
	return []archivetest.Entry{
		{Name: prefix + "public_html/"},
		{Name: prefix + "public_html/index.php", Body: "<?php"},
		{Name: prefix + "public_html/up", Link: "../../x"},
		{Name: prefix + "public_html/shop/index.html", Body: "shop"},
		{Name: prefix + "public_html/blog/index.html", Body: "blog"},
		{Name: prefix + "notes.txt", Body: "n"},
		{Name: prefix + ".ssh/id_rsa", Body: "k"},
		{Name: prefix + "etc/alice.example/passwd", Body: "info:x:1001:1001::/home/alice/mail/alice.example/info:/home/alice\n"},
		{Name: prefix + "etc/alice.example/shadow", Body: "info:" + hash + ":17000::::::\n"},
		{Name: prefix + "etc/alice.example/quota", Body: "info:262144000\n"},
		{Name: prefix + "mail/cur/1.of-the-system", Body: "x"},
		{Name: prefix + "mail/alice.example/info/cur/1.M1P1.h,S=5:2,S", Body: "Hello"},
		{Name: prefix + "mail/alice.example/info/.Sent/cur/2.M1P1.h:2,S", Body: "Sent"},
	}
}

func sample(packed bool, t *testing.T) []byte {
	const top = "cpmove-alice/"
	all := []archivetest.Entry{
		{Name: top + "userdata/main", Body: "---\naddon_domains:\n  shop.example: shop.alice.example\nmain_domain: alice.example\nparked_domains:\n  - alice.test\nsub_domains:\n  - shop.alice.example\n  - blog.alice.example\n"},
		{Name: top + "userdata/alice.example", Body: "---\ndocumentroot: /home/alice/public_html\nhomedir: /home/alice\nip: 192.0.2.10\nuser: alice\nserveralias: www.alice.example\n"},
		{Name: top + "userdata/shop.alice.example", Body: "---\ndocumentroot: /home/alice/public_html/shop\nhomedir: /home/alice\nip: 192.0.2.10\nuser: alice\n"},
		{Name: top + "userdata/blog.alice.example", Body: "---\ndocumentroot: /home/alice/public_html/blog\nhomedir: /home/alice\nip: 192.0.2.10\nuser: alice\n"},
		{Name: top + "mysql/alice_wp.create", Body: "CREATE DATABASE `alice_wp`;\n"},
		{Name: top + "mysql/alice_wp.sql", Body: "CREATE TABLE a (b INT);\n"},
		{Name: top + "va/alice.example", Body: "*: info@alice.example\ninfo@alice.example: info@alice.example, bob@example.org\nsales@alice.example: info@alice.example\nteam@alice.example: a@example.org,b@example.org\nrun@alice.example: |/bin/sh\nno@alice.example: :fail: No Such User Here\n"},
		{Name: top + "dnszones/alice.example.db", Body: "$TTL 14400\n@ 86400 IN SOA ns1.old.example. root.old.example. (\n 2024050601 ; serial\n 3600 1800 1209600 86400 )\n@ 86400 IN NS ns1.old.example.\nalice.example. 14400 IN A 192.0.2.10\ncrm 14400 IN A 198.51.100.7\nalice.example. IN MX 0 alice.example.\n"},
		{Name: top + "cron/alice", Body: "SHELL=\"/bin/bash\"\nMAILTO=\"a@b.c\"\n# note\n1 2 3 4 5\vcommand\n*/5 * * * * /usr/local/bin/php /home/alice/public_html/shop/cron.php date +\\%F\n@daily  echo  hi\n"},
		{Name: top + "apache_tls/alice.example", Body: "KEY"},
		{Name: "../../evil", Body: "x"},
	}
	if packed {
		all = append(all, archivetest.Entry{Name: top + "homedir.tar", Body: string(archivetest.Tar(t, append(home("./"), archivetest.Entry{Name: "/abs", Body: "x"}, archivetest.Entry{Name: "../evil", Body: "x"})...))})
	} else {
		all = append(all, home(top+"homedir/")...)
	}
	return archivetest.Tar(t, all...)
}

func TestTheInventoryHasWhatTheBackupHas(t *testing.T) {
	for _, packed := range []bool{false, true} {
		inv, err := Read(t.Context(), bytes.NewReader(sample(packed, t)))
		if err != nil {
			t.Fatal(err)
		}
		if inv.User != "alice" || !slices.Equal(inv.Addresses, []string{"192.0.2.10"}) {
			t.Errorf("account %q at %v", inv.User, inv.Addresses)
		}
		var domains []string
		for _, d := range inv.Domains {
			domains = append(domains, d.Name+" "+d.Home+" "+strings.Join(d.Aliases, ","))
		}
		if want := []string{"alice.example /home/alice/public_html alice.test", "blog.alice.example /home/alice/public_html/blog ", "shop.example /home/alice/public_html/shop "}; !slices.Equal(domains, want) {
			t.Errorf("domains %q", domains)
		}
		files := map[string][]string{}
		for _, tree := range inv.Trees {
			for f, err := range tree.Files() {
				var refused *archive.Refused
				if err != nil && !errors.As(err, &refused) {
					t.Fatal(err)
				}
				if err == nil && f.Type == panel.TypeFile {
					files[tree.Domain] = append(files[tree.Domain], f.Path)
				}
			}
		}
		for domain, want := range map[string][]string{
			"alice.example": {"public_html/index.php"}, "shop.example": {"public_html/index.html"}, "blog.alice.example": {"public_html/index.html"}, "": {"notes.txt"},
		} {
			if !slices.Equal(files[domain], want) {
				t.Errorf("files of %q: %q", domain, files[domain])
			}
		}
		if len(inv.Databases) != 1 || inv.Databases[0].Own != "wp" {
			t.Fatalf("databases %+v", inv.Databases)
		}
		dump, err := inv.Databases[0].Dump()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(dump); err != nil || string(text) != "CREATE TABLE a (b INT);\n" {
			t.Errorf("%q, %v", text, err)
		}
		if len(inv.Mailboxes) != 2 {
			t.Fatalf("mailboxes %+v", inv.Mailboxes)
		}
		if m := inv.Mailboxes[0]; m.Address != "info@alice.example" || m.Hash != "{SHA512-CRYPT}"+hash || m.QuotaMB != 250 || !m.CatchAll || !m.KeepCopy ||
			!slices.Equal(m.ForwardTo, []string{"bob@example.org"}) || !slices.Equal(m.Aliases, []string{"sales@alice.example"}) {
			t.Errorf("mailbox %+v", m)
		}
		if m := inv.Mailboxes[1]; m.Address != "team@alice.example" || m.KeepCopy || len(m.ForwardTo) != 2 {
			t.Errorf("forward %+v", m)
		}
		var mails []string
		for m, err := range inv.Stores[0].Mail() {
			if err != nil {
				t.Fatal(err)
			}
			mails = append(mails, m.Address+" "+m.Path)
		}
		if want := []string{"info@alice.example cur/1.M1P1.h,S=5:2,S", "info@alice.example .Sent/cur/2.M1P1.h:2,S"}; !slices.Equal(mails, want) {
			t.Errorf("mail %q", mails)
		}
		if keep, _ := archive.Foreign(inv.Zones[0], inv.Addresses); len(keep) != 1 || keep[0].Name != "crm.alice.example." {
			t.Errorf("records %+v", keep)
		}
		if len(inv.Cron) != 2 || inv.Cron[0].Command != "/usr/local/bin/php /home/alice/public_html/shop/cron.php date +%F" || inv.Cron[1].Expression != "@daily" || inv.Cron[1].Command != "echo  hi" {
			t.Errorf("cron %+v", inv.Cron)
		}
	}
	if _, err := Read(t.Context(), bytes.NewReader(archivetest.Tar(t, archivetest.Entry{Name: "a/b", Body: "x"}))); !errors.Is(err, archive.ErrFormat) {
		t.Errorf("another tar: %v", err)
	}
}

package hestia

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/front/admin/archive/archivetest"
	"stead.dev/stead/internal/port/panel"
)

const bcrypt = "{BLF-CRYPT}$2y$05$abcdefghijklmnopqrstuOABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

func sample() archivetest.Hestia {
	return archivetest.Hestia{
		User: "alice", IP: "192.0.2.10",
		Sites: []archivetest.HestiaSite{
			{Domain: "alice.example", Alias: "www.alice.example,alice.test", Files: []archivetest.Entry{
				{Name: "./public_html/"},
				{Name: "./public_html/index.php", Body: "<?php"},
				{Name: "./public_html/run", Body: "#!", Mode: 0o755},
				{Name: "./public_html/old", Link: "index.php"},
				{Name: "./public_html/passwd", Link: "/etc/passwd"},
				{Name: "./public_html/up", Link: "../../../x"},
				{Name: "./public_html/hard", Hard: "./public_html/index.php"},
				{Name: "./public_html/disk", Type: tar.TypeBlock},
				{Name: "../evil", Body: "x"},
				{Name: "/abs", Body: "x"},
				{Name: "./logs/a.log", Body: "x"},
				{Name: "./private/key", Body: "k"},
			}},
			{Domain: "shop.example", DocRoot: "/home/alice/web/shop.example/public_html/public/"},
			{Domain: "lent.example", DocRoot: "/home/alice/web/alice.example/public_html/"},
		},
		Databases: []archivetest.HestiaDatabase{
			{Name: "alice_wp", User: "alice_wp", Type: "mysql", Dump: "CREATE TABLE a (b INT);\n"},
			{Name: "alice_old", User: "alice_old", Type: "oracle"},
			{Name: "alice_pg", User: "alice_pg", Type: "pgsql", Dump: "SELECT 1;\n"},
		},
		Mail: []archivetest.HestiaMail{{
			Domain: "alice.example", CatchAll: "info@alice.example", Answers: map[string]string{"info": "Away."},
			Accounts: []string{
				archivetest.Account("info", bcrypt, "ALIAS=sales,Office AUTOREPLY=yes FWD=bob@example.org QUOTA=500"),
				archivetest.Account("md5", "{MD5}$1$abc$def", "FWD=bob@example.org FWD_ONLY=yes SUSPENDED=yes"),
			},
			Files: []archivetest.Entry{
				{Name: "info/"},
				{Name: "info/cur/"},
				{Name: "info/cur/1.M1P1.host,S=5:2,S", Body: "Hello"},
				{Name: "info/.Sent/cur/2.M1P1.host:2,", Body: "Sent"},
				{Name: "gone/cur/3.M1P1.host:2,", Body: "of nobody"},
			},
		}},
		Zones: []archivetest.HestiaZone{{Domain: "alice.example", Records: []string{
			archivetest.Record(1, "@", "NS", "", "ns1.old.example."), archivetest.Record(2, "@", "A", "", "192.0.2.10"), archivetest.Record(3, "mail", "A", "", "192.0.2.10"),
			archivetest.Record(4, "@", "MX", "10", "mail.alice.example."), archivetest.Record(5, "@", "TXT", "", "v=spf1 a mx ip4:192.0.2.10 -all"),
			archivetest.Record(6, "crm", "A", "", "198.51.100.7"), archivetest.Record(7, "note", "TXT", "", `say "hi"`),
			archivetest.Record(8, "mail._domainkey", "TXT", "", "v=DKIM1; k=rsa; p=AAAA"), archivetest.Record(9, "_sip._tcp", "SRV", "5", "10 5060 sip.example.org."),
			archivetest.Record(10, "ftp", "CNAME", "", "crm.alice.example."),
		}}},
		Cron: []string{
			archivetest.Job(1, "*/5", "*", "php /home/alice/web/alice.example/public_html/cron.php --name='x y'"),
			archivetest.Job(2, "0", "3", "sudo /usr/local/hestia/bin/v-update-sys-queue backup"),
		},
		Home: map[string][]archivetest.Entry{"notes": {{Name: "notes/a.txt", Body: "a"}}, ".ssh": {{Name: ".ssh/authorized_keys", Body: "k"}}},
		More: []archivetest.Entry{{Name: "./../../etc/cron.d/x", Body: "x"}},
	}
}

func read(t *testing.T, h archivetest.Hestia) *archive.Inventory {
	t.Helper()
	inv, err := Read(t.Context(), bytes.NewReader(h.Bytes(t)))
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func TestTheInventoryHasWhatTheBackupHas(t *testing.T) {
	for _, packed := range []string{"gzip", "zstd"} {
		t.Run(packed, func(t *testing.T) {
			h := sample()
			h.Zstd = packed == "zstd"
			inv := read(t, h)
			if inv.User != "alice" || !slices.Equal(inv.Addresses, []string{"192.0.2.10"}) {
				t.Errorf("account %q at %v", inv.User, inv.Addresses)
			}
			var domains []string
			for _, d := range inv.Domains {
				domains = append(domains, d.Name+" "+d.Root+" "+strings.Join(d.Aliases, ","))
			}
			want := []string{"alice.example public_html alice.test", "lent.example public_html ", "shop.example public_html/public "}
			if !slices.Equal(domains, want) {
				t.Errorf("domains %q", domains)
			}
			if len(inv.Databases) != 2 || inv.Databases[0].Own != "pg" || inv.Databases[1].Engine != panel.MariaDB || inv.Databases[1].Charset != "utf8mb4" {
				t.Fatalf("databases %+v", inv.Databases)
			}
			dump, err := inv.Databases[1].Dump()
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(dump); err != nil || string(text) != "CREATE TABLE a (b INT);\n" {
				t.Errorf("the dump is %q, %v", text, err)
			}
			m := inv.Mailboxes[0]
			if m.Address != "info@alice.example" || m.Hash != bcrypt || m.QuotaMB != 500 || !m.CatchAll || !m.KeepCopy || m.Reply != "Away." ||
				!slices.Equal(m.Aliases, []string{"sales@alice.example", "office@alice.example"}) || !slices.Equal(m.ForwardTo, []string{"bob@example.org"}) {
				t.Errorf("mailbox %+v", m)
			}
			if m := inv.Mailboxes[1]; m.Hash != "" || m.KeepCopy || !m.Suspended {
				t.Errorf("mailbox %+v", m)
			}
			if len(inv.Cron) != 1 || inv.Cron[0].Expression != "*/5 * * * *" || !strings.HasSuffix(inv.Cron[0].Command, "--name='x y'") {
				t.Errorf("cron %+v", inv.Cron)
			}
		})
	}
}

func TestFilesThatCouldDoHarmAreNotTaken(t *testing.T) {
	inv := read(t, sample())
	var taken, refused []string
	for f, err := range inv.Trees[0].Files() {
		var r *archive.Refused
		switch {
		case errors.As(err, &r):
			refused = append(refused, r.Path)
		case err != nil:
			t.Fatal(err)
		case f.Type == panel.TypeFile:
			body, err := io.ReadAll(f.Body)
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, fmt.Sprintf("%s %v %s", f.Path, f.Exec, body))
		default:
			taken = append(taken, fmt.Sprintf("%s %s %s", f.Path, f.Type, f.Link))
		}
	}
	if want := []string{"public_html directory ", "public_html/index.php false <?php", "public_html/run true #!", "public_html/old symlink index.php", "private/key false k"}; !slices.Equal(taken, want) {
		t.Errorf("taken: %q", taken)
	}
	if want := []string{"public_html/passwd", "public_html/up", "public_html/hard", "public_html/disk", "../evil", "/abs"}; !slices.Equal(refused, want) {
		t.Errorf("refused: %q", refused)
	}
	left := fmt.Sprint(inv.Left)
	for _, name := range []string{"etc/cron.d", ".ssh", "oracle", "/usr/local/hestia", "lent.example"} {
		if !strings.Contains(left, name) {
			t.Errorf("%s is not told of in %s", name, left)
		}
	}
}

func TestMailIsWalkedByMailbox(t *testing.T) {
	inv := read(t, sample())
	var all []string
	for m, err := range inv.Stores[0].Mail() {
		if err != nil {
			t.Fatal(err)
		}
		if m.Type == panel.TypeFile {
			all = append(all, m.Address+" "+m.Path)
		}
	}
	if want := []string{"info@alice.example cur/1.M1P1.host,S=5:2,S", "info@alice.example .Sent/cur/2.M1P1.host:2,"}; !slices.Equal(all, want) {
		t.Errorf("mail %q", all)
	}
}

func TestRecordsThatLedToTheFormerMachineAreDropped(t *testing.T) {
	inv := read(t, sample())
	keep, drop := archive.Foreign(inv.Zones[0], inv.Addresses)
	var kept []string
	for _, r := range keep {
		kept = append(kept, r.Text())
	}
	want := []string{
		"crm.alice.example. 14400 IN A 198.51.100.7", `note.alice.example. 14400 IN TXT "say \"hi\""`,
		"_sip._tcp.alice.example. 14400 IN SRV 5 10 5060 sip.example.org.", "ftp.alice.example. 14400 IN CNAME crm.alice.example.",
	}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %q", kept)
	}
	if len(drop) != 6 {
		t.Errorf("dropped %v", drop)
	}
	// Mail that another company has keeps its records.
	z := archive.Zone{Name: "a.example", Records: []archive.Record{
		{Name: "@", Type: "MX", Data: "1 aspmx.l.google.com."},
		{Name: "@", Type: "TXT", Data: `"v=spf1 include:_spf.google.com ~all"`},
		{Name: "google._domainkey", Type: "TXT", Data: `"v=DKIM1; p=A"`},
	}}
	if keep, drop := archive.Foreign(z, nil); len(keep) != 3 || len(drop) != 0 {
		t.Errorf("kept %v, dropped %v", keep, drop)
	}
}

func TestWhatIsNoBackupIsRefused(t *testing.T) {
	whole := sample().Bytes(t)
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("hello, this is no archive at all"), "another tar": archivetest.Tar(t, archivetest.Entry{Name: "cp/alice", Body: "x"}),
		"packed": archivetest.Gzip(t, whole), "cut": whole[:len(whole)/3],
	} {
		if _, err := Read(t.Context(), bytes.NewReader(data)); !errors.Is(err, archive.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Vesta's folders have another name.
	vesta := archivetest.Tar(t, archivetest.Entry{Name: "./vesta/user.conf", Body: "FNAME='A'\n"}, archivetest.Entry{Name: "./pam/passwd", Body: "bob:x:1:1::/home/bob:/bin/sh\n"},
		archivetest.Entry{Name: "./web/b.example/vesta/web.conf", Body: "DOMAIN='b.example' IP='192.0.2.1'\n"})
	inv, err := Read(t.Context(), bytes.NewReader(vesta))
	if err != nil || inv.User != "bob" || len(inv.Domains) != 1 {
		t.Errorf("%+v, %v", inv, err)
	}
}

func TestAPartThatIsCutEndsWithAnError(t *testing.T) {
	h := sample()
	h.Sites = nil
	whole := archivetest.Gzip(t, archivetest.Tar(t, archivetest.Entry{Name: "./public_html/a", Body: strings.Repeat("abcdefgh", 10_000)}))
	h.More = []archivetest.Entry{{Name: "./web/alice.example/hestia/web.conf", Body: "DOMAIN='alice.example'\n"}, {Name: "./web/alice.example/domain_data.tar.gz", Body: string(whole[:len(whole)/2])}}
	var last error
	for f, err := range read(t, h).Trees[0].Files() {
		if last = err; err == nil && f.Body != nil {
			_, last = io.Copy(io.Discard, f.Body)
		}
	}
	if last == nil {
		t.Error("a part that is cut was read to its end")
	}
}

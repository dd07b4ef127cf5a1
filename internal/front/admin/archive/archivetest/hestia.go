// Package archivetest makes archives as other panels write them, for tests.
package archivetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Entry is an entry of a tar. A name that ends with a slash is a directory.
type Entry struct {
	Name, Body string
	Link       string // of a symbolic link
	Hard       string // of a hard link
	Mode       int64
	Type       byte // when it is none of these
}

var written = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// Tar is a tar of the entries.
func Tar(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name, Mode: 0o644, Size: int64(len(e.Body)), Typeflag: tar.TypeReg, ModTime: written, Uid: 1001, Gid: 1001, Uname: "alice", Gname: "alice", Format: tar.FormatGNU}
		switch {
		case e.Type != 0:
			h.Typeflag, h.Size = e.Type, 0
		case strings.HasSuffix(e.Name, "/"):
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		case e.Link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.Link, 0
		case e.Hard != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, e.Hard, 0
		}
		if e.Mode != 0 {
			h.Mode = e.Mode
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.Body[:h.Size]))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Gzip packs data.
func Gzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// Zstd packs data.
func Zstd(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// Hestia is a backup as bin/v-backup-user of HestiaCP 1.9 writes it.
type Hestia struct {
	User, IP  string
	Zstd      bool
	Sites     []HestiaSite
	Databases []HestiaDatabase
	Mail      []HestiaMail
	Zones     []HestiaZone
	Cron      []string // lines of cron.conf
	Home      map[string][]Entry
	More      []Entry // of the outer tar
}

// HestiaSite is a site.
type HestiaSite struct {
	Domain, Alias, DocRoot string
	Files                  []Entry // below the site's directory: ./public_html/…
}

// HestiaDatabase is a database.
type HestiaDatabase struct{ Name, User, Type, Dump string }

// HestiaMail is a mail domain.
type HestiaMail struct {
	Domain, CatchAll string
	Accounts         []string // lines of DOMAIN.conf
	Answers          map[string]string
	Files            []Entry // ACCOUNT/cur/…
}

// HestiaZone is a zone.
type HestiaZone struct {
	Domain  string
	Records []string // lines of DOMAIN.conf
}

const stamp = "TIME='07:08:09' DATE='2024-05-06'"

// Account is a line of a mail domain's configuration, as v-add-mail-account writes it.
func Account(name, hash, more string) string {
	line := fmt.Sprintf("ACCOUNT='%s' ALIAS='' AUTOREPLY='no' FWD='' FWD_ONLY='' MD5='%s' QUOTA='unlimited' U_DISK='0' SUSPENDED='no' %s", name, hash, stamp)
	for key, value := range pairs(more) {
		was := line[strings.Index(line, key+"='"):]
		was = was[:len(key)+2+strings.Index(was[len(key)+2:], "'")+1]
		line = strings.Replace(line, was, key+"='"+value+"'", 1)
	}
	return line
}

func pairs(text string) map[string]string {
	all := map[string]string{}
	for _, one := range strings.Fields(text) {
		key, value, _ := strings.Cut(one, "=")
		all[key] = value
	}
	return all
}

// Record is a line of a zone, as v-add-dns-record writes it.
func Record(id int, name, kind, priority, value string) string {
	return fmt.Sprintf("ID='%d' RECORD='%s' TYPE='%s' PRIORITY='%s' VALUE='%s' SUSPENDED='no' %s TTL='14400'", id, name, kind, priority, value, stamp)
}

// Job is a line of cron.conf, as v-add-cron-job writes it.
func Job(id int, minute, hour, command string) string {
	return fmt.Sprintf("JOB='%d' MIN='%s' HOUR='%s' DAY='*' MONTH='*' WDAY='*' CMD='%s' SUSPENDED='no' %s", id, minute, hour, strings.ReplaceAll(command, "'", "%quote%"), stamp)
}

// Bytes is the archive.
func (h Hestia) Bytes(t testing.TB) []byte {
	t.Helper()
	pack, end := Gzip, ".gz"
	all := []Entry{{Name: "./"}}
	if h.Zstd {
		pack, end = Zstd, ".zst"
		all = append(all, Entry{Name: "./.zstd"})
	}
	add := func(name, body string) { all = append(all, Entry{Name: "./" + name, Body: body}) }
	part := func(name string, data []byte) { add(name+end, string(pack(t, data))) }
	add("hestia/user.conf", fmt.Sprintf("NAME='Alice Example'\nPACKAGE='default'\nCONTACT='alice@alice.example'\nMD5='$6$x$y'\nSUSPENDED='no'\nLANGUAGE='en'\n%s\n", strings.ReplaceAll(stamp, " ", "\n")))
	add("pam/passwd", h.User+":x:1001:1001:alice@alice.example:/home/"+h.User+":/usr/sbin/nologin\n")
	add("pam/shadow", h.User+":$6$x$y:19000:0:99999:7:::\n")
	add("pam/group", h.User+":x:1001:\n")
	for _, s := range h.Sites {
		add("web/"+s.Domain+"/hestia/web.conf", fmt.Sprintf("DOMAIN='%s' IP='%s' IP6='' CUSTOM_DOCROOT='%s' CUSTOM_PHPROOT='' ALIAS='%s' TPL='default' SSL='no' SSL_HOME='same' FTP_USER='' FTP_MD5='' BACKEND='default' PROXY='' PROXY_EXT='' STATS='' STATS_USER='' STATS_CRYPT='' U_DISK='1' U_BANDWIDTH='0' SUSPENDED='no' %s\n",
			s.Domain, h.IP, s.DocRoot, s.Alias, stamp))
		add("web/"+s.Domain+"/conf/nginx.conf", "server { listen 80; }\n")
		part("web/"+s.Domain+"/domain_data.tar", Tar(t, append([]Entry{{Name: "./"}}, s.Files...)...))
	}
	for _, z := range h.Zones {
		add("dns/"+z.Domain+"/hestia/dns.conf", fmt.Sprintf("DOMAIN='%s' IP='%s' TPL='default' TTL='14400' EXP='2027-01-01' SOA='ns1.old.example' SERIAL='2024050601' SRC='' RECORDS='%d' DNSSEC='no' KEY='' SLAVE='no' MASTER='' SUSPENDED='no' %s\n", z.Domain, h.IP, len(z.Records), stamp))
		add("dns/"+z.Domain+"/hestia/"+z.Domain+".conf", strings.Join(z.Records, "\n")+"\n")
	}
	for _, m := range h.Mail {
		add("mail/"+m.Domain+"/hestia/mail.conf", fmt.Sprintf("DOMAIN='%s' ANTIVIRUS='no' ANTISPAM='yes' DKIM='yes' WEBMAIL='' SSL='no' LETSENCRYPT='no' CATCHALL='%s' ACCOUNTS='%d' RATE_LIMIT='' REJECT='no' U_DISK='0' SUSPENDED='no' %s\n", m.Domain, m.CatchAll, len(m.Accounts), stamp))
		add("mail/"+m.Domain+"/hestia/"+m.Domain+".conf", strings.Join(m.Accounts, "\n")+"\n")
		for account, text := range m.Answers {
			add("mail/"+m.Domain+"/hestia/"+account+"@"+m.Domain+".msg", text+"\n")
		}
		part("mail/"+m.Domain+"/accounts.tar", Tar(t, m.Files...))
	}
	for _, d := range h.Databases {
		add("db/"+d.Name+"/hestia/db.conf", fmt.Sprintf("DB='%s' DBUSER='%s' MD5='*0123456789ABCDEF0123456789ABCDEF01234567' HOST='localhost' TYPE='%s' CHARSET='UTF8MB4' U_DISK='1' SUSPENDED='no' %s\n", d.Name, d.User, d.Type, stamp))
		part("db/"+d.Name+"/"+d.Name+"."+d.Type+".sql", []byte(d.Dump))
	}
	add("cron/cron.conf", strings.Join(h.Cron, "\n")+"\n")
	for name, entries := range h.Home {
		part("user_dir/"+name+".tar", Tar(t, entries...))
	}
	return Tar(t, append(all, h.More...)...)
}

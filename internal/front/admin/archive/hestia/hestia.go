// Package hestia reads the backups of HestiaCP, and of VestaCP before it: what bin/v-backup-user writes. That is a tar without
// compression, in which each part of the account is a file, packed by gzip or zstd:
//
//	./hestia/user.conf                               the account (./vesta/ in older ones)
//	./web/DOMAIN/hestia/web.conf                     a site
//	./web/DOMAIN/domain_data.tar.gz                  its files: public_html/, private/, …
//	./dns/DOMAIN/hestia/dns.conf, DOMAIN.conf        a zone and its records
//	./mail/DOMAIN/hestia/mail.conf, DOMAIN.conf      a mail domain and its mailboxes; ADDRESS.msg are automatic answers
//	./mail/DOMAIN/accounts.tar.gz                    their mail: ACCOUNT/cur/…, a Maildir each
//	./db/NAME/hestia/db.conf, NAME.TYPE.sql.gz       a database
//	./cron/cron.conf                                 the commands
//	./user_dir/NAME.tar.gz                           what else is in the home
//
// The configurations are assignments of a shell, in lines like DOMAIN='example.com' IP='192.0.2.1'. They are parsed, never sourced.
package hestia

import (
	"context"
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/port/panel"
)

// values are the assignments of a line.
type values map[string]string

var assignment = regexp.MustCompile(`(?:^|\s)([A-Za-z][A-Za-z0-9_]*)='([^']*)'`)

// parse reads a configuration: an object a line. user.conf has an assignment a line instead, and is one object (parseOne).
func parse(text string) (all []values) {
	for line := range strings.Lines(text) {
		v := values{}
		for _, found := range assignment.FindAllStringSubmatch(line, -1) {
			v[found[1]] = strings.ReplaceAll(found[2], "%quote%", "'")
		}
		if len(v) > 0 {
			all = append(all, v)
		}
	}
	return all
}

func parseOne(text string) values {
	one := values{}
	for _, v := range parse(text) {
		for name, value := range v {
			one[name] = value
		}
	}
	return one
}

func list(text string) (all []string) {
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// reader reads one archive.
type reader struct {
	*archive.Tar
	conf string // name of the directories with configurations: hestia or vesta
	inv  *archive.Inventory
}

// Read reads the inventory of an archive, which stays open as long as the inventory is used.
func Read(ctx context.Context, f archive.Source) (*archive.Inventory, error) {
	t, err := archive.ReadTar(ctx, f)
	if err != nil {
		return nil, err
	}
	r := reader{Tar: t, inv: &archive.Inventory{Format: "hestia"}}
	for _, conf := range []string{"hestia", "vesta"} {
		if _, ok := t.Find(conf + "/user.conf"); ok {
			r.conf = conf
			break
		}
	}
	if r.conf == "" {
		return nil, fmt.Errorf("%w: it is no backup of HestiaCP: hestia/user.conf is not there", archive.ErrFormat)
	}
	for _, part := range []func() error{r.user, r.web, r.databases, r.mail, r.dns, r.cron, r.rest} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	r.inv.LeaveRefused(t)
	return r.inv, nil
}

func (r *reader) one(name string) (values, error) {
	text, err := r.Text(name)
	return parseOne(text), err
}

// user reads whose archive it is. user.conf does not say the name in every version; /etc/passwd does.
func (r *reader) user() error {
	passwd, err := r.Text("pam/passwd")
	if err != nil {
		return err
	}
	r.inv.User, _, _ = strings.Cut(strings.TrimSpace(passwd), ":")
	if v, err := r.one(r.conf + "/user.conf"); err != nil {
		return err
	} else if r.inv.User == "" {
		r.inv.User = v["USERNAME"]
	}
	return nil
}

// packed is a part that is packed by gzip or zstd, or not at all.
func (r *reader) packed(name string) (archive.Entry, bool) {
	for _, as := range []string{".gz", ".zst", ""} {
		if e, ok := r.Find(name + as); ok {
			return e, true
		}
	}
	return archive.Entry{}, false
}

func (r *reader) web() error {
	for _, name := range r.Below("web") {
		dir := "web/" + name
		v, err := r.one(dir + "/" + r.conf + "/web.conf")
		if err != nil {
			return err
		}
		if v["DOMAIN"] == "" {
			r.inv.Leave("site", name, "its configuration is not there")
			continue
		}
		r.inv.AddAddress(v["IP"])
		r.inv.AddAddress(v["IP6"])
		home := "/home/" + r.inv.User + "/web/" + v["DOMAIN"]
		d := archive.Domain{Name: v["DOMAIN"], Home: home, Root: "public_html", Suspended: v["SUSPENDED"] == "yes"}
		for _, alias := range list(v["ALIAS"]) {
			if alias != "www."+d.Name {
				d.Aliases = append(d.Aliases, alias)
			}
		}
		if custom := v["CUSTOM_DOCROOT"]; custom != "" {
			if below, ok := strings.CutPrefix(path.Clean(custom), home+"/"); ok {
				d.Root = below
			} else {
				r.inv.Leave("site", d.Name, "its document root %s belongs to another site; its own public_html is taken", custom)
			}
		}
		if v["REDIRECT"] != "" {
			r.inv.Leave("site", d.Name, "it redirects to %s: set that again", v["REDIRECT"])
		}
		if v["FTP_USER"] != "" {
			r.inv.Leave("ftp", strings.ReplaceAll(v["FTP_USER"], ":", ", "), "FTP accounts of %s are made anew, with new passwords", d.Name)
		}
		if v["SSL"] == "yes" {
			r.inv.Leave("certificate", d.Name, "a new one is ordered once the DNS leads here")
		}
		r.inv.Domains = append(r.inv.Domains, d)
		if e, ok := r.packed(dir + "/domain_data.tar"); ok {
			r.inv.Trees = append(r.inv.Trees, archive.Tree{Domain: d.Name, Files: r.walk(e, skipSite)})
		} else {
			r.inv.Leave("files", d.Name, "its files are not in the archive")
		}
	}
	return nil
}

// walk walks a packed part without what skip says.
func (r *reader) walk(e archive.Entry, skip func(path string) bool) func() iter.Seq2[archive.File, error] {
	return func() iter.Seq2[archive.File, error] {
		return func(yield func(archive.File, error) bool) {
			for f, err := range archive.WalkPacked(r.Open(e)) {
				if skip(f.Path) && f.Path != "" {
					continue
				}
				if !yield(f, err) {
					return
				}
			}
		}
	}
}

// skipSite leaves out what the panel there made for itself.
func skipSite(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == "logs" || top == "stats"
}

var engines = map[string]panel.DatabaseEngine{"mysql": panel.MariaDB, "pgsql": panel.PostgreSQL}

func (r *reader) databases() error {
	for _, name := range r.Below("db") {
		dir := "db/" + name
		v, err := r.one(dir + "/" + r.conf + "/db.conf")
		if err != nil {
			return err
		}
		engine, ok := engines[v["TYPE"]]
		dump, there := r.packed(dir + "/" + name + "." + v["TYPE"] + ".sql")
		switch {
		case v["DB"] == "":
			r.inv.Leave("database", name, "its configuration is not there")
			continue
		case !ok:
			r.inv.Leave("database", name, "databases of the type %q are not known here", v["TYPE"])
			continue
		case !there:
			r.inv.Leave("database", name, "its content is not in the archive")
			continue
		}
		d := archive.Database{Name: v["DB"], Engine: engine, Own: strings.TrimPrefix(v["DB"], r.inv.User+"_"), Charset: charset(engine, v["CHARSET"])}
		d.Dump = func() (io.ReadCloser, error) { return archive.Unpack(r.Open(dump)) }
		r.inv.Databases = append(r.inv.Databases, d)
	}
	return nil
}

// charset is a name of panel.DatabaseCharsets; others give way to the engine's usual one, which holds all characters.
func charset(engine panel.DatabaseEngine, name string) string {
	for _, known := range panel.DatabaseCharsets(engine) {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

func (r *reader) mail() error {
	for _, name := range r.Below("mail") {
		dir := "mail/" + name
		conf := dir + "/" + r.conf
		v, err := r.one(conf + "/mail.conf")
		if err != nil {
			return err
		}
		domain := v["DOMAIN"]
		if domain == "" {
			r.inv.Leave("mailbox", name, "the configuration of the mail domain is not there")
			continue
		}
		text, err := r.Text(conf + "/" + domain + ".conf")
		if err != nil {
			return err
		}
		catchAll := strings.ToLower(v["CATCHALL"])
		known := map[string]string{}
		for _, a := range parse(text) {
			if a["ACCOUNT"] == "" {
				continue
			}
			m, err := r.mailbox(conf, domain, a)
			if err != nil {
				return err
			}
			if m.CatchAll = m.Address == catchAll; m.CatchAll {
				catchAll = ""
			}
			known[a["ACCOUNT"]] = m.Address
			r.inv.Mailboxes = append(r.inv.Mailboxes, m)
		}
		if catchAll != "" {
			r.inv.Leave("mailbox", "*@"+domain, "mail to unknown addresses went to %s, which is no mailbox of the domain", catchAll)
		}
		if e, ok := r.packed(dir + "/accounts.tar"); ok {
			r.inv.Stores = append(r.inv.Stores, archive.Store{Mail: r.mails(e, known)})
		} else if len(known) > 0 {
			r.inv.Leave("mailbox", domain, "the mail of its mailboxes is not in the archive")
		}
	}
	return nil
}

func (r *reader) mailbox(conf, domain string, a values) (archive.Mailbox, error) {
	m := archive.Mailbox{
		Address: strings.ToLower(a["ACCOUNT"] + "@" + domain), Hash: archive.PasswordHash(a["MD5"]), ForwardTo: list(a["FWD"]),
		Suspended: a["SUSPENDED"] == "yes",
	}
	m.KeepCopy = len(m.ForwardTo) > 0 && a["FWD_ONLY"] != "yes"
	for _, alias := range list(a["ALIAS"]) {
		m.Aliases = append(m.Aliases, strings.ToLower(alias+"@"+domain))
	}
	if mb, err := strconv.ParseInt(a["QUOTA"], 10, 64); err == nil && mb > 0 {
		m.QuotaMB = mb
	}
	if a["AUTOREPLY"] == "yes" {
		text, err := r.Text(conf + "/" + a["ACCOUNT"] + "@" + domain + ".msg")
		if err != nil {
			return m, err
		}
		m.Reply = strings.TrimSpace(text)
	}
	return m, nil
}

// mails walks the mail of a domain's mailboxes: ACCOUNT/cur/…
func (r *reader) mails(e archive.Entry, known map[string]string) func() iter.Seq2[archive.Mail, error] {
	return func() iter.Seq2[archive.Mail, error] {
		return func(yield func(archive.Mail, error) bool) {
			for f, err := range archive.WalkPacked(r.Open(e)) {
				account, rest, _ := strings.Cut(f.Path, "/")
				address := known[account]
				if err == nil && (address == "" || rest == "") {
					continue // a directory itself, or of an account that has gone
				}
				f.Path = rest
				if !yield(archive.Mail{Address: address, File: f}, err) {
					return
				}
			}
		}
	}
}

func (r *reader) dns() error {
	for _, name := range r.Below("dns") {
		conf := "dns/" + name + "/" + r.conf
		v, err := r.one(conf + "/dns.conf")
		if err != nil {
			return err
		}
		if v["DOMAIN"] == "" {
			r.inv.Leave("dns", name, "the configuration of the zone is not there")
			continue
		}
		r.inv.AddAddress(v["IP"])
		text, err := r.Text(conf + "/" + v["DOMAIN"] + ".conf")
		if err != nil {
			return err
		}
		z := archive.Zone{Name: v["DOMAIN"]}
		for _, record := range parse(text) {
			if record["TYPE"] == "" {
				continue
			}
			z.Records = append(z.Records, recordOf(record))
		}
		if v["DNSSEC"] == "yes" {
			r.inv.Leave("dns", z.Name, "the zone was signed there: take its DS record from the registry before its name servers change")
		}
		r.inv.Zones = append(r.inv.Zones, z)
	}
	return nil
}

// recordOf is a record as in a zone file. Hestia keeps the priority apart, and texts without the quotes that they need.
func recordOf(v values) archive.Record {
	r := archive.Record{Name: v["RECORD"], Type: strings.ToUpper(v["TYPE"]), Data: strings.TrimSpace(v["VALUE"]), Disabled: v["SUSPENDED"] == "yes"}
	if ttl, err := strconv.Atoi(v["TTL"]); err == nil && ttl > 0 {
		r.TTL = ttl
	}
	switch r.Type {
	case "MX", "SRV":
		if v["PRIORITY"] != "" {
			r.Data = v["PRIORITY"] + " " + r.Data
		}
	case "TXT", "SPF":
		r.Type = "TXT"
		if text, ok := strings.CutPrefix(r.Data, `"`); ok {
			r.Data = strings.TrimSuffix(text, `"`)
		}
		r.Data = archive.QuoteText(r.Data)
	}
	return r
}

func (r *reader) cron() error {
	text, err := r.Text("cron/cron.conf")
	if err != nil {
		return err
	}
	for _, v := range parse(text) {
		if v["CMD"] == "" {
			continue
		}
		if strings.Contains(v["CMD"], "/usr/local/hestia/") || strings.Contains(v["CMD"], "/usr/local/vesta/") {
			r.inv.Leave("cron", v["CMD"], "it is a command of the panel there")
			continue
		}
		r.inv.Cron = append(r.inv.Cron, archive.Cron{
			Expression: strings.Join([]string{v["MIN"], v["HOUR"], v["DAY"], v["MONTH"], v["WDAY"]}, " "), Command: v["CMD"], Disabled: v["SUSPENDED"] == "yes",
		})
	}
	return nil
}

// own are directories of a home that mean something to the machine they are on, or that programs make again.
var own = []string{".ssh", ".cache", ".npm", ".gnupg", ".bash_logout", ".bashrc", ".profile", ".bash_history", ".wp-cli", ".composer", ".config", ".local"}

func (r *reader) rest() error {
	for _, file := range r.Below("user_dir") {
		e, ok := r.Find("user_dir/" + file)
		name := file
		for _, end := range []string{".tar.gz", ".tar.zst", ".tar"} {
			if before, is := strings.CutSuffix(file, end); is {
				name = before
				break
			}
		}
		if !ok {
			continue
		}
		if slices.Contains(own, name) {
			r.inv.Leave("files", name, "it belongs to the machine there")
			continue
		}
		r.inv.Trees = append(r.inv.Trees, archive.Tree{Name: name, Files: r.walk(e, func(string) bool { return false })})
	}
	return nil
}

// Package cpanel reads full backups of cPanel: cpmove-USER.tar.gz of pkgacct, backup-DATE_USER.tar.gz of its users. That is a tar in which
// everything is below one directory:
//
//	homedir/…, or homedir.tar                     the home: public_html/, mail/DOMAIN/USER/, etc/DOMAIN/{passwd,shadow,quota}
//	userdata/main, userdata/DOMAIN                the sites, as YAML
//	mysql/NAME.sql, NAME.create                   the databases
//	va/DOMAIN                                     the forwards of addresses
//	dnszones/DOMAIN.db                            the zones
//	cron/USER                                     the commands
//	cp/USER, dkim_keys, sslcerts, …               what has no place here
//
// cPanel says that it may change at any time: entries are found by their names, and what is not there is left out. The form was read
// from HestiaCP's bin/v-import-cpanel and the restores of others.
package cpanel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/port/panel"
)

// reader reads one archive.
type reader struct {
	*archive.Tar
	top  string // the directory of everything, with a slash
	home string // of the account there
	inv  *archive.Inventory
	// files has the home, below the directory: the archive itself, or homedir.tar in it.
	files     *archive.Tar
	directory string
}

// Read reads the inventory of an archive, which stays open as long as the inventory is used.
func Read(ctx context.Context, f archive.Source) (*archive.Inventory, error) {
	t, err := archive.ReadTar(ctx, f)
	if err != nil {
		return nil, err
	}
	r := &reader{Tar: t, inv: &archive.Inventory{Format: "cpanel"}}
	for _, e := range t.Entries {
		if top, rest, ok := strings.Cut(e.Name, "/"); ok && rest == "userdata/main" && e.Refused == "" {
			r.top = top + "/"
		}
	}
	if r.top == "" {
		return nil, fmt.Errorf("%w: it is no full backup of cPanel: userdata/main is not there", archive.ErrFormat)
	}
	r.files, r.directory = t, r.top+"homedir"
	if e, ok := t.Find(r.top + "homedir.tar"); ok {
		if r.files, err = archive.ReadTar(ctx, t.Open(e)); err != nil {
			return nil, err
		}
		r.directory = ""
	}
	for _, part := range []func() error{r.sites, r.homes, r.databases, r.mail, r.zones, r.cron} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"apache_tls", "sslcerts"} {
		for _, name := range r.Below(r.top + dir) {
			r.inv.Leave("certificate", name, "a new one is ordered once the DNS leads here")
		}
	}
	r.inv.LeaveRefused(t)
	return r.inv, nil
}

// small reads a small file of the archive.
func (r *reader) small(name string) (string, error) { return r.Text(r.top + name) }

// mainData is userdata/main.
type mainData struct {
	Main   string            `yaml:"main_domain"`
	Addons map[string]string `yaml:"addon_domains"` // name to the subdomain under which its site is kept
	Parked []string          `yaml:"parked_domains"`
	Subs   []string          `yaml:"sub_domains"`
}

// siteData is userdata/DOMAIN.
type siteData struct {
	Root string `yaml:"documentroot"`
	Home string `yaml:"homedir"`
	IP   string `yaml:"ip"`
	User string `yaml:"user"`
}

func (r *reader) yaml(name string, into any) (bool, error) {
	text, err := r.small(name)
	if err != nil || text == "" {
		return false, err
	}
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		return false, fmt.Errorf("%w: %s: %w", archive.ErrFormat, name, err)
	}
	return true, nil
}

func (r *reader) sites() error {
	var all mainData
	if _, err := r.yaml("userdata/main", &all); err != nil {
		return err
	}
	kept := map[string]bool{}
	add := func(name, under string, aliases []string) error {
		var s siteData
		there, err := r.yaml("userdata/"+under, &s)
		if err != nil {
			return err
		}
		if !there {
			r.inv.Leave("site", name, "its configuration is not there")
			return nil
		}
		if r.inv.User == "" {
			r.inv.User, r.home = s.User, path.Clean(s.Home)
		}
		r.inv.AddAddress(s.IP)
		root, below := strings.CutPrefix(path.Clean(s.Root), r.home+"/")
		if !below {
			r.inv.Leave("site", name, "its document root %s is not in the home", s.Root)
			return nil
		}
		r.inv.Domains = append(r.inv.Domains, archive.Domain{Name: name, Home: path.Join(r.home, root), Below: "public_html", Root: "public_html", Aliases: aliases})
		return nil
	}
	if err := add(all.Main, all.Main, all.Parked); err != nil {
		return err
	}
	for name, under := range all.Addons {
		kept[under] = true
		if !strings.Contains(under, ".") {
			under += "." + all.Main
		}
		kept[under] = true
		if err := add(name, under, nil); err != nil {
			return err
		}
	}
	for _, name := range all.Subs {
		if kept[name] {
			continue // it is the other name of an addon domain
		}
		if err := add(name, name, nil); err != nil {
			return err
		}
	}
	slices.SortFunc(r.inv.Domains, func(a, b archive.Domain) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// walkHome walks the files of the home.
func (r *reader) walkHome() iter.Seq2[archive.File, error] { return r.files.Walk(r.directory) }

// notOurs are directories of a home that its machine made.
var notOurs = map[string]bool{
	"mail": true, "etc": true, "logs": true, "tmp": true, "ssl": true, "access-logs": true, "www": true, ".ssh": true, ".cpanel": true, ".cache": true, ".trash": true,
	".softaculous": true, ".htpasswds": true, ".spamassassin": true, ".gnupg": true, ".npm": true, ".local": true, ".config": true, "public_ftp": true, "cpbackup-exclude.conf": true,
	".bash_logout": true, ".bash_profile": true, ".bashrc": true, ".bash_history": true, ".lastlogin": true, ".contactemail": true, ".dns": true, ".cphorde": true, ".razor": true, ".pki": true,
}

// homes makes a tree of each document root, and one of what else is in the home.
func (r *reader) homes() error {
	roots := map[string]string{} // path in the home: domain
	for _, d := range r.inv.Domains {
		root := strings.TrimPrefix(d.Home, r.home+"/")
		if other, ok := roots[root]; ok {
			r.inv.Leave("files", d.Name, "it shares its document root with %s, where the files come", other)
			continue
		}
		roots[root] = d.Name
	}
	// of says to which document root a file belongs, the innermost one, and its path there.
	of := func(name string) (domain, rest string) {
		for dir := name; dir != "." && dir != "/"; dir = path.Dir(dir) {
			if d, ok := roots[dir]; ok {
				return d, strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
			}
		}
		return "", name
	}
	tree := func(domain string) func() iter.Seq2[archive.File, error] {
		return func() iter.Seq2[archive.File, error] {
			return func(yield func(archive.File, error) bool) {
				for f, err := range r.walkHome() {
					top, _, _ := strings.Cut(f.Path, "/")
					owner, rest := of(f.Path)
					if f.Path != "" && (owner != domain || domain == "" && notOurs[top]) {
						continue
					}
					if f.Path = rest; domain != "" {
						f.Path = path.Join("public_html", rest)
					}
					if !yield(f, err) {
						return
					}
				}
			}
		}
	}
	for _, d := range r.inv.Domains {
		if roots[strings.TrimPrefix(d.Home, r.home+"/")] == d.Name {
			r.inv.Trees = append(r.inv.Trees, archive.Tree{Domain: d.Name, Files: tree(d.Name)})
		}
	}
	r.inv.Trees = append(r.inv.Trees, archive.Tree{Name: "the rest of the home", Files: tree("")})
	return nil
}

func (r *reader) databases() error {
	for _, file := range r.Below(r.top + "mysql") {
		name, ok := strings.CutSuffix(file, ".sql")
		if !ok {
			continue
		}
		e, ok := r.Find(r.top + "mysql/" + file)
		if !ok {
			continue
		}
		r.inv.Databases = append(r.inv.Databases, archive.Database{
			Name: name, Own: strings.TrimPrefix(name, r.inv.User+"_"), Engine: panel.MariaDB,
			Dump: func() (io.ReadCloser, error) { return archive.Unpack(r.Open(e)) },
		})
	}
	for _, file := range r.Below(r.top + "psql") {
		r.inv.Leave("database", file, "databases of PostgreSQL are not read from cPanel's backups")
	}
	return nil
}

// homeFiles are the small files below etc/ of the home, by their path in it.
func (r *reader) homeFiles() (map[string]string, error) {
	texts := map[string]string{}
	for f, err := range r.walkHome() {
		var refused *archive.Refused
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts := strings.Split(f.Path, "/")
		if f.Type != panel.TypeFile || len(parts) != 3 || parts[0] != "etc" || !slices.Contains([]string{"passwd", "shadow", "quota"}, parts[2]) {
			continue
		}
		if texts[f.Path], err = archive.ReadText(f.Body, f.Path); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// table reads lines of fields that colons separate, by the first field.
func table(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); fields[0] != "" && len(fields) > 1 {
			all[fields[0]] = fields[1:]
		}
	}
	return all
}

func (r *reader) mail() error {
	texts, err := r.homeFiles()
	if err != nil {
		return err
	}
	boxes := map[string]int{} // by address, in the inventory
	for file, text := range texts {
		parts := strings.Split(file, "/")
		if parts[2] != "passwd" {
			continue
		}
		domain := parts[1]
		shadow, quota := table(texts["etc/"+domain+"/shadow"]), table(texts["etc/"+domain+"/quota"])
		for account := range table(text) {
			m := archive.Mailbox{Address: strings.ToLower(account + "@" + domain)}
			if hash := shadow[account]; len(hash) > 0 {
				m.Suspended = strings.HasPrefix(hash[0], "!") && len(hash[0]) > 2
				m.Hash = archive.PasswordHash(strings.TrimLeft(hash[0], "!"))
			}
			if q := quota[account]; len(q) > 0 {
				if bytes, err := strconv.ParseInt(q[0], 10, 64); err == nil && bytes > 0 {
					m.QuotaMB = max(1, bytes>>20)
				}
			}
			r.inv.Mailboxes = append(r.inv.Mailboxes, m)
		}
	}
	slices.SortFunc(r.inv.Mailboxes, func(a, b archive.Mailbox) int { return strings.Compare(a.Address, b.Address) })
	for i, m := range r.inv.Mailboxes {
		boxes[m.Address] = i
	}
	if err := r.forwards(boxes); err != nil {
		return err
	}
	if len(r.inv.Mailboxes) > 0 {
		r.inv.Stores = []archive.Store{{Mail: r.mails(boxes)}}
	}
	return nil
}

// forwards reads va/DOMAIN: "address: to, to".
func (r *reader) forwards(boxes map[string]int) error {
	for _, domain := range r.Below(r.top + "va") {
		text, err := r.small("va/" + domain)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			from, to, ok := strings.Cut(lines.Text(), ":")
			if from, to = strings.ToLower(strings.TrimSpace(from)), strings.TrimSpace(to); !ok || from == "" || strings.HasPrefix(from, "#") {
				continue
			}
			r.forward(domain, from, to, boxes)
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("%w: va/%s: %w", archive.ErrFormat, domain, err)
		}
	}
	return nil
}

func (r *reader) forward(domain, from, to string, boxes map[string]int) {
	box, isBox := boxes[from]
	var targets []string
	for _, one := range strings.Split(to, ",") {
		one = strings.Trim(strings.TrimSpace(one), `"`)
		switch {
		case one == "" || from != "*" && strings.EqualFold(one, from):
		case strings.HasPrefix(one, ":"):
			if from != "*" {
				r.inv.Leave("mailbox", from, "its mail was answered by %s", one)
			}
		case !strings.Contains(one, "@") || strings.HasPrefix(one, "|") || strings.HasPrefix(one, "/"):
			if from != "*" || one != r.inv.User {
				r.inv.Leave("mailbox", from, "its mail went to %s, which is no address", one)
			}
		default:
			targets = append(targets, strings.ToLower(one))
		}
	}
	if len(targets) == 0 {
		return
	}
	if from == "*" {
		if to, ok := boxes[targets[0]]; ok && len(targets) == 1 && strings.HasSuffix(targets[0], "@"+domain) {
			r.inv.Mailboxes[to].CatchAll = true
		} else {
			r.inv.Leave("mailbox", "*@"+domain, "mail to unknown addresses went to %s", strings.Join(targets, ", "))
		}
		return
	}
	switch to, ok := boxes[targets[0]]; {
	case isBox:
		r.inv.Mailboxes[box].ForwardTo, r.inv.Mailboxes[box].KeepCopy = targets, true
	case ok && len(targets) == 1: // another name of a mailbox
		r.inv.Mailboxes[to].Aliases = append(r.inv.Mailboxes[to].Aliases, from)
	default: // an address that only forwards is a mailbox that keeps nothing
		r.inv.Mailboxes = append(r.inv.Mailboxes, archive.Mailbox{Address: from, ForwardTo: targets, QuotaMB: 1})
	}
}

// mails walks mail/DOMAIN/ACCOUNT/ of the home.
func (r *reader) mails(boxes map[string]int) func() iter.Seq2[archive.Mail, error] {
	return func() iter.Seq2[archive.Mail, error] {
		return func(yield func(archive.Mail, error) bool) {
			told := map[string]bool{}
			for f, err := range r.walkHome() {
				parts := strings.SplitN(f.Path, "/", 4)
				if err == nil && (len(parts) < 4 || parts[0] != "mail") || f.Path != "" && parts[0] != "mail" {
					continue
				}
				m := archive.Mail{File: f}
				if err == nil {
					m.Address = strings.ToLower(parts[2] + "@" + parts[1])
					m.Path = parts[3]
					if _, ok := boxes[m.Address]; !ok {
						continue
					}
					if strings.HasPrefix(m.Path, "storage/m.") || strings.HasPrefix(m.Path, "mailboxes/") {
						if told[m.Address] {
							continue
						}
						told[m.Address] = true
						err = &archive.Refused{Path: m.Path, Reason: "its mail is kept as mdbox: convert it to Maildir there, and make the backup again"}
					}
				}
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

func (r *reader) zones() error {
	for _, file := range r.Below(r.top + "dnszones") {
		name, ok := strings.CutSuffix(file, ".db")
		if !ok {
			continue
		}
		text, err := r.small("dnszones/" + file)
		if err != nil {
			return err
		}
		z, err := archive.ParseZone(name, text)
		if err != nil {
			r.inv.Leave("dns", name, "the zone cannot be read: %v", err)
			continue
		}
		r.inv.Zones = append(r.inv.Zones, z)
	}
	return nil
}

func (r *reader) cron() error {
	text, err := r.small("cron/" + r.inv.User)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if line == "" || line[0] == '#' || strings.Contains(fields[0], "=") {
			continue
		}
		times := 5
		if line[0] == '@' {
			times = 1
		}
		if len(fields) <= times {
			continue
		}
		command := line
		for range times {
			command = strings.TrimLeft(command[strings.IndexAny(command, " \t"):], " \t")
		}
		r.inv.Cron = append(r.inv.Cron, archive.Cron{Expression: strings.Join(fields[:times], " "), Command: strings.ReplaceAll(command, `\%`, "%")})
	}
	return nil
}

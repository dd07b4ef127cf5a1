package mail

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/panel"
)

// state is what the facility keeps of an account: what it was told of the account, so that tables can
// be written for all of them at once, and its mailboxes.
type state struct {
	Ref       string          `json:"ref"`
	UID       int             `json:"uid"`
	GID       int             `json:"gid"`
	Suspended bool            `json:"suspended,omitempty"`
	Domains   []string        `json:"domains"`             // the account's, the primary one first
	Boxes     []panel.Mailbox `json:"boxes"`               // by address; what is reported is empty
	Keys      map[string]key  `json:"keys,omitempty"`      // by domain
	Gone      []string        `json:"gone,omitempty"`      // addresses of mailboxes that are being removed
	Shut      []string        `json:"shut,omitempty"`      // addresses whose sessions have yet to end
	Secret    string          `json:"secret,omitempty"`    // of the account's own programs: see Submit
	Elsewhere map[string]bool `json:"elsewhere,omitempty"` // domains, as far as known: whether the DNS leads their mail to other servers
}

func (s state) owns(domain string) bool { return slices.Contains(s.Domains, domain) }

// find is the place of a mailbox, -1 when there is none.
func (s state) find(address string) int {
	return slices.IndexFunc(s.Boxes, func(m panel.Mailbox) bool { return m.Address == address })
}

// served are the mailboxes whose domains are the account's still, without the addresses of domains
// that are not.
func (s state) served() []panel.Mailbox {
	var all []panel.Mailbox
	for _, m := range s.Boxes {
		if !s.owns(domainOf(m.Address)) || slices.Contains(s.Gone, m.Address) {
			continue
		}
		m.Aliases = slices.DeleteFunc(slices.Clone(m.Aliases), func(a string) bool { return !s.owns(domainOf(a)) })
		all = append(all, m)
	}
	return all
}

// mailDomains are those with mailboxes, sorted.
func (s state) mailDomains() []string {
	var all []string
	for _, m := range s.served() {
		all = append(all, domainOf(m.Address))
		for _, a := range m.Aliases {
			all = append(all, domainOf(a))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}

// Names of the tables. Those of Postfix are hash files, made of what is written here by postmap.
const (
	tableDomains    = "domains"    // domains of mail
	tableMailboxes  = "mailboxes"  // addresses that Dovecot delivers to
	tableAliases    = "aliases"    // every address and where its mail goes
	tableRecipients = "recipients" // what is asked before mail for an address is taken
	tableSenders    = "senders"    // who may send as an address
	tableUsers      = "users"      // Dovecot's userdb
	tableCatchAll   = "catchall"   // the same by domain
	tableIMAP       = "passwd.imap"
	tablePOP3       = "passwd.pop3"
	tableSMTP       = "passwd.smtp"
	tableLimits     = "limits" // recipients in an hour, by who signs in
	tableKeys       = "keys"   // OpenDKIM's
	tableSigning    = "signing"
	// Of domains that lead elsewhere: how they are renamed, and what is asked before their mail is taken.
	tableElsewhere = "elsewhere"
	tableInbound   = "inbound"
)

var postfixTables = []string{tableDomains, tableMailboxes, tableAliases, tableRecipients, tableSenders, tableElsewhere, tableInbound}

// tables is everything that the daemons read about the accounts.
type tables struct {
	files   map[string]string // of the tables, by name
	keys    map[string]string // private keys, by domain
	replies map[string]reply  // scripts, by mailbox
	submits map[int]submit    // of the accounts' programs, by their user's id
}

type reply struct {
	script string
	gid    int
}

type submit struct {
	gid   int
	login login
}

// render is what the tables should hold.
func (c Config) render(all map[string]state) tables {
	t := tables{files: map[string]string{}, keys: map[string]string{}, replies: map[string]reply{}, submits: map[int]submit{}}
	lines := map[string][]string{}
	for _, name := range slices.Concat(postfixTables, []string{
		tableUsers, tableCatchAll, tableIMAP, tablePOP3, tableSMTP, tableLimits, tableKeys, tableSigning,
	}) {
		lines[name] = nil
	}
	add := func(table, format string, args ...any) {
		lines[table] = append(lines[table], fmt.Sprintf(format, args...))
	}
	routes := newRoutes(all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		for _, domain := range s.mailDomains() {
			inner := routes.inner(domain)
			add(tableDomains, "%s %s", inner, name)
			if inner != domain {
				add(tableElsewhere, "%s %s", domain, inner)
				add(tableElsewhere, "@%s @%s", domain, inner)
			}
			if c.Postmaster != "" {
				if own, ok := routes.box["postmaster@"+inner]; !ok || own.Address == "" {
					add(tableAliases, "postmaster@%s %s", inner, c.Postmaster)
					add(routes.asked(domain), "postmaster@%s DUNNO", domain)
				}
			}
			if k, ok := s.Keys[domain]; ok {
				t.keys[domain] = k.Private
				add(tableKeys, "%s %s:%s:%s", domain, domain, k.Selector, filepath.Join(c.Dir, "dkim", "keys", domain))
				add(tableSigning, "*@%s %s", domain, domain)
			}
		}
		for _, m := range s.served() {
			c.renderBox(add, t, routes, name, s, m)
		}
		if s.UID == 0 || s.Secret == "" || len(s.Domains) == 0 {
			continue
		}
		t.submits[s.UID] = submit{s.GID, login{Address: c.Submit, User: name, Password: s.Secret, Sender: name + "@" + s.Domains[0]}}
		if s.Suspended {
			continue
		}
		add(tableSMTP, "%s:{SHA256.HEX}%s::::::allow_nets=127.0.0.0/8,::1", name, hashSecret(s.Secret))
		add(tableLimits, "%s %d", name, c.programLimit())
		for _, domain := range s.Domains {
			add(tableSenders, "@%s %s", domain, name)
		}
	}
	for name, l := range lines {
		slices.Sort(l)
		t.files[name] = strings.Join(append(l, ""), "\n")
	}
	return t
}

func (c Config) renderBox(add func(table, format string, args ...any), t tables, routes routes, account string, s state, m panel.Mailbox) {
	local, domain, _ := strings.Cut(m.Address, "@")
	home := filepath.Join(c.Store, account, domain, local)
	quota := ""
	if m.QuotaMB > 0 {
		quota = fmt.Sprintf("userdb_quota_rule=*:storage=%dM", m.QuotaMB)
	}
	user := func(table, key string) { add(table, "%s::%d:%d::%s::%s", key, s.UID, s.GID, home, quota) }
	suspended := s.Suspended || m.Suspended
	kept := keeps(m)
	ask := "DUNNO"
	switch {
	case suspended:
		ask = "450 4.2.1 The mailbox is suspended"
	case kept:
		ask = restrictFull
	}
	senders := account
	if !suspended && m.Protocols.SMTPOut {
		senders = m.Address + "," + account
	}
	if s.Suspended {
		senders = ""
	}
	add(tableMailboxes, "%s %s", routes.inner(m.Address), account)
	for _, address := range append([]string{m.Address}, m.Aliases...) {
		user(tableUsers, address) // of an alias too, so that Postfix can ask whether it is full
		add(tableAliases, "%s %s", routes.inner(address), strings.Join(routes.of(m), ", "))
		add(routes.asked(address), "%s %s", address, ask)
		if senders != "" {
			add(tableSenders, "%s %s", address, senders)
		}
	}
	if m.CatchAll {
		user(tableCatchAll, domain)
		add(tableAliases, "@%s %s", routes.inner(domain), strings.Join(routes.of(m), ", "))
		add(routes.asked(domain), "%s %s", domain, ask)
		if routes.inner(domain) != domain {
			add(tableInbound, "@%s OK", domain) // that there is such a recipient: see Config.postfixMaster
		}
	}
	if m.Autoresponder.Enabled {
		t.replies[m.Address] = reply{script: sieve(m), gid: s.GID}
		answering := routes.inner(answering(m.Address))
		add(tableAliases, "%s %s", answering, answering) // Postfix stops there
	}
	if suspended || m.PasswordHash == "" {
		return
	}
	for _, may := range []struct {
		table string
		yes   bool
	}{{tableIMAP, m.Protocols.IMAP}, {tablePOP3, m.Protocols.POP3}, {tableSMTP, m.Protocols.SMTPOut}} {
		if may.yes {
			add(may.table, "%s:%s", m.Address, m.PasswordHash)
		}
	}
	if m.SendLimitPerHour > 0 {
		add(tableLimits, "%s %d", m.Address, m.SendLimitPerHour)
	}
}

// keeps tells whether the mailbox itself gets mail.
func keeps(m panel.Mailbox) bool { return len(m.ForwardTo) == 0 || m.KeepCopy }

// routes says where mail goes.
type routes struct {
	box       map[string]panel.Mailbox // by inner address and alias
	catchAll  map[string]panel.Mailbox // by inner domain
	elsewhere map[string]bool          // domains that lead to other servers
}

func newRoutes(all map[string]state) routes {
	r := routes{map[string]panel.Mailbox{}, map[string]panel.Mailbox{}, map[string]bool{}}
	for _, s := range all {
		for domain, elsewhere := range s.Elsewhere {
			if elsewhere && s.owns(domain) {
				r.elsewhere[domain] = true
			}
		}
	}
	for _, s := range all {
		for _, m := range s.served() {
			for _, a := range append([]string{m.Address}, m.Aliases...) {
				r.box[r.inner(a)] = m
			}
			if m.CatchAll {
				r.catchAll[r.inner(domainOf(m.Address))] = m
			}
		}
	}
	return r
}

// inner is what an address or a domain of this machine is within it.
func (r routes) inner(name string) string {
	if r.elsewhere[name] || r.elsewhere[domainOf(name)] {
		return name + hereMark
	}
	return name
}

// asked is the table of what is asked before mail for an address is taken.
func (r routes) asked(name string) string {
	if r.inner(name) != name {
		return tableInbound
	}
	return tableRecipients
}

// local finds the mailbox of this machine that an address leads to.
func (r routes) local(address string) (panel.Mailbox, bool) {
	address = strings.ToLower(address)
	if m, ok := r.box[address]; ok {
		return m, true
	}
	local, domain, _ := strings.Cut(address, "@")
	if base, _, tagged := strings.Cut(local, "+"); tagged {
		if m, ok := r.box[base+"@"+domain]; ok {
			return m, true
		}
	}
	m, ok := r.catchAll[domain]
	return m, ok
}

// of is where mail for a mailbox goes: to where it ends, and through the mailboxes on its way that answer it. It is
// never empty.
func (r routes) of(m panel.Mailbox) []string {
	ends, passed := r.ends(m)
	all := maps.Clone(ends)
	for _, p := range passed {
		if p.Autoresponder.Enabled && !ends[r.inner(p.Address)] {
			all[r.inner(answering(p.Address))] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// answering is where a mailbox gets what it answers and does not keep. The address says so, and not the mailbox's script
// alone: mail that was under way to the mailbox when it began to forward is kept.
func answering(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	return local + "+" + answerMark + "@" + domain
}

const answerMark = "_answer"

// ends is where mail for a mailbox ends: itself, other mailboxes, addresses elsewhere. When forwards lead in a circle the
// mailbox gets it. passed are the mailboxes that say so.
func (r routes) ends(m panel.Mailbox) (ends map[string]bool, passed []panel.Mailbox) {
	ends = map[string]bool{}
	seen := map[string]bool{}
	var follow func(m panel.Mailbox)
	follow = func(m panel.Mailbox) {
		if seen[m.Address] {
			return
		}
		seen[m.Address] = true
		passed = append(passed, m)
		if keeps(m) {
			ends[r.inner(m.Address)] = true
		}
		for _, f := range m.ForwardTo {
			if next, ok := r.local(f); ok {
				follow(next)
			} else {
				ends[f] = true
			}
		}
	}
	follow(m)
	if len(ends) == 0 {
		ends[r.inner(m.Address)] = true
	}
	return ends, passed
}

// sieve is the script that answers for a mailbox (RFC 5228, 5230, 5233, 5260).
func sieve(m panel.Mailbox) string {
	a := m.Autoresponder
	var conditions []string
	at := func(test string, t time.Time) {
		if !t.IsZero() {
			conditions = append(conditions, fmt.Sprintf(`currentdate :zone "+0000" :value "%s" "iso8601" "%s"`, test, t.UTC().Format("2006-01-02T15:04:05+00:00")))
		}
	}
	at("ge", a.StartsAt)
	at("lt", a.EndsAt)
	condition := "true"
	if len(conditions) > 0 {
		condition = "allof(" + strings.Join(conditions, ", ") + ")"
	}
	addresses := make([]string, 0, 1+len(m.Aliases))
	for _, address := range append([]string{m.Address}, m.Aliases...) {
		addresses = append(addresses, quote(address))
	}
	subject := ""
	if s := strings.TrimSpace(a.Subject); s != "" {
		subject = " :subject " + quote(s)
	}
	return fmt.Sprintf(`require ["vacation", "date", "relational", "envelope", "subaddress"];
if %s {
	vacation :days 1 :addresses [%s]%s %s;
}
if envelope :detail "to" "%s" {
	discard;
}
`, condition, strings.Join(addresses, ", "), subject, quote(a.Body), answerMark)
}

// quote is a quoted string of Sieve (RFC 5228, 2.4.2).
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// file is what Submit reads: the password is for the account's programs.
func (s submit) file() ([]byte, error) { return json.Marshal(s.login) } //nolint:gosec // it is meant to be there

// stateName is the file of one who signs in, whatever its name is.
func stateName(login string) string { return hex.EncodeToString([]byte(login)) }

package mail

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// state is the stored record of an account: its data as last reported, so that tables can be written for all accounts
// at once, and its mailboxes.
type state struct {
	Ref       string          `json:"ref"`
	UID       int             `json:"uid"`
	GID       int             `json:"gid"`
	Suspended bool            `json:"suspended,omitempty"`
	Held      bool            `json:"held,omitempty"`      // nothing may come into its mailboxes: it moves, or has left
	Relay     string          `json:"relay,omitempty"`     // address and port of the machine that has the account, which has left
	Domains   []string        `json:"domains"`             // the account's, the primary one first
	Mute      []string        `json:"mute,omitempty"`      // those of the domains as which nobody sends
	Boxes     []panel.Mailbox `json:"boxes"`               // by address; what is reported is empty
	Keys      map[string]key  `json:"keys,omitempty"`      // by domain
	Gone      []string        `json:"gone,omitempty"`      // addresses of mailboxes that are being removed
	Shut      []string        `json:"shut,omitempty"`      // addresses whose sessions must still be ended
	Secret    string          `json:"secret,omitempty"`    // of the account's own programs: see Submit
	Elsewhere map[string]bool `json:"elsewhere,omitempty"` // domains with a known result: whether the DNS points their mail elsewhere
}

func (s state) owns(domain string) bool { return slices.Contains(s.Domains, domain) }

// senders are the domains as which programs and mailboxes of the account may send.
func (s state) senders() []string {
	return slices.DeleteFunc(slices.Clone(s.Domains), func(domain string) bool { return slices.Contains(s.Mute, domain) })
}

// sends reports whether the account may send as the domain of an address.
func (s state) sends(address string) bool { return slices.Contains(s.senders(), domainOf(address)) }

// find is the index of a mailbox, -1 when there is none.
func (s state) find(address string) int {
	return slices.IndexFunc(s.Boxes, func(m panel.Mailbox) bool { return m.Address == address })
}

// served are the mailboxes whose domains the account still has, without addresses of other domains.
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

// mailDomains are the domains with mailboxes, sorted.
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

// The lookup tables of Postfix.
const (
	tableDomains    = "domains"    // domains of mail
	tableMailboxes  = "mailboxes"  // addresses that Dovecot delivers to
	tableAliases    = "aliases"    // every address and where its mail goes
	tableRecipients = "recipients" // restrictions that are checked before mail for an address is accepted
	tableSenders    = "senders"    // who may send as an address
	// Of domains that point elsewhere: their internal names, and the restrictions of their mail.
	tableElsewhere = "elsewhere"
	tableInbound   = "inbound"
	// Of domains whose mail is not delivered here: how, if at all.
	tableTransports = "transports"
)

var postfixTables = []string{tableDomains, tableMailboxes, tableAliases, tableRecipients, tableSenders, tableElsewhere, tableInbound, tableTransports}

// postfixSchema is the database of Postfix: all its lookup tables in one, so that one statement deletes an account's
// entries.
var postfixSchema = schema{lookups: {columns: []string{"map", "name", "value"}, key: 2}}

// dovecotSchema is the database of Dovecot and Policy.
var dovecotSchema = schema{
	users:     {columns: []string{"address", "uid", "gid", "home", "quota", "spam"}, key: 1}, // "@domain" is the catch-all
	passwords: {columns: []string{"service", "login", "password", "networks"}, key: 2},
	limits:    {columns: []string{"login", "recipients"}, key: 1}, // in an hour
}

// Tables of the databases.
const (
	lookups   = "lookups"
	users     = "users"
	passwords = "passwords"
	limits    = "limits"
)

// rendered is the daemons' data of one account.
type rendered struct {
	dovecot, postfix []row
}

// reply is the script that answers for a mailbox.
type reply struct {
	script string
	gid    int
}

// render makes an account's rows. It depends on other accounts only through routes.
func (c Config) render(r *routes, account string, s state) rendered {
	var out rendered
	lookup := func(table, name, value string) {
		out.postfix = append(out.postfix, row{lookups, []string{table, name, value}})
	}
	transport := s.transport()
	for _, domain := range s.mailDomains() {
		inner := r.inner(domain)
		lookup(tableDomains, inner, account)
		if transport != "" {
			lookup(tableTransports, inner, transport)
		}
		if inner != domain {
			lookup(tableElsewhere, domain, inner)
			lookup(tableElsewhere, "@"+domain, "@"+inner)
		}
		if s.Relay != "" {
			// All is said there: who exists, whose mailbox is full, and where mail goes from there.
			lookup(tableAliases, "@"+inner, "@"+inner)
			lookup(r.asked(domain), domain, "reject_unverified_recipient")
			if inner != domain {
				lookup(tableInbound, "@"+domain, "OK") // says that the recipient exists: see Config.postfixMaster
			}
			continue
		}
		if c.Postmaster != "" {
			if _, taken := r.mailbox("postmaster@" + domain); !taken {
				lookup(tableAliases, "postmaster@"+inner, c.Postmaster)
				lookup(r.asked(domain), "postmaster@"+domain, "DUNNO")
			}
		}
	}
	if s.Relay != "" {
		return out
	}
	for _, m := range s.served() {
		c.renderBox(&out, lookup, r, account, s, m)
	}
	if _, ok := c.submit(account, s); !ok || s.Suspended {
		return out
	}
	out.dovecot = append(out.dovecot,
		row{passwords, []string{"smtp", account, "{SHA256.HEX}" + hashSecret(s.Secret), "127.0.0.0/8,::1"}},
		row{limits, []string{account, strconv.Itoa(c.programLimit())}})
	for _, domain := range s.senders() {
		lookup(tableSenders, "@"+domain, account)
	}
	return out
}

// transport is how mail for the account's domains goes that is in the queue already, if not to Dovecot: what was accepted before
// an account is held waits, so that nothing comes into mailboxes that are being copied; when it has left, its new machine gets it.
func (s state) transport() string {
	if to, err := netip.ParseAddrPort(s.Relay); err == nil {
		return relayTransport + ":[" + to.Addr().String() + "]:" + strconv.Itoa(int(to.Port()))
	}
	if s.Held {
		return "retry:4.2.1 The mailbox moves to another server"
	}
	return ""
}

// relayTransport is the service of Postfix that gives mail to the machine to which an account has moved.
const relayTransport = "moved"

// submit is how the programs of an account send, if they may.
func (c Config) submit(account string, s state) (l login, ok bool) {
	domains := s.senders()
	if s.UID == 0 || s.Secret == "" || len(domains) == 0 {
		return login{}, false
	}
	return login{Address: c.Submit, User: account, Password: s.Secret, Sender: account + "@" + domains[0]}, true
}

func (c Config) renderBox(out *rendered, lookup func(table, name, value string), r *routes, account string, s state, m panel.Mailbox) {
	local, domain, _ := strings.Cut(m.Address, "@")
	home := filepath.Join(c.Store, account, domain, local)
	quota := ""
	if m.QuotaMB > 0 {
		quota = fmt.Sprintf("*:storage=%dM", m.QuotaMB)
	}
	user := func(address string) {
		out.dovecot = append(out.dovecot, row{users, []string{address, strconv.Itoa(s.UID), strconv.Itoa(s.GID), home, quota, stars(m)}})
	}
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
	targets := strings.Join(r.of(m), ", ")
	lookup(tableMailboxes, r.inner(m.Address), account)
	for _, address := range append([]string{m.Address}, m.Aliases...) {
		user(address) // also of an alias, so that Postfix can check whether it is full
		lookup(tableAliases, r.inner(address), targets)
		lookup(r.asked(address), address, ask)
		if senders != "" && s.sends(address) {
			lookup(tableSenders, address, senders)
		}
	}
	if m.CatchAll {
		user("@" + domain)
		lookup(tableAliases, "@"+r.inner(domain), targets)
		lookup(r.asked(domain), domain, ask)
		if r.inner(domain) != domain {
			lookup(tableInbound, "@"+domain, "OK") // says that the recipient exists: see Config.postfixMaster
		}
	}
	if m.Autoresponder.Enabled {
		answering := r.inner(answering(m.Address))
		lookup(tableAliases, answering, answering) // Postfix stops there
	}
	if suspended || m.PasswordHash == "" {
		return
	}
	for _, may := range []struct {
		service string
		yes     bool
	}{{"imap", m.Protocols.IMAP}, {"sieve", m.Protocols.IMAP}, {"pop3", m.Protocols.POP3}, {"smtp", m.Protocols.SMTPOut}} {
		if may.yes {
			out.dovecot = append(out.dovecot, row{passwords, []string{may.service, m.Address, m.PasswordHash, ""}})
		}
	}
	if m.SendLimitPerHour > 0 {
		out.dovecot = append(out.dovecot, row{limits, []string{m.Address, strconv.Itoa(m.SendLimitPerHour)}})
	}
}

// replies are the scripts of an account, by mailbox.
func (s state) replies() map[string]reply {
	all := map[string]reply{}
	for _, m := range s.served() {
		if m.Autoresponder.Enabled {
			all[m.Address] = reply{script: sieve(m), gid: s.GID}
		}
	}
	return all
}

// keeps reports whether the mailbox itself gets mail.
func keeps(m panel.Mailbox) bool { return len(m.ForwardTo) == 0 || m.KeepCopy }

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

// stateName is the file name of a login, whatever characters it contains.
func stateName(login string) string { return hex.EncodeToString([]byte(login)) }

// loginOf is the login of a file that stateName names.
func loginOf(name string) (login string, ok bool) {
	b, err := hex.DecodeString(name)
	return string(b), err == nil
}

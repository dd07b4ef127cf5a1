package mail

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// routes knows where mail goes within the machine. It is an index of all accounts' records, updated account by account,
// so that a change of one never reads the others.
type routes struct {
	mu        sync.RWMutex // one pass writes at a time; the log is read meanwhile
	states    map[string]state
	mailboxes map[string][]owned // by address and alias
	catchAlls map[string][]owned // by domain
	// The accounts that have a domain, that know it to point elsewhere, and that forward to it. Several accounts have a
	// domain only while it moves from one to another.
	owners, elsewhere, forwarders map[string][]string
}

// owned is a mailbox with its account.
type owned struct {
	account string
	mailbox panel.Mailbox
}

func newRoutes() *routes {
	return &routes{
		states: map[string]state{}, mailboxes: map[string][]owned{}, catchAlls: map[string][]owned{},
		owners: map[string][]string{}, elsewhere: map[string][]string{}, forwarders: map[string][]string{},
	}
}

// set replaces the data of an account.
func (r *routes) set(account string, s state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := r.states[account]
	for _, m := range former.served() {
		for _, address := range append([]string{m.Address}, m.Aliases...) {
			without(r.mailboxes, address, func(o owned) bool { return o.account == account })
		}
		without(r.catchAlls, domainOf(m.Address), func(o owned) bool { return o.account == account })
	}
	for _, index := range []struct {
		all  map[string][]string
		keys []string
	}{{r.owners, former.Domains}, {r.elsewhere, former.leading()}, {r.forwarders, former.forwardsTo()}} {
		for _, key := range index.keys {
			without(index.all, key, func(other string) bool { return other == account })
		}
	}
	if s.empty() {
		delete(r.states, account)
		return
	}
	r.states[account] = s
	byAccount := func(a, b owned) int { return strings.Compare(a.account, b.account) }
	for _, m := range s.served() {
		for _, address := range append([]string{m.Address}, m.Aliases...) {
			with(r.mailboxes, address, owned{account, m}, byAccount)
		}
		if m.CatchAll {
			with(r.catchAlls, domainOf(m.Address), owned{account, m}, byAccount)
		}
	}
	for _, index := range []struct {
		all  map[string][]string
		keys []string
	}{{r.owners, s.Domains}, {r.elsewhere, s.leading()}, {r.forwarders, s.forwardsTo()}} {
		for _, key := range index.keys {
			with(index.all, key, account, strings.Compare)
		}
	}
}

// with adds a value to those of a key, in order.
func with[T any](all map[string][]T, key string, value T, order func(a, b T) int) {
	all[key] = append(all[key], value)
	slices.SortFunc(all[key], order)
}

// without removes values from those of a key.
func without[T any](all map[string][]T, key string, gone func(T) bool) {
	if all[key] = slices.DeleteFunc(all[key], gone); len(all[key]) == 0 {
		delete(all, key)
	}
}

// dependants are the accounts whose rows may change with those of an account that has or had the domains: accounts that
// forward to it, also through others, and accounts with one of the domains.
func (r *routes) dependants(domains []string) []string {
	found, looked := map[string]bool{}, map[string]bool{}
	for len(domains) > 0 {
		domain := domains[0]
		domains = domains[1:]
		if looked[domain] {
			continue
		}
		looked[domain] = true
		for _, account := range slices.Concat(r.forwarders[domain], r.owners[domain]) {
			if !found[account] {
				found[account] = true
				domains = append(slices.Clone(domains), r.states[account].Domains...)
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// inner is the machine's internal name of an address or a domain.
func (r *routes) inner(name string) string {
	if r.leadsElsewhere(name) {
		return name + hereMark
	}
	return name
}

// leadsElsewhere reports whether the DNS points the mail of a domain, or of an address's domain, elsewhere.
func (r *routes) leadsElsewhere(name string) bool {
	if _, domain, ok := strings.Cut(name, "@"); ok {
		name = domain
	}
	return len(r.elsewhere[name]) > 0
}

// asked is the table of restrictions for an address.
func (r *routes) asked(name string) string {
	if r.leadsElsewhere(name) {
		return tableInbound
	}
	return tableRecipients
}

// mailbox finds the mailbox with an address or alias.
func (r *routes) mailbox(address string) (panel.Mailbox, bool) {
	if found := r.mailboxes[address]; len(found) > 0 {
		return found[0].mailbox, true
	}
	return panel.Mailbox{}, false
}

// local finds the mailbox of this machine to which an address leads.
func (r *routes) local(address string) (panel.Mailbox, bool) {
	address = strings.ToLower(address)
	if r.leadsElsewhere(address) {
		return panel.Mailbox{}, false
	}
	if m, ok := r.mailbox(address); ok {
		return m, true
	}
	local, domain, _ := strings.Cut(address, "@")
	if base, _, tagged := strings.Cut(local, "+"); tagged {
		if m, ok := r.mailbox(base + "@" + domain); ok {
			return m, true
		}
	}
	if found := r.catchAlls[domain]; len(found) > 0 {
		return found[0].mailbox, true
	}
	return panel.Mailbox{}, false
}

// of is where mail for a mailbox goes: its final destinations, and the mailboxes on the way that answer it. It is never
// empty.
func (r *routes) of(m panel.Mailbox) []string {
	ends, passed := r.ends(m)
	all := maps.Clone(ends)
	for _, p := range passed {
		if p.Autoresponder.Enabled && !ends[r.inner(p.Address)] {
			all[r.inner(answering(p.Address))] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// answering is the address at which a mailbox gets mail that it answers and does not keep. The address decides, not the
// mailbox's script alone: mail that was on its way when the mailbox began to forward is kept.
func answering(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	return local + "+" + answerMark + "@" + domain
}

const answerMark = "_answer"

// ends are the final destinations of mail for a mailbox: itself, other mailboxes, addresses elsewhere. When forwards
// form a loop the mailbox gets it. passed are the mailboxes on the way.
func (r *routes) ends(m panel.Mailbox) (ends map[string]bool, passed []panel.Mailbox) {
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

// leading are the account's domains whose mail the DNS points elsewhere.
func (s state) leading() []string {
	var all []string
	for domain, elsewhere := range s.Elsewhere {
		if elsewhere && s.owns(domain) {
			all = append(all, domain)
		}
	}
	return all
}

// forwardsTo are the domains that the account's mailboxes forward to.
func (s state) forwardsTo() []string {
	var all []string
	for _, m := range s.served() {
		for _, address := range m.ForwardTo {
			all = append(all, domainOf(strings.ToLower(address)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// empty reports that the daemons need to know nothing of the account.
func (s state) empty() bool { return len(s.Boxes) == 0 && len(s.Domains) == 0 && s.Secret == "" }

// owners finds the account of a domain or a login, for the log: for domains that point elsewhere only of incoming mail.
type owners struct {
	routes  *routes
	records *record.Store[state]
}

// of is the account of an address or a login.
func (o owners) of(address string) string {
	if o.records.Get(address).Ref != "" {
		return address
	}
	return o.domain(domainOf(strings.ToLower(address)))
}

// gets is the account that receives mail for an address.
func (o owners) gets(address string) string {
	written := domainOf(strings.ToLower(address))
	domain, marked := strings.CutSuffix(written, hereMark)
	o.routes.mu.RLock()
	elsewhere := o.routes.leadsElsewhere(domain)
	o.routes.mu.RUnlock()
	if elsewhere != marked {
		return ""
	}
	return o.domain(domain)
}

func (o owners) domain(name string) string {
	o.routes.mu.RLock()
	defer o.routes.mu.RUnlock()
	if accounts := o.routes.owners[name]; len(accounts) > 0 {
		return accounts[0]
	}
	return ""
}

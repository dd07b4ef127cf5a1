package epptest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/registrar"
)

// The registry's periods.
const (
	GraceFor      = 30 * 24 * time.Hour
	RedemptionFor = 30 * 24 * time.Hour
	deleteFor     = 5 * 24 * time.Hour
	renewedFor    = 45 * 24 * time.Hour
)

// registry is what is registered. Its domains end by the clock.
type registry struct {
	clk clock.Clock

	state    sync.Mutex
	next     int
	domains  map[string]*domain
	hosts    map[string]*host
	contacts map[string]*contact
	queue    []notice
	creates  map[string]int // commands that were carried out, by domain
	renews   map[string]int
	Slow     bool // a transfer to us waits for Decide, and so does a new domain
	Bare     bool // a restore gives no year
	Undated  bool // it does not say when domains expire
	Closed   bool // others' domains are shown to nobody
	Renews   bool // domains that end are renewed, and may be given back meanwhile
	Chooses  bool // it chooses the handles of contacts itself
	// Refuses has commands about domains answered with a code, by their verb, and not carried out.
	Refuses map[string]int
}

type domain struct {
	name, roid, sponsor, code string
	statuses                  []string
	owner                     string
	contacts                  [][2]string
	servers                   []string
	ds                        []string
	created, updated, expires time.Time
	deleted, renewed          time.Time // by us; by the registry itself
	pending, notOwned         bool
	restoring, restored       bool
	transfer                  *transfer
}

type transfer struct {
	status, by, from string
	years            int
	at               time.Time
}

type host struct {
	roid, sponsor string
	addresses     [][2]string
	at            time.Time
}

type contact struct {
	roid, sponsor, disclose string
	postal                  map[string]*node // its forms, by their type
	voice, email            string
	at                      time.Time
}

type notice struct {
	id   int
	text string
	at   time.Time
	data string
}

func newRegistry(clk clock.Clock) *registry {
	return &registry{
		clk: clk, domains: map[string]*domain{}, hosts: map[string]*host{}, contacts: map[string]*contact{}, creates: map[string]int{},
		renews: map[string]int{}, Refuses: map[string]int{},
	}
}

// AddOther registers a domain of another registrar.
func (r *registry) AddOther(name, code string, locked bool) {
	r.state.Lock()
	defer r.state.Unlock()
	now := r.clk.Now()
	d := &domain{name: name, roid: r.roid(), sponsor: other, code: code, created: now, updated: now, expires: now.AddDate(1, 0, 0), notOwned: true}
	if locked {
		d.statuses = []string{"clientTransferProhibited"}
	}
	r.domains[name] = d
}

// AddContact makes a contact of another registrar.
func (r *registry) AddContact(id string) {
	r.state.Lock()
	defer r.state.Unlock()
	r.contacts[id] = &contact{roid: r.roid(), sponsor: other, at: r.clk.Now()}
}

// Contacts is how many contacts there are.
func (r *registry) Contacts() int {
	r.state.Lock()
	defer r.state.Unlock()
	return len(r.contacts)
}

// Created is how often a domain was registered.
func (r *registry) Created(name string) int {
	r.state.Lock()
	defer r.state.Unlock()
	return r.creates[name]
}

// Renewed is how often a domain was renewed.
func (r *registry) Renewed(name string) int {
	r.state.Lock()
	defer r.state.Unlock()
	return r.renews[name]
}

// Sponsor is whose a domain is, or empty.
func (r *registry) Sponsor(name string) string {
	r.state.Lock()
	defer r.state.Unlock()
	if d := r.find(name); d != nil {
		return d.sponsor
	}
	return ""
}

// Owner is the contact of a domain's owner, or empty.
func (r *registry) Owner(name string) string {
	r.state.Lock()
	defer r.state.Unlock()
	if d := r.find(name); d != nil {
		return d.owner
	}
	return ""
}

// Decide ends what waits at a domain: a creation, a transfer.
func (r *registry) Decide(name string, yes bool) {
	r.state.Lock()
	defer r.state.Unlock()
	d := r.domains[name]
	if d == nil {
		return
	}
	if d.pending {
		d.pending = false
		if !yes {
			delete(r.domains, name)
		}
		r.tell("The request was processed", fmt.Sprintf(
			`<d:panData xmlns:d="%s"><d:name paResult="%t">%s</d:name><d:paTRID><clTRID>stead-1</clTRID><svTRID>sv-1</svTRID></d:paTRID><d:paDate>%s</d:paDate></d:panData>`,
			nsDomain, yes, name, r.now()))
	}
	if d.transfer != nil && d.transfer.status == "pending" {
		d.transfer.status = "clientRejected"
		if yes {
			d.transfer.status = "clientApproved"
			r.move(d)
		}
	}
}

// RequestTransferOut has the other registrar ask for one of ours.
func (r *registry) RequestTransferOut(name, code string) error {
	r.state.Lock()
	defer r.state.Unlock()
	d := r.find(name)
	switch {
	case d == nil:
		return &registrar.Error{Kind: registrar.NotFound}
	case slices.Contains(d.statuses, "clientTransferProhibited"):
		return &registrar.Error{Kind: registrar.Locked}
	case d.code != code:
		return &registrar.Error{Kind: registrar.AuthCode}
	}
	d.transfer = &transfer{status: "pending", by: other, from: d.sponsor, years: 1, at: r.clk.Now()}
	r.tell("Transfer requested.", d.transferData())
	return nil
}

// Tell puts a notice into the queue that is about no domain.
func (r *registry) Tell(text string) { r.state.Lock(); defer r.state.Unlock(); r.tell(text, "") }

func (r *registry) tell(text, data string) {
	r.next++
	r.queue = append(r.queue, notice{id: r.next, text: text, at: r.clk.Now(), data: data})
}

func (r *registry) roid() string { r.next++; return "X" + strconv.Itoa(r.next) + "-TEST" }

func (r *registry) now() string { return moment(r.clk.Now()) }

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000Z") }

// find brings a domain to where it is now; nil when it is gone.
func (r *registry) find(name string) *domain {
	d := r.domains[name]
	if d != nil && r.Renews && d.deleted.IsZero() && !r.clk.Now().Before(d.expires) {
		d.renewed, d.expires = d.expires, d.expires.AddDate(1, 0, 0)
	}
	if d != nil && !d.notOwned && r.past(d) >= GraceFor+RedemptionFor+deleteFor {
		delete(r.domains, name)
		for below := range r.hosts {
			if strings.HasSuffix(below, "."+name) {
				delete(r.hosts, below)
			}
		}
		return nil
	}
	return d
}

// past is how long ago a domain has ended; one that was deleted has no grace.
func (r *registry) past(d *domain) time.Duration {
	if !d.deleted.IsZero() {
		return GraceFor + r.clk.Now().Sub(d.deleted)
	}
	return r.clk.Now().Sub(d.expires)
}

// life is what the clock has made of the domain: its statuses, and those of its grace periods.
func (r *registry) life(d *domain) (statuses, rgp []string) {
	statuses = slices.Clone(d.statuses)
	past := r.past(d)
	switch {
	case d.pending:
		statuses = append(statuses, "pendingCreate")
	case d.notOwned || past < GraceFor:
	case past < GraceFor+RedemptionFor && d.restored: // and not renewed yet
	case past < GraceFor+RedemptionFor && d.restoring:
		return append(statuses, "pendingDelete"), []string{"pendingRestore"}
	case past < GraceFor+RedemptionFor:
		return append(statuses, "pendingDelete"), []string{"redemptionPeriod"}
	default:
		return append(statuses, "pendingDelete"), []string{"pendingDelete"}
	}
	if d.transfer != nil && d.transfer.status == "pending" {
		statuses = append(statuses, "pendingTransfer")
	}
	if len(statuses) == 0 {
		statuses = []string{"ok"}
	}
	if !d.renewed.IsZero() && r.clk.Now().Sub(d.renewed) < renewedFor {
		rgp = []string{"autoRenewPeriod"}
	}
	return statuses, rgp
}

// move gives the domain to who asked for it.
func (r *registry) move(d *domain) {
	d.sponsor, d.updated, d.notOwned = d.transfer.by, r.clk.Now(), d.transfer.by != User
	d.expires = d.expires.AddDate(d.transfer.years, 0, 0)
}

func (d *domain) transferData() string {
	return fmt.Sprintf(`<d:trnData xmlns:d="%s"><d:name>%s</d:name><d:trStatus>%s</d:trStatus><d:reID>%s</d:reID><d:reDate>%s</d:reDate>`+
		`<d:acID>%s</d:acID><d:acDate>%s</d:acDate></d:trnData>`, nsDomain, d.name, d.transfer.status, d.transfer.by, moment(d.transfer.at),
		d.transfer.from, moment(d.transfer.at.Add(deleteFor)))
}

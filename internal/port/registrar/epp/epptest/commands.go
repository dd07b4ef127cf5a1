package epptest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	nsEPP     = "urn:ietf:params:xml:ns:epp-1.0"
	nsDomain  = "urn:ietf:params:xml:ns:domain-1.0"
	nsHost    = "urn:ietf:params:xml:ns:host-1.0"
	nsContact = "urn:ietf:params:xml:ns:contact-1.0"
	nsSecDNS  = "urn:ietf:params:xml:ns:secDNS-1.1"
	nsRGP     = "urn:ietf:params:xml:ns:rgp-1.0"
)

var messages = map[int]string{
	1000: "Command completed successfully", 1001: "Command completed successfully; action pending",
	1300: "Command completed successfully; no messages", 1301: "Command completed successfully; ack to dequeue",
	1500: "Command completed successfully; ending session", 2000: "Unknown command", 2002: "Command use error",
	2003: "Required parameter missing", 2004: "Parameter value range error", 2103: "Unimplemented extension",
	2104: "Billing failure", 2105: "Object is not eligible for renewal", 2106: "Object is not eligible for transfer",
	2200: "Authentication error", 2201: "Authorization error", 2202: "Invalid authorization information",
	2300: "Object pending transfer", 2301: "Object not pending transfer", 2302: "Object exists", 2303: "Object does not exist",
	2304: "Object status prohibits operation", 2305: "Object association prohibits operation", 2306: "Parameter value policy error",
	2308: "Data management policy violation", 2400: "Command failed", 2500: "Command failed; server closing connection",
	2501: "Authentication error; server closing connection", 2502: "Session limit exceeded; server closing connection",
}

func (s *Server) greeting() string {
	var extensions strings.Builder
	for _, uri := range s.Extensions {
		extensions.WriteString("<extURI>" + uri + "</extURI>")
	}
	more := ""
	if extensions.Len() > 0 {
		more = "<svcExtension>" + extensions.String() + "</svcExtension>"
	}
	return fmt.Sprintf(`%s<epp xmlns="%s"><greeting><svID>Registry of the tests</svID><svDate>%s</svDate><svcMenu><version>1.0</version>`+
		`<lang>en</lang><objURI>%s</objURI><objURI>%s</objURI><objURI>%s</objURI>%s</svcMenu><dcp><access><all/></access><statement>`+
		`<purpose><admin/><prov/></purpose><recipient><ours/></recipient><retention><stated/></retention></statement></dcp></greeting></epp>`,
		xml.Header, nsEPP, s.now(), nsDomain, nsContact, nsHost, more)
}

// response is an answer; more is what comes between the result and the transaction's ids.
func (s *Server) response(code int, id, more string) string {
	if id != "" {
		id = "<clTRID>" + escape(id) + "</clTRID>"
	}
	reason := ""
	if code == 2306 {
		reason = `<extValue><value xmlns:d="` + nsDomain + `"><d:name/></value><reason>the policy of the tests</reason></extValue>`
	}
	s.mu.Lock()
	n := len(s.frames)
	s.mu.Unlock()
	return fmt.Sprintf(`%s<epp xmlns="%s"><response><result code="%d"><msg>%s</msg>%s</result>%s<trID>%s<svTRID>sv-%d</svTRID></trID></response></epp>`,
		xml.Header, nsEPP, code, messages[code], reason, more, id, n)
}

func data(inner string) string      { return "<resData>" + inner + "</resData>" }
func extending(inner string) string { return "<extension>" + inner + "</extension>" }

// do carries a command out.
func (s *Server) do(command *node) (code int, more string) {
	r := s.registry
	r.state.Lock()
	defer r.state.Unlock()
	if poll := command.first("poll"); poll.there() {
		return r.poll(poll)
	}
	for _, verb := range []string{"check", "create", "delete", "info", "renew", "transfer", "update"} {
		outer := command.first(verb)
		if !outer.there() || len(outer.nodes) != 1 {
			continue
		}
		about := outer.nodes[0]
		if about.Local != verb {
			return 2000, ""
		}
		switch about.Space {
		case nsDomain:
			if code := r.Refuses[verb]; code != 0 {
				return code, ""
			}
			return r.domain(verb, outer, about, command.first("extension"))
		case nsHost:
			return r.host(verb, about)
		case nsContact:
			return r.contact(verb, about)
		}
	}
	return 2000, ""
}

func (r *registry) poll(poll *node) (code int, more string) {
	if poll.attributes["op"] == "ack" {
		id, _ := strconv.Atoi(poll.attributes["msgID"])
		if len(r.queue) == 0 || r.queue[0].id != id {
			return 2303, ""
		}
		r.queue = r.queue[1:]
		return 1000, fmt.Sprintf(`<msgQ count="%d" id="%d"/>`, len(r.queue), id)
	}
	if len(r.queue) == 0 {
		return 1300, ""
	}
	first := r.queue[0]
	more = fmt.Sprintf(`<msgQ count="%d" id="%d"><qDate>%s</qDate><msg>%s</msg></msgQ>`, len(r.queue), first.id, moment(first.at), escape(first.text))
	if first.data != "" {
		more += data(first.data)
	}
	return 1301, more
}

func (r *registry) domain(verb string, outer, about, extension *node) (code int, more string) {
	if verb == "check" {
		var all strings.Builder
		for _, name := range about.values("name") {
			if r.find(name) == nil {
				fmt.Fprintf(&all, `<d:cd><d:name avail="1">%s</d:name></d:cd>`, escape(name))
			} else {
				fmt.Fprintf(&all, `<d:cd><d:name avail="0">%s</d:name><d:reason>In use</d:reason></d:cd>`, escape(name))
			}
		}
		return 1000, data(`<d:chkData xmlns:d="` + nsDomain + `">` + all.String() + `</d:chkData>`)
	}
	d := r.find(about.value("name"))
	if verb == "create" {
		return r.createDomain(d, about)
	}
	if d == nil {
		return 2303, ""
	}
	switch verb {
	case "info":
		return r.infoDomain(d)
	case "transfer":
		return r.transferDomain(d, outer.attributes["op"], about)
	}
	if d.sponsor != User {
		return 2201, ""
	}
	statuses, rgp := r.life(d)
	switch verb {
	case "renew":
		years, _ := strconv.Atoi(about.value("period"))
		expires := d.expires.AddDate(years, 0, 0)
		switch {
		case slices.Contains(statuses, "pendingDelete"):
			return 2304, ""
		case about.value("curExpDate") != d.expires.UTC().Format(time.DateOnly):
			return 2306, ""
		case years < 1 || expires.After(r.clk.Now().AddDate(10, 0, 1)):
			return 2004, ""
		}
		d.expires, d.updated, d.restored = expires, r.clk.Now(), false
		r.renews[d.name]++
		return 1000, data(fmt.Sprintf(`<d:renData xmlns:d="%s"><d:name>%s</d:name><d:exDate>%s</d:exDate></d:renData>`, nsDomain, d.name, moment(expires)))
	case "delete":
		if slices.Contains(statuses, "pendingDelete") {
			return 2304, ""
		}
		if len(r.below(d.name)) > 0 {
			return 2305, ""
		}
		d.deleted, d.updated = r.clk.Now(), r.clk.Now()
		return 1001, ""
	case "update":
		restore := extension.first("update", "restore")
		if restore.there() {
			return r.restore(d, restore, rgp)
		}
		if slices.Contains(statuses, "pendingDelete") {
			return 2304, ""
		}
		return r.updateDomain(d, about, extension.first("update")), ""
	}
	return 2000, ""
}

func (r *registry) createDomain(d *domain, about *node) (code int, more string) {
	name, now := about.value("name"), r.clk.Now()
	years, _ := strconv.Atoi(about.value("period"))
	switch {
	case d != nil:
		return 2302, ""
	case years < 1 || years > 10:
		return 2004, ""
	case about.value("registrant") == "" || len(about.value("authInfo", "pw")) < 8:
		return 2003, ""
	case strings.HasPrefix(name, "refused"):
		return 2306, ""
	}
	made := &domain{
		name: name, roid: r.roid(), sponsor: User, code: about.value("authInfo", "pw"), owner: about.value("registrant"),
		servers: about.first("ns").values("hostObj"), created: now, updated: now, expires: now.AddDate(years, 0, 0), pending: r.Slow,
	}
	for _, one := range about.all("contact") {
		made.contacts = append(made.contacts, [2]string{one.attributes["type"], strings.TrimSpace(one.text)})
	}
	if !r.known(made) {
		return 2303, ""
	}
	r.domains[name] = made
	r.creates[name]++
	code = 1000
	if made.pending {
		code = 1001
	}
	return code, data(fmt.Sprintf(`<d:creData xmlns:d="%s"><d:name>%s</d:name><d:crDate>%s</d:crDate><d:exDate>%s</d:exDate></d:creData>`,
		nsDomain, name, moment(now), moment(made.expires)))
}

// known tells whether all contacts and name servers of a domain are there.
func (r *registry) known(d *domain) bool {
	for _, id := range append([][2]string{{"", d.owner}}, d.contacts...) {
		if r.contacts[id[1]] == nil {
			return false
		}
	}
	return !slices.ContainsFunc(d.servers, func(name string) bool { return r.hosts[name] == nil })
}

func (r *registry) infoDomain(d *domain) (code int, more string) {
	var b strings.Builder
	statuses, rgp := r.life(d)
	fmt.Fprintf(&b, `<d:infData xmlns:d="%s"><d:name>%s</d:name><d:roid>%s</d:roid>`, nsDomain, d.name, d.roid)
	for _, one := range statuses {
		fmt.Fprintf(&b, `<d:status s="%s"/>`, one)
	}
	if d.sponsor != User && r.Closed {
		return 2201, ""
	}
	if d.sponsor != User {
		fmt.Fprintf(&b, `<d:clID>%s</d:clID></d:infData>`, d.sponsor)
		return 1000, data(b.String())
	}
	if d.owner != "" {
		fmt.Fprintf(&b, `<d:registrant>%s</d:registrant>`, d.owner)
	}
	for _, one := range d.contacts {
		fmt.Fprintf(&b, `<d:contact type="%s">%s</d:contact>`, one[0], one[1])
	}
	if len(d.servers) > 0 {
		b.WriteString(`<d:ns>`)
		for _, one := range d.servers {
			fmt.Fprintf(&b, `<d:hostObj>%s</d:hostObj>`, one)
		}
		b.WriteString(`</d:ns>`)
	}
	for _, name := range r.below(d.name) {
		fmt.Fprintf(&b, `<d:host>%s</d:host>`, name)
	}
	fmt.Fprintf(&b, `<d:clID>%s</d:clID><d:crID>%s</d:crID><d:crDate>%s</d:crDate><d:upDate>%s</d:upDate>`, d.sponsor, d.sponsor, moment(d.created), moment(d.updated))
	if !r.Undated {
		fmt.Fprintf(&b, `<d:exDate>%s</d:exDate>`, moment(d.expires))
	}
	fmt.Fprintf(&b, `<d:authInfo><d:pw>%s</d:pw></d:authInfo></d:infData>`, escape(d.code))
	more = data(b.String())
	extension := ""
	if len(d.ds) > 0 {
		extension += `<s:infData xmlns:s="` + nsSecDNS + `">` + strings.Join(d.ds, "") + `</s:infData>`
	}
	if len(rgp) > 0 {
		extension += `<r:infData xmlns:r="` + nsRGP + `"><r:rgpStatus s="` + rgp[0] + `"/></r:infData>`
	}
	if extension != "" {
		more += extending(extension)
	}
	return 1000, more
}

func (r *registry) below(name string) (all []string) {
	for one := range r.hosts {
		if strings.HasSuffix(one, "."+name) {
			all = append(all, one)
		}
	}
	slices.Sort(all)
	return all
}

func (r *registry) transferDomain(d *domain, op string, about *node) (code int, more string) {
	waits := d.transfer != nil && d.transfer.status == "pending"
	switch op {
	case "request":
		switch {
		case d.sponsor == User:
			return 2002, ""
		case waits:
			return 2300, ""
		case slices.Contains(d.statuses, "clientTransferProhibited"):
			return 2304, ""
		case about.value("authInfo", "pw") != d.code:
			return 2202, ""
		}
		years, _ := strconv.Atoi(about.value("period"))
		d.transfer = &transfer{status: "pending", by: User, from: d.sponsor, years: years, at: r.clk.Now()}
		if r.Slow {
			return 1001, data(d.transferData())
		}
		d.transfer.status = "serverApproved"
		r.move(d)
		return 1000, data(d.transferData())
	case "query":
		if d.transfer == nil || d.transfer.by != User && d.sponsor != User {
			return 2301, ""
		}
		return 1000, data(d.transferData())
	case "approve", "reject":
		switch {
		case d.sponsor != User:
			return 2201, ""
		case !waits:
			return 2301, ""
		}
		d.transfer.status = "clientRejected"
		if op == "approve" {
			d.transfer.status = "clientApproved"
			r.move(d)
		}
		return 1000, data(d.transferData())
	}
	return 2000, ""
}

func (r *registry) restore(d *domain, restore *node, rgp []string) (code int, more string) {
	switch {
	case restore.attributes["op"] == "request" && slices.Contains(rgp, "redemptionPeriod"):
		d.restoring = true
		return 1000, extending(`<r:upData xmlns:r="` + nsRGP + `"><r:rgpStatus s="pendingRestore"/></r:upData>`)
	case restore.attributes["op"] == "report" && slices.Contains(rgp, "pendingRestore") && len(restore.first("report").all("statement")) == 2:
		d.restoring, d.updated, d.restored, d.deleted = false, r.clk.Now(), r.Bare, time.Time{}
		if !r.Bare && !r.clk.Now().Before(d.expires) {
			d.expires = d.expires.AddDate(1, 0, 0)
		}
		return 1000, ""
	}
	return 2304, ""
}

// updateDomain does all of an update or nothing.
func (r *registry) updateDomain(d *domain, about, dnssec *node) int {
	next := *d
	next.statuses, next.contacts, next.servers, next.ds = slices.Clone(d.statuses), slices.Clone(d.contacts), slices.Clone(d.servers), slices.Clone(d.ds)
	for _, change := range []struct {
		in  *node
		add bool
	}{{about.first("rem"), false}, {about.first("add"), true}} {
		next.servers = changed(next.servers, change.in.first("ns").values("hostObj"), change.add)
		var statuses []string
		for _, one := range change.in.all("status") {
			statuses = append(statuses, one.attributes["s"])
		}
		next.statuses = changed(next.statuses, statuses, change.add)
		var contacts [][2]string
		for _, one := range change.in.all("contact") {
			contacts = append(contacts, [2]string{one.attributes["type"], strings.TrimSpace(one.text)})
		}
		next.contacts = changed(next.contacts, contacts, change.add)
	}
	if owner := about.value("chg", "registrant"); owner != "" {
		next.owner = owner
	}
	if code := about.value("chg", "authInfo", "pw"); code != "" {
		next.code = code
	}
	if dnssec.Space == nsSecDNS {
		if dnssec.value("rem", "all") == "true" {
			next.ds = nil
		}
		for _, one := range dnssec.first("add").all("dsData") {
			next.ds = append(next.ds, one.write("s:"))
		}
	}
	if !r.known(&next) && next.owner != "" {
		return 2303
	}
	next.updated = r.clk.Now()
	*d = next
	return 1000
}

func changed[T comparable](all, with []T, add bool) []T {
	if add {
		return append(all, with...)
	}
	return slices.DeleteFunc(all, func(one T) bool { return slices.Contains(with, one) })
}

func (r *registry) host(verb string, about *node) (code int, more string) {
	if verb == "check" {
		var all strings.Builder
		for _, name := range about.values("name") {
			fmt.Fprintf(&all, `<h:cd><h:name avail="%t">%s</h:name></h:cd>`, r.hosts[name] == nil, escape(name))
		}
		return 1000, data(`<h:chkData xmlns:h="` + nsHost + `">` + all.String() + `</h:chkData>`)
	}
	name := about.value("name")
	h := r.hosts[name]
	if h == nil && verb != "create" {
		return 2303, ""
	}
	addresses := func(in *node) (all [][2]string) {
		for _, one := range in.all("addr") {
			all = append(all, [2]string{one.attributes["ip"], strings.TrimSpace(one.text)})
		}
		return all
	}
	switch verb {
	case "create":
		if h != nil {
			return 2302, ""
		}
		made := &host{roid: r.roid(), sponsor: User, addresses: addresses(about), at: r.clk.Now()}
		for parent, d := range r.domains {
			switch below := strings.HasSuffix(name, "."+parent); {
			case below && d.sponsor != User:
				return 2201, ""
			case below && len(made.addresses) == 0:
				return 2003, ""
			}
		}
		r.hosts[name] = made
		return 1000, data(fmt.Sprintf(`<h:creData xmlns:h="%s"><h:name>%s</h:name><h:crDate>%s</h:crDate></h:creData>`, nsHost, name, r.now()))
	case "info":
		var b strings.Builder
		fmt.Fprintf(&b, `<h:infData xmlns:h="%s"><h:name>%s</h:name><h:roid>%s</h:roid><h:status s="ok"/>`, nsHost, name, h.roid)
		for _, one := range h.addresses {
			fmt.Fprintf(&b, `<h:addr ip="%s">%s</h:addr>`, one[0], one[1])
		}
		fmt.Fprintf(&b, `<h:clID>%s</h:clID><h:crID>%s</h:crID><h:crDate>%s</h:crDate></h:infData>`, h.sponsor, h.sponsor, moment(h.at))
		return 1000, data(b.String())
	case "update":
		h.addresses = changed(changed(h.addresses, addresses(about.first("rem")), false), addresses(about.first("add")), true)
		return 1000, ""
	case "delete":
		for _, d := range r.domains {
			if slices.Contains(d.servers, name) {
				return 2305, ""
			}
		}
		delete(r.hosts, name)
		return 1000, ""
	}
	return 2000, ""
}

func (r *registry) contact(verb string, about *node) (code int, more string) {
	id := about.value("id")
	if verb == "create" && r.Chooses {
		id = r.roid()
	}
	c := r.contacts[id]
	switch {
	case verb == "create" && c != nil:
		return 2302, ""
	case verb == "create":
		made := &contact{
			roid: r.roid(), sponsor: User, postal: map[string]*node{}, voice: about.value("voice"), email: about.value("email"), at: r.clk.Now(),
		}
		if !made.address(about) {
			return 2306, ""
		}
		r.contacts[id] = made
		return 1000, data(fmt.Sprintf(`<c:creData xmlns:c="%s"><c:id>%s</c:id><c:crDate>%s</c:crDate></c:creData>`, nsContact, id, r.now()))
	case c == nil:
		return 2303, ""
	case c.sponsor != User:
		return 2201, ""
	case verb == "info":
		email := c.email
		var b strings.Builder
		fmt.Fprintf(&b, `<c:infData xmlns:c="%s"><c:id>%s</c:id><c:roid>%s</c:roid><c:status s="ok"/>`, nsContact, id, c.roid)
		for _, form := range slices.Sorted(maps.Keys(c.postal)) {
			b.WriteString(c.postal[form].write("c:"))
		}
		if c.voice != "" {
			fmt.Fprintf(&b, `<c:voice>%s</c:voice>`, escape(c.voice))
		}
		fmt.Fprintf(&b, `<c:email>%s</c:email><c:clID>%s</c:clID><c:crID>%s</c:crID><c:crDate>%s</c:crDate>%s</c:infData>`, escape(email), c.sponsor,
			c.sponsor, moment(c.at), c.disclose)
		return 1000, data(b.String())
	case verb == "delete":
		for _, d := range r.domains {
			if d.owner == id || slices.ContainsFunc(d.contacts, func(one [2]string) bool { return one[1] == id }) {
				return 2305, ""
			}
		}
		delete(r.contacts, id)
		return 1000, ""
	case verb == "update":
		change := about.first("chg")
		if !c.address(change) {
			return 2306, ""
		}
		if voice := change.first("voice"); voice.there() {
			c.voice = strings.TrimSpace(voice.text)
		}
		if email := change.first("email"); email.there() {
			c.email = strings.TrimSpace(email.text)
		}
		if disclose := change.first("disclose"); disclose.there() {
			c.disclose = disclose.write("c:")
		}
		return 1000, ""
	}
	return 2000, ""
}

// address replaces the forms of a contact's address that a command has, and keeps the others. It reports whether they are valid.
func (c *contact) address(in *node) bool {
	for _, postal := range in.all("postalInfo") {
		for _, text := range []string{postal.value("name"), postal.value("addr", "street"), postal.value("addr", "city")} {
			if postal.attributes["type"] == "int" && strings.ContainsFunc(text, func(c rune) bool { return c > 126 }) {
				return false
			}
		}
		c.postal[postal.attributes["type"]] = postal
	}
	return true
}

// Contact is what the registry has of a contact: its name, organisation, telephone and address in one text, with a line for
// each of its forms.
func (r *registry) Contact(id string) string {
	r.state.Lock()
	defer r.state.Unlock()
	c := r.contacts[id]
	if c == nil {
		return ""
	}
	var forms []string
	for _, form := range slices.Sorted(maps.Keys(c.postal)) {
		postal := c.postal[form]
		forms = append(forms, strings.Join([]string{
			form, postal.value("name"), postal.value("org"), postal.value("addr", "city"), c.voice, c.email,
		}, "|"))
	}
	return strings.Join(forms, "\n")
}

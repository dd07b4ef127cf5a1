package mail

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Resolver looks into the DNS; *net.Resolver is one.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// dnsAnswers is what the DNS answered about a domain; a member is nil when there was no answer.
type dnsAnswers struct {
	MX    []string `json:"mx"`
	SPF   []string `json:"spf"`
	DKIM  []string `json:"dkim"`
	DMARC []string `json:"dmarc"`
	PTR   []string `json:"ptr"`
}

// Zones keeps records in the zones of services. What customers put there themselves wins.
type Zones interface {
	// SetSystem makes records the set of owner in the zones of the service, in place of the set before.
	SetSystem(ctx context.Context, tx *db.Tx, accountID, serviceID int64, owner string, records []site.Record) error
}

// recordsOwner is under whom the zones keep the records of mail.
const recordsOwner = "mail"

const dkimLabel = "._domainkey."

// spf is the record that names the senders of a domain: its mail server, by name and addresses.
func spf(server panel.MailServer) string {
	words := []string{"v=spf1", "mx"}
	if server.IPv4 != "" {
		words = append(words, "ip4:"+server.IPv4)
	}
	if server.IPv6 != "" {
		words = append(words, "ip6:"+server.IPv6)
	}
	return strings.Join(append(words, "~all"), " ")
}

func (d mailDomain) dkim() string { return dkimOf(d.publicKey) }

func dkimOf(publicKey string) string { return "v=DKIM1; k=rsa; p=" + publicKey }

// dmarc asks for nothing: a domain's owner decides whether others refuse what is not signed.
const dmarc = "v=DMARC1; p=none"

// records are what the domain needs in its zone now.
func (d mailDomain) records(server panel.MailServer, now time.Time) []site.Record {
	priority := 10
	service := func(name, target string, port int) site.Record {
		priority, weight := 0, 1
		return site.Record{Name: name + "._tcp." + d.name, Type: "SRV", Value: target, Priority: &priority, Weight: &weight, Port: &port}
	}
	all := []site.Record{
		{Name: d.name, Type: "MX", Value: server.Hostname, Priority: &priority},
		{Name: d.name, Type: "TXT", Value: spf(server)},
		{Name: d.selector + dkimLabel + d.name, Type: "TXT", Value: d.dkim()},
		{Name: "_dmarc." + d.name, Type: "TXT", Value: dmarc},
	}
	if f := d.former; f.selector != "" && f.selector != d.selector && f.until != nil && now.Before(*f.until) {
		all = append(all, site.Record{Name: f.selector + dkimLabel + d.name, Type: "TXT", Value: dkimOf(f.publicKey)})
	}
	for _, s := range []struct { // RFC 6186, 8314 and 5804
		name string
		port int
	}{{"_imaps", server.IMAPS}, {"_imap", server.IMAP}, {"_pop3s", server.POP3S}, {"_submissions", server.Submissions}, {"_submission", server.Submission}, {"_sieve", server.Sieve}} {
		if s.port != 0 {
			all = append(all, service(s.name, server.Hostname, s.port))
		}
	}
	// Where programs ask for the settings of an address: see the node's autoconfig. Outlook is sent to the domain itself, which
	// has a certificate.
	for _, name := range []string{"autoconfig", "autodiscover"} {
		for _, a := range []struct{ kind, address string }{{"A", server.IPv4}, {"AAAA", server.IPv6}} {
			if a.address != "" {
				all = append(all, site.Record{Name: name + "." + d.name, Type: a.kind, Value: a.address})
			}
		}
	}
	return append(all, service("_autodiscover", d.name, 443))
}

// finding compares what should be in the DNS with what is.
type finding struct {
	expected string
	found    []string
	ok       bool
}

// health is how a domain stands in the DNS.
type health struct{ mx, spf, dkim, dmarc, ptr finding }

func (d mailDomain) health(server panel.MailServer) health {
	only := func(all []string, good func(string) bool) bool {
		return len(all) > 0 && !slices.ContainsFunc(all, func(s string) bool { return !good(s) })
	}
	f := d.found
	return health{
		mx:    finding{server.Hostname, f.MX, only(f.MX, func(host string) bool { return host == server.Hostname })},
		spf:   finding{spf(server), f.SPF, len(f.SPF) == 1 && allows(f.SPF[0], server)},
		dkim:  finding{d.dkim(), f.DKIM, len(f.DKIM) == 1 && keyOf(f.DKIM[0]) == d.publicKey && d.publicKey != ""},
		dmarc: finding{dmarc, f.DMARC, len(f.DMARC) == 1},
		ptr:   finding{server.Hostname, f.PTR, slices.Contains(f.PTR, server.Hostname)},
	}
}

// allows tells whether an SPF record names the server: by its address, or as the domain's mail server.
func allows(record string, server panel.MailServer) bool {
	for word := range strings.FieldsSeq(strings.ToLower(record)) {
		switch word = strings.TrimPrefix(word, "+"); {
		case word == "mx", word == "a:"+server.Hostname, server.IPv4 != "" && word == "ip4:"+server.IPv4, server.IPv6 != "" && word == "ip6:"+server.IPv6:
			return true
		}
	}
	return false
}

// keyOf is the key in a record of DKIM (RFC 6376, 3.6.1).
func keyOf(record string) string {
	for tag := range strings.SplitSeq(record, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(tag), "="); ok && strings.TrimSpace(name) == "p" {
			return strings.Join(strings.Fields(value), "")
		}
	}
	return ""
}

// How the DNS is checked. A young domain is checked often, because its owner is setting it up.
const (
	healthBatch    = 100
	healthAtOnce   = 100              // they only wait
	healthTurn     = 45 * time.Second // of a job, below what the queue gives it
	healthTimeout  = 5 * time.Second
	healthYoung    = 48 * time.Hour
	healthInterval = 5 * time.Minute // of a young domain
	healthSeldom   = time.Hour
	healthMost     = 16  // records that are kept
	healthLongest  = 600 // bytes of each
)

// CheckDNS looks at the domains that are due. A periodic job calls it.
func (s *Service) CheckDNS(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, healthTurn)
	defer cancel()
	for turn.Err() == nil {
		due, err := healthDue(ctx, s.DB, s.Clock.Now(), healthBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		servers := make([]panel.MailServer, len(due))
		for i, d := range due {
			if servers[i], _, err = serverOf(ctx, s.DB, d.serviceID); err != nil {
				return err
			}
		}
		all := make([]dnsAnswers, len(due))
		atonce.Each(len(due), healthAtOnce, func(i int) { all[i] = s.lookUp(ctx, due[i], servers[i]) })
		if ctx.Err() != nil {
			return ctx.Err() // what was not looked at is still due
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			for i, d := range due {
				next := healthSeldom
				if tx.Now.Sub(d.createdAt) < healthYoung {
					next = healthInterval
				}
				if err := setFound(ctx, tx, d.id, all[i], tx.Now.Add(next)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(due) < healthBatch {
			return err
		}
	}
	return ctx.Err() // the next turn goes on
}

// lookUp asks the DNS about a domain.
func (s *Service) lookUp(ctx context.Context, d mailDomain, server panel.MailServer) dnsAnswers {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var f dnsAnswers
	mx, err := s.Resolver.LookupMX(ctx, d.name+".")
	for _, r := range mx {
		f.MX = append(f.MX, hostOf(r.Host))
	}
	f.MX = answered(f.MX, err)
	text := func(name, prefix string) []string {
		all, err := s.Resolver.LookupTXT(ctx, name+".")
		var kept []string
		for _, t := range all {
			if strings.HasPrefix(strings.ToLower(t), prefix) {
				kept = append(kept, t)
			}
		}
		return answered(kept, err)
	}
	f.SPF = text(d.name, "v=spf1")
	f.DKIM = text(d.selector+dkimLabel+d.name, "")
	f.DMARC = text("_dmarc."+d.name, "v=dmarc1")
	if server.IPv4 != "" {
		names, err := s.Resolver.LookupAddr(ctx, server.IPv4)
		for i := range names {
			names[i] = hostOf(names[i])
		}
		f.PTR = answered(names, err)
	}
	return f
}

func hostOf(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// answered bounds what was found. It is nil when the DNS did not answer, and empty when the DNS has nothing.
func answered(all []string, err error) []string {
	var dnsErr *net.DNSError
	if err != nil && (!errors.As(err, &dnsErr) || !dnsErr.IsNotFound) {
		return nil
	}
	kept := []string{}
	for _, s := range all[:min(len(all), healthMost)] {
		kept = append(kept, strings.ToValidUTF8(s[:min(len(s), healthLongest)], ""))
	}
	slices.Sort(kept)
	return kept
}

package claims

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/domainname"
)

// Proof is how an account has shown that a domain is its own.
type Proof string

// The proofs. A registration here is the strongest; a delegation, which only the registrant can change, is stronger than a record.
const (
	NoProof      Proof = "none"
	ByTXT        Proof = "txt"         // the record _stead-verify below the domain has the account's token
	ByDelegation Proof = "nameservers" // the domain is delegated to a name server whose name has the token
	ByRegistrar  Proof = "registration"
)

// strength orders proofs.
func (p Proof) strength() int {
	switch p {
	case ByRegistrar:
		return 3
	case ByDelegation:
		return 2
	case ByTXT:
		return 1
	case NoProof:
	}
	return 0
}

// subject is a domain that somebody wants.
type subject struct {
	domain    string
	trial     bool // set aside for trials: there is nothing to prove
	protected bool // popular or reserved: nobody holds it without a proof
}

// holding is who holds a domain.
type holding struct {
	accountID int64
	proof     Proof
	leadsHere bool // visitors come to the holder's services
}

// verdict is the answer to an account that wants a domain.
type verdict int

const (
	granted     verdict = iota // the account holds it from now on, or does already
	displaces                  // so it does, and the present holder loses it at once
	waits                      // so it does when the present holder, who is notified, has not proven control meanwhile
	needsProof                 // it must prove control first
	unavailable                // it belongs to somebody else, and no proof changes that
)

// decide is the rule by which domains are given to accounts. h is nil for a domain that nobody holds; proof is what the
// account has shown.
func decide(s subject, h *holding, accountID int64, proof Proof) verdict {
	switch {
	case s.protected && proof == NoProof:
		return needsProof
	case h == nil || h.accountID == accountID:
		return granted
	case proof == ByRegistrar:
		return displaces
	case h.proof == ByRegistrar || s.trial:
		return unavailable
	case proof.strength() <= h.proof.strength():
		return needsProof
	default:
		return waits
	}
}

// State is what an account is told of a domain that it uses or wants.
type State string

// The states of a claim.
const (
	NotRequired State = "not_required" // a name for trials, or of a sandbox
	Verified    State = "verified"
	Pointed     State = "dns_leads_here" // not proven, but visitors come here
	Unverified  State = "unverified"
	Contested   State = "contested" // proven, and another account holds it, perhaps until takes_at
)

// claim is a row of claims_domains with what claims_holders says of it.
type claim struct {
	id, accountID int64
	domain        string
	token         string
	proof         Proof
	provenAt      *time.Time
	leadsHereAt   *time.Time // when the DNS was last seen to lead here, of one name at least; nil: it does not
	delegatedAt   *time.Time // when all of the domain was; nil: it is not
	takesAt       *time.Time // when it takes the domain from its holder
	losesAt       *time.Time // when another account takes the domain, which this one holds
	attempts      int
	checkedAt     *time.Time
	checkAt       time.Time
	createdAt     time.Time
	holds         bool
	heldUntil     *time.Time
}

// subjectOf is the domain that owns a canonical name.
func (s *Service) subjectOf(name string) (subject, error) {
	domain, trial, err := domainname.Owned(name)
	return subject{domain: domain, trial: trial, protected: !trial && s.protected.has(domain)}, err
}

// cleared tells whether everything may be served under the domain. That one name of it leads here says nothing of the
// others.
func (c claim) cleared() bool {
	_, trial, _ := domainname.Owned(c.domain)
	return c.holds && (trial || c.proof != NoProof || c.delegatedAt != nil)
}

// state is what the account is told.
func (c claim) state() State {
	_, trial, _ := domainname.Owned(c.domain)
	switch {
	case trial:
		return NotRequired
	case !c.holds && c.proof != NoProof:
		return Contested
	case c.proof != NoProof:
		return Verified
	case c.leadsHereAt != nil:
		return Pointed
	default:
		return Unverified
	}
}

// The TXT record that proves control.
const (
	recordLabel  = "_stead-verify"
	recordPrefix = "stead-verify="
)

// recordOf is the DNS record that proves control of a domain.
func recordOf(domain, token string) site.Record {
	return site.Record{Name: recordLabel + "." + domain, Type: "TXT", Value: recordPrefix + token}
}

// tokenOf is what an account puts into the DNS of a domain to prove control. It is no secret: only who controls the
// domain can put it there, and it counts for this account of this installation alone. A refusal can name it, because it
// is the same before and after anything is stored.
func tokenOf(installation string, accountID int64, domain string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "stead-verify\x00%s\x00%d\x00%s", installation, accountID, domain))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// nameserversOf are names for our name servers that have the token in them.
func nameserversOf(nameservers []string, token string) []string {
	all := make([]string, len(nameservers))
	for i, ns := range nameservers {
		all[i] = token + "." + strings.TrimSuffix(ns, ".")
	}
	return all
}

// The times of looks into the DNS.
const (
	firstPause   = time.Minute
	longestPause = 6 * time.Hour
	settlePause  = 24 * time.Hour // of a claim that needs no look
	// idleNotice is what a holder is given at most who has shown nothing: neither a proof, nor that visitors come here.
	idleNotice = 10 * time.Minute
	// unused is how long a domain is held for an account that has proven control and does not use it.
	unused = 14 * 24 * time.Hour
	// abandoned is how long an account may try to prove control of a domain that it does not hold.
	abandoned = 30 * 24 * time.Hour
	// strayed is how long the DNS must lead elsewhere before that counts: a name server may be down for a while.
	strayed = 72 * time.Hour
)

// pause grows with the number of looks.
func pause(attempts int) time.Duration {
	return min(firstPause<<min(max(attempts, 0), 10), longestPause)
}

package certificates

import (
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/fault"
)

// The refusals of this section. They are the keys of failed orders as well (last_error_key).
var (
	errNotPointed = fault.Define(fault.KindUnprocessable, "domain_not_pointed")
	errPreflight  = fault.Define(fault.KindUnprocessable, "ssl_preflight_failed")
	errMismatch   = fault.Define(fault.KindUnprocessable, "ssl_key_mismatch")
	errLimited    = fault.Define(fault.KindUnprocessable, "ssl_rate_limited")
)

// keyAuthority is the key of an order that failed at the authority: it did not answer, or refused for a reason that is
// not the domain's. No request is refused with it.
const keyAuthority = "ssl_authority_failed"

// Reasons why a name cannot have a certificate now; each has a text ssl.reason.<reason>.
const (
	reasonNotHosted = "not_hosted"      // the name is no domain of the service
	reasonUnknown   = "dns_unknown"     // the DNS does not answer
	reasonCAA       = "caa_forbids"     // a CAA record names other authorities
	reasonWildcard  = "wildcard_by_dns" // a wildcard is proved by the DNS only
	reasonDNS       = "dns_elsewhere"   // the zone is not served by this platform
	reasonTaken     = "record_taken"    // a record of the customer's is where the proof would be
	reasonName      = "name_refused"    // no authority issues for it
	reasonOff       = "issuing_off"     // the operator has not switched issuing on
	reasonProof     = "not_proved"      // the authority looked and did not find the proof
)

// refusal is why a name cannot have a certificate.
type refusal struct {
	name   string
	def    *fault.Def
	reason string // empty for errNotPointed
	detail string // for the customer, from outside: what a CAA record says, what an authority answered
}

func (r *refusal) fault() error {
	if r.def != errPreflight {
		return &fault.Error{Def: r.def, Fields: fault.Fields{"domain": r.name}}
	}
	return &fault.Error{
		Def: r.def, Fields: fault.Fields{"reason": r.reason, "domain": r.name},
		Invalid: map[string][]fault.Text{"domains": {{ID: "ssl.reason." + r.reason, Data: map[string]any{"Name": r.name, "Detail": r.detail}}}},
	}
}

// unusable refuses an own certificate.
func unusable(err error) error {
	reason := certificate.ReasonOf(err)
	if reason == certificate.KeyMismatch {
		return errMismatch.Wrap(err)
	}
	field := "certificate"
	switch reason {
	case certificate.KeyNotPEM, certificate.KeyEncrypted:
		field = "private_key"
	case certificate.ChainOrder:
		field = "chain"
	default:
	}
	return &fault.Error{
		Def: errPreflight, Fields: fault.Fields{"reason": string(reason)}, Cause: err,
		Invalid: map[string][]fault.Text{field: {{ID: "ssl.reason." + string(reason)}}},
	}
}

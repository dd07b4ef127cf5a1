package claims

import "stead.dev/stead/internal/platform/fault"

// required is the refusal of who has not proven control, with the record that does.
func (s *Service) required(accountID int64, domain string) error {
	return fault.DomainVerificationRequired.With(fault.Fields{
		"domain": domain, "record": recordOf(domain, tokenOf(s.Installation, accountID, domain)),
	})
}

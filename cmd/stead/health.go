package main

import (
	"io"
	"time"

	"stead.dev/stead/internal/front/admin"
)

type serviceHealth struct {
	paging
	By time.Duration `help:"How long something must have been due." default:"10m"`
}

// Run shows the health of renewals.
func (c *serviceHealth) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		h, err := a.RenewalHealth(e.ctx, c.By, c.params())
		if err != nil {
			return err
		}
		return e.show(h, func(w io.Writer) {
			row(w, "due without an attempt", h.NoAttempt)
			row(w, "failing", h.Failing)
			row(w, "ending for long", h.Ending)
			if len(h.Data) == 0 {
				return
			}
			row(w, "SERVICE", "ACCOUNT", "DOMAIN", "STATUS", "PROBLEM", "SINCE", "FAILURE", "NEXT")
			for _, s := range h.Data {
				domain, failure, next := "", "", ""
				if s.Domain != nil {
					domain = *s.Domain
				}
				if s.FailureKey != nil {
					failure = *s.FailureKey
				}
				if s.NextAttemptAt != nil {
					next = s.NextAttemptAt.Format(time.RFC3339)
				}
				row(w, s.ServiceID, s.AccountID, domain, s.Status, s.Problem, s.Since.Format(time.RFC3339), failure, next)
			}
		})
	})
}

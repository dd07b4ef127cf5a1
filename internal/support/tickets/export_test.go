package tickets

import (
	"context"

	"github.com/riverqueue/river"
)

// Address is the token of the address at which answers to a ticket arrive.
func (t Ticket) Address() string { return t.token }

// MailStaff sends what a job of the kind sends.
func (s *Service) MailStaff(ctx context.Context, id int64) error { return s.mailStaff(ctx, id) }

// MailRefused sends what a job that tells of a refused mail sends.
func (s *Service) MailRefused(ctx context.Context, args river.JobArgs) error {
	return s.mailRefused(ctx, args.(refusedArgs))
}

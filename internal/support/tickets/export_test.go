package tickets

import "context"

// Address is the token of the address at which answers to a ticket arrive.
func (t Ticket) Address() string { return t.token }

// MailStaff sends what a job of the kind sends.
func (s *Service) MailStaff(ctx context.Context, id int64) error { return s.mailStaff(ctx, id) }

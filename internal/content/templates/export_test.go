package templates

import "context"

// Run does the job of an installation.
func (s *Service) Run(ctx context.Context, id int64) error { return s.run(ctx, id) }

package runs

import (
	"context"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/llm"
)

// Secrets knows the credentials that this platform has issued.
type Secrets interface {
	// Issued are those of one of the account's services that are still known. Of others only hashes are kept.
	Issued(ctx context.Context, accountID, serviceID int64) ([]Secret, error)
}

// Secret is a credential, and what it is.
type Secret struct{ Name, Value string }

// issued are the credentials of a service.
type issued []Secret

// teach has a masker know the credentials.
func (all issued) teach(mask *redact.Masker) {
	for _, s := range all {
		mask.Learn(s.Name, s.Value)
	}
}

// learnIssued has the worker know the credentials of its service, as they are now.
func (w *worker) learnIssued(ctx context.Context, accountID, serviceID int64) (issued, error) {
	all, err := w.Secrets.Issued(ctx, accountID, serviceID)
	issued(all).teach(&w.mask)
	return all, err
}

// conceal masks what is about to be sent to a model: also what was said before a credential was issued, or in another run.
func (w *worker) conceal(r *llm.Request) {
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Text = w.mask.Mask("", m.Text)
		for j := range m.Calls {
			m.Calls[j].Arguments = w.mask.Mask("", m.Calls[j].Arguments)
		}
	}
}

// withoutSecrets is a text of the customer as the agent keeps it.
func (s *Service) withoutSecrets(ctx context.Context, accountID, serviceID int64, text string) (string, error) {
	all, err := s.Secrets.Issued(ctx, accountID, serviceID)
	if err != nil {
		return "", err
	}
	var mask redact.Masker
	issued(all).teach(&mask)
	return mask.Mask("", text), nil
}

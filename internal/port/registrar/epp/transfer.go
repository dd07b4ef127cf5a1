package epp

import (
	"context"
	"errors"
	"strings"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

// Transfer implements registrar.Registrar. A transfer that the registry does at once gets its contacts at once;
// otherwise whoever finds it done sets them.
func (c *Client) Transfer(ctx context.Context, in registrar.TransferIn) error {
	s, err := c.look(ctx, in.Name)
	if err != nil && registrar.KindOf(err) != registrar.NotOurs {
		return err
	}
	if s.ours {
		return &registrar.Error{Kind: registrar.Exists}
	}
	about := domainTransfer{Name: in.Name, AuthInfo: &authInfo{in.AuthCode}}
	if in.Years > 0 {
		about.Period = &period{"y", in.Years}
	}
	answer, err := c.do(ctx, request{
		what: "domain transfer request", command: command{Transfer: &transfer{Op: "request", About: about}}, id: in.TransactionID, changes: true,
	})
	if err != nil || answer.Result[0].Code == 1001 || len(in.Contacts) == 0 {
		return err
	}
	if err := c.SetContacts(ctx, in.Name, in.Contacts); err != nil {
		return &registrar.Error{Kind: registrar.Unknown, Cause: err} // the transfer itself is done
	}
	return nil
}

// TransferState implements registrar.Registrar.
func (c *Client) TransferState(ctx context.Context, name string, since time.Time) (registrar.TransferState, error) {
	s, err := c.look(ctx, name)
	if err != nil && registrar.KindOf(err) != registrar.NotOurs {
		return "", err
	}
	if s.ours {
		return registrar.TransferDone, nil
	}
	answer, err := c.do(ctx, request{
		what: "domain transfer query", command: command{Transfer: &transfer{Op: "query", About: domainTransfer{Name: name}}},
	})
	var e *registrar.Error
	if errors.As(err, &e) && (e.Kind == registrar.NotFound || e.Kind == registrar.NotOurs) {
		return registrar.TransferNone, nil // there is none, or none of ours
	}
	if err != nil {
		return "", err
	}
	t := answer.Data.Transfer
	if t == nil || !strings.EqualFold(t.AskedBy, c.Sponsor) {
		return registrar.TransferNone, nil
	}
	if t.Status == "pending" {
		return registrar.TransferPending, nil
	}
	// The registry shows the last transfer, however old it is (RFC 5731, section 3.1.3).
	if asked, err := instant(t.AskedAt); err == nil && !asked.IsZero() && asked.Before(since) {
		return registrar.TransferNone, nil
	}
	switch t.Status {
	case "clientApproved", "serverApproved":
		return registrar.TransferDone, nil
	}
	return registrar.TransferRejected, nil
}

// AnswerTransfer implements registrar.Registrar.
func (c *Client) AnswerTransfer(ctx context.Context, name string, approve bool) error {
	op := "reject"
	if approve {
		op = "approve"
	}
	_, err := c.do(ctx, request{
		what: "domain transfer " + op, command: command{Transfer: &transfer{Op: op, About: domainTransfer{Name: name}}}, changes: true,
	})
	return err
}

// Poll implements registrar.Registrar.
func (c *Client) Poll(ctx context.Context) (registrar.Message, bool, error) {
	answer, err := c.do(ctx, request{what: "poll", command: command{Poll: &poll{Op: "req"}}})
	if err != nil || answer.Result[0].Code == 1300 || answer.Queue == nil {
		return registrar.Message{}, false, err
	}
	m := registrar.Message{ID: answer.Queue.ID, Text: strings.TrimSpace(answer.Queue.Message)}
	if m.At, err = instant(answer.Queue.At); err != nil {
		m.At = c.Clock.Now() // an unreadable date must not lose a notice
	}
	data := answer.Data
	switch {
	case data.Transfer != nil:
		m.Name = data.Transfer.Name
	case data.Domain != nil:
		m.Name = data.Domain.Name
	default:
		for _, one := range []*named{data.DomainAction, data.DomainCreated, data.DomainRenewed} {
			if one != nil {
				m.Name = one.Name
			}
		}
	}
	m.Name = strings.ToLower(m.Name)
	return m, true, nil
}

// Acknowledge implements registrar.Registrar.
func (c *Client) Acknowledge(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{what: "poll acknowledgement", command: command{Poll: &poll{Op: "ack", ID: id}}, changes: true})
	if err != nil && registrar.KindOf(err) == registrar.NotFound {
		return nil // an earlier attempt removed it
	}
	return err
}

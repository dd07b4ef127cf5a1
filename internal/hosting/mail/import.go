package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Imported is a mailbox that comes from elsewhere, with the hash of its password. Without a hash nobody can sign in until its owner sets a
// password.
type Imported struct {
	Address, PasswordHash       string
	QuotaMB                     int64 // 0: as usual
	Aliases, ForwardTo          []string
	KeepCopy, CatchAll, Suspend bool
	Reply                       string
}

// unboundQuotaMB is the quota of a mailbox that had none, where the plan has no bound either.
const unboundQuotaMB = 50 << 10

// ImportOne makes a mailbox that comes from elsewhere, in a transaction of the caller's. One that the service has already stays as it is.
func (s *Service) ImportOne(ctx context.Context, tx *db.Tx, accountID, serviceID int64, m Imported) (there bool, err error) {
	local, domain, _ := strings.Cut(m.Address, "@")
	c := s.collection()
	err = c.ChangeIn(ctx, tx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(o box) bool { return o.what.Address == m.Address }); i >= 0 {
			there = true
			if all[i].Status == site.Removing {
				return fault.JobRunning.New()
			}
			return nil
		}
		domains, err := s.domains(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		b, err := newBox(local, domain, domains)
		if err != nil {
			return cmp.Or(s.Domains.Refusal(ctx, tx, accountID, domain), err)
		}
		// One without a quota gets as much as the plan allows: its mail has to fit.
		disk, quota := on.Limits.Of("disk_mb"), cmp.Or(m.QuotaMB, unboundQuotaMB)
		if disk != site.Unlimited && disk > 0 {
			quota = min(quota, disk)
		}
		change := change{
			quotaMB: &quota, aliases: &m.Aliases, forwardTo: &m.ForwardTo, keepCopy: &m.KeepCopy, catchAll: &m.CatchAll, suspended: &m.Suspend,
		}
		if m.Reply != "" {
			change.autoresponder = &panel.Autoresponder{Enabled: true, Body: m.Reply}
		}
		if m.PasswordHash == "" { // nobody knows the password
			if m.PasswordHash, err = s.hash(rand.Text(), m.Address); err != nil {
				return err
			}
		}
		if b, err = b.with(change, m.PasswordHash, disk, domains); err != nil {
			return err
		}
		if err := clash(all, b); err != nil {
			return err
		}
		if _, err := s.insert(ctx, tx, on, b); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return there, err
}

// Followed reports how far the hosting server has followed the mailboxes of a service.
func (s *Service) Followed(ctx context.Context, q db.Querier, serviceID int64) (site.Progress, error) {
	return s.collection().Progress(ctx, q, serviceID)
}

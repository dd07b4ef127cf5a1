package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/site"
)

// Export answers the mailboxes of a service for its backup, with the hashes of their passwords; nil
// when it has none. Their mail the panel keeps.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	rows, err := ofService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var all []panel.Mailbox
	for _, b := range rows {
		if b.status == site.Removing {
			continue
		}
		m := b.what
		m.PasswordTag, m.UsedBytes, m.Messages, m.LastLoginAt = "", 0, 0, time.Time{}
		all = append(all, m)
	}
	if all == nil {
		return nil, nil
	}
	return json.Marshal(all)
}

// Import makes the mailboxes that a backup has as they were, passwords included. Those that came since
// stay.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error {
	var wanted []panel.Mailbox
	if err := json.Unmarshal(document, &wanted); err != nil {
		return fmt.Errorf("mail: document of a backup: %w", err)
	}
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	plan, err := site.ParseLimits(on)
	if err != nil {
		return err
	}
	all, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	n, err := count(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	if len(items) > 0 {
		wanted = slices.DeleteFunc(wanted, func(m panel.Mailbox) bool { return !slices.Contains(items, m.Address) })
	}
	// All as they are going to be, before any is looked at: what one gives up another may take back.
	before := len(all)
	changed := make([]int, 0, len(wanted)) // places in all; those from before on are new, and have no ids yet
	for _, m := range wanted {
		i := slices.IndexFunc(all, func(o box) bool { return o.what.Address == m.Address })
		switch {
		case i < 0:
			i = len(all)
			all = append(all, box{id: -int64(i), accountID: accountID, serviceID: serviceID})
		case all[i].status == site.Removing:
			return fault.JobRunning.New()
		}
		all[i].what = m
		changed = append(changed, i)
	}
	for _, i := range changed {
		if err := clash(all, all[i]); err != nil {
			return err
		}
		if i < before {
			if err := setWish(ctx, tx, all[i]); err != nil {
				return err
			}
			continue
		}
		if err := plan.Refuse("mailboxes", n, n+1); err != nil {
			return err
		}
		n++
		if _, err := insert(ctx, tx, all[i]); err != nil {
			return err
		}
	}
	return s.enqueueApply(ctx, tx, accountID, serviceID)
}

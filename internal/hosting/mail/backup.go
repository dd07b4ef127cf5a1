package mail

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Export answers the mailboxes of a service for its backup, with the hashes of their passwords; nil
// when it has none. Their mail the panel keeps.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	return s.collection().Export(ctx, q, serviceID, func(b box) any {
		m := b.what
		m.PasswordTag, m.UsedBytes, m.Messages, m.LastLoginAt = "", 0, 0, time.Time{}
		return m
	})
}

// Import makes the mailboxes that a backup has as they were, passwords included. Those that came since
// stay.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error {
	var wanted []panel.Mailbox
	return s.collection().Import(ctx, tx, accountID, serviceID, document, &wanted, func(on site.Site, all []box) error {
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
				all = append(all, box{Item: site.Item{Owned: site.Owned{ID: -int64(i)}}})
			case all[i].Status == site.Removing:
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
				if err := s.setWish(ctx, tx, all[i]); err != nil {
					return err
				}
				continue
			}
			if _, err := s.insert(ctx, tx, on, all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

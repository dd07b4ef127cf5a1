package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

var _ facility.Carrier = (*Driver)(nil)

// carried is what goes with an account to another machine. The volumes of the log, and the position in them, stay.
type carried struct {
	Traffic traffic   `json:"traffic"`
	Days    []pastDay `json:"days"`
}

// carriedMost bounds the counts that are taken over, which are half a megabyte at most.
const carriedMost = 2 << 20

// Carry implements facility.Carrier.
func (d *Driver) Carry(ctx context.Context, a accounts.Account) ([]byte, error) {
	if _, err := d.count(ctx, a.Name); err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	c := carried{Traffic: d.sent.Get(a.Name), Days: d.days.Get(a.Name)}
	c.Traffic.Volume, c.Traffic.Offset = 0, 0
	return json.Marshal(c)
}

// TakeOver implements facility.Carrier.
func (d *Driver) TakeOver(_ context.Context, a accounts.Account, of []byte) error {
	var c carried
	if len(of) > carriedMost {
		return fmt.Errorf("%w: logs: %d bytes of counts", panel.ErrInvalid, len(of))
	}
	if err := json.Unmarshal(of, &c); err != nil {
		return fmt.Errorf("%w: logs: %w", panel.ErrInvalid, err)
	}
	if !c.sound() {
		return fmt.Errorf("%w: logs: these are no counts", panel.ErrInvalid)
	}
	d.counting.Lock()
	defer d.counting.Unlock()
	if _, err := d.days.Update(a.Name, func(days *[]pastDay) error { *days = c.Days; return nil }); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	_, err := d.sent.Update(a.Name, func(t *traffic) error {
		c.Traffic.Volume, c.Traffic.Offset = max(t.Volume, 1), t.Offset
		*t = c.Traffic
		return nil
	})
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

// sound tells that counts can be those of a machine: the other one may be anybody's by now.
func (c carried) sound() bool {
	day := func(v panel.VisitDay) bool {
		_, err := time.Parse(dayForm, v.Date)
		least := min(v.Requests, v.Bytes, v.Views, v.Visitors, v.Bots, v.Status2xx, v.Status3xx, v.Status4xx, v.Status5xx)
		return err == nil && least >= 0
	}
	today := c.Traffic.Today
	if today.Date != "" && !day(today.VisitDay) || len(today.Pages) > pagesLive || len(today.Key) > 64 || len(today.Seen) != 0 && len(today.Seen) != registers {
		return false
	}
	_, err := time.Parse(monthForm, c.Traffic.Month)
	if c.Traffic.Month != "" && err != nil || c.Traffic.Bytes < 0 || len(c.Days) >= panel.MaxVisitDays {
		return false
	}
	return !slices.ContainsFunc(c.Days, func(d pastDay) bool { return !day(d.VisitDay) || len(d.Pages) > pagesOfDay })
}

package admin

import (
	"context"
	"time"
)

// WaitingAddon is an add-on that an operator must set up.
type WaitingAddon struct {
	ID        int64     `json:"id"`
	AccountID int64     `json:"account_id"`
	ServiceID int64     `json:"service_id"`
	Key       string    `json:"key"`
	Name      string    `json:"name"`
	Quantity  int       `json:"quantity"`
	CreatedAt time.Time `json:"created_at"`
}

// WaitingAddons lists the add-ons that operators must set up, the oldest first.
func (a *Admin) WaitingAddons(ctx context.Context) ([]WaitingAddon, error) {
	found, err := a.Addons.Waiting(ctx)
	all := make([]WaitingAddon, len(found))
	for i, f := range found {
		all[i] = WaitingAddon(f)
	}
	return all, err
}

// MakeAddon records that an add-on is set up. The customer sees the value, such as the address.
func (a *Admin) MakeAddon(ctx context.Context, id int64, value string) error {
	return a.Addons.Make(a.change(ctx, "addon.make", "", addonSubject(id)), id, value)
}

// RefuseAddon refuses an add-on and refunds its money.
func (a *Admin) RefuseAddon(ctx context.Context, id int64) error {
	return a.Addons.Refuse(a.change(ctx, "addon.refuse", "", addonSubject(id)), id)
}

func addonSubject(id int64) subject {
	return rowOf("addon", "addons", "account_id, service_id, key, quantity, status, value, failure_key", "id", id)
}

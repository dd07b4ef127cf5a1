package admin

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/commerce/clocks"
	"stead.dev/stead/internal/platform/fault"
)

// Clock is the test clock of a sandbox.
type Clock struct {
	SandboxID int64      `json:"sandbox_id"`
	Now       time.Time  `json:"now"`
	Status    string     `json:"status"`
	Target    *time.Time `json:"target"`
}

// SandboxClock returns the clock of an account's sandbox. The account is the reseller's, or the sandbox's own id.
func (a *Admin) SandboxClock(ctx context.Context, who string) (Clock, error) {
	return a.onClock(ctx, who, func(id int64) (clocks.State, error) { return a.Clocks.State(ctx, a.DB, id) })
}

// AdvanceClock advances the clock of an account's sandbox to a time or, when that is zero, by so many days.
func (a *Admin) AdvanceClock(ctx context.Context, who string, to time.Time, days int) (Clock, error) {
	return a.onClock(ctx, who, func(id int64) (clocks.State, error) {
		if to.IsZero() {
			now, err := a.Clocks.State(ctx, a.DB, id)
			if err != nil {
				return now, err
			}
			to = now.Now.AddDate(0, 0, days)
		}
		st, err := a.Clocks.Advance(a.change(ctx, "clock.advance", "", clockSubject(id)), id, to)
		switch {
		case errors.Is(err, fault.Validation):
			err = fault.Validation.Wrapf("%v is not later than the sandbox's time, or more than three years ahead of the real one", to.Format(time.RFC3339))
		case errors.Is(err, fault.Conflict):
			err = fault.Conflict.Wrapf("the clock is on its way: wait until it has arrived, or reset it")
		}
		return st, err
	})
}

// ResetClock returns an account's sandbox to the real time.
func (a *Admin) ResetClock(ctx context.Context, who string) (Clock, error) {
	return a.onClock(ctx, who, func(id int64) (clocks.State, error) {
		return a.Clocks.Reset(a.change(ctx, "clock.reset", "", clockSubject(id)), id)
	})
}

func clockSubject(sandboxID int64) subject {
	return rowOf("clock", "clocks_accounts", "at, target", "account_id", sandboxID).of(sandboxID)
}

func (a *Admin) onClock(ctx context.Context, who string, f func(sandboxID int64) (clocks.State, error)) (Clock, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Clock{}, err
	}
	id, err := a.Accounts.SandboxOf(ctx, a.DB, u.ID)
	if errors.Is(err, fault.NotFound) {
		err = fault.NotFound.Wrapf("the account %s has no sandbox: only a reseller has one", u.Email)
	}
	if err != nil {
		return Clock{}, err
	}
	st, err := f(id)
	return Clock{SandboxID: id, Now: st.Now, Status: string(st.Status), Target: st.Target}, err
}

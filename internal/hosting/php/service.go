package php

import (
	"cmp"
	"context"
	"reflect"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Clock clock.Clock
}

// Service is the section's use cases.
type Service struct {
	Config
	site.Part
}

// New makes the section.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.Part = s.collection()
	return s
}

// view is a service's PHP as it is shown: what should be, and what there is to choose from.
type view struct {
	row
	offer
	version string // that runs, or is to run
	most    int64  // memory of the plan in mebibytes; zero is no limit
}

// get answers how the programs of one of the account's services run.
func (s *Service) get(ctx context.Context, accountID, serviceID int64) (view, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return view{}, err
	}
	r, err := s.of(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return view{}, err
	}
	state, o, err := s.look(ctx, on)
	if err != nil {
		remembered, known, dbErr := offered(ctx, s.DB, on.Panel)
		if dbErr != nil {
			return view{}, dbErr
		}
		o = remembered
		if !known && on.Ref == "" {
			return view{}, fault.ServiceNotActive.New()
		}
		if !known || !panel.KindOf(err).Temporary() && !on.Ended() {
			return view{}, site.Refusal(err)
		}
	}
	return viewOf(on, r, o, state.Version), nil
}

// viewOf returns what owners see of their settings; runs is the version that the panel has, if that is known.
func viewOf(on site.Site, r row, o offer, runs string) view {
	return view{row: r, offer: o, version: cmp.Or(r.Version, runs, newest(o.versions)), most: memory(on)}
}

// memory is the plan's memory in mebibytes; zero is no limit.
func memory(on site.Site) int64 { return max(on.Limits.Of("memory_mb"), 0) }

// look asks the panel what the service has, and keeps what it offers.
func (s *Service) look(ctx context.Context, on site.Site) (panel.PHPState, offer, error) {
	php, err := site.On[panel.PHP](s.Panels, on, panel.CapPHP)
	if err == nil && on.Ref == "" {
		err = panel.Wrap("php.get", "", panel.ErrUnreachable) // nothing is provisioned yet
	}
	var state panel.PHPState
	if err == nil {
		state, err = php.PHPSettings(ctx, on.Ref)
	}
	if err != nil {
		return state, offer{}, err
	}
	o, err := s.learn(ctx, on.Panel, state)
	return state, o, err
}

// learn keeps what a panel offers, where that is news.
func (s *Service) learn(ctx context.Context, name string, state panel.PHPState) (offer, error) {
	now := seen(state)
	before, _, err := offered(ctx, s.DB, name)
	if err != nil {
		return offer{}, err
	}
	if reflect.DeepEqual(before, now) {
		return now, nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setOffered(ctx, tx, name, now) })
	return now, err
}

// present reads what a change of a service's settings starts from: the settings, and what the panel offers, if that is known.
func (s *Service) present(ctx context.Context, q db.Querier, on site.Site, accountID, serviceID int64) (before row, o offer, known bool, err error) {
	if before, err = s.of(ctx, q, accountID, serviceID); err != nil {
		return row{}, offer{}, false, err
	}
	o, known, err = offered(ctx, q, on.Panel)
	return before, o, known, err
}

// update changes how the programs of one of the account's services run.
func (s *Service) update(ctx context.Context, accountID, serviceID int64, c change) (view, error) {
	var v view
	settings := s.collection()
	err := settings.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		before, o, known, err := s.present(ctx, tx, on, accountID, serviceID)
		if err != nil {
			return err
		}
		after, err := before.with(c, o, known, memory(on))
		if err != nil {
			return err
		}
		if reflect.DeepEqual(after.PHPSettings, before.PHPSettings) && before.Status != site.Failed {
			v = viewOf(on, before, o, "")
			return nil
		}
		if err := set(ctx, tx, after); err != nil {
			return err
		}
		if after, err = s.of(ctx, tx, accountID, serviceID); err != nil {
			return err
		}
		v = viewOf(on, after, o, "")
		return settings.Enqueue(ctx, tx, accountID, serviceID)
	})
	return v, err
}

// kind is how the settings of a service follow.
func (s *Service) kind(_ context.Context, on site.Site, php panel.PHP) (site.Kind[row, panel.PHPSettings], error) {
	return site.Kind[row, panel.PHPSettings]{
		Wish: func(_ context.Context, r row) (panel.PHPSettings, error) { return r.PHPSettings, nil },
		Same: same,
		List: func(ctx context.Context, ref string) ([]panel.PHPSettings, error) {
			state, err := php.PHPSettings(ctx, ref)
			if err != nil {
				return nil, err
			}
			_, err = s.learn(ctx, on.Panel, state)
			return []panel.PHPSettings{state.PHPSettings}, err
		},
		Name: func(panel.PHPSettings) string { return only },
		Set: func(ctx context.Context, ref string, wish panel.PHPSettings) (panel.PHPSettings, error) {
			state, err := php.SetPHPSettings(ctx, ref, wish)
			if err != nil {
				return wish, err
			}
			_, err = s.learn(ctx, on.Panel, state)
			return state.PHPSettings, err
		},
		// What runs when nothing was set is the panel's choice.
		Remove: func(context.Context, string, string) error { return nil },
	}, nil
}

package announcements

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/page"
)

// Accounts knows who belongs to an audience: open accounts of the live world.
type Accounts interface {
	// Check refuses a machine that there is not; errors name the member audience.
	Check(ctx context.Context, q db.Querier, a Audience) error
	// Count tells how many accounts an audience has now.
	Count(ctx context.Context, q db.Querier, a Audience) (int, error)
	// After lists accounts of an audience in the order of their ids, those behind an id. next is the id from which the list
	// goes on, and 0 at its end; the page itself may have fewer accounts than the limit, or none.
	After(ctx context.Context, q db.Querier, a Audience, id int64, limit int) (page []int64, next int64, err error)
	// Belongs lists the audiences to which an account belongs, but for Everybody.
	Belongs(ctx context.Context, q db.Querier, accountID int64) ([]Audience, error)
}

// Notifier makes notifications.
type Notifier interface {
	// Notify makes one notification of an announcement for each account that has none, and counts them.
	Notify(ctx context.Context, tx *db.Tx, a Announcement, accounts []int64) (int, error)
}

// Recorder returns contexts in which what staff change is recorded in the audit log.
type Recorder interface {
	// RecordAnnouncement is for the announcement with the id, or for a new one where it is 0.
	RecordAnnouncement(ctx context.Context, action string, id int64) context.Context
}

// Config is what the section works with.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	Queue jobs.Enqueuer
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Accounts Accounts
	Notifier Notifier
	Audit    Recorder
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Preview checks a draft as Create does, and counts who would be told. Nothing is written.
func (s *Service) Preview(ctx context.Context, w Wish) (Wish, int, error) {
	w, err := s.checked(ctx, s.DB, w, s.Clock.Now())
	if err != nil {
		return w, 0, err
	}
	n, err := s.Accounts.Count(ctx, s.DB, w.Audience)
	return w, n, err
}

func (s *Service) checked(ctx context.Context, q db.Querier, w Wish, now time.Time) (Wish, error) {
	w, err := w.checked(now)
	if err == nil {
		err = s.Accounts.Check(ctx, q, w.Audience)
	}
	return w, err
}

// Create writes a new announcement, as a draft.
func (s *Service) Create(ctx context.Context, w Wish) (made Announcement, err error) {
	err = s.DB.InTx(s.Audit.RecordAnnouncement(ctx, "announcement.create", 0), func(ctx context.Context, tx *db.Tx) error {
		if w, err = s.checked(ctx, tx, w, tx.Now); err != nil {
			return err
		}
		id, err := insert(ctx, tx, w)
		if err != nil {
			return err
		}
		made, err = get(ctx, tx, id)
		return err
	})
	return made, err
}

// Save writes an announcement whose version is still the given one.
func (s *Service) Save(ctx context.Context, id, version int64, w Wish) (Announcement, error) {
	return s.change(ctx, "announcement.save", id, version, func(ctx context.Context, tx *db.Tx, a *Announcement) error {
		wish, err := s.checked(ctx, tx, w, tx.Now)
		switch {
		case err != nil:
			return err
		case a.PublishedAt != nil && !wish.sameReach(a.Wish):
			return errPublished.New()
		}
		a.Wish = wish
		return nil
	})
}

// Publish shows an announcement from its beginning on, as it was read: version is still that of the announcement.
func (s *Service) Publish(ctx context.Context, id, version int64) (Announcement, error) {
	return s.change(ctx, "announcement.publish", id, version, func(ctx context.Context, tx *db.Tx, a *Announcement) error {
		if a.PublishedAt != nil {
			return errPublished.New()
		}
		wish, err := s.checked(ctx, tx, a.Wish, tx.Now) // time has passed since it was written
		if err != nil {
			return err
		}
		a.Wish = wish
		a.PublishedAt = &tx.Now
		if a.StartsAt == nil || a.StartsAt.Before(tx.Now) {
			a.StartsAt = &tx.Now
		}
		if !a.Notify || a.StartsAt.After(tx.Now) {
			return nil
		}
		return s.begin(ctx, tx, a)
	})
}

// Withdraw takes an announcement back. Notifications that were made stay.
func (s *Service) Withdraw(ctx context.Context, id int64) (Announcement, error) {
	return s.change(ctx, "announcement.withdraw", id, 0, func(_ context.Context, tx *db.Tx, a *Announcement) error {
		if a.PublishedAt == nil {
			return fault.Conflict.With(fault.Fields{"version": a.Version})
		}
		a.WithdrawnAt = &tx.Now
		return nil
	})
}

// change changes an announcement that has the version and is not over. Version 0 is any.
func (s *Service) change(
	ctx context.Context, action string, id, version int64, f func(ctx context.Context, tx *db.Tx, a *Announcement) error,
) (changed Announcement, err error) {
	err = s.DB.InTx(s.Audit.RecordAnnouncement(ctx, action, id), func(ctx context.Context, tx *db.Tx) error {
		a, err := lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case version != 0 && a.Version != version:
			return fault.Conflict.With(fault.Fields{"version": a.Version})
		}
		if at := a.State(tx.Now); at == Withdrawn || at == Over {
			return errOver.New()
		}
		if err := f(ctx, tx, &a); err != nil {
			return err
		}
		if err := put(ctx, tx, a); err != nil {
			return err
		}
		changed, err = get(ctx, tx, id)
		return err
	})
	return changed, err
}

// Remove removes a draft. What was published is kept: the audit log and customers' questions lead to it.
func (s *Service) Remove(ctx context.Context, id int64) error {
	return s.DB.InTx(s.Audit.RecordAnnouncement(ctx, "announcement.remove", id), func(ctx context.Context, tx *db.Tx) error {
		a, err := lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case a.PublishedAt != nil:
			return errPublished.New()
		}
		return remove(ctx, tx, id)
	})
}

// Get reads an announcement, and counts who belongs to its audience now.
func (s *Service) Get(ctx context.Context, id int64) (Announcement, int, error) {
	a, err := get(ctx, s.DB, id)
	if err != nil {
		return a, 0, err
	}
	n, err := s.Accounts.Count(ctx, s.DB, a.Audience)
	return a, n, err
}

// List reads a page of all announcements, the newest first.
func (s *Service) List(ctx context.Context, p page.Params) ([]Announcement, int, error) {
	return list(ctx, s.DB, p)
}

// mostShown bounds how many banners one account sees, and mostRead how many are read for it: those for others are passed over.
const (
	mostShown = 5
	mostRead  = 100
)

// Shown lists what an account is to see now, the newest first.
func (s *Service) Shown(ctx context.Context, accountID int64) ([]Announcement, error) {
	all, err := shownTo(ctx, s.DB, s.Clock.Now(), accountID, mostRead)
	if err != nil {
		return nil, err
	}
	all, err = s.concerning(ctx, s.DB, accountID, all)
	return all[:min(len(all), mostShown)], err
}

// concerning keeps the announcements to whose audience an account belongs.
func (s *Service) concerning(ctx context.Context, q db.Querier, accountID int64, all []Announcement) ([]Announcement, error) {
	forAll := func(a Announcement) bool { return a.Audience.Kind == Everybody }
	var belongs []Audience
	if !slices.ContainsFunc(all, func(a Announcement) bool { return !forAll(a) }) {
		return all, nil
	}
	belongs, err := s.Accounts.Belongs(ctx, q, accountID)
	return slices.DeleteFunc(all, func(a Announcement) bool { return !forAll(a) && !slices.Contains(belongs, a.Audience) }), err
}

// Dismiss keeps an announcement away from an account from now on; fault.NotFound when it is not shown to it.
func (s *Service) Dismiss(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		mine, err := s.concerning(ctx, tx, accountID, []Announcement{a})
		if err != nil {
			return err
		}
		if at := a.State(tx.Now); len(mine) == 0 || at == Draft || at == Scheduled {
			return fault.NotFound.New()
		}
		return dismiss(ctx, tx, accountID, id)
	})
}

// closed removes what an account has dismissed.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return removeDismissals(ctx, tx, accountID)
}

package currencies

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/port/rates"
)

// Fresh is how old a rate may be to be shown.
const Fresh = 7 * 24 * time.Hour

// Operator is the source of rates that an operator has set.
const Operator = "operator"

const topic = "currencies"

// Signals carries news to all replicas.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
	Subscribe(topic string, f func(payload string))
}

// Config is what the section needs.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Signals Signals
	Log     *slog.Logger
	// Sources are asked each day; none, unless the operator has chosen one.
	Sources []rates.Source
}

// Service is the section's use cases.
type Service struct {
	Config
	table *signal.Copy[[]Rate]
}

// New makes the section. It shows dollars until Load has read the rates.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.table = signal.NewCopy(nil, func(ctx context.Context) ([]Rate, error) { return allRates(ctx, s.DB) })
	return s
}

// Load reads the rates and follows their changes.
func (s *Service) Load(ctx context.Context) error {
	return s.table.Follow(ctx, s.Signals, topic, s.Log)
}

// Rate is a stored rate.
type Rate struct {
	Currency money.Currency
	PerUSD   money.Rate
	On       time.Time
	Source   string
}

// isFresh tells whether prices are shown by the rate.
func (r Rate) isFresh(now time.Time) bool { return now.Sub(r.On) < Fresh }

// Current is the table by which prices are shown now.
func (s *Service) Current() *money.Rates {
	now, table := s.Clock.Now(), map[money.Currency]money.Rate{}
	for _, r := range s.table.Get() {
		if r.isFresh(now) {
			table[r.Currency] = r.PerUSD
		}
	}
	shown, err := money.NewRates(table)
	if err != nil { // a currency that this version does not know
		s.Log.Error("currencies: the rates cannot be used", "error", err)
		return money.DollarsOnly()
	}
	return shown
}

// List returns all rates, in the order of their currencies.
func (s *Service) List(ctx context.Context) ([]Rate, error) { return allRates(ctx, s.DB) }

// Set stores an operator's rate for a day; the zero day is today. A day in the future or older than a week is refused.
func (s *Service) Set(ctx context.Context, code, rate string, on time.Time) (r Rate, err error) {
	c, known := money.ParseCurrency(code)
	perUSD, ok := rates.Parse(rate)
	switch {
	case !known || c == money.USD:
		return r, fault.InvalidData("currency", "one_of", map[string]any{"Value": money.Currencies()})
	case !ok:
		return r, fault.Invalid("rate", "value")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if on.IsZero() {
			on = tx.Now
		}
		on = on.UTC().Truncate(24 * time.Hour)
		r = Rate{c, perUSD, on, Operator}
		if !r.isFresh(tx.Now) || on.After(tx.Now) {
			return fault.Invalid("on", "out_of_range")
		}
		if err := saveRate(ctx, tx, r); err != nil {
			return err
		}
		return s.Signals.Send(ctx, tx, topic, "")
	})
	return r, err
}

// Remove forgets the rate of a currency, so that a publisher's is used again, or prices are shown in dollars.
func (s *Service) Remove(ctx context.Context, code string) error {
	c, _ := money.ParseCurrency(code)
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := deleteRate(ctx, tx, c)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		if err != nil {
			return err
		}
		return s.Signals.Send(ctx, tx, topic, "")
	})
}

// Fetch asks the publishers, also when one of them fails. What an operator has set stays as long as it is fresh; a rate that is
// older than the one that is stored is not taken.
func (s *Service) Fetch(ctx context.Context) error {
	var failed []error
	for _, source := range s.Sources {
		found, err := source.Fetch(ctx)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			stored, err := allRates(ctx, tx)
			if err != nil {
				return err
			}
			kept := map[money.Currency]Rate{}
			for _, r := range stored {
				kept[r.Currency] = r
			}
			for _, r := range found {
				before := kept[r.Currency]
				if before.On.After(r.On) || before.Source == Operator && before.isFresh(tx.Now) || r.On.After(tx.Now.Add(24*time.Hour)) {
					continue
				}
				if err := saveRate(ctx, tx, Rate{r.Currency, r.PerUSD, r.On, source.Name()}); err != nil {
					return err
				}
			}
			return s.Signals.Send(ctx, tx, topic, "")
		})
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

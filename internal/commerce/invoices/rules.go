package invoices

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// topic is that of the signals by which replicas read the tax rules again.
const topic = "tax_rules"

// Recorder returns contexts in which what staff change is recorded in the audit log.
type Recorder interface {
	// RecordTaxRules is for the version with the id, or for a new one where it is 0.
	RecordTaxRules(ctx context.Context, action, reason string, id int64) context.Context
}

// RulesVersion are tax rules that hold from a time on, until those of another version do.
type RulesVersion struct {
	ID        int64
	File      string
	ValidFrom time.Time
	CreatedAt time.Time

	rules Rules
}

// inForce are the rules at a time: those of the last version that has begun, else those of the configuration. version is nil for
// these.
func (s *Service) inForce(at time.Time) (rules Rules, version *RulesVersion) {
	rules = s.Rules
	for _, v := range s.versions.Get() {
		if !v.ValidFrom.After(at) {
			rules, version = v.rules, &v
		}
	}
	return rules, version
}

// now are the rules of the present.
func (s *Service) now() Rules {
	rules, _ := s.inForce(s.Clock.Now())
	return rules
}

// LoadRules reads the versions and follows their changes.
func (s *Service) LoadRules(ctx context.Context) error {
	return s.versions.Follow(ctx, s.Signals, topic, s.Log)
}

func (s *Service) readVersions(ctx context.Context) ([]RulesVersion, error) {
	all, err := rulesVersions(ctx, s.DB)
	for i := 0; err == nil && i < len(all); i++ {
		all[i].rules, err = ReadRules([]byte(all[i].File))
	}
	return all, err
}

// maxVersions bounds the versions that have not begun.
const maxVersions = 20

// SetRules makes a file the tax rules from a time on; nil is now.
func (s *Service) SetRules(ctx context.Context, file string, from *time.Time, reason string) error {
	if _, err := checkRules(file); err != nil {
		return err
	}
	return s.changeRules(s.Audit.RecordTaxRules(ctx, "tax_rules.set", reason, 0), func(ctx context.Context, tx *db.Tx) error {
		at := tx.Now
		if from != nil {
			at = from.UTC()
		}
		switch ahead, err := countAhead(ctx, tx); {
		case err != nil:
			return err
		case at.Before(tx.Now):
			return fault.Invalid("valid_from", "tax_past")
		case ahead >= maxVersions && at.After(tx.Now):
			return fault.InvalidData("valid_from", "too_many", map[string]any{"Max": maxVersions})
		}
		return insertRules(ctx, tx, file, at)
	})
}

// TakeBackRules removes a version that has not begun. One that has is on documents, and stays.
func (s *Service) TakeBackRules(ctx context.Context, id int64, reason string) error {
	return s.changeRules(s.Audit.RecordTaxRules(ctx, "tax_rules.take_back", reason, id), func(ctx context.Context, tx *db.Tx) error {
		found, err := deleteAhead(ctx, tx, id)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// changeRules makes a change and tells all replicas.
func (s *Service) changeRules(ctx context.Context, f func(ctx context.Context, tx *db.Tx) error) error {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		return s.Signals.Send(ctx, tx, topic, "")
	})
	if err == nil {
		err = s.versions.Read(ctx) // this process taxes by it at once
	}
	return err
}

// checkRules reads a file that staff have written, and refuses one with mistakes by naming all of them.
func checkRules(file string) (Rules, error) {
	rules, err := ReadRules([]byte(file))
	if err != nil {
		problems := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "tax rules: ", ""), "\n", "; ")
		return rules, fault.InvalidData("file", "tax_file", map[string]any{"What": problems})
	}
	return rules, nil
}

// Taxed is what a price becomes for buyers of a country.
type Taxed struct {
	// Country is its code; empty for all that the rules do not name.
	Country  string
	Business bool // with a tax number
	Was, Now Amounts
}

// Amounts are a price with its tax.
type Amounts struct {
	Tax        money.Tax
	Net, Total money.USDCents
}

// Compare says what a price becomes by the rules of a file, beside what it is now: for each country that either names.
func (s *Service) Compare(file string, price money.USDCents) ([]Taxed, error) {
	rules, err := checkRules(file)
	if err != nil {
		return nil, err
	}
	return compared(s.now(), rules, price)
}

func compared(was, now Rules, price money.USDCents) ([]Taxed, error) {
	countries := slices.AppendSeq(slices.Collect(maps.Keys(was.countries)), maps.Keys(now.countries))
	slices.Sort(countries)
	countries = slices.Compact(countries)
	var all []Taxed
	for _, code := range append(countries, "") {
		for _, business := range []bool{false, true} {
			t := Taxed{Country: code, Business: business}
			var one, two error
			t.Was, one = amountsOf(was.forBuyer(code, business), price)
			t.Now, two = amountsOf(now.forBuyer(code, business), price)
			if err := cmp.Or(one, two); err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// forBuyer is the tax of a country's buyers; an empty code is that of countries that the rules do not name.
func (r Rules) forBuyer(code string, business bool) money.Tax {
	found := r.elsewhere
	if code != "" {
		found = r.of(code)
	}
	switch {
	case found == nil:
		return money.Tax{}
	case business:
		return found.businesses
	}
	return found.people
}

func amountsOf(t money.Tax, price money.USDCents) (Amounts, error) {
	added, contained, err := t.Of(price)
	if err != nil {
		return Amounts{}, err
	}
	net, one := price.Sub(contained)
	total, two := price.Add(added)
	return Amounts{t, net, total}, errors.Join(one, two)
}

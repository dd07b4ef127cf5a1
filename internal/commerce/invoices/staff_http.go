package invoices

import (
	"context"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// taxRulesWire are the tax rules as staff see them.
type taxRulesWire struct {
	File      string             `json:"file" doc:"The YAML file in force; empty where nobody is taxed"`
	Source    string             `json:"source" enum:"none,configuration,staff" doc:"Where the rules in force come from: STEAD_TAX_RULES_FILE, or what staff have set"`
	ValidFrom *time.Time         `json:"valid_from" doc:"Since when they hold; null for those of the configuration"`
	Rules     []taxedWire        `json:"rules" doc:"What a price becomes now, by the country of the buyer"`
	Versions  []rulesVersionWire `json:"versions" doc:"What staff have set, the newest first, at most 50"`
}

type rulesVersionWire struct {
	ID        int64     `json:"id"`
	File      string    `json:"file"`
	State     string    `json:"state" enum:"ahead,in_force,past"`
	ValidFrom time.Time `json:"valid_from"`
	CreatedAt time.Time `json:"created_at"`
}

// taxedWire is what a price becomes for buyers of a country.
type taxedWire struct {
	Country  string      `json:"country" doc:"Code of the country (ISO 3166-1); empty for all that the rules do not name"`
	Business bool        `json:"business" doc:"Businesses with a tax number, instead of everybody else"`
	Was      amountsWire `json:"was" doc:"By the rules in force"`
	Now      amountsWire `json:"now" doc:"By the file"`
}

type amountsWire struct {
	Name     string         `json:"name" doc:"Of the tax, as on documents"`
	Rate     float64        `json:"rate" doc:"Percent"`
	Included bool           `json:"included" doc:"Whether prices contain the tax"`
	Note     string         `json:"note" doc:"Why there is none: reverse_charge, exempt; empty otherwise"`
	Net      money.USDCents `json:"net_usd_cents"`
	Tax      money.USDCents `json:"tax_usd_cents"`
	Total    money.USDCents `json:"total_usd_cents" doc:"What the buyer pays"`
}

func wireAmounts(a Amounts) amountsWire {
	return amountsWire{
		Name: a.Tax.Name, Rate: float64(a.Tax.BasisPoints) / 100, Included: a.Tax.Included, Note: a.Tax.Note, Net: a.Net, Tax: a.Total - a.Net,
		Total: a.Total,
	}
}

func wireTaxed(all []Taxed) []taxedWire {
	out := make([]taxedWire, len(all))
	for i, t := range all {
		out[i] = taxedWire{t.Country, t.Business, wireAmounts(t.Was), wireAmounts(t.Now)}
	}
	return out
}

type setRulesIn struct {
	DryRun bool `query:"dry_run" doc:"Only check the file, and answer what a price becomes."`
	Body   struct {
		File      string         `json:"file" maxLength:"100000" doc:"YAML; docs/invoices.md describes it. An empty one taxes nobody."`
		ValidFrom *time.Time     `json:"valid_from,omitempty" doc:"When it begins to hold; without it, at once"`
		Price     money.USDCents `json:"price_usd_cents,omitempty" minimum:"1" maximum:"100000000" doc:"The price that the answer is about; without it, $10"`
		Reason    string         `json:"reason,omitempty" maxLength:"300" doc:"Why; it stands in the audit log. A dry run needs none."`
	}
}

type comparedWire struct {
	Rules []taxedWire `json:"rules" doc:"What the price becomes, beside what it was"`
}

type versionIn struct {
	Version int64  `path:"tax_rules" minimum:"1" doc:"Version of the rules."`
	Reason  string `query:"reason" maxLength:"300" doc:"Why; it stands in the audit log."`
}

// examplePrice is what previews are about.
const examplePrice money.USDCents = 1000

// mostVersions bounds the list of versions.
const mostVersions = 50

// books are who sets taxes.
var books = []auth.Role{auth.Owner, auth.Billing}

func (s *Service) taxRules() (*taxRulesWire, error) {
	at := s.Clock.Now()
	rules, version := s.inForce(at)
	all, err := compared(rules, rules, examplePrice)
	if err != nil {
		return nil, err
	}
	w := &taxRulesWire{Source: "none", File: s.RulesFile, Rules: wireTaxed(all), Versions: []rulesVersionWire{}}
	if !s.Rules.none() {
		w.Source = "configuration"
	}
	if version != nil {
		w.Source, w.File, w.ValidFrom = "staff", version.File, &version.ValidFrom
	}
	versions := s.versions.Get()
	for i := len(versions) - 1; i >= 0 && len(w.Versions) < mostVersions; i-- {
		v := versions[i]
		state := "past"
		switch {
		case v.ValidFrom.After(at):
			state = "ahead"
		case version != nil && v.ID == version.ID:
			state = "in_force"
		}
		w.Versions = append(w.Versions, rulesVersionWire{v.ID, v.File, state, v.ValidFrom, v.CreatedAt})
	}
	return w, nil
}

// staffTaxes are the operations of staff about taxes.
func (s *Service) staffTaxes() []api.Route {
	list := api.ForStaff[struct{}, taxRulesWire]("tax_rules.get", "/tax-rules", "The taxes by the country of the buyer", auth.Roles())
	list.Description = "The rules in force, what a price of $10 becomes by them, and the versions that staff have set."
	list.Handle = func(context.Context, auth.Principal, *struct{}) (*taxRulesWire, error) { return s.taxRules() }

	set := api.ForStaff[setRulesIn, comparedWire]("tax_rules.set", "/tax-rules", "Set the taxes by the country of the buyer", books)
	set.Method = http.MethodPut
	set.Example = `{"file": "home: UZ\ncountries:\n  UZ: {name: QQS, rate: \"12\"}\n", "reason": "The law of 1 January"}`
	set.Description = "A whole file, which holds from `valid_from` on for payments; documents that were issued stay as they are. What staff set wins over " +
		"the configuration's file. `dry_run=true` only says what a price becomes."
	set.Handle = func(ctx context.Context, _ auth.Principal, in *setRulesIn) (*comparedWire, error) {
		price := in.Body.Price
		if price == 0 {
			price = examplePrice
		}
		all, err := s.Compare(in.Body.File, price)
		switch {
		case err != nil || in.DryRun:
		case strings.TrimSpace(in.Body.Reason) == "":
			err = fault.Invalid("reason", "required")
		default:
			err = s.SetRules(ctx, in.Body.File, in.Body.ValidFrom, in.Body.Reason)
		}
		if err != nil {
			return nil, err
		}
		return &comparedWire{wireTaxed(all)}, nil
	}

	remove := api.ForStaff[versionIn, api.Empty]("tax_rules.take_back", "/tax-rules/{tax_rules}", "Take back taxes that do not hold yet", books)
	remove.Method = http.MethodDelete
	remove.Description = "A version that has begun to hold stays: documents were issued by it."
	remove.Handle = func(ctx context.Context, _ auth.Principal, in *versionIn) (*api.Empty, error) {
		return nil, s.TakeBackRules(ctx, in.Version, in.Reason)
	}
	return []api.Route{list, set, remove}
}

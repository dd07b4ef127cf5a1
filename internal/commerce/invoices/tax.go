package invoices

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/countries"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/yamlfile"
)

// The words that rules and documents say about tax.
const (
	pricesExclude = "exclude"
	pricesInclude = "include"

	businessesTaxed         = "taxed"
	businessesReverseCharge = "reverse_charge"
	businessesExempt        = "exempt"
)

// Rules are the taxes by the country of the buyer; docs/invoices.md describes their file. The zero Rules tax nobody.
type Rules struct {
	home      string
	elsewhere *rule
	countries map[string]*rule
}

// rule is how buyers of a country are taxed.
type rule struct {
	people, businesses money.Tax
	number             *regexp.Regexp // of businesses' tax numbers; nil takes any
}

type fileRules struct {
	Home      string              `yaml:"home"`
	Elsewhere *fileRule           `yaml:"elsewhere"`
	Countries map[string]fileRule `yaml:"countries"`
}

type fileRule struct {
	Name       string `yaml:"name"`
	Rate       string `yaml:"rate"`
	Prices     string `yaml:"prices"`
	Businesses string `yaml:"businesses"`
	TaxNumber  string `yaml:"tax_number"`
}

// ReadRules reads the file of the tax rules. Its error lists everything that is wrong.
func ReadRules(content []byte) (Rules, error) {
	var f fileRules
	if err := yamlfile.Decode(content, &f); err != nil && !errors.Is(err, io.EOF) {
		return Rules{}, fmt.Errorf("tax rules: %w", err)
	}
	r := Rules{home: f.Home, countries: map[string]*rule{}}
	var problems []error
	read := func(place string, from fileRule) *rule {
		to, err := from.rule()
		if err != nil {
			problems = append(problems, fmt.Errorf("tax rules: %s: %w", place, err))
		}
		return to
	}
	for _, code := range slices.Sorted(maps.Keys(f.Countries)) {
		if !countries.Known(code) {
			problems = append(problems, fmt.Errorf("tax rules: countries: %q is not the code of a country, such as UZ", code))
		}
		r.countries[code] = read(code, f.Countries[code])
	}
	if f.Elsewhere != nil {
		r.elsewhere = read("elsewhere", *f.Elsewhere)
	}
	if f.Home != "" && r.countries[f.Home] == nil {
		problems = append(problems, fmt.Errorf("tax rules: home: %q is none of the countries", f.Home))
	}
	return r, errors.Join(problems...)
}

func (f fileRule) rule() (*rule, error) {
	rate, err := percent(f.Rate)
	if err != nil {
		return nil, err
	}
	if rate > 0 && strings.TrimSpace(f.Name) == "" {
		return nil, errors.New("name: a tax has a name, such as VAT")
	}
	r := &rule{people: money.Tax{Name: f.Name, BasisPoints: rate}}
	switch f.Prices {
	case pricesExclude, "":
	case pricesInclude:
		r.people.Included = true
	default:
		return nil, fmt.Errorf("prices: %q is neither %s nor %s the tax", f.Prices, pricesExclude, pricesInclude)
	}
	switch f.Businesses {
	case businessesTaxed, "":
		r.businesses = r.people
	case businessesReverseCharge, businessesExempt:
		r.businesses = money.Tax{Name: f.Name, Note: f.Businesses}
	default:
		return nil, fmt.Errorf("businesses: %q is none of %s, %s and %s", f.Businesses, businessesTaxed, businessesReverseCharge, businessesExempt)
	}
	if f.TaxNumber != "" {
		if r.number, err = regexp.Compile(`^(?:` + f.TaxNumber + `)$`); err != nil {
			return nil, fmt.Errorf("tax_number: %w", err)
		}
	}
	return r, nil
}

// percent reads a rate of percent with at most two decimals as basis points.
func percent(text string) (int, error) {
	whole, decimals, _ := strings.Cut(text, ".")
	if text == "" {
		whole = "0"
	}
	n, err := strconv.ParseUint(whole+(decimals + "00")[:2], 10, 31)
	if err != nil || len(decimals) > 2 || n > math.MaxInt16 || strings.HasSuffix(text, ".") {
		return 0, fmt.Errorf("rate: %q is not a percentage such as 12 or 7.5", text)
	}
	return int(n), nil
}

// of is the rule for buyers of a country; of those who state none it is that of home. nil: they are not taxed.
func (r Rules) of(code string) *rule {
	if code == "" {
		code = r.home
	}
	if found, ok := r.countries[code]; ok {
		return found
	}
	return r.elsewhere
}

// tax is how a buyer is taxed. A business is one that has a tax number, of the form that the rule asks for now.
func (r Rules) tax(p profile) money.Tax {
	found := r.of(p.country)
	switch {
	case found == nil:
		return money.Tax{}
	case p.company && p.taxNumber != "" && found.numbered(p.taxNumber):
		return found.businesses
	default:
		return found.people
	}
}

// numbered tells whether a tax number has the form of those of a country.
func (r Rules) numbered(code, number string) bool {
	found := r.of(code)
	return found == nil || found.numbered(number)
}

// numbered tells whether a tax number has the form that the rule asks for.
func (r *rule) numbered(number string) bool { return r.number == nil || r.number.MatchString(number) }

// none tells that nobody is taxed.
func (r Rules) none() bool { return len(r.countries) == 0 && r.elsewhere == nil }

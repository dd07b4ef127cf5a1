package invoices

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/money"
)

func TestTaxIsByTheCountryOfTheBuyer(t *testing.T) {
	rules, err := ReadRules([]byte(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who  profile
		want money.Tax
	}{
		"who states no country is at home":        {profile{}, money.Tax{Name: "QQS", BasisPoints: 1200}},
		"a person":                                {profile{country: "DE"}, money.Tax{Name: "MwSt", BasisPoints: 1900, Included: true}},
		"a business without a number":             {profile{country: "DE", company: true}, money.Tax{Name: "MwSt", BasisPoints: 1900, Included: true}},
		"a business that owes the tax itself":     {profile{country: "DE", company: true, taxNumber: "DE123456789"}, money.Tax{Name: "MwSt", Note: "reverse_charge"}},
		"a number that was taken before the rule": {profile{country: "DE", company: true, taxNumber: "x"}, money.Tax{Name: "MwSt", BasisPoints: 1900, Included: true}},
		"a business that is taxed as others":      {profile{country: "UZ", company: true, taxNumber: "301234567"}, money.Tax{Name: "QQS", BasisPoints: 1200}},
		"a business that is exempt":               {profile{country: "CH", company: true, taxNumber: "CHE-1"}, money.Tax{Name: "MWST", Note: "exempt"}},
		"a country that the file does not say":    {profile{country: "JP"}, money.Tax{Name: "VAT"}},
	} {
		if got := rules.tax(c.who); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := (Rules{}).tax(profile{country: "DE"}); got != (money.Tax{}) {
		t.Errorf("without rules: %+v", got)
	}
}

func TestWhatIsWrongWithTheRulesIsSaid(t *testing.T) {
	for file, want := range map[string]string{
		"countries: {UK: {name: VAT, rate: '20'}}":                 `"UK" is not the code of a country`,
		"countries: {de: {name: VAT, rate: '20'}}":                 `"de" is not the code of a country`,
		"countries: {DE: {rate: '19'}}":                            "a tax has a name",
		"countries: {DE: {name: V, rate: 19%}}":                    "is not a percentage",
		"countries: {DE: {name: V, rate: '7.125'}}":                "is not a percentage",
		"countries: {DE: {name: V, rate: '-1'}}":                   "is not a percentage",
		"countries: {DE: {name: V, rate: '400'}}":                  "is not a percentage",
		"countries: {DE: {name: V, rate: '19', prices: gross}}":    "neither exclude nor include",
		"countries: {DE: {name: V, rate: '19', businesses: none}}": "none of taxed",
		"countries: {DE: {name: V, rate: '19', tax_number: '('}}":  "tax_number",
		"home: UZ": "is none of the countries",
		"countries: {DE: {name: V, rate: '19', since: 2026}}":            "since",
		"home: UZ\ncountries: {DE: {name: V, rate: x}, AT: {rate: '2'}}": "AT: name",
	} {
		if _, err := ReadRules([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	for _, empty := range []string{"", "# nothing\n"} {
		if rules, err := ReadRules([]byte(empty)); err != nil || !rules.none() {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

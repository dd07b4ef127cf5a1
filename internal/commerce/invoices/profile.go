package invoices

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"stead.dev/stead/internal/platform/countries"
	"stead.dev/stead/internal/platform/fault"
)

// profile is whom the invoices of an account are for. The zero profile is that of an account which has not said.
type profile struct {
	company                           bool
	name, taxNumber                   string
	country, region, city, postalCode string
	address, email                    string
}

func (p profile) party() Party {
	return Party{
		Company: p.company, Name: p.name, TaxNumber: p.taxNumber, Country: p.country, Region: p.region, City: p.city,
		PostalCode: p.postalCode, Address: p.address, Email: p.email,
	}
}

// check brings a profile to the form in which it is kept, or says what is wrong with it.
func (p profile) check(rules Rules) (profile, error) {
	for _, m := range []struct {
		field string
		value *string
		most  int
	}{
		{"name", &p.name, 200},
		{"tax_number", &p.taxNumber, 40},
		{"region", &p.region, 100},
		{"city", &p.city, 100},
		{"postal_code", &p.postalCode, 20},
		{"address", &p.address, 200},
		{"email", &p.email, 254},
	} {
		if !utf8.ValidString(*m.value) || strings.ContainsFunc(*m.value, unwritable) {
			return p, fault.Invalid(m.field, "characters")
		}
		*m.value = strings.Join(strings.Fields(norm.NFC.String(*m.value)), " ")
		if utf8.RuneCountInString(*m.value) > m.most {
			return p, fault.InvalidData(m.field, "max_length", map[string]any{"Value": m.most})
		}
	}
	p.country = strings.ToUpper(p.country)
	switch {
	case p.name == "":
		return p, fault.Invalid("name", "required")
	case !countries.Known(p.country):
		return p, fault.Invalid("country", "invoices_country")
	case p.company && p.address == "":
		return p, fault.Invalid("address", "required")
	case p.taxNumber != "" && !p.company:
		return p, fault.Invalid("tax_number", "invoices_tax_number_person")
	case p.taxNumber != "" && !rules.numbered(p.country, p.taxNumber):
		return p, fault.Invalid("tax_number", "invoices_tax_number")
	case p.email != "" && !address(p.email):
		return p, fault.Invalid("email", "invoices_email")
	}
	return p, nil
}

// address tells whether a text is a mail address and nothing else.
func address(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text
}

// unwritable characters are those that no line of a document can have: controls, and what turns the direction of
// writing and so makes a line read as another.
func unwritable(r rune) bool {
	return unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

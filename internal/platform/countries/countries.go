// Package countries knows the codes of countries.
package countries

import "golang.org/x/text/language"

// Known reports whether a text is the code of a country (ISO 3166-1 alpha-2), in capitals.
func Known(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && len(code) == 2 && region.IsCountry() && region.Canonicalize().String() == code
}

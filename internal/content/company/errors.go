package company

import "stead.dev/stead/internal/platform/fault"

// errText refuses a text that is not one line.
func errText(member string) error { return fault.Invalid(member, "company_text") }

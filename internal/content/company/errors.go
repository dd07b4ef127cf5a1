package company

import "stead.dev/stead/internal/platform/fault"

// The refusals of what staff enter, by the member.
func errText(member string) error { return fault.Invalid(member, "company_text") }
func errLink(member string) error { return fault.Invalid(member, "company_link") }

func errImage(why string, data map[string]any) error {
	return fault.InvalidData("content", "company_image_"+why, data)
}

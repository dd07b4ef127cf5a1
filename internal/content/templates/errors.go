package templates

import "stead.dev/stead/internal/platform/fault"

// errFilesExist refuses a template where a site is already.
var errFilesExist = fault.Define(fault.KindConflict, "template_files_exist")

// errUnknown refuses a template that is not there, or is not offered.
func errUnknown() error { return fault.Invalid("template", "template_unknown") }

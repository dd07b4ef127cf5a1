package templates

import "stead.dev/stead/internal/platform/fault"

// errFilesExist refuses a template where a site is already.
var errFilesExist = fault.Define(fault.KindConflict, "template_files_exist")

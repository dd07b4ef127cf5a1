package account

import "stead.dev/stead/internal/platform/api"

// Modules tells which sections the operator has switched on.
type Modules interface {
	Enabled(s api.Section) bool
}

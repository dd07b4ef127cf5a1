package nginx

import (
	"fmt"
	"strings"

	"stead.dev/stead/internal/panel"
)

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `${stead_dollar}`)

// quote makes a value one argument of a directive, with the meaning it has: nginx reads neither a
// variable nor the end of the argument in it. Within quotes nginx takes every other byte as it is, also
// a line break. A dollar sign has no escape in nginx, so it is a variable that holds one (see main.conf).
func quote(s string) (string, error) {
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%w: %q cannot be configured", panel.ErrInvalid, s)
	}
	return `"` + quoting.Replace(s) + `"`, nil
}

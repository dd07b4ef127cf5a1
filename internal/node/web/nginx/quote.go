package nginx

import (
	"fmt"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `${stead_dollar}`)

// quote makes a value one argument of a directive, unchanged: nginx finds neither a variable nor the argument's end in
// it. Within quotes nginx accepts every other byte as it is, also a line break. nginx has no escape for a dollar sign,
// so a variable holds one (see main.conf).
func quote(s string) (string, error) {
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%w: %q cannot be configured", panel.ErrInvalid, s)
	}
	return `"` + quoting.Replace(s) + `"`, nil
}

var quotingLiterally = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoteLiterally is quote for an argument in which nginx looks for no variables: the prefix of a location.
func quoteLiterally(s string) (string, error) {
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%w: %q cannot be configured", panel.ErrInvalid, s)
	}
	return `"` + quotingLiterally.Replace(s) + `"`, nil
}

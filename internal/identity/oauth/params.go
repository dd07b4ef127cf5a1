package oauth

import (
	"net/url"
	"unicode/utf8"
)

// maxParam bounds each parameter of the protocol, in bytes.
const maxParam = 4096

// known are the parameters that this server reads. Others are ignored (RFC 6749, section 3.1), however often they
// occur.
var known = []string{
	"client_id", "client_secret", "redirect_uri", "response_type", "scope", "state", "code_challenge",
	"code_challenge_method", "resource", "prompt", "grant_type", "code", "code_verifier", "refresh_token",
	"token", "token_type_hint", "device_code",
}

// params are the parameters of one request, each given once.
type params map[string]string

// parseParams refuses parameters that occur twice (RFC 6749, section 3.1: it would be ambiguous) or that are not text.
// A parameter without a value counts as omitted.
func parseParams(v url.Values) (params, error) {
	p := params{}
	for _, name := range known {
		values := v[name]
		if len(values) > 1 {
			return nil, refuse(ErrInvalidRequest, "duplicate_parameter")
		}
		if len(values) == 0 || values[0] == "" {
			continue
		}
		if !printable(values[0]) {
			return nil, refuse(ErrInvalidRequest, "parameter_characters")
		}
		p[name] = values[0]
	}
	return p, nil
}

func printable(s string) bool {
	if len(s) > maxParam || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return true
}

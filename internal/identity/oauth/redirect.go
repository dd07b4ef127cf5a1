package oauth

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a registration.
const (
	maxRedirects      = 10
	maxRedirectLength = 500
)

// checkRedirect returns the mistake in a redirect URI that an application wants to register, as the id of a text; ""
// when it is valid.
//
// Allowed are https, http to this machine for native applications, and for public ones private-use schemes that contain
// a dot (RFC 8252, section 7.1).
func checkRedirect(raw string, t Type) string {
	if raw == "" || len(raw) > maxRedirectLength {
		return "redirect_uri_length"
	}
	for _, c := range []byte(raw) {
		// Parsers of URIs disagree on these characters.
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\\<>\"^`{|}", c) >= 0 {
			return "redirect_uri_characters"
		}
	}
	if strings.Contains(raw, "*") {
		return "redirect_uri_wildcard"
	}
	if strings.Contains(raw, "#") {
		return "redirect_uri_fragment"
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return "redirect_uri_absolute"
	}
	if u.User != nil {
		return "redirect_uri_userinfo"
	}
	for name := range u.Query() {
		if slices.Contains(answerParams, name) {
			return "redirect_uri_query"
		}
	}
	if _, _, ok := splitLoopback(raw); ok {
		return ""
	}
	switch {
	case u.Scheme == "https" && u.Hostname() != "" && strings.HasPrefix(raw, "https://"):
		return ""
	case strings.Contains(u.Scheme, ".") && strings.HasPrefix(raw, u.Scheme+":"):
		if t != Public {
			return "redirect_uri_private_scheme"
		}
		return ""
	default:
		return "redirect_uri_scheme"
	}
}

// answerParams are the parameters that the server adds to a redirect URI.
var answerParams = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// loopbacks begin the URIs of native applications that listen on this machine
// (RFC 8252, section 7.3).
var loopbacks = []string{"http://127.0.0.1", "http://[::1]", "http://localhost"}

// splitLoopback cuts the port out of a loopback URI. It works on the text alone, so that no difference between URI
// parsers can be exploited: between the address and the path is nothing, or a colon and a port.
func splitLoopback(raw string) (host, rest string, ok bool) {
	for _, host := range loopbacks {
		rest, found := strings.CutPrefix(raw, host)
		if !found {
			continue
		}
		if after, hasPort := strings.CutPrefix(rest, ":"); hasPort {
			digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
			port, err := strconv.ParseUint(after[:digits], 10, 16)
			if err != nil || port == 0 {
				return "", "", false
			}
			rest = after[digits:]
		}
		if rest == "" || rest[0] == '/' || rest[0] == '?' {
			return host, rest, true
		}
	}
	return "", "", false
}

// matches reports whether the application registered a request's redirect URI: the same text, or for a loopback address
// the same except the port. First-party applications need no consent, so their address must be exact: another program
// on the machine could listen on another port.
func (a Application) matches(requested string) bool {
	if slices.Contains(a.RedirectURIs, requested) {
		return true
	}
	host, rest, ok := splitLoopback(requested)
	if !ok || a.FirstParty {
		return false
	}
	return slices.ContainsFunc(a.RedirectURIs, func(registered string) bool {
		h, r, ok := splitLoopback(registered)
		return ok && h == host && r == rest
	})
}

// assured reports whether only the application can receive requests to the URI (RFC 8252, section 8.6): any program on
// a device can register a scheme or listen on a port.
func (a Application) assured(redirect string) bool {
	return a.FirstParty || a.Type == Confidential || strings.HasPrefix(redirect, "https://")
}

// withParams adds parameters to a redirect URI and keeps the existing ones.
func withParams(redirect string, v url.Values) string {
	sep := "?"
	if strings.Contains(redirect, "?") {
		sep = "&"
		if strings.HasSuffix(redirect, "?") || strings.HasSuffix(redirect, "&") {
			sep = ""
		}
	}
	return redirect + sep + v.Encode()
}

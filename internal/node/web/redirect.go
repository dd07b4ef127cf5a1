package web

import (
	"net/http"
	"net/url"

	"stead.dev/stead/internal/port/panel"
)

// redirect sends the visitor elsewhere permanently, without a body.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusMovedPermanently)
}

// redirectTarget is the target of a site's redirect for this request: a target that is only a host gets the path and
// query. The host is always the target's own, whatever the path looks like.
func redirectTarget(target string, r *http.Request) string {
	u, err := url.Parse(target)
	if err != nil || u.Path != "" || u.RawQuery != "" {
		return target
	}
	return onHost(u.Scheme, u.Host, r)
}

// secureAddress is the request's address by HTTPS. The host is the one that found the site, in canonical form; a port
// was that of plain HTTP.
func secureAddress(r *http.Request) string {
	host, err := panel.CanonicalHost(hostname(r.Host))
	if err != nil {
		return "/" // no site has such a host, so this is unreachable
	}
	return onHost("https", host, r)
}

func onHost(scheme, host string, r *http.Request) string {
	to := url.URL{Scheme: scheme, Host: host, RawQuery: r.URL.RawQuery}
	if len(r.URL.Path) > 0 && r.URL.Path[0] == '/' { // not the asterisk of OPTIONS
		to.Path, to.RawPath = r.URL.Path, r.URL.RawPath
	}
	return to.String()
}

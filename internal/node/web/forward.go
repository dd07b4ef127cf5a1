package web

import (
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// HopHeader counts the machines that have passed a request on, so that none goes in circles: each adds a HopMark.
const (
	HopHeader = "Stead-Forwarded"
	HopMark   = ".1"
	// MostHops is how often a request is passed on.
	MostHops = 3
)

// ProofName is the name that a machine asks for in the handshake when it passes visitors on by HTTPS. The machine there answers
// with its own certificate, which is no site's: the one that asks knows it (panel.Forward).
const ProofName = "stead.invalid"

// answerTimeout bounds how long the machine to which a site has moved may take to begin its answer.
const answerTimeout = 10 * time.Minute

// forward has the machine answer that has the site now.
func (s *GoServer) forward(w http.ResponseWriter, r *http.Request, to string) {
	hops := r.Header.Get(HopHeader)
	if strings.Count(hops, HopMark) >= MostHops {
		page(w, http.StatusLoopDetected, "node.failed")
		return
	}
	proxy := httputil.ReverseProxy{
		Transport: &s.others,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", to, p.In.Host
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			p.Out.Header.Set(HopHeader, hops+HopMark)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			s.log.WarnContext(r.Context(), "the machine to which a site has moved does not answer", "machine", to, "error", err)
			page(w, http.StatusBadGateway, "node.failed")
		},
	}
	proxy.ServeHTTP(w, r)
}

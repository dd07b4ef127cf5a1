package scans

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checks are all judgements in the order in which findings are shown (resources, section 10, and what is known of sites
// that are hosted here).
var checks = []struct {
	key      string
	severity Severity // of a check that passed or was skipped
	judge    func(Facts) Finding
}{
	{"tls_version", High, tlsVersion},
	{"tls_chain", Critical, tlsChain},
	{"hsts", Medium, hsts},
	{"csp", Medium, csp},
	{"x_frame_options", Medium, framing},
	{"x_content_type_options", Low, sniffing},
	{"referrer_policy", Low, referrer},
	{"cookies", High, cookies},
	{"mixed_content", High, mixedContent},
	{"server_version_leak", Low, versionLeak},
	{"exposed_git", Critical, exposedGit},
	{"exposed_env", Critical, exposedEnv},
	{"exposed_dump", Critical, exposedDump},
	{"directory_listing", Medium, directoryListing},
	{"cms_version", High, cmsVersion},
	{"php_version", High, phpVersion},
	{"file_permissions", High, filePermissions},
	{"spf", Low, spf},
	{"dkim", Low, dkim},
	{"dmarc", Low, dmarc},
	{"dnssec", Info, dnssec},
	{"caa", Info, caa},
	{"open_redirect_http", Medium, redirectsToHTTPS},
}

// judge makes all findings of the facts.
func judge(f Facts) []Finding {
	all := make([]Finding, len(checks))
	for i, c := range checks {
		found := c.judge(f)
		found.Key = c.key
		found.Severity = cmp.Or(found.Severity, c.severity)
		if found.Detail == "" {
			found.Detail = c.key
		}
		found.Evidence = shorten(found.Evidence)
		all[i] = found
	}
	return all
}

const mostEvidence = 300

// shorten bounds an evidence and removes what is no text.
func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	if len(s) > mostEvidence {
		s = strings.ToValidUTF8(s[:mostEvidence], "") + "…"
	}
	return s
}

func pass(evidence string) Finding { return Finding{Outcome: Pass, Detail: "pass", Evidence: evidence} }
func skip(why string) Finding      { return Finding{Outcome: Skip, Detail: why} }

func fails(severity Severity, points int, evidence string) Finding {
	return Finding{Outcome: Fail, Severity: severity, Points: points, Evidence: evidence}
}

func warns(severity Severity, points int, evidence string) Finding {
	return Finding{Outcome: Warn, Severity: severity, Points: points, Evidence: evidence}
}

func (f Finding) as(detail string) Finding {
	f.Detail = detail
	return f
}

func tlsVersion(f Facts) Finding {
	switch {
	case f.TLSVersion == 0:
		return skip("no_https")
	case f.TLSVersion < tls.VersionTLS12:
		return fails(High, 20, tls.VersionName(f.TLSVersion))
	case f.OldTLS:
		return warns(Low, 5, tls.VersionName(f.TLSVersion)).as("tls_old")
	default:
		return pass(tls.VersionName(f.TLSVersion))
	}
}

func tlsChain(f Facts) Finding {
	switch f.TLSProblem {
	case "":
		return pass(f.Certificate)
	case "none":
		return fails(Critical, 60, "").as("no_tls")
	default:
		return fails(Critical, 60, strings.TrimSpace(f.TLSProblem+" "+f.Certificate))
	}
}

// leastHSTS is half a year, in seconds.
const leastHSTS = 15_552_000

func hsts(f Facts) Finding {
	if f.Secure == nil {
		return skip("no_https")
	}
	value := f.Secure.Header.Get("Strict-Transport-Security")
	age := -1
	for part := range strings.SplitSeq(value, ";") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(name, "max-age") {
			if n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(number), `"`)); err == nil {
				age = n
			}
		}
	}
	switch {
	case age <= 0:
		return fails(Medium, 15, value)
	case age < leastHSTS:
		return warns(Low, 5, value).as("hsts_short")
	default:
		return pass(value)
	}
}

// policies are the directives of the page's Content-Security-Policy, all headers together.
func policies(r *Response) map[string]string {
	all := map[string]string{}
	for _, policy := range r.Header.Values("Content-Security-Policy") {
		for part := range strings.SplitSeq(policy, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			name = strings.ToLower(name)
			if _, twice := all[name]; name != "" && !twice {
				all[name] = strings.ToLower(strings.TrimSpace(value))
			}
		}
	}
	return all
}

// isHTML tells whether an answer is a page that was found.
func isHTML(r *Response) bool {
	return r != nil && (strings.Contains(r.Header.Get("Content-Type"), "html") || r.Header.Get("Content-Type") == "" && strings.Contains(r.Body, "<html"))
}

func csp(f Facts) Finding {
	if !isHTML(f.Page) {
		return skip("no_page")
	}
	header := strings.Join(f.Page.Header.Values("Content-Security-Policy"), "; ")
	all := policies(f.Page)
	script, ok := all["script-src"]
	if !ok {
		script, ok = all["default-src"]
	}
	if !ok {
		return fails(Medium, 10, header)
	}
	guarded := strings.Contains(script, "'nonce-") || strings.Contains(script, "'sha256-") || strings.Contains(script, "'sha384-") || strings.Contains(script, "'sha512-")
	inline := strings.Contains(script, "'unsafe-inline'") && !guarded
	if sources := strings.Fields(script); inline || slices.Contains(sources, "*") || slices.Contains(sources, "https:") || slices.Contains(sources, "http:") {
		return warns(Low, 5, header).as("csp_unsafe")
	}
	return pass(header)
}

func framing(f Facts) Finding {
	if !isHTML(f.Page) {
		return skip("no_page")
	}
	if ancestors, ok := policies(f.Page)["frame-ancestors"]; ok && !slices.Contains(strings.Fields(ancestors), "*") {
		return pass("frame-ancestors " + ancestors)
	}
	value := f.Page.Header.Get("X-Frame-Options")
	if v := strings.ToUpper(strings.TrimSpace(value)); v == "DENY" || v == "SAMEORIGIN" {
		return pass(value)
	}
	return fails(Medium, 10, value)
}

func sniffing(f Facts) Finding {
	if f.Page == nil {
		return skip("no_page")
	}
	value := f.Page.Header.Get("X-Content-Type-Options")
	if strings.EqualFold(strings.TrimSpace(value), "nosniff") {
		return pass(value)
	}
	return fails(Low, 5, value)
}

func referrer(f Facts) Finding {
	if !isHTML(f.Page) {
		return skip("no_page")
	}
	value := f.Page.Header.Get("Referrer-Policy")
	last := ""
	for part := range strings.SplitSeq(value, ",") { // the last one that a browser knows counts
		last = cmp.Or(strings.ToLower(strings.TrimSpace(part)), last)
	}
	switch last {
	case "":
		return warns(Info, 0, "").as("referrer_missing")
	case "unsafe-url", "no-referrer-when-downgrade":
		return fails(Low, 5, value)
	default:
		return pass(value)
	}
}

var sessionNames = regexp.MustCompile(`(?i)(sess|sid$|^sid|auth|token|login|logged_in|remember|jwt)`)

func cookies(f Facts) Finding {
	if f.Page == nil {
		return skip("no_page")
	}
	if len(f.Page.Header.Values("Set-Cookie")) == 0 {
		return pass("")
	}
	var session, others []string
	for _, c := range (&http.Response{Header: f.Page.Header}).Cookies() {
		var lacks []string
		if !c.Secure {
			lacks = append(lacks, "Secure")
		}
		csrf := strings.Contains(strings.ToLower(c.Name), "csrf") || strings.Contains(strings.ToLower(c.Name), "xsrf")
		if !c.HttpOnly && !csrf { // scripts of the page send that one back
			lacks = append(lacks, "HttpOnly")
		}
		if len(lacks) == 0 {
			continue
		}
		said := fmt.Sprintf("%s: %s", c.Name, strings.Join(lacks, ", ")) // never its value
		if sessionNames.MatchString(c.Name) && !csrf {
			session = append(session, said)
		} else {
			others = append(others, said)
		}
	}
	switch {
	case len(session) > 0:
		return fails(High, 20, strings.Join(session, "; "))
	case len(others) > 0:
		return warns(Low, 5, strings.Join(others, "; ")).as("cookies_other")
	default:
		return pass("")
	}
}

// What a page loads by http://. Scripts, styles and frames are active: whoever changes them on the way changes the page.
var (
	activeContent  = regexp.MustCompile(`(?i)<(?:script|iframe|embed)\b[^>]*\bsrc\s*=\s*["']?(http://[^"'\s>]+)|<object\b[^>]*\bdata\s*=\s*["']?(http://[^"'\s>]+)|<link\b[^>]*\bhref\s*=\s*["']?(http://[^"'\s>]+)[^>]*>|<form\b[^>]*\baction\s*=\s*["']?(http://[^"'\s>]+)`)
	passiveContent = regexp.MustCompile(`(?i)<(?:img|audio|video|source)\b[^>]*\bsrc\s*=\s*["']?(http://[^"'\s>]+)`)
	styleSheet     = regexp.MustCompile(`(?i)\brel\s*=\s*["']?[^"'>]*stylesheet`)
)

func mixedContent(f Facts) Finding {
	if f.Secure == nil {
		return skip("no_https")
	}
	if !isHTML(f.Secure) {
		return skip("no_page")
	}
	if _, ok := policies(f.Secure)["upgrade-insecure-requests"]; ok {
		return pass("upgrade-insecure-requests")
	}
	for _, m := range activeContent.FindAllStringSubmatch(f.Secure.Body, 200) {
		if strings.HasPrefix(strings.ToLower(m[0]), "<link") && !styleSheet.MatchString(m[0]) {
			continue // canonical addresses and the like load nothing
		}
		return fails(High, 20, m[1]+m[2]+m[3]+m[4])
	}
	if m := passiveContent.FindStringSubmatch(f.Secure.Body); m != nil {
		return warns(Low, 5, m[1]).as("mixed_passive")
	}
	return pass("")
}

var versionNumber = regexp.MustCompile(`\d+\.\d+`)

func versionLeak(f Facts) Finding {
	if f.Page == nil {
		return skip("no_page")
	}
	var leaks []string
	for _, name := range []string{"Server", "X-Powered-By", "X-AspNet-Version", "X-Generator"} {
		if value := f.Page.Header.Get(name); versionNumber.MatchString(value) {
			leaks = append(leaks, name+": "+value)
		}
	}
	if len(leaks) > 0 {
		return fails(Low, 3, strings.Join(leaks, "; "))
	}
	return pass("")
}

func redirectsToHTTPS(f Facts) Finding {
	switch {
	case f.Plain == nil:
		return pass("")
	case f.Plain.Status >= 300 && f.Plain.Status < 400 && strings.HasPrefix(strings.ToLower(f.Plain.Header.Get("Location")), "https://"):
		return pass(f.Plain.Header.Get("Location"))
	default:
		return fails(Medium, 20, fmt.Sprintf("%s: %d %s", f.Plain.URL, f.Plain.Status, f.Plain.Header.Get("Location")))
	}
}

package scans

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/i18n"
)

func html(header http.Header, body string) *Response {
	h := http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Strict-Transport-Security": {"max-age=31536000"}, "Content-Security-Policy": {"default-src 'self'"},
		"X-Frame-Options": {"SAMEORIGIN"}, "X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"same-origin"},
	}
	for name, values := range header {
		h[name] = values
	}
	return &Response{URL: "https://shop.example/", Status: 200, Header: h, Body: body}
}

// clean are facts of which every check passes, or concerns something else.
func clean() Facts {
	page := html(nil, `<html><link rel="canonical" href="http://shop.example/"><a href="http://other.example/">x</a></html>`)
	return Facts{
		Host: "shop.example", Secure: page, Page: page, TLSVersion: tls.VersionTLS13, Now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		Plain:  &Response{Status: 301, Header: http.Header{"Location": {"https://shop.example/"}}},
		Probes: map[string]*Response{gitPath: {Status: 404}, envPath: html(nil, "<html>Not here. API_KEY=x</html>")},
		DNS: DNSFacts{
			Domain: "shop.example", MX: []string{"10 mail.example"}, TXT: []string{"v=spf1 mx -all"}, DMARC: []string{"v=DMARC1; p=none"},
			DKIM: []string{"stead"}, DS: []string{"1 13 2 AB"}, CAA: []dnsquery.CAA{{Tag: "issue", Value: "ca.example"}},
		},
	}
}

func TestNothingIsWrongWithACleanSite(t *testing.T) {
	found := judge(clean())
	if len(found) != len(checks) {
		t.Fatalf("%d findings", len(found))
	}
	for _, f := range found {
		if f.Open() {
			t.Errorf("%+v", f)
		}
	}
	if s := score(found); s != 100 || grade(s) != "A+" {
		t.Errorf("score %d", s)
	}
}

func TestEachFaultIsFound(t *testing.T) {
	at := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
	page := func(h http.Header, body string) func(*Facts) {
		return func(f *Facts) { f.Secure = html(h, body); f.Page = f.Secure }
	}
	probe := func(path, kind, body string) func(*Facts) {
		return func(f *Facts) {
			f.Probes[path] = &Response{URL: "https://shop.example" + path, Status: 200, Header: http.Header{"Content-Type": {kind}}, Body: body}
		}
	}
	for name, c := range map[string]struct {
		spoil   func(*Facts)
		key     string
		outcome Outcome
		severe  Severity
		score   int
	}{
		"old TLS only":       {func(f *Facts) { f.TLSVersion = tls.VersionTLS11 }, "tls_version", Fail, High, 64},
		"old TLS too":        {func(f *Facts) { f.OldTLS = true }, "tls_version", Warn, Low, 95},
		"expired":            {func(f *Facts) { f.TLSProblem = "expired" }, "tls_chain", Fail, Critical, 24},
		"no hsts":            {page(http.Header{"Strict-Transport-Security": nil}, ""), "hsts", Fail, Medium, 85},
		"hsts off":           {page(http.Header{"Strict-Transport-Security": {"max-age=0"}}, ""), "hsts", Fail, Medium, 85},
		"short hsts":         {page(http.Header{"Strict-Transport-Security": {`max-age="3600"; includeSubDomains`}}, ""), "hsts", Warn, Low, 95},
		"no csp":             {page(http.Header{"Content-Security-Policy": nil}, ""), "csp", Fail, Medium, 90},
		"unsafe csp":         {page(http.Header{"Content-Security-Policy": {"script-src 'self' 'unsafe-inline'"}}, ""), "csp", Warn, Low, 95},
		"framing":            {page(http.Header{"X-Frame-Options": {"ALLOWALL"}}, ""), "x_frame_options", Fail, Medium, 90},
		"sniffing":           {page(http.Header{"X-Content-Type-Options": nil}, ""), "x_content_type_options", Fail, Low, 95},
		"unsafe referrer":    {page(http.Header{"Referrer-Policy": {"unsafe-url"}}, ""), "referrer_policy", Fail, Low, 95},
		"no referrer policy": {page(http.Header{"Referrer-Policy": nil}, ""), "referrer_policy", Warn, Info, 100},
		"session cookie":     {page(http.Header{"Set-Cookie": {"PHPSESSID=secret-value; path=/; Secure"}}, ""), "cookies", Fail, High, 64},
		"other cookie":       {page(http.Header{"Set-Cookie": {"theme=dark"}}, ""), "cookies", Warn, Low, 95},
		"active mixed":       {page(nil, `<script src="http://cdn.example/a.js"></script>`), "mixed_content", Fail, High, 64},
		"mixed style":        {page(nil, `<link href=http://cdn.example/a.css rel=stylesheet>`), "mixed_content", Fail, High, 64},
		"passive mixed":      {page(nil, `<img alt="" src='http://cdn.example/a.png'>`), "mixed_content", Warn, Low, 95},
		"version":            {page(http.Header{"X-Powered-By": {"PHP/8.3.1"}}, ""), "server_version_leak", Fail, Low, 97},
		"git":                {probe(gitPath, "text/plain", "[core]\n\tbare = false"), "exposed_git", Fail, Critical, 24},
		"env":                {probe(envPath, "application/octet-stream", "# x\nDB_PASSWORD=hunter2\n"), "exposed_env", Fail, Critical, 24},
		"dump":               {probe("/backup.sql", "application/sql", "-- MariaDB dump 10.19"), "exposed_dump", Fail, Critical, 24},
		"packed dump":        {probe("/x.sql.gz", "application/gzip", "\x1f\x8b\x08"), "exposed_dump", Fail, Critical, 24},
		"listing": {func(f *Facts) {
			f.Listings = []*Response{{Status: 200, Body: "<html><head><title>Index of /images/</title>"}}
		}, "directory_listing", Fail, Medium, 90},
		"WordPress page": {page(nil, `<meta name="generator" content="WordPress 6.4.2" />`), "cms_version", Fail, High, 64},
		"WordPress file": {func(f *Facts) { f.Site = &SiteFacts{WordPress: "4.6.9"} }, "cms_version", Fail, High, 64},
		"PHP":            {func(f *Facts) { f.Site = &SiteFacts{PHPVersion: "8.1", PHPEnds: &at} }, "php_version", Fail, High, 64},
		"writable":       {func(f *Facts) { f.Site = &SiteFacts{Writable: []string{"/public_html/a.php"}} }, "file_permissions", Fail, High, 64},
		"no spf":         {func(f *Facts) { f.DNS.TXT = []string{"v=spf2 -all"} }, "spf", Fail, Low, 95},
		"two spf":        {func(f *Facts) { f.DNS.TXT = []string{"v=spf1 -all", "v=spf1 mx -all"} }, "spf", Fail, Low, 95},
		"no dkim":        {func(f *Facts) { f.DNS.DKIM = nil }, "dkim", Fail, Low, 95},
		"no dmarc":       {func(f *Facts) { f.DNS.DMARC = []string{"x"} }, "dmarc", Fail, Low, 95},
		"no dnssec":      {func(f *Facts) { f.DNS.DS = nil }, "dnssec", Warn, Info, 100},
		"no caa":         {func(f *Facts) { f.DNS.CAA = nil }, "caa", Warn, Info, 100},
		"no redirect":    {func(f *Facts) { f.Plain = html(nil, "") }, "open_redirect_http", Fail, Medium, 80},
		"redirect stays http": {func(f *Facts) {
			f.Plain = &Response{Status: 302, Header: http.Header{"Location": {"http://shop.example/a"}}}
		}, "open_redirect_http", Fail, Medium, 80},
	} {
		facts := clean()
		c.spoil(&facts)
		var open []Finding
		all := judge(facts)
		for _, f := range all {
			if f.Open() {
				open = append(open, f)
			}
		}
		if len(open) != 1 || open[0].Key != c.key || open[0].Outcome != c.outcome || open[0].Severity != c.severe || score(all) != c.score {
			t.Errorf("%s: score %d, %+v", name, score(all), open)
		}
		for _, f := range all {
			if strings.Contains(f.Evidence, "hunter2") || strings.Contains(f.Evidence, "secret-value") {
				t.Errorf("%s: the evidence has the secret: %s", name, f.Evidence)
			}
		}
	}
}

func TestWhatDoesNotConcernASiteIsSkipped(t *testing.T) {
	facts := clean()
	facts.DNS.MX, facts.DNS.TXT, facts.DNS.DMARC, facts.DNS.DKIM = nil, nil, nil, nil
	facts.DNS.DSErr, facts.DNS.CAAErr = errors.New("silent"), errors.New("silent")
	for _, f := range judge(facts) {
		if f.Open() {
			t.Errorf("%+v", f)
		}
	}
	plain := clean()
	plain.Secure, plain.TLSVersion, plain.TLSProblem = nil, 0, "none"
	plain.Plain = html(nil, "")
	plain.Page = plain.Plain
	var open []string
	for _, f := range judge(plain) {
		if f.Open() {
			open = append(open, f.Key)
		}
	}
	if !slices.Equal(open, []string{"tls_chain", "open_redirect_http"}) {
		t.Errorf("without HTTPS: %v", open)
	}
}

func TestScoreNeverFallsBelowZeroAndGradesAreThoseOfTheTable(t *testing.T) {
	bad := []Finding{{Outcome: Fail, Severity: Critical, Points: 60}, {Outcome: Fail, Severity: Critical, Points: 60}}
	if s := score(bad); s != 0 || grade(s) != "F" {
		t.Errorf("%d", s)
	}
	for points, letter := range map[int]string{100: "A+", 99: "A", 90: "A", 89: "A-", 85: "A-", 80: "B+", 70: "B", 65: "B-", 64: "C+", 50: "C", 45: "C-", 40: "D+", 30: "D", 25: "D-", 24: "F"} {
		if grade(points) != letter {
			t.Errorf("%d: %s", points, grade(points))
		}
	}
}

func TestReleasesOfWordPress(t *testing.T) {
	for version, bad := range map[string]bool{
		"6.8.3": false, "6.8.2": true, "6.8": true, "6.9": false, "7.0.1": false, "4.7.31": false, "4.7.30": true, "4.6.30": true, "3.9": true,
	} {
		if got, known := vulnerableWordPress(version); got != bad || !known {
			t.Errorf("%s: %t", version, got)
		}
	}
	if _, known := vulnerableWordPress("6.9-beta1"); known {
		t.Error("a trial release is judged")
	}
}

func TestTargets(t *testing.T) {
	for address, want := range map[string]string{
		"https://Shop.Example/a?b=c": "https://shop.example/", "http://shop.example:80": "http://shop.example/", "https://shop.example:443/": "https://shop.example/",
		"https://127.0.0.1/": "", "https://[::1]/": "", "https://localhost/": "", "https://a.localhost/": "", "https://shop.example:8443/": "", "ftp://shop.example/": "",
		"https://u:p@shop.example/": "", "shop.example": "", "https://": "", "https://shop example/": "", "https://sh_op.exa mple/": "", "http://shop.example:443/": "",
		"https://" + strings.Repeat("a", 3000) + ".example/": "",
	} {
		got, err := parseTarget(address)
		if got.url != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", address, got.url, err)
		}
	}
}

func TestEveryResultHasItsTexts(t *testing.T) {
	for _, lang := range i18n.Supported() {
		for _, c := range checks {
			for _, family := range []string{"scan.title.", "scan.detail.", "scan.fix."} {
				if !i18n.Has(lang, family+c.key) {
					t.Errorf("%s: no text %s%s", lang, family, c.key)
				}
			}
		}
		for _, detail := range []string{
			"pass", "no_https", "no_page", "dns_silent", "no_mail", "no_cms", "not_hosted", "unknown", "no_tls", "tls_old", "hsts_short", "csp_unsafe",
			"referrer_missing", "cookies_other", "mixed_passive",
		} {
			if !i18n.Has(lang, "scan.detail."+detail) {
				t.Errorf("%s: no text scan.detail.%s", lang, detail)
			}
		}
	}
}

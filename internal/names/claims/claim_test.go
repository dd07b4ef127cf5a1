package claims

import (
	"slices"
	"testing"
	"time"
)

func TestWhoGetsADomain(t *testing.T) {
	t.Parallel()
	const me, other = 1, 2
	plain, popular, trial := subject{domain: "shop.com"}, subject{domain: "google.com", protected: true}, subject{domain: "shop.example", trial: true}
	by := func(account int64, proof Proof, leadsHere bool) *holding { return &holding{account, proof, leadsHere} }
	for name, c := range map[string]struct {
		of     subject
		holder *holding
		proof  Proof
		want   verdict
	}{
		"free":                                  {plain, nil, NoProof, granted},
		"free, proven":                          {plain, nil, ByTXT, granted},
		"free, registered":                      {plain, nil, ByRegistrar, granted},
		"mine":                                  {plain, by(me, NoProof, false), NoProof, granted},
		"mine, registered":                      {plain, by(me, ByRegistrar, true), ByRegistrar, granted},
		"another's without a proof":             {plain, by(other, NoProof, false), NoProof, needsProof},
		"another's, who has visitors":           {plain, by(other, NoProof, true), NoProof, needsProof},
		"another's, and I have proven it":       {plain, by(other, NoProof, false), ByTXT, displaces},
		"another's, and it is delegated to me":  {plain, by(other, NoProof, false), ByDelegation, displaces},
		"another's with visitors, and I proved": {plain, by(other, NoProof, true), ByTXT, waits},
		"both have proven it":                   {plain, by(other, ByTXT, true), ByTXT, needsProof},
		"both, and it is delegated to me":       {plain, by(other, ByTXT, false), ByDelegation, displaces},
		"so it is, and another has visitors":    {plain, by(other, ByTXT, true), ByDelegation, waits},
		"both, and it is delegated to another":  {plain, by(other, ByDelegation, false), ByTXT, needsProof},
		"it is delegated to both":               {plain, by(other, ByDelegation, false), ByDelegation, needsProof},
		"another has proven it":                 {plain, by(other, ByTXT, false), NoProof, needsProof},
		"another's, and I register it":          {plain, by(other, ByTXT, true), ByRegistrar, displaces},
		"another has registered it":             {plain, by(other, ByRegistrar, false), NoProof, unavailable},
		"another has registered it, and I show": {plain, by(other, ByRegistrar, false), ByTXT, unavailable},
		"registered here anew":                  {plain, by(other, ByRegistrar, false), ByRegistrar, displaces},
		"popular":                               {popular, nil, NoProof, needsProof},
		"popular, and held from before":         {popular, by(me, NoProof, false), NoProof, needsProof},
		"popular and proven":                    {popular, nil, ByTXT, granted},
		"popular and another's":                 {popular, by(other, NoProof, false), ByTXT, displaces},
		"for trials":                            {trial, nil, NoProof, granted},
		"for trials, and another's":             {trial, by(other, NoProof, false), NoProof, unavailable},
		"for trials, and registered":            {trial, by(other, NoProof, false), ByRegistrar, displaces},
	} {
		if got := decide(c.of, c.holder, me, c.proof); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestPopularDomainsAreProtected(t *testing.T) {
	t.Parallel()
	p := parseProtected(shipped, "mybank.com # ours\nmybrand.*\n.gov.example")
	for _, domain := range []string{
		"google.com", "google.uz", "google.co.uk", "payme.uz", "soliq.gov.uz", "whitehouse.gov", "agency.state.gov", "mybank.com", "mybrand.co.uz",
		"tax.gov.example", "paypal.me",
	} {
		if !p.has(domain) {
			t.Errorf("%s is anybody's", domain)
		}
	}
	for _, domain := range []string{"mygoogle.com", "google-shop.com", "shop.uz", "mybank.uz", "gov-services.uz", "notmybrand.com", "google.github.io"} {
		if p.has(domain) {
			t.Errorf("%s needs a proof", domain)
		}
	}
	if len(p.domains) < 250 || len(p.labels) < 250 {
		t.Errorf("%d domains and %d labels", len(p.domains), len(p.labels))
	}
}

func TestATokenIsOfOneAccountAndDomain(t *testing.T) {
	t.Parallel()
	token := tokenOf("https://a.example", 1, "shop.com")
	others := []string{
		tokenOf("https://a.example", 2, "shop.com"), tokenOf("https://a.example", 1, "shop.net"), tokenOf("https://b.example", 1, "shop.com"),
	}
	if slices.Contains(others, token) || token != tokenOf("https://a.example", 1, "shop.com") || len(token) != 32 {
		t.Errorf("%s, others %v", token, others)
	}
}

func TestThePausesBetweenLooksGrow(t *testing.T) {
	t.Parallel()
	if pause(0) != time.Minute || pause(3) != 8*time.Minute || pause(100) != longestPause {
		t.Error(pause(0), pause(3), pause(100))
	}
}

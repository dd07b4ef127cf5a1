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
	by := func(account int64, proof Proof) *holding { return &holding{accountID: account, proof: proof} }
	for name, c := range map[string]struct {
		of     subject
		holder *holding
		proof  Proof
		want   verdict
	}{
		"free":                                  {plain, nil, NoProof, granted},
		"free, proven":                          {plain, nil, ByTXT, granted},
		"free, registered":                      {plain, nil, ByRegistrar, granted},
		"mine":                                  {plain, by(me, NoProof), NoProof, granted},
		"mine, registered":                      {plain, by(me, ByRegistrar), ByRegistrar, granted},
		"another's without a proof":             {plain, by(other, NoProof), NoProof, needsProof},
		"another's, and I have proven it":       {plain, by(other, NoProof), ByTXT, waits},
		"another's, and it is delegated to me":  {plain, by(other, NoProof), ByDelegation, waits},
		"both have proven it":                   {plain, by(other, ByTXT), ByTXT, needsProof},
		"both, and it is delegated to me":       {plain, by(other, ByTXT), ByDelegation, waits},
		"both, and it is delegated to another":  {plain, by(other, ByDelegation), ByTXT, needsProof},
		"it is delegated to both":               {plain, by(other, ByDelegation), ByDelegation, needsProof},
		"another has proven it":                 {plain, by(other, ByTXT), NoProof, needsProof},
		"another's, and I register it":          {plain, by(other, ByTXT), ByRegistrar, displaces},
		"another has registered it":             {plain, by(other, ByRegistrar), NoProof, unavailable},
		"another has registered it, and I show": {plain, by(other, ByRegistrar), ByTXT, unavailable},
		"registered here anew":                  {plain, by(other, ByRegistrar), ByRegistrar, displaces},
		"popular":                               {popular, nil, NoProof, needsProof},
		"popular, and held from before":         {popular, by(me, NoProof), NoProof, needsProof},
		"popular and proven":                    {popular, nil, ByTXT, granted},
		"popular and another's":                 {popular, by(other, NoProof), ByTXT, waits},
		"for trials":                            {trial, nil, NoProof, granted},
		"for trials, and another's":             {trial, by(other, NoProof), NoProof, unavailable},
		"for trials, and registered":            {trial, by(other, NoProof), ByRegistrar, displaces},
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

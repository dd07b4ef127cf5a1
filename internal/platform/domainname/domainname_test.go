package domainname

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/fault"
)

func TestNamesAreCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.Com.": "example.com", "Bücher.example": "xn--bcher-kva.example",
		"пример.рф": "xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai": "xn--e1afmkfd.xn--p1ai", "1.example": "1.example",
	} {
		if got, err := Domain(name); got != want || err != nil {
			t.Errorf("Domain(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", ".", "localhost", "a..b", ".a.b", "-a.b", "a-.b", "a.b-", "a_b.c", "*.a.b", "a b.c", "1.2.3.4", "::1", "a.b:80", "a/b.c",
		"a.b\n", "a.\x00b", strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 130) + "b",
	} {
		if got, err := Domain(name); !errors.Is(err, ErrMalformed) {
			t.Errorf("Domain(%q) = %q, %v", name, got, err)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if got, err := Host(host); got != host || err != nil {
			t.Errorf("Host(%q) = %q, %v", host, got, err)
		}
	}
}

// Punycode of a megabyte takes minutes of a processor, and a request may be that large.
func TestATextThatIsNoNameIsRefusedAtOnce(t *testing.T) {
	var long strings.Builder
	for i := range 300_000 {
		long.WriteRune(rune('一' + i%20_000))
	}
	refused := make(chan error, 2)
	go func() {
		_, err := ForSite(long.String()+".test", nil)
		refused <- err
		_, err = Host(long.String() + ".test")
		refused <- err
	}()
	for _, want := range []error{fault.DomainInvalid, ErrMalformed} {
		select {
		case err := <-refused:
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		case <-time.After(time.Minute):
			t.Fatal("still at it after a minute")
		}
	}
}

func TestNamesThatASiteMayHave(t *testing.T) {
	reserved := []string{"stead.test", "panel.operator.com"}
	for given, want := range map[string]string{
		"example.com":          "example.com",
		" Example.COM. ":       "example.com",
		"a.b.c.example.co.uz":  "a.b.c.example.co.uz",
		"домен.рф":             "xn--d1acufc.xn--p1ai",
		"xn--d1acufc.xn--p1ai": "xn--d1acufc.xn--p1ai",
		"straße.de":            "xn--strae-oqa.de",
		"shop.test":            "shop.test",
		"shop.example":         "shop.example",
		"shop.localhost":       "shop.localhost",
		"me.github.io":         "me.github.io",
		"operator.com":         "operator.com",
		"notstead.test":        "notstead.test",
		"1.com":                "1.com",
	} {
		if got, err := ForSite(given, reserved); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	long := "a234567890123456789012345678901234567890123456789012345678901234.com" // a label of 64
	for _, bad := range []string{
		"", " ", ".", "com", "co.uz", "github.io", "localhost", "test", "127.0.0.1", "::1", "[::1]", "1.2.3.256", "0x7f.1",
		"a..com", ".example.com", "-a.com", "a-.com", "a_b.com", "*.example.com", "exa mple.com", "example.com/path",
		"user@example.com", "http://example.com", "example.com:80", "foo.nosuchtld", "foo.local", "xn--a.com", "a\x00.com",
		"a\u200b\u202e.com/", long, "foo.123",
	} {
		if got, err := ForSite(bad, reserved); !errors.Is(err, fault.DomainInvalid) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
	for _, taken := range []string{"stead.test", "www.STEAD.test", "panel.operator.com", "a.b.panel.operator.com"} {
		if got, err := ForSite(taken, reserved); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("%q: %q, %v", taken, got, err)
		}
	}
}

// FuzzForSite: whatever is typed, what is accepted is a name that is accepted
// again as it is, and nothing panics.
func FuzzForSite(f *testing.F) {
	for _, seed := range []string{"example.com", "домен.рф", "xn--d1acufc.xn--p1ai", "a..b", "1.2.3.4", "ß.de", "ａ.com"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := ForSite(name, []string{"stead.test"})
		if err != nil {
			return
		}
		if again, err := ForSite(got, nil); err != nil || again != got {
			t.Errorf("%q gives %q, which gives %q, %v", name, got, again, err)
		}
		for _, parent := range Parents(got) {
			if again, err := ForSite(parent, nil); again != parent || err != nil || !Within(got, parent) {
				t.Errorf("%q gives %q, %v, a parent of %q", parent, again, err, got)
			}
		}
	})
}

func TestParentsEndWhereSomebodyElseBegins(t *testing.T) {
	for name, want := range map[string][]string{
		"a.b.example.co.uk": {"b.example.co.uk", "example.co.uk"}, "example.com": nil, "x.me.github.io": {"me.github.io"}, "com": nil,
	} {
		if got := Parents(name); !slices.Equal(got, want) {
			t.Errorf("Parents(%q) = %q, want %q", name, got, want)
		}
	}
	if !Within("a.example.com", "example.com") || !Within("example.com", "example.com") || Within("anexample.com", "example.com") {
		t.Error("Within is wrong")
	}
}

func TestTwinsAreEachOthers(t *testing.T) {
	for name, want := range map[string]string{"shop.example": "www.shop.example", "www.shop.example": "shop.example", "wwwshop.example": "www.wwwshop.example"} {
		if got := Twin(name); got != want {
			t.Errorf("the twin of %s is %s, want %s", name, got, want)
		}
	}
}

func TestWhatRegistriesKnow(t *testing.T) {
	for name, want := range map[string]string{
		"example.com": "example.com", "a.shop.example.co.uk": "example.co.uk", "www.shop.uz": "shop.uz", "shop.co.uz": "shop.co.uz",
		"somebody.github.io": "github.io", "com": "", "co.uz": "", "shop.nosuchsuffix": "",
	} {
		if got, err := Registered(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestNamesAreJudgedByTheDomainThatCanBeRegistered(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		domain string
		trial  bool
	}{
		"shop.com":              {"shop.com", false},
		"a.b.shop.co.uk":        {"shop.co.uk", false},
		"anna.github.io":        {"anna.github.io", false},
		"www.xn--bcher-kva.com": {"xn--bcher-kva.com", false},
		"blog.shop.example":     {"shop.example", true},
		"shop.test":             {"shop.test", true},
		"www.shop.example.com":  {"shop.example.com", true},
		"example.com":           {"example.com", false},
		"myexample.com":         {"myexample.com", false},
		"demo-1.stead.test":     {"demo-1.stead.test", true},
	} {
		if domain, trial, err := Owned(name); err != nil || domain != want.domain || trial != want.trial {
			t.Errorf("%s: %s, %v, %v", name, domain, trial, err)
		}
	}
	for _, name := range []string{"com", "co.uk", "displaced-1.invalid", "host.unknown"} {
		if domain, _, err := Owned(name); err == nil {
			t.Errorf("%s: %s", name, domain)
		}
	}
}

package account

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

func TestAnAddressHasOneSpelling(t *testing.T) {
	for given, want := range map[string]string{
		"anna@example.com":                   "anna@example.com",
		" Anna@Example.COM ":                 "anna@example.com",
		"anna+shop@example.com":              "anna+shop@example.com",
		"o'neil@example.com":                 "o'neil@example.com",
		"anna@почта.рф":                      "anna@xn--80a1acny.xn--p1ai",
		"anna@EXAMPLE.co.uz":                 "anna@example.co.uz",
		"admin@localhost":                    "admin@localhost",
		"":                                   "",
		"anna":                               "",
		"@example.com":                       "",
		"anna@":                              "",
		"anna@example":                       "",
		"a@b@example.com":                    "",
		"anna@exam ple.com":                  "",
		"anna @example.com":                  "",
		"anna..b@example.com":                "",
		".anna@example.com":                  "",
		"anna@-example.com":                  "",
		"anna@example.com\r\nBcc: x@y.zz":    "",
		"\"anna b\"@example.com":             "",
		"анна@example.com":                   "",
		strings.Repeat("a", 65) + "@exam.pl": "",
		"anna@" + strings.Repeat("a.", 130) + "com": "",
	} {
		got, ok := NormalizeEmail(given)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", given, got, ok, want)
		}
	}
}

func FuzzNormalizeEmail(f *testing.F) {
	for _, s := range []string{"anna@example.com", "Анна@почта.рф", "a@b.c\x00", "\"@\"@x.y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := NormalizeEmail(s)
		if !ok {
			return
		}
		again, ok := NormalizeEmail(got)
		if !ok || again != got {
			t.Errorf("%q is %q, which is %q, %v", s, got, again, ok)
		}
		if strings.ContainsAny(got, " \r\n\t<>,;\"") || len(got) > 254 {
			t.Errorf("%q is %q", s, got)
		}
	})
}

func TestGuessablePasswordsAreRefused(t *testing.T) {
	for password, good := range map[string]bool{
		"correct horse battery":   true,
		"мой кот любит рыбу":      true,
		"k3!vN0q_z8":              true,
		"short":                   false,
		"123456789":               false,
		"qwertyuiop":              false,
		"Password123":             false,
		"aaaaaaaaaaaaaaaa":        false,
		"anna@example.com":        false,
		"ANNA@example.com":        false,
		"anna maria":              false,
		strings.Repeat("ab1", 90): false,
	} {
		if err := (&Service{Config: Config{Brand: brand.Fixed(brand.Brand{Name: "Stead Hosting"})}}).checkPassword("password", password, "anna@example.com", "Anna Maria"); (err == nil) != good {
			t.Errorf("%q: %v", password, err)
		}
	}
}

func TestNamesCarryNoLinks(t *testing.T) {
	for name, want := range map[string]string{
		"  Anna   Maria ": "Anna Maria", "Ўткир": "Ўткир", "": "", "   ": "", "win https://evil.example": "", "www.evil.example": "",
		"a\x00b": "", strings.Repeat("я", 101): "",
	} {
		got, err := checkName(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}

func TestABrowsersNameIsCutBetweenCharacters(t *testing.T) {
	ua := Client{UserAgent: strings.Repeat("й", 400) + "\n\x00"}.userAgent()
	if len(ua) > maxUserAgent || !utf8.ValidString(ua) || len(ua) < maxUserAgent-4 {
		t.Errorf("%d bytes, valid %v", len(ua), utf8.ValidString(ua))
	}
	if got := (Client{UserAgent: "a\r\nb\x00\xff"}).userAgent(); got != "ab" {
		t.Errorf("%q", got)
	}
}

func TestLimitsCountOwnersOfAddresses(t *testing.T) {
	for a, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
	} {
		if got := (Client{Address: netip.MustParseAddr(a)}).key(); got != want {
			t.Errorf("%s counts as %s", a, got)
		}
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	err := gather(nil, fault.Invalid("a", "required"), fault.Invalid("b", "required"))
	if f := fault.From(err); f.Def != fault.Validation || len(f.Invalid) != 2 {
		t.Errorf("%v", err)
	}
	if err := gather(nil, nil); err != nil {
		t.Errorf("%v", err)
	}
	boom := errors.New("boom")
	if err := gather(fault.Invalid("a", "required"), boom); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

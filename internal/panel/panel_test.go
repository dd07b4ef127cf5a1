package panel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestErrorsTellKindAndCause(t *testing.T) {
	cause := fmt.Errorf("%w: domain a.example", ErrExists)
	err := Wrap("accounts.create", "7", cause)
	if !errors.Is(err, ErrExists) || KindOf(err) != ErrExists || errors.Is(err, ErrNotFound) {
		t.Errorf("%v is not %s", err, ErrExists)
	}
	if got, want := err.Error(), "panel: accounts.create 7: exists: domain a.example"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
	if again := Wrap("other", "8", err); again.Error() != err.Error() {
		t.Errorf("wrapped twice: %v", again)
	}
	foreign := Wrap("usage", "7", io.ErrUnexpectedEOF)
	if KindOf(foreign) != ErrInternal || !errors.Is(foreign, io.ErrUnexpectedEOF) {
		t.Errorf("foreign cause: %v", foreign)
	}
	if got, want := (&Error{Kind: ErrBusy, Op: "x"}).Error(), "panel: x: busy"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
	if err := Wrap("x", "", context.Canceled); err.Error() != context.Canceled.Error() {
		t.Errorf("a caller who left: %v", err)
	}
	if Wrap("x", "", nil) != nil || KindOf(nil) != "" {
		t.Error("nil is an error")
	}
	if !ErrUnreachable.Temporary() || ErrDiskFull.Temporary() {
		t.Error("what is worth trying again is not told")
	}
}

func TestDomainsAreCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.Com.": "example.com", "Bücher.example": "xn--bcher-kva.example",
		"пример.рф": "xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai": "xn--e1afmkfd.xn--p1ai", "1.example": "1.example",
	} {
		if got, err := CanonicalDomain(name); got != want || err != nil {
			t.Errorf("CanonicalDomain(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", ".", "localhost", "a..b", ".a.b", "-a.b", "a-.b", "a.b-", "a_b.c", "*.a.b", "a b.c", "1.2.3.4", "::1", "a.b:80", "a/b.c",
		"a.b\n", "a.\x00b", strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 130) + "b",
	} {
		if got, err := CanonicalDomain(name); !errors.Is(err, ErrInvalid) {
			t.Errorf("CanonicalDomain(%q) = %q, %v", name, got, err)
		}
	}
}

func TestRedirectsAreAddressesOfTheWeb(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com": "https://example.com", "HTTP://Bücher.Example/": "http://xn--bcher-kva.example",
		"https://example.com:8443/a?b=c": "https://example.com:8443/a?b=c", "https://example.com/?q": "https://example.com/?q",
	} {
		got, err := RedirectURL(address)
		if got != want || err != nil {
			t.Errorf("RedirectURL(%q) = %q, %v; want %q", address, got, err, want)
		}
		if again, err := RedirectURL(got); again != got || err != nil {
			t.Errorf("RedirectURL(%q) = %q, %v", got, again, err)
		}
	}
	for _, address := range []string{
		"", "/a", "//example.com", "example.com", "ftp://example.com", "javascript:alert(1)", "https://", "https:example.com",
		"https://user@example.com", "https://example.com/#top", "https://exa mple.com", "https://example.com/\n",
		"https://example.com/" + strings.Repeat("a", 2048),
	} {
		if got, err := RedirectURL(address); !errors.Is(err, ErrInvalid) {
			t.Errorf("RedirectURL(%q) = %q, %v", address, got, err)
		}
	}
}

func FuzzCanonicalDomain(f *testing.F) {
	for _, seed := range []string{"example.com", "ПРИМЕР.рф", "xn--a.b", "a..b", "1.2.3.4", "ß.example", "a.b."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := CanonicalDomain(name)
		if err != nil {
			return
		}
		if again, err := CanonicalDomain(got); again != got || err != nil {
			t.Fatalf("CanonicalDomain(%q) = %q, but again %q, %v", name, got, again, err)
		}
		if strings.ContainsAny(got, "/\\\x00 :*") || strings.HasPrefix(got, ".") {
			t.Fatalf("CanonicalDomain(%q) = %q", name, got)
		}
	})
}

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

func TestNamesAreRefusedInThePortsWords(t *testing.T) {
	if got, err := CanonicalDomain("EXAMPLE.Com."); got != "example.com" || err != nil {
		t.Errorf("CanonicalDomain = %q, %v", got, err)
	}
	if got, err := CanonicalDomain("127.0.0.1"); !errors.Is(err, ErrInvalid) {
		t.Errorf("CanonicalDomain of an address = %q, %v", got, err)
	}
	if got, err := CanonicalHost("a b"); !errors.Is(err, ErrInvalid) {
		t.Errorf("CanonicalHost = %q, %v", got, err)
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

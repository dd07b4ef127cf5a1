package node

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/panel"
)

// TestAnAccountThatHasLeftIsServedNoMore: neither at once nor after a restart, and nothing of it changes until it is dropped.
func TestAnAccountThatHasLeftIsServedNoMore(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ctx := t.Context()
	spec := panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "shop.test"}
	_, err := n.CreateAccount(ctx, spec)
	must(t, err)
	page := filepath.Join(dir, "accounts", "s7", "public_html", "index.html")
	must(t, os.WriteFile(page, []byte("hello"), 0o644))
	if status, body := serve(t, n)("shop.test", "/"); status != http.StatusOK || body != "hello" {
		t.Fatalf("before: %d %q", status, body)
	}
	if err := n.DropAccount(ctx, "7", 1); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("an account that is here was dropped: %v", err)
	}
	for range 2 {
		must(t, n.LeaveAccount(ctx, "7", 1))
	}
	gone := func(n *Node) {
		t.Helper()
		if status, body := serve(t, n)("shop.test", "/"); status == http.StatusOK || body == "hello" {
			t.Errorf("it is served: %d %q", status, body)
		}
		_, accountErr := n.Account(ctx, "7")
		_, lookupErr := n.Lookup("7")
		_, usageErr := n.Usage(ctx, "7")
		_, domainsErr := n.Domains(ctx, "7")
		_, writeErr := n.Files.Write(ctx, "7", "/public_html/new.html", []byte("x"), panel.WriteOptions{})
		_, limitsErr := n.UpdateAccount(ctx, "7", panel.Limits{})
		_, domainErr := n.SetDomain(ctx, "7", panel.Domain{Name: "other.test"})
		for what, err := range map[string]error{
			"account": accountErr, "lookup": lookupErr, "usage": usageErr, "domains": domainsErr, "write": writeErr, "limits": limitsErr,
			"domain": domainErr, "unsuspend": n.UnsuspendAccount(ctx, "7"), "delete": n.DeleteAccount(ctx, "7"),
		} {
			if !errors.Is(err, panel.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if text, err := os.ReadFile(page); err != nil || string(text) != "hello" {
			t.Errorf("its files: %q %v", text, err)
		}
	}
	gone(n)
	must(t, n.Close())
	n = open(t, dir)
	defer func() { must(t, n.Close()) }()
	n.Reconcile(ctx)
	gone(n)

	// Its domain may be another account's by now, but it cannot come back to where it left its files.
	_, err = n.CreateAccount(ctx, panel.AccountSpec{Ref: "8", Username: "s8", PrimaryDomain: "shop.test"})
	must(t, err)
	if _, err := n.CreateAccount(ctx, spec); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("made anew over what was left: %v", err)
	}
	must(t, n.DropAccount(ctx, "7", 1))
	if _, err := os.Stat(page); err == nil {
		t.Error("its files are there after it was dropped")
	}
	must(t, n.DeleteAccount(ctx, "8"))

	// It comes back in a later epoch; what is told late of the former is no news.
	spec.Epoch = 2
	_, err = n.CreateAccount(ctx, spec)
	must(t, err)
	must(t, n.LeaveAccount(ctx, "7", 1))
	must(t, n.LeaveAccount(ctx, "7", 2))
	if err := n.DropAccount(ctx, "7", 2); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("an account that came back was dropped: %v", err)
	}
	if _, err := n.Account(ctx, "7"); err != nil {
		t.Errorf("it is not here: %v", err)
	}
}

// TestAMachineThatWasDeadOpensWithoutWhatHasLeft: it is told before it opens, and serves it not even once.
func TestAMachineThatWasDeadOpensWithoutWhatHasLeft(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ctx := t.Context()
	for _, ref := range []string{"7", "8"} {
		_, err := n.CreateAccount(ctx, panel.AccountSpec{Ref: ref, Username: "s" + ref, PrimaryDomain: ref + ".test"})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "accounts", "s"+ref, "public_html", "index.html"), []byte("hello"), 0o644))
	}
	must(t, n.Close())
	n, err := New(ctx, Config{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now, Left: map[string]int64{"7": 1, "9": 4}})
	must(t, err)
	defer func() { must(t, n.Close()) }()
	get := serve(t, n)
	if status, body := get("7.test", "/"); status == http.StatusOK || body == "hello" {
		t.Errorf("what has left is answered %d %q", status, body)
	}
	if status, body := get("8.test", "/"); status != http.StatusOK || body != "hello" {
		t.Errorf("what has not left is answered %d %q", status, body)
	}
}

// TestAHeldAccountStaysAsItIs: it is served and not written, also after a restart, until the hold is ended or ends by itself.
func TestAHeldAccountStaysAsItIs(t *testing.T) {
	dir, clk := t.TempDir(), clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	again := func() *Node {
		t.Helper()
		n, err := New(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: clk.Now})
		must(t, err)
		return n
	}
	n := again()
	ctx := t.Context()
	_, err := n.CreateAccount(ctx, panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "shop.test"})
	must(t, err)
	write := func() error {
		_, err := n.Files.Write(ctx, "7", "/public_html/index.html", []byte("hello"), panel.WriteOptions{})
		return err
	}
	must(t, write())
	hold := panel.Hold{Move: 3, Try: 1, For: time.Minute}
	held := func() {
		t.Helper()
		if err := write(); !errors.Is(err, panel.ErrSuspended) {
			t.Errorf("it is written: %v", err)
		}
		if status, body := serve(t, n)("shop.test", "/"); status != http.StatusOK || body != "hello" {
			t.Errorf("it is answered %d %q", status, body)
		}
	}
	must(t, n.HoldAccount(ctx, "7", hold))
	held()
	must(t, n.Close())
	n = again()
	clk.Advance(30 * time.Second)
	n.Thaw(ctx)
	held()
	must(t, n.HoldAccount(ctx, "7", hold))
	clk.Advance(45 * time.Second)
	n.Thaw(ctx)
	held()
	must(t, n.SuspendAccount(ctx, "7")) // counts from the end of the hold on
	if a, err := n.Account(ctx, "7"); err != nil || a.Status != panel.AccountSuspended {
		t.Errorf("suspended while it is held: %+v %v", a, err)
	}
	must(t, n.UnsuspendAccount(ctx, "7"))
	if err := write(); !errors.Is(err, panel.ErrSuspended) {
		t.Errorf("it is written: %v", err)
	}
	clk.Advance(time.Minute)
	if err := n.HoldAccount(ctx, "7", hold); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("a hold that has ended is taken up: %v", err)
	}
	n.Thaw(ctx)
	must(t, write())
	if err := n.HoldAccount(ctx, "7", hold); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("a hold that has ended is taken up: %v", err)
	}
	hold.Try, hold.For = 2, 0
	must(t, n.HoldAccount(ctx, "7", hold))
	clk.Advance(1000 * time.Hour)
	n.Thaw(ctx)
	held()
	must(t, n.Close())
}

// TestAnAccountThatArrives is not served before its content is there.
func TestAnAccountThatArrives(t *testing.T) {
	n := open(t, t.TempDir())
	defer func() { must(t, n.Close()) }()
	_, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "shop.test", Arriving: true})
	must(t, err)
	_, err = n.Files.Write(t.Context(), "7", "/public_html/index.html", []byte("hello"), panel.WriteOptions{})
	must(t, err)
	if status, body := serve(t, n)("shop.test", "/"); status != http.StatusServiceUnavailable || !strings.Contains(body, "moving") {
		t.Errorf("it is answered %d %q", status, body)
	}
	must(t, n.ReleaseAccount(t.Context(), "7", 3))
	if status, body := serve(t, n)("shop.test", "/"); status != http.StatusOK || body != "hello" {
		t.Errorf("it is answered %d %q", status, body)
	}
}

// TestTheFormerMachineForwards visitors to the machine that has the account, keeps what they asked, and never in circles.
func TestTheFormerMachineForwards(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s hops%s from %s", r.Method, r.Host, r.URL, body, r.Header.Get("Stead-Forwarded"), r.Header.Get("X-Forwarded-For"))
	}))
	defer other.Close()
	dir := t.TempDir()
	n := open(t, dir)
	ctx := t.Context()
	_, err := n.CreateAccount(ctx, panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "shop.test"})
	must(t, err)
	_, err = n.SetDomain(ctx, "7", panel.Domain{Name: "other.test"})
	must(t, err)
	must(t, n.LeaveAccount(ctx, "7", 1))
	to := panel.Forward{HTTP: other.Listener.Addr().String()}
	must(t, n.ForwardAccount(ctx, "7", 1, to))
	must(t, n.LeaveAccount(ctx, "7", 1)) // with its next report
	must(t, n.Close())
	n = open(t, dir)
	defer func() { must(t, n.Close()) }()
	ask := func(host string, hops string) (int, string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/a%20b?c=d", strings.NewReader("body"))
		r.Host = host
		r.Header.Set("Stead-Forwarded", hops)
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, host := range []string{"shop.test", "other.test"} {
		if status, body := ask(host, ""); status != http.StatusOK || body != "POST "+host+" /a%20b?c=d body hops.1 from 192.0.2.1" {
			t.Errorf("%s is answered %d %q", host, status, body)
		}
	}
	if status, _ := ask("shop.test", ".1.1.1"); status != http.StatusLoopDetected {
		t.Errorf("in circles: %d", status)
	}
	// A domain that another account gets here is that one's.
	_, err = n.CreateAccount(ctx, panel.AccountSpec{Ref: "8", Username: "s8", PrimaryDomain: "other.test"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "accounts", "s8", "public_html", "index.html"), []byte("mine"), 0o644))
	n.Reconcile(ctx)
	if status, body := serve(t, n)("other.test", "/"); status != http.StatusOK || body != "mine" {
		t.Errorf("another account's domain is answered %d %q", status, body)
	}
	if status, _ := ask("shop.test", ""); status != http.StatusOK {
		t.Errorf("the rest is answered %d", status)
	}
	other.Close()
	if status, _ := ask("shop.test", ""); status != http.StatusBadGateway {
		t.Errorf("while the other machine is down: %d", status)
	}
	must(t, n.DropAccount(ctx, "7", 1))
	if status, _ := ask("shop.test", ""); status != http.StatusNotFound {
		t.Errorf("after it was dropped: %d", status)
	}
}

package node

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

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

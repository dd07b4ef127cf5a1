package paneltest

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func ftpAccounts(t *testing.T, p panel.Panel) {
	f := capability[panel.FTP](t, p)
	create(t, p, spec)
	none, err := f.FTPAccounts(t.Context(), ref)
	must(t, err)
	equal(t, "FTP accounts of a new account", len(none), 0)

	want := panel.FTPAccount{Username: "alice_web", Home: "/public_html/shop", QuotaMB: 5, Password: "first", PasswordVersion: "a"}
	made, err := f.SetFTPAccount(t.Context(), ref, want)
	must(t, err)
	equal(t, "password answered", made.Password, "")
	equal(t, "home", made.Home, "/public_html/shop")
	equal(t, "quota", made.QuotaMB, 5)
	equal(t, "version", made.PasswordVersion, "a")
	if made.Host == "" || made.Port == 0 {
		t.Errorf("it does not say where to sign in: %+v", made)
	}
	again, err := f.SetFTPAccount(t.Context(), ref, want)
	must(t, err)
	equal(t, "set again", again, made)
	want.ReadOnly, want.Home, want.QuotaMB, want.Password = true, "/", 0, ""
	changed, err := f.SetFTPAccount(t.Context(), ref, want)
	must(t, err)
	equal(t, "read only", changed.ReadOnly, true)
	equal(t, "home", changed.Home, "/")
	equal(t, "version of a password that was not given", changed.PasswordVersion, "a")
	want.Password, want.PasswordVersion = "second", "b"
	changed, err = f.SetFTPAccount(t.Context(), ref, want)
	must(t, err)
	equal(t, "version of another password", changed.PasswordVersion, "b")

	_, err = f.SetFTPAccount(t.Context(), ref, panel.FTPAccount{Username: "alice_two", Home: "/", Password: "x", PasswordVersion: "a"})
	must(t, err)
	list, err := f.FTPAccounts(t.Context(), ref)
	must(t, err)
	if len(list) != 2 || list[0].Username != "alice_two" || list[1].Username != "alice_web" {
		t.Errorf("list = %+v", list)
	}

	for name, bad := range map[string]panel.FTPAccount{
		"another's name": {Username: "bob_web", Home: "/", Password: "x"},
		"no name":        {Username: "alice_", Home: "/", Password: "x"},
		"no password":    {Username: "alice_new", Home: "/"},
		"quota":          {Username: "alice_new", Home: "/", Password: "x", QuotaMB: -1},
	} {
		_, err := f.SetFTPAccount(t.Context(), ref, bad)
		t.Log(name)
		refused(t, err, panel.ErrInvalid)
	}
	_, err = f.SetFTPAccount(t.Context(), ref, panel.FTPAccount{Username: "alice_new", Home: "/../..", Password: "x"})
	refused(t, err, panel.ErrPathNotAllowed)

	must(t, capability[panel.Accounts](t, p).SuspendAccount(t.Context(), ref))
	_, err = f.SetFTPAccount(t.Context(), ref, want)
	refused(t, err, panel.ErrSuspended)
	must(t, capability[panel.Accounts](t, p).UnsuspendAccount(t.Context(), ref))

	must(t, f.RemoveFTPAccount(t.Context(), ref, "alice_two"))
	refused(t, f.RemoveFTPAccount(t.Context(), ref, "alice_two"), panel.ErrNotFound)
	_, err = f.FTPAccounts(t.Context(), "unknown")
	refused(t, err, panel.ErrNotFound)

	must(t, capability[panel.Accounts](t, p).DeleteAccount(t.Context(), ref))
	create(t, p, spec)
	list, err = f.FTPAccounts(t.Context(), ref)
	must(t, err)
	equal(t, "FTP accounts of the account that came after", len(list), 0)
}

// Keys of nobody.
const (
	someKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGEga2V5IG9mIG5vYm9keSwgdGhpcnR5LXR3byBieXRl"
	otherKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFub3RoZXIga2V5IG9mIG5vYm9keSwgMzIgYnl0ZXMu"
)

func shellAccess(t *testing.T, p panel.Panel) {
	s := capability[panel.Shell](t, p)
	account := create(t, p, spec)
	first, err := s.ShellAccess(t.Context(), ref)
	must(t, err)
	equal(t, "shell of a new account", first.Enabled, false)
	if first.Host == "" || first.Port == 0 || first.Username == "" || !strings.HasPrefix(first.Fingerprint, "SHA256:") {
		t.Errorf("it does not say where to sign in: %+v", first)
	}
	if !strings.Contains(first.Username, account.Username) {
		t.Errorf("user name %q of account %q", first.Username, account.Username)
	}
	on, err := s.SetShellAccess(t.Context(), ref, true)
	must(t, err)
	equal(t, "shell", on.Enabled, true)
	equal(t, "fingerprint", on.Fingerprint, first.Fingerprint)
	on, err = s.SetShellAccess(t.Context(), ref, true)
	must(t, err)
	equal(t, "shell, switched on again", on.Enabled, true)

	keys := []panel.SSHKey{{Name: "laptop", PublicKey: someKey}, {Name: "work", PublicKey: otherKey}}
	must(t, s.SetSSHKeys(t.Context(), ref, keys))
	must(t, s.SetSSHKeys(t.Context(), ref, keys))
	got, err := s.SSHKeys(t.Context(), ref)
	must(t, err)
	if !slices.Equal(got, keys) {
		t.Errorf("keys = %+v", got)
	}
	for name, bad := range map[string]panel.SSHKey{
		"options":     {Name: "x", PublicKey: `command="sh" ` + someKey},
		"two lines":   {Name: "x", PublicKey: someKey + "\n" + otherKey},
		"nothing":     {Name: "x"},
		"no key":      {Name: "x", PublicKey: "ssh-ed25519 AAAA"},
		"bad name":    {Name: "x\n" + otherKey, PublicKey: someKey},
		"a home name": {Name: "x", PublicKey: "/etc/passwd"},
	} {
		t.Log(name)
		refused(t, s.SetSSHKeys(t.Context(), ref, []panel.SSHKey{bad}), panel.ErrInvalid)
	}
	got, err = s.SSHKeys(t.Context(), ref)
	must(t, err)
	equal(t, "keys after refusals", len(got), 2)
	must(t, s.SetSSHKeys(t.Context(), ref, keys[1:]))
	got, err = s.SSHKeys(t.Context(), ref)
	must(t, err)
	if !slices.Equal(got, keys[1:]) {
		t.Errorf("keys = %+v", got)
	}
	off, err := s.SetShellAccess(t.Context(), ref, false)
	must(t, err)
	equal(t, "shell", off.Enabled, false)

	_, err = s.ShellAccess(t.Context(), "unknown")
	refused(t, err, panel.ErrNotFound)
	must(t, capability[panel.Accounts](t, p).DeleteAccount(t.Context(), ref))
	create(t, p, spec)
	got, err = s.SSHKeys(t.Context(), ref)
	must(t, err)
	equal(t, "keys of the account that came after", len(got), 0)
}

func terminal(t *testing.T, p panel.Panel) {
	term, shell := capability[panel.Terminal](t, p), capability[panel.Shell](t, p)
	create(t, p, spec)
	size := panel.TerminalSize{Columns: 80, Rows: 24}
	_, err := term.OpenTerminal(t.Context(), ref, size, strings.NewReader(""))
	refused(t, err, panel.ErrUnsupported) // while the shell is off
	_, err = term.OpenTerminal(t.Context(), "nobody", size, strings.NewReader(""))
	refused(t, err, panel.ErrNotFound)
	_, err = shell.SetShellAccess(t.Context(), ref, true)
	must(t, err)
	must(t, shell.SetSSHKeys(t.Context(), ref, nil)) // no key is needed

	typed, keyboard := io.Pipe()
	defer keyboard.Close()
	screen, err := term.OpenTerminal(t.Context(), ref, size, typed)
	must(t, err)
	keys := panel.NewTerminalWriter(keyboard)
	must(t, keys.Resize(panel.TerminalSize{Columns: 123, Rows: 40}))
	_, err = keys.Write([]byte("echo $((6*7)) > ~/answer; stty size > ~/size; exit\n"))
	must(t, err)
	_, err = io.ReadAll(screen)
	must(t, errors.Join(err, screen.Close()))
	f := capability[panel.Files](t, p)
	equal(t, "what the shell wrote", read(t, f, "/answer"), "42\n")
	equal(t, "size after it was changed", read(t, f, "/size"), "40 123\n")
}

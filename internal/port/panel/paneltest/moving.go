package paneltest

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func leaves(t *testing.T, p panel.Panel) {
	accounts, files, moving := capability[panel.Accounts](t, p), capability[panel.Files](t, p), capability[panel.Moving](t, p)
	ctx := t.Context()
	gone := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	gone("an unknown account leaves", moving.LeaveAccount(ctx, "unknown", 1))
	create(t, p, spec)
	gone("an account that is here is dropped", moving.DropAccount(ctx, ref, 1))
	must(t, moving.LeaveAccount(ctx, ref, 1))
	must(t, moving.LeaveAccount(ctx, ref, 1))
	_, err := accounts.Account(ctx, ref)
	gone("an account that has left is asked for", err)
	_, err = files.Write(ctx, ref, "/public_html/index.html", []byte("x"), panel.WriteOptions{})
	gone("its files are written", err)
	gone("it is unsuspended", accounts.UnsuspendAccount(ctx, ref))
	gone("it is deleted", accounts.DeleteAccount(ctx, ref))
	if _, err := accounts.CreateAccount(ctx, spec); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("it is made anew over what it left: %v", err)
	}
	must(t, moving.DropAccount(ctx, ref, 1))
	gone("it is dropped twice", moving.DropAccount(ctx, ref, 1))

	back := spec
	back.Epoch = 2
	create(t, p, back)
	must(t, moving.LeaveAccount(ctx, ref, 1)) // old news
	_, err = accounts.Account(ctx, ref)
	must(t, err)
}

func handsOver(t *testing.T, p panel.Panel) {
	backups, hand := capability[panel.Backups](t, p), capability[panel.Handover](t, p)
	ctx := t.Context()
	if _, err := hand.BackupPassport(ctx, "unknown", "b1"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("passport for an unknown account: %v", err)
	}
	create(t, p, spec)
	unbusy(t, func() (panel.BackupTask, error) { return backups.StartBackup(ctx, ref, filesAndRecords) })
	completed(t, backups, ref, "b1")
	passport, err := hand.BackupPassport(ctx, ref, "b1")
	must(t, err)
	must(t, hand.AdoptBackup(ctx, ref, passport)) // it knows it
	if err := hand.AdoptBackup(ctx, "another", passport); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("adopted for another account: %v", err)
	}
	must(t, hand.KeepApart(ctx, ref))
	unbusy(t, func() (panel.BackupTask, error) {
		return backups.StartBackup(ctx, ref, panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	})
	completed(t, backups, ref, "b2")
}

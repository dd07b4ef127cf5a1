package paneltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

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
	gone("an unknown account is held", moving.HoldAccount(ctx, "unknown", panel.Hold{Move: 1, Try: 1}))
	_, err := moving.Counted(ctx, "unknown")
	gone("counts of an unknown account are asked for", err)
	gone("counts of an unknown account are taken", moving.TakeCounted(ctx, "unknown", panel.Counted("{}")))
	gone("an unknown account is released", moving.ReleaseAccount(ctx, "unknown", 1))
	create(t, p, spec)
	stays(t, p, 0)
	counted, err := moving.Counted(ctx, ref)
	must(t, err)
	if err := moving.TakeCounted(ctx, ref, counted); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("counts are taken for an account that is open: %v", err)
	}
	first := panel.Hold{Move: 1, Try: 1, For: time.Hour}
	must(t, moving.HoldAccount(ctx, ref, first))
	must(t, moving.HoldAccount(ctx, ref, first))
	if _, err := files.Write(ctx, ref, "/public_html/index.html", []byte("x"), panel.WriteOptions{}); !errors.Is(err, panel.ErrSuspended) {
		t.Errorf("files of a held account are written: %v", err)
	}
	if a, err := accounts.Account(ctx, ref); err != nil || a.Status != panel.AccountActive {
		t.Errorf("a held account is %+v %v", a, err)
	}
	if err := moving.HoldAccount(ctx, ref, panel.Hold{Move: 2, Try: 1}); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("two moves hold it: %v", err)
	}
	must(t, moving.ReleaseAccount(ctx, ref, 2))
	must(t, moving.HoldAccount(ctx, ref, first))
	must(t, moving.ReleaseAccount(ctx, ref, 1))
	must(t, moving.ReleaseAccount(ctx, ref, 1))
	gone("a hold that has ended is repeated", moving.HoldAccount(ctx, ref, first))
	_, err = files.Write(ctx, ref, "/public_html/index.html", []byte("x"), panel.WriteOptions{})
	must(t, err)
	must(t, moving.HoldAccount(ctx, ref, panel.Hold{Move: 1, Try: 2}))
	if err := moving.ForwardAccount(ctx, ref, 1, panel.Forward{HTTP: "a.example.com; return 200"}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("forwarded to nowhere: %v", err)
	}
	if err := moving.ForwardAccount(ctx, ref, 1, panel.Forward{HTTP: "192.0.2.9:80", HTTPS: "192.0.2.9:443", Proof: "anybody"}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("forwarded by HTTPS to a machine that nobody knows: %v", err)
	}
	if err := moving.ForwardAccount(ctx, ref, 1, panel.Forward{HTTP: "192.0.2.9:80", Mail: "mx.example.com"}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("mail is forwarded to a name: %v", err)
	}
	if proof, err := moving.Proof(ctx); err != nil || strings.Contains(proof, "PRIVATE") {
		t.Errorf("the machine proves itself by %q %v", proof, err)
	}
	gone("an account that is here is dropped", moving.DropAccount(ctx, ref, 1))
	must(t, moving.LeaveAccount(ctx, ref, 1))
	must(t, moving.LeaveAccount(ctx, ref, 1))
	stays(t, p, 1)
	must(t, moving.ForwardAccount(ctx, ref, 1, panel.Forward{HTTP: "192.0.2.9:80"}))
	_, err = accounts.Account(ctx, ref)
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

// stays checks that the machine lists the account once, and in which epoch it has left.
func stays(t *testing.T, p panel.Panel, left int64) {
	t.Helper()
	inventory, err := panel.Of[panel.Inventory](p, panel.CapInventory)
	must(t, err)
	all, err := inventory.Residents(t.Context())
	must(t, err)
	all = slices.DeleteFunc(all, func(r panel.Resident) bool { return r.Ref != ref }) // machines of tests may have others
	if len(all) != 1 || all[0].Username != spec.Username || all[0].PrimaryDomain != spec.PrimaryDomain || all[0].Left != left || all[0].CreatedAt.IsZero() {
		t.Errorf("the machine lists %+v, want %s, left in %d", all, ref, left)
	}
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
	if err := hand.DisownBackups(ctx, ref); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("backups of an account that is here are disowned: %v", err)
	}
	must(t, hand.DisownBackups(ctx, "unknown"))
	unbusy(t, func() (panel.BackupTask, error) {
		return backups.StartBackup(ctx, ref, panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	})
	completed(t, backups, ref, "b2")
}

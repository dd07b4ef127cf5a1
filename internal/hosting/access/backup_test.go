package access

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site"
)

func TestAServiceThatComesBackHasTheWaysInThatItHad(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.add(30, owner, site.Limits{"ftp_accounts": 2, "shell": 1})
		if document := w.Exported(w, 30); document != "" {
			t.Errorf("of nothing: %s", document)
		}
		f := made[ftpShown](w, w.expect("POST", "/30/ftp", "own", `{"username":"anna","home":"/public_html/shop","quota_mb":5,"readonly":true}`, 201, ""))
		_, err := w.setShell(ctx, owner, 30, true)
		w.Must(err)
		_, err = w.createKey(ctx, owner, 30, "laptop", ed(t))
		w.Must(err)
		w.apply(30)
		password, _, err := w.vault.Secret(ctx, w.DB, CredentialKind, f.ID)
		w.Must(err)
		document := w.Exported(w, 30)
		if strings.Contains(document, password) {
			t.Errorf("a password in the backup: %s", document)
		}

		w.Services.SetStatus(t, 30, "terminated")
		w.apply(30)
		w.Services.SetStatus(t, 30, "active")
		if document := w.Exported(w, 30); document != "" {
			t.Errorf("left: %s", document)
		}
		for range 2 { // the second time nothing is new
			w.Must(w.Reimport(w, 30, document))
			w.apply(30)
			if again := w.Exported(w, 30); again != document {
				t.Errorf("%s, was %s", again, document)
			}
		}
		on, err := w.machine.FTPAccounts(ctx, "30")
		if err != nil || len(on) != 1 || on[0].Username != "s30_anna" || on[0].Home != "/public_html/shop" || on[0].QuotaMB != 5 || !on[0].ReadOnly {
			t.Errorf("%+v, %v", on, err)
		}
		if now := w.machine.secrets["s30_anna"]; now == "" || now == password {
			t.Errorf("the password is %q, was %q", now, password)
		}
		sh, err := w.machine.ShellAccess(ctx, "30")
		keys, keysErr := w.machine.SSHKeys(ctx, "30")
		if err != nil || keysErr != nil || !sh.Enabled || len(keys) != 1 || keys[0].Name != "laptop" {
			t.Errorf("%+v, %+v, %v, %v", sh, keys, err, keysErr)
		}

		// A plan that has less by now is a refusal, and one without a shell has none.
		w.add(31, owner, site.Limits{"ftp_accounts": 0, "shell": 0})
		if err := w.Reimport(w, 31, document); err == nil {
			t.Error("more FTP accounts than the plan has")
		}
		w.Must(w.Reimport(w, 31, `{"shell":true}`))
		w.apply(31)
		if sh, err := w.machine.ShellAccess(ctx, "31"); err != nil || sh.Enabled {
			t.Errorf("%+v, %v", sh, err)
		}
	})
}

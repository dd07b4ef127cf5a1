package access

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

func TestAServiceThatComesBackHasTheWaysInThatItHad(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.add(30, owner, `{"ftp_accounts":2,"shell":1}`)
		export := func() json.RawMessage {
			document, err := w.Export(ctx, w.db, owner, 30)
			w.must(err)
			return document
		}
		if document := export(); document != nil {
			t.Errorf("of nothing: %s", document)
		}
		f := made[ftpShown](w, w.expect("POST", "/30/ftp", "own", `{"username":"anna","home":"/public_html/shop","quota_mb":5,"readonly":true}`, 201, ""))
		_, err := w.setShell(ctx, owner, 30, true)
		w.must(err)
		_, err = w.createKey(ctx, owner, 30, "laptop", ed(t))
		w.must(err)
		w.apply(30)
		password, _, err := w.vault.Secret(ctx, w.db, CredentialKind, f.ID)
		w.must(err)
		document := export()
		if strings.Contains(string(document), password) {
			t.Errorf("a password in the backup: %s", document)
		}

		w.services.SetStatus(t, 30, "terminated")
		w.apply(30)
		w.services.SetStatus(t, 30, "active")
		if document := export(); document != nil {
			t.Errorf("left: %s", document)
		}
		for range 2 { // the second time nothing is new
			w.must(w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Import(ctx, tx, owner, 30, document, nil) }))
			w.apply(30)
			if again := export(); string(again) != string(document) {
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
		w.add(31, owner, `{"ftp_accounts":0,"shell":0}`)
		if err := w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Import(ctx, tx, owner, 31, document, nil) }); err == nil {
			t.Error("more FTP accounts than the plan has")
		}
		w.must(w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			return w.Import(ctx, tx, owner, 31, json.RawMessage(`{"shell":true}`), nil)
		}))
		w.apply(31)
		if sh, err := w.machine.ShellAccess(ctx, "31"); err != nil || sh.Enabled {
			t.Errorf("%+v, %v", sh, err)
		}
	})
}

package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

// TestNewWaysIntoAServiceAreInTheSecurityLog: keys and FTP accounts that a token adds, with the address that it came from.
func TestNewWaysIntoAServiceAreInTheSecurityLog(t *testing.T) {
	w := newWorld(t, start(t, simulated))
	service := fmt.Sprintf("/api/v1/services/%d", w.service)
	var key struct{ ID int64 }
	r := w.do(t, request{method: http.MethodPost, path: service + "/ssh-keys", token: w.owner.token, body: sshKeyRequest(t)})
	if r.status != http.StatusCreated {
		t.Fatal(r)
	}
	r.decode(t, &key)
	if r := w.do(t, request{method: http.MethodDelete, path: fmt.Sprintf("%s/ssh-keys/%d", service, key.ID), token: w.owner.token}); r.status != http.StatusOK {
		t.Fatal(r)
	}
	if r := w.do(t, request{method: http.MethodPost, path: service + "/ftp", token: w.owner.token, body: fmt.Sprintf(`{"username": %q}`, unique("logged"))}); r.status != http.StatusCreated {
		t.Fatal(r)
	}
	if r := w.do(t, request{method: http.MethodDelete, path: "/api/v1/me/connections/" + w.connected(), token: w.ownersSession}); r.status != http.StatusOK {
		t.Fatal(r)
	}
	kinds, err := db.Collect(t.Context(), w.db, func(r db.Row) (kind string, err error) {
		err = r.Scan(&kind)
		return kind, err
	}, `SELECT kind FROM account_security_events WHERE address <> '' AND kind IN ('ssh_key_added', 'ssh_key_removed', 'ftp_account_added', 'application_removed')
		ORDER BY id DESC LIMIT 4`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kinds, " "); got != "application_removed ftp_account_added ssh_key_removed ssh_key_added" {
		t.Errorf("the log has %q", got)
	}
}

// connected is the id of an application that the owner has connected.
func (w *world) connected() string {
	w.t.Helper()
	var list struct {
		Data []struct {
			Application struct{ ID json.Number } `json:"application"`
		} `json:"data"`
	}
	w.get(w.t, w.ownersPanel, "/api/v1/me/connections").decode(w.t, &list)
	if len(list.Data) == 0 {
		w.t.Fatal("the owner has connected no application")
	}
	return list.Data[0].Application.ID.String()
}

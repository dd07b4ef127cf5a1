package app

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAPasswordIsReplacedForAClientAndNobodyElseSeesIt: a reseller has the password of its client's FTP account replaced;
// the client, who has no account, sees the new one once, behind the link; what was done stands in the trail.
func TestAPasswordIsReplacedForAClientAndNobodyElseSeesIt(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 100_000)
	w.ownersKey = w.aKey(w.owner, reseller.NewKey{})
	w.plan = w.aPlan()
	w.service = w.id(w.post(t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "%s.example.com"}`, w.plan, unique("client"))))
	service := fmt.Sprintf("/api/v1/reseller/services/%d", w.service)
	w.rests(service, "active")
	if r := a.post(t, w.ownersKey, service+"/reset-password", `{"username": "somebody"}`); r.status != http.StatusUnprocessableEntity || r.key() != "validation_failed" {
		t.Errorf("of nobody: %s", r)
	}

	var reset struct {
		Usernames []string `json:"usernames"`
		LoginLink struct {
			URL string `json:"url"`
		} `json:"login_link"`
	}
	// A new service has no FTP account, and no operation of resellers makes one but this.
	secrets := map[string]bool{}
	for range 2 {
		a.post(t, w.ownersKey, service+"/reset-password", "{}").decode(t, &reset)
		if len(reset.Usernames) != 1 || !strings.HasSuffix(reset.Usernames[0], "_main") {
			t.Fatalf("%+v", reset)
		}
		credentials, err := a.credentials.List(t.Context(), w.owner.id, w.service)
		if err != nil || len(credentials) != 1 {
			t.Fatalf("%v, %v", credentials, err)
		}
		password, _, err := a.credentials.Secret(t.Context(), a.db, "ftp", credentials[0].SubjectID)
		if err != nil {
			t.Fatal(err)
		}
		secrets[password] = true
	}
	if len(secrets) != 2 {
		t.Error("the password is not replaced")
	}
	testkit.Eventually(t, time.Minute, func() bool {
		return strings.Contains(string(a.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service)).body), `"active"`)
	}, "the FTP account is active")
	link, err := url.Parse(reset.LoginLink.URL)
	if err != nil {
		t.Fatal(err)
	}
	entered := a.do(t, request{method: http.MethodPost, path: link.Path, header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
	visit := regexp.MustCompile(`stead_client=[^;]+`).FindString(entered.header.Get("Set-Cookie"))
	if visit == "" {
		t.Fatalf("no visit: %s", entered)
	}
	passwords := fmt.Sprintf("/client/panel/api/v1/services/%d/passwords", w.service)
	var list struct {
		Data []struct {
			ID       int64   `json:"id"`
			Username string  `json:"username"`
			Place    *string `json:"place"`
		} `json:"data"`
	}
	a.panel(t, visit, http.MethodGet, passwords, "").decode(t, &list)
	if len(list.Data) != 1 || list.Data[0].Username != reset.Usernames[0] {
		t.Fatalf("%+v", list)
	}
	var ftp struct {
		Data []struct {
			Host string `json:"host"`
			Port int    `json:"port"`
		} `json:"data"`
	}
	a.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service)).decode(t, &ftp)
	if server := net.JoinHostPort(ftp.Data[0].Host, strconv.Itoa(ftp.Data[0].Port)); list.Data[0].Place == nil || *list.Data[0].Place != server {
		t.Errorf("the client is not told to sign in to %s: %+v", server, list.Data)
	}
	reveal := fmt.Sprintf("%s/%d/reveal", passwords, list.Data[0].ID)
	foreign := a.do(t, request{method: http.MethodPost, path: reveal, header: map[string]string{"Cookie": visit, "Sec-Fetch-Site": "cross-site"}})
	if foreign.status != http.StatusForbidden || strings.Contains(string(foreign.body), "password\":") {
		t.Errorf("from another site: %s", foreign)
	}
	revealed := a.panel(t, visit, http.MethodPost, reveal, "")
	var shown struct {
		Password string `json:"password"`
	}
	revealed.decode(t, &shown)
	if shown.Password == "" || revealed.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%v", revealed.header)
	}
	if again := a.panel(t, visit, http.MethodPost, reveal, ""); again.status != http.StatusNotFound || strings.Contains(string(again.body), shown.Password) {
		t.Errorf("shown twice: %d", again.status)
	}
	credentials, err := a.credentials.List(t.Context(), w.owner.id, w.service)
	if err != nil || len(credentials) != 1 {
		t.Fatalf("%v, %v", credentials, err)
	}
	kept, _, err := a.credentials.Secret(t.Context(), a.db, "ftp", credentials[0].SubjectID)
	if err != nil || kept != shown.Password {
		t.Errorf("another password than the shown one is kept: %v", err)
	}

	trail := a.get(t, w.ownersKey, "/api/v1/reseller/audit-log")
	var calls struct {
		Data []struct {
			Operation string  `json:"operation"`
			Path      string  `json:"path"`
			Status    int     `json:"status"`
			ErrorKey  *string `json:"error_key"`
		} `json:"data"`
	}
	trail.decode(t, &calls)
	if len(calls.Data) != 4 || calls.Data[0].Operation != "reseller.services.reset_password" || calls.Data[0].Status != http.StatusOK || calls.Data[0].ErrorKey != nil ||
		calls.Data[2].Status != http.StatusUnprocessableEntity || *calls.Data[2].ErrorKey != "validation_failed" || calls.Data[0].Path != service+"/reset-password" ||
		calls.Data[3].Operation != "reseller.services.create" || calls.Data[3].Status != http.StatusCreated {
		t.Errorf("%s", trail)
	}
	for _, secret := range []string{kept, strings.TrimPrefix(link.Path, "/client/")} {
		if strings.Contains(string(trail.body), secret) {
			t.Error("the trail has a secret")
		}
	}
}

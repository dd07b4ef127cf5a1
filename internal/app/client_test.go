package app

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
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
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(method, address string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	link, err := url.Parse(reset.LoginLink.URL)
	if err != nil {
		t.Fatal(err)
	}
	local := a.local() + link.Path
	if body := page(http.MethodPost, local); !strings.Contains(body, `<div id="root">`) {
		t.Fatalf("behind the link is not the panel: %s", body)
	}
	if body := page(http.MethodGet, a.local()+"/client"); !strings.Contains(body, reset.Usernames[0]) {
		t.Fatalf("the passwords: %s", body)
	}
	reveal := regexp.MustCompile(`/client/credentials/\d+/reveal`).FindString(page(http.MethodGet, a.local()+"/client"))
	revealed := page(http.MethodPost, a.local()+reveal)
	var ftp struct {
		Data []struct {
			Host string `json:"host"`
			Port int    `json:"port"`
		} `json:"data"`
	}
	a.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service)).decode(t, &ftp)
	if server := net.JoinHostPort(ftp.Data[0].Host, strconv.Itoa(ftp.Data[0].Port)); strings.Count(revealed, "<code>"+server+"</code>") != 2 {
		t.Errorf("the client is not told to sign in to %s: %s", server, revealed)
	}
	shown := regexp.MustCompile(`id="password">([A-Za-z0-9]{24})<`).FindStringSubmatch(revealed)
	if shown == nil {
		t.Fatal("no password is shown")
	}
	credentials, err := a.credentials.List(t.Context(), w.owner.id, w.service)
	if err != nil || len(credentials) != 1 {
		t.Fatalf("%v, %v", credentials, err)
	}
	kept, _, err := a.credentials.Secret(t.Context(), a.db, "ftp", credentials[0].SubjectID)
	if err != nil || kept != shown[1] {
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

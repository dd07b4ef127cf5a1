package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/agent/insights"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// uploadLogo gives the brand of the key's reseller a logo.
func (w *world) uploadLogo(key string) {
	w.t.Helper()
	r := w.do(w.t, request{
		method: http.MethodPut, path: "/api/v1/reseller/brand", token: key,
		body: `{"logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}`,
	})
	if r.status != http.StatusOK {
		w.t.Fatalf("the brand: %s", r)
	}
}

// aPassword is one that the owner may be shown; none on a panel without databases.
func (w *world) aPassword() int64 {
	w.t.Helper()
	all, err := w.credentials.List(w.t.Context(), w.owner.id, w.service)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(all) == 0 {
		return 1
	}
	return all[0].ID
}

// restorable is a service of the owner's that has ended and can come back. It is the same one until it does.
func (w *world) restorable() int64 {
	w.t.Helper()
	is := func(status string) bool {
		var s struct {
			Status string `json:"status"`
		}
		w.get(w.t, w.ownersKey, fmt.Sprintf("/api/v1/reseller/services/%d", w.ended)).decode(w.t, &s)
		return s.Status == status
	}
	if w.ended != 0 && is("terminated") {
		return w.ended
	}
	var me struct{ Modules []string }
	w.get(w.t, w.owner.token, "/api/v1/me").decode(w.t, &me)
	if !slices.Contains(me.Modules, string(api.Reseller)) || !slices.Contains(me.Modules, string(api.ServiceManagement)) {
		return w.service // its section is off
	}
	w.ended = w.id(w.post(w.t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("ended")+".example.com")))
	testkit.Eventually(w.t, time.Minute, func() bool { return is("active") }, "the service is active")
	path := fmt.Sprintf("/api/v1/reseller/services/%d?when=now", w.ended)
	if r := w.do(w.t, request{method: http.MethodDelete, path: path, token: w.ownersKey}); r.status != http.StatusOK {
		w.t.Fatal(r)
	}
	testkit.Eventually(w.t, 60*time.Second, func() bool { return is("terminated") }, "the service has ended")
	return w.ended
}

// newMonitor is a monitor of the owner's, which tests check only when they ask for it.
func (w *world) newMonitor() (id int64, badge string) {
	w.t.Helper()
	var made struct {
		ID         int64  `json:"id"`
		BadgeToken string `json:"badge_token"`
	}
	w.post(w.t, w.owner.token, "/api/v1/monitors", `{"type": "http", "url": "https://shop.example.com/", "name": "Mine"}`).decode(w.t, &made)
	// The badge of a young monitor tells its age, which changes while tests compare answers.
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE monitors SET created_at = $1 WHERE id = $2`, tx.Now.AddDate(-1, 0, 0), made.ID)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.ID, made.BadgeToken
}

// newInsight is one of the service that no audit resolves.
func (w *world) newInsight() int64 {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, _, err := w.insights.Report(ctx, tx, w.owner.id, w.service, insights.Report{
			Findings: []insights.Finding{{
				Check: "planted", Kind: insights.SEO, Severity: insights.Critical,
				Texts: insights.Texts{Title: "insight.title.noindex", Detail: "insight.detail.noindex", Fix: "insight.fix.noindex"},
			}},
			Judged: func(string, string) bool { return false },
		})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var list struct {
		Data []struct {
			ID int64 `json:"id"`
		} `json:"data"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/insights", w.service)).decode(w.t, &list)
	if len(list.Data) != 1 {
		w.t.Fatalf("%d insights, want the planted one", len(list.Data))
	}
	return list.Data[0].ID
}

// ownCertificate is a request that installs a certificate for the domain.
func ownCertificate(t *testing.T, now time.Time, domain string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{domain}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 3, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// newHostedDomain is a further domain of the service, which is served already.
func (w *world) newHostedDomain() int64 {
	w.t.Helper()
	domains := fmt.Sprintf("/api/v1/services/%d/domains", w.service)
	w.listRests(w.owner.token, domains, "active") // the service's own, which follows when it is active
	id := w.id(w.post(w.t, w.owner.token, domains, fmt.Sprintf(`{"name": "blog.%s", "kind": "subdomain"}`, w.domain)))
	w.listRests(w.owner.token, domains, "active")
	return id
}

// newDatabase is a database of the service that is there.
func (w *world) newDatabase() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/databases", w.service), `{"name": "shop", "engine": "mariadb"}`))
	w.listRests(w.owner.token, fmt.Sprintf("/api/v1/services/%d/databases", w.service), "active")
	return id
}

// newFTPAccount is an FTP account of the service that the panel has.
func (w *world) newFTPAccount() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service), `{"username": "anna"}`))
	w.listRests(w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service), "active")
	return id
}

// sshKeyRequest is a request that adds a key that nobody has.
func sshKeyRequest(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"name": "laptop", "public_key": %q}`, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
}

// newCronJob is a cron job of the service that the panel has.
func (w *world) newCronJob() int64 {
	w.t.Helper()
	cron := fmt.Sprintf("/api/v1/services/%d/cron", w.service)
	id := w.id(w.post(w.t, w.owner.token, cron, `{"expression": "@yearly", "command": "true"}`))
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status  string `json:"status"`
				Running *bool  `json:"running"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, cron).decode(w.t, &list)
		return len(list.Data) == 1 && list.Data[0].Status == "active" && list.Data[0].Running != nil
	}, "the cron job is active")
	return id
}

// newMailbox is a mailbox of the service that the mail server has.
func (w *world) newMailbox() int64 {
	w.t.Helper()
	mailboxes := fmt.Sprintf("/api/v1/services/%d/mailboxes", w.service)
	id := w.id(w.post(w.t, w.owner.token, mailboxes, fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": "correct horse"}`, w.domain)))
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string    `json:"status"`
				DNS    *struct{} `json:"dns"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, mailboxes).decode(w.t, &list)
		return len(list.Data) == 1 && list.Data[0].Status == "active" && list.Data[0].DNS != nil
	}, "the mailbox is active")
	return id
}

// newBackup is a backup of the service that is complete.
func (w *world) newBackup() int64 {
	w.t.Helper()
	backups := fmt.Sprintf("/api/v1/services/%d/backups", w.service)
	id := w.id(w.post(w.t, w.owner.token, backups, `{"parts": ["files", "dns"]}`))
	w.backupsRest("completed")
	return id
}

// backupsRest waits until nothing is under way with the service's backups, and the oldest is in
// the given state.
func (w *world) backupsRest(oldest string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string `json:"status"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/backups", w.service)).decode(w.t, &list)
		for _, b := range list.Data {
			if b.Status == "queued" || b.Status == "running" || b.Status == "restoring" {
				return false
			}
		}
		// A section that is switched off lists nothing.
		return len(list.Data) == 0 || list.Data[len(list.Data)-1].Status == oldest
	}, "backups are at rest")
}

func (w *world) files(rest string) string {
	return fmt.Sprintf("/api/v1/services/%d/files%s", w.service, rest)
}

// templateRests waits until no template is being put on the service.
func (w *world) templateRests() {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		r := w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/template", w.service))
		return !strings.Contains(string(r.body), `"status":"pending"`)
	}, "the template is on the service")
}

package app

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"mime/multipart"
	"strconv"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api"
)

// resoldPaths are the addresses of operations that resellers share with customers.
var resoldPaths = strings.NewReplacer(
	"/api/v1/reseller/services", "/api/v1/services", "/api/v1/reseller/domains/{domain}", "/api/v1/domains/{domain}",
	"/api/v1/reseller/domain-claims", "/api/v1/domain-claims",
)

// example is a request to the operation that its rules would let pass, made by
// the bearer of token. Its body is the example of the document, except where a test needs a name of its own or an id that is there.
func (w *world) example(op api.Info, token string) request {
	w.t.Helper()
	r := request{method: op.Method, path: w.path(op), token: token, body: op.Example}
	switch op.Method + " " + resoldPaths.Replace(op.Path) {
	case "POST /api/v1/security/scans":
		r.body = fmt.Sprintf(`{"url": "https://%s/"}`, w.domain)
	case "PUT /api/v1/ai/settings":
		r.body = `{"enabled": true, "mode": "ask_before_write"}`
	case "POST /api/v1/services/{service}/ai/run":
		r.body = `{"message": "Renew the note"}`
	case "POST /api/v1/services": // of a reseller
		r.body = fmt.Sprintf(`{"plan_id": %d, "domain": %q, "client_ref": "client-7"}`, w.plan, unique("new")+".example.com")
	case "POST /api/v1/reseller/quotes":
		r.body = fmt.Sprintf(`{"items": [{"kind": "new", "plan_id": %d}]}`, w.plan)
	case "POST /api/v1/services/{service}/restore":
		if op.Auth == api.Key && token == w.ownersKey || op.Auth != api.Key && token == w.owner.token { // no other one gets that far
			r.path = strings.Replace(op.Path, "{service}", fmt.Sprint(w.restorable()), 1)
		}
	case "POST /api/v1/services/{service}/reset-password":
		r.body = "{}"
	case "POST /api/v1/reseller/webhooks":
		r.body = `{"url": "https://hooks.example.com/", "events": ["service.suspended"]}`
	case "PATCH /api/v1/reseller/webhooks/{webhook}":
		r.body = `{"description": "Ours"}`
	case "POST /api/v1/reseller/webhooks/{webhook}/rotate-secret", "POST /api/v1/reseller/events/{event}/redeliver":
		r.body = "{}"
	case "GET /api/v1/domains/check":
		r.path += "?domain=shop.example"
	case "GET /api/v1/reseller/domains/check":
		r.path += "?domains=shop.example,other.example"
	case "PATCH /api/v1/domains/{domain}":
		r.body = `{"locked": false, "client_ref": "client-7"}`
	case "PUT /api/v1/domains/{domain}/contacts":
		r.body = fmt.Sprintf(`{"owner": %s}`, registrant)
	case "PUT /api/v1/domains/{domain}/dnssec":
		r.body = `{"ds_records": []}`
	case "POST /api/v1/domains", "POST /api/v1/reseller/domains":
		r.body = registrationRequest(unique("new") + ".example")
	case "POST /api/v1/domain-claims":
		r.body = fmt.Sprintf(`{"domain": "%s.com"}`, unique("wanted"))
	case "POST /api/v1/orders":
		r.body = fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("new")+".example.com")
	case "POST /api/v1/orders/{order}/pay", "POST /api/v1/orders/{order}/cancel":
		r.body = "{}"
	case "PATCH /api/v1/wallet":
		r.body = `{"low_balance_threshold_usd_cents": 100}`
	case "GET /api/v1/wallet/statement", "GET /api/v1/wallet/statement.csv":
		r.path += "?month=2026-11"
	case "POST /api/v1/me/devices":
		r.body = deviceRequest(unique("a-phone-with-a-long-token-"))
	case "DELETE /api/v1/me/devices":
		r.body = `{"token": "the-phone-of-the-owner"}`
	case "POST /api/v1/services/{service}/template":
		w.templateRests()
		r.body = fmt.Sprintf(`{"template": "restaurant", "language": "uz", "title": "Registon", "directory": "/public_html/%s"}`, unique("site"))
	case "PATCH /api/v1/me":
		r.body = `{"locale": "en", "currency": "USD"}`
	case "POST /api/v1/services/{service}/renew":
		r.body = "{}"
	case "POST /api/v1/services/{service}/tariff":
		r.body = fmt.Sprintf(`{"plan_id": %d, "when": "renewal"}`, w.otherPlan)
	case "POST /api/v1/services/{service}/domains":
		r.body = fmt.Sprintf(`{"name": "%s.%s", "kind": "subdomain"}`, unique("new"), w.domain)
	case "PATCH /api/v1/services/{service}/domains/{hosted_domain}":
		r.body = `{"redirect_to": "https://elsewhere.example.com"}`
	case "POST /api/v1/services/{service}/ssl":
		r.body = w.ownCertificate
	case "POST /api/v1/services/{service}/databases":
		r.body = fmt.Sprintf(`{"name": %q, "engine": "postgresql"}`, strings.ReplaceAll(unique("n"), "-", "_"))
	case "POST /api/v1/services/{service}/mailboxes":
		r.body = fmt.Sprintf(`{"local_part": %q, "domain": %q, "password": "correct horse"}`, unique("new"), w.domain)
	case "PATCH /api/v1/services/{service}/mailboxes/{mailbox}":
		r.body = `{"quota_mb": 100, "forward_to": ["me@elsewhere.example.com"], "keep_copy": true}`
	case "POST /api/v1/services/{service}/ftp":
		r.body = fmt.Sprintf(`{"username": %q, "home": "/public_html", "quota_mb": 5}`, unique("new"))
	case "POST /api/v1/services/{service}/ssh-keys":
		r.body = sshKeyRequest(w.t)
	case "POST /api/v1/services/{service}/cron":
		r.body = `{"expression": "*/15 * * * *", "timezone": "Asia/Tashkent", "command": "true"}`
	case "POST /api/v1/services/{service}/dns":
		r.body = fmt.Sprintf(`{"name": %q, "type": "TXT", "value": "new"}`, unique("new"))
	case "PATCH /api/v1/services/{service}/dns/{dns_record}":
		r.body = fmt.Sprintf(`{"value": %q, "ttl": 600}`, "192.0.2.2")
	case "PATCH /api/v1/services/{service}/php":
		r.body = `{"version": "8.2", "options": {"memory_limit": "128M"}}`
	case "POST /api/v1/services/{service}/backups":
		w.backupsRest("completed")
		r.body = `{"parts": ["files"], "note": "before the change"}`
	case "POST /api/v1/services/{service}/backups/{backup}/restore":
		w.backupsRest("completed")
		r.body = `{"parts": ["files"], "items": ["/public_html/index.html"]}`
	case "PATCH /api/v1/alert-channels/{alert_channel}":
		r.body = `{"events": "down"}`
	case "POST /api/v1/alert-channels/{alert_channel}/verify":
		r.body = `{"code": "00000000"}`
	case "POST /api/v1/monitors":
		r.body = `{"type": "keyword", "url": "https://shop.example.com/", "keyword": "Welcome"}`
	case "POST /api/v1/apps":
		r.body = `{"name": "New", "type": "public", "redirect_uris": ["http://127.0.0.1/callback"]}`
	case "GET /api/v1/services/{service}/files":
		r.path += "?path=/public_html"
	case "GET /api/v1/services/{service}/files/content", "GET /api/v1/services/{service}/files/download":
		r.path += "?path=/public_html/index.html"
	case "GET /api/v1/services/{service}/files/search":
		r.path += "?q=index&in=name"
	case "PUT /api/v1/services/{service}/files/content":
		r.body = `{"path": "/public_html/new.html", "content": "new"}`
	case "POST /api/v1/services/{service}/files/directories":
		r.body = fmt.Sprintf(`{"path": "/public_html/%s"}`, unique("dir"))
	case "POST /api/v1/services/{service}/files/move":
		r.body = fmt.Sprintf(`{"from": "/public_html/index.html", "to": "/public_html/%s.html"}`, unique("moved"))
	case "POST /api/v1/services/{service}/files/copy":
		r.body = fmt.Sprintf(`{"from": "/public_html/index.html", "to": "/public_html/%s.html"}`, unique("copy"))
	case "POST /api/v1/services/{service}/files/permissions":
		r.body = `{"path": "/public_html/index.html", "mode": "640"}`
	case "DELETE /api/v1/services/{service}/files":
		r.path += "?path=/public_html/index.html"
	case "POST /api/v1/services/{service}/files/archive":
		r.body = fmt.Sprintf(`{"operation": "create", "paths": ["/public_html/index.html"], "target": "/%s.zip"}`, unique("archive"))
	case "POST /api/v1/services/{service}/files/upload":
		r.path += "?path=/public_html"
		r.body, r.contentType = upload(w.t, unique("up")+".txt", "uploaded")
	case "POST /api/v1/services/{service}/deploys/contents":
		content := unique("content")
		r.body, r.contentType = upload(w.t, fmt.Sprintf("%x", sha256.Sum256([]byte(content))), content)
	case "POST /api/v1/services/{service}/deploys":
		r.body = `{"files": []}`
	case "POST /api/v1/services/{service}/deploys/rollback":
		r.body = `{}`
	}
	return r
}

// upload is a multipart body with one file.
func upload(t *testing.T, name, content string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

// path puts the owner's ids into an operation's path.
func (w *world) path(op api.Info) string {
	w.t.Helper()
	path := op.Path
	for name, id := range map[string]int64{
		"{webhook}": w.webhook, "{claim}": w.claim, "{addon}": w.addon, "{service}": w.service, "{id}": w.service, "{hosted_domain}": w.hostedDomain, "{dns_record}": w.dnsRecord, "{backup}": w.backup, "{database}": w.database, "{cron_job}": w.cronJob, "{mailbox}": w.mailbox, "{ftp_account}": w.ftpAccount, "{ssh_key}": w.sshKey, "{domain}": w.registration, "{order}": w.order, "{invoice}": w.invoice, "{topup}": w.topup, "{application}": w.app, "{plan}": w.plan, "{device}": w.device, "{monitor}": w.monitor, "{alert_channel}": w.alertChannel, "{ticket}": w.ticket, "{announcement}": w.announcement, "{attachment}": w.ticketFile, "{insight}": w.insight, "{run}": w.agent.run, "{conversation}": w.agent.conversation, "{change}": w.agent.change, "{approval}": w.agent.approval, "{password}": w.password, "{key}": w.spareKey,
	} {
		path = strings.ReplaceAll(path, name, strconv.FormatInt(id, 10))
	}
	// What a test need not own: any id does.
	for _, name := range []string{"{session}", "{passkey}"} {
		path = strings.ReplaceAll(path, name, "1")
	}
	path = strings.ReplaceAll(path, "/templates/{id}", "/templates/1") // a site template
	path = strings.NewReplacer("/blog/{slug}", "/blog/open", "/kb/{slug}", "/kb/mail").Replace(path)
	path = strings.ReplaceAll(path, "{event}", w.event)
	path = strings.ReplaceAll(path, "{gateway}", "demo")
	path = strings.NewReplacer("/badge/{token}", "/badge/"+w.badge, "{metric}", "uptime", "{duration}", "7d").Replace(path)
	path = strings.NewReplacer("{client_ref}", ownersTag, "{picture}", "logo").Replace(path)
	if strings.Contains(path, "{") {
		w.t.Fatalf("%s: the test knows no value for %s; give it one here", op.ID, path)
	}
	return path
}

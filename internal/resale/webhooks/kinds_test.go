package webhooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/resale/webhooks/webhookstest"
)

func TestSchemasOfEventsTellRightFromWrong(t *testing.T) {
	whole := func(typ, data string) []byte {
		return fmt.Appendf(nil, `{"id": "evt_1", "type": %q, "created_at": "2026-11-21T10:00:00Z", "api_version": "v1", "sandbox": false,
			"sequence": 1, "data": %s, "client_ref": null}`, typ, data)
	}
	const mailbox = `{"id": 1, "service_id": 2, "address": "anna@example.com", "quota_mb": 100}`
	for name, c := range map[string]struct {
		body []byte
		want bool
	}{
		"right":           {whole("mailbox.created", `{"object": `+mailbox+`, "previous": {}}`), true},
		"more members":    {whole("mailbox.created", `{"object": {"colour": "red", `+mailbox[1:]+`, "previous": {}, "more": 1}`), true},
		"too large":       {whole("mailbox.created", `{"object": {"id": 1}, "previous": {}, "truncated": true}`), true},
		"another type":    {whole("mailbox.suspended", `{"object": `+mailbox+`, "previous": {}}`), false},
		"a member less":   {whole("mailbox.created", `{"object": {"id": 1, "service_id": 2, "quota_mb": 100}, "previous": {}}`), false},
		"a wrong member":  {whole("mailbox.created", `{"object": `+strings.Replace(mailbox, "100", `"100"`, 1)+`, "previous": {}}`), false},
		"no previous":     {whole("mailbox.created", `{"object": `+mailbox+`}`), false},
		"no date":         {bytes.Replace(whole("mailbox.created", `{"object": `+mailbox+`, "previous": {}}`), []byte("2026-11-21T"), []byte("today"), 1), false},
		"another version": {bytes.Replace(whole("mailbox.created", `{"object": `+mailbox+`, "previous": {}}`), []byte(`"v1"`), []byte(`"v2"`), 1), false},
	} {
		if known, err := webhookstest.Check("mailbox.created", c.body); !known || (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatIsSentIsWhatIsPublished: the section's own events, and what is too large.
func TestWhatIsSentIsWhatIsPublished(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		gone := newReceiver(t, status(http.StatusGone))
		rc := newReceiver(t, nil)
		leaving, _ := w.endpoint(gone.URL)
		id, _ := w.endpoint(rc.URL)
		w.must(200, "own", "POST", fmt.Sprintf("webhooks/%d/test", id), "")
		w.emit("mailbox.created", 7, object{"id": 1, "service_id": 7, "address": strings.Repeat("x", 30_000), "quota_mb": 1})
		w.fanOut()
		w.deliver(leaving)
		w.deliver(id)
		w.fanOut()
		w.deliver(id)
		seen := map[string]bool{}
		for _, r := range rc.all() {
			var e struct{ Type string }
			if err := json.Unmarshal(r.body, &e); err != nil {
				t.Fatal(err)
			}
			seen[e.Type] = true
			if known, err := webhookstest.Check(e.Type, r.body); !known || err != nil {
				t.Errorf("%s: %v", e.Type, err)
			}
			if len(r.body) >= 20_000 {
				t.Errorf("%d bytes", len(r.body))
			}
		}
		if !seen["webhook.test"] || !seen["webhook.endpoint_disabled"] || !seen["mailbox.created"] {
			t.Errorf("%v", seen)
		}
	})
}

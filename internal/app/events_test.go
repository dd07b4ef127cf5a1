package app

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/resale/webhooks/webhookstest"
)

// eventBody is what would be sent of an event.
type eventBody struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	CreatedAt  time.Time `json:"created_at"`
	APIVersion string    `json:"api_version"`
	Sandbox    bool      `json:"sandbox"`
	Sequence   int64     `json:"sequence"`
	Data       struct {
		Object   json.RawMessage `json:"object"`
		Previous json.RawMessage `json:"previous"`
	} `json:"data"`
	ClientRef *string `json:"client_ref"`
}

// eventsArePublished holds what the sections have told of while a server ran to the schemas that receivers are given,
// and what was made of it to be sent to resellers. Every test of this package ends with it.
func eventsArePublished(t *testing.T, d *db.DB) {
	t.Helper()
	judge := func(typ string, body []byte) {
		if _, err := webhookstest.Check(typ, body); err != nil {
			t.Error(err)
		}
	}
	ctx := context.WithoutCancel(t.Context()) // the test is over
	told, err := db.Collect(ctx, d, func(r db.Row) (e outbox.Stored, err error) {
		var data, previous string
		err = r.Scan(&e.UID, &e.Type, &e.Sequence, &data, &previous, &e.CreatedAt)
		e.Data, e.Previous = json.RawMessage(data), json.RawMessage(previous)
		return e, err
	}, `SELECT uid, type, sequence, data, COALESCE(previous, '{}'), created_at FROM outbox_events ORDER BY id`)
	if err != nil {
		t.Errorf("events: %v", err)
		return
	}
	for _, e := range told {
		b := eventBody{ID: e.UID, Type: e.Type, CreatedAt: e.CreatedAt, APIVersion: "v1", Sequence: e.Sequence}
		b.Data.Object, b.Data.Previous = e.Data, e.Previous
		body, err := json.Marshal(b)
		if err != nil {
			t.Errorf("event %s: %v", e.UID, err)
			continue
		}
		judge(e.Type, body)
	}
	sent, err := db.Collect(ctx, d, func(r db.Row) (s [2]string, err error) {
		err = r.Scan(&s[0], &s[1])
		return s, err
	}, `SELECT type, body FROM webhooks_events ORDER BY id`)
	if err != nil {
		t.Errorf("events: %v", err)
		return
	}
	for _, s := range sent {
		judge(s[0], []byte(s[1]))
	}
}

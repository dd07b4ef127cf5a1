package services

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// An event of a service says when it ends and what its reseller noted, so that the receiver need not ask.
func TestEventsOfAServiceSayWhenItEnds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := sold("a.test", 200, "seven")
		n.Metadata = map[string]string{"invoice": "12"}
		id := w.active(n)
		ends := *w.record(id).ExpiresAt
		if err := w.ends(id, true); err != nil {
			t.Fatal(err)
		}
		events, err := w.Events.Of(t.Context(), "service", id)
		if err != nil {
			t.Fatal(err)
		}
		last := events[len(events)-1]
		var data struct {
			TerminatesAt time.Time         `json:"terminates_at"`
			Metadata     map[string]string `json:"metadata"`
		}
		if err := json.Unmarshal(last.Data, &data); err != nil {
			t.Fatal(err)
		}
		w.Same("event", "service.termination_scheduled", last.Type)
		w.Same("ends", ends, data.TerminatesAt)
		w.Same("metadata", n.Metadata, data.Metadata)
		w.Same("previous", `{"auto_renew":true,"terminates_at":null}`, string(last.Previous))
		w.In(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE services SET metadata = $1 WHERE id = $2`, `{"x":"`+strings.Repeat("x", maxEventMetadata)+`"}`, id)
			return err
		})
		if eventOf(w.record(id)).Metadata != nil {
			t.Error("an event has metadata without bounds")
		}
	})
}

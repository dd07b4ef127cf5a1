package webhooks

import (
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/outbox"
)

// all stands for every type in an endpoint's events.
const all = "*"

// maxBody bounds a body, in bytes (resources, section 23).
const maxBody = 20_000

// body is the content of a request.
type body struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	CreatedAt  time.Time `json:"created_at"`
	APIVersion string    `json:"api_version"`
	Sandbox    bool      `json:"sandbox"`
	Sequence   int64     `json:"sequence"`
	Data       bodyData  `json:"data"`
	ClientRef  *string   `json:"client_ref"`
}

type bodyData struct {
	Object   json.RawMessage `json:"object"`
	Previous json.RawMessage `json:"previous"`
	// Truncated says that the object was too large; receivers fetch it by the API.
	Truncated bool `json:"truncated,omitempty"`
}

// event is a row of the table.
type event struct {
	id, accountID int64
	uid, typ      string
	subject       string
	subjectID     int64
	sequence      int64
	clientRef     *string
	body          string
	delivered     bool
	createdAt     time.Time
}

// tag is the part of an event's object that says whose it is.
type tag struct {
	ClientRef *string `json:"client_ref"`
	ServiceID int64   `json:"service_id"`
	OrderID   int64   `json:"order_id"`
}

// tagOf parses the object. An object without these members, or with other types, has no tag.
func tagOf(e outbox.Stored) (t tag) {
	if json.Unmarshal(e.Data, &t) != nil {
		t = tag{}
	}
	if t.ServiceID == 0 && e.Subject == "service" {
		t.ServiceID = e.SubjectID
	}
	return t
}

// newEvent makes the body from an event of the outbox.
func newEvent(e outbox.Stored, sandbox bool, clientRef *string) (event, error) {
	b := body{
		ID: e.UID, Type: e.Type, CreatedAt: e.CreatedAt, APIVersion: "v1", Sandbox: sandbox, Sequence: e.Sequence,
		Data: bodyData{Object: e.Data, Previous: e.Previous}, ClientRef: clientRef,
	}
	if len(b.Data.Previous) == 0 || string(b.Data.Previous) == "null" {
		b.Data.Previous = json.RawMessage("{}")
	}
	encoded, err := json.Marshal(b)
	if err == nil && len(encoded) >= maxBody {
		b.Data = bodyData{Object: fmt.Appendf(nil, `{"id":%d}`, e.SubjectID), Previous: json.RawMessage("{}"), Truncated: true}
		encoded, err = json.Marshal(b)
	}
	if err != nil {
		return event{}, fmt.Errorf("webhooks: body of %s: %w", e.UID, err)
	}
	return event{
		accountID: e.AccountID, uid: e.UID, typ: e.Type, subject: e.Subject, subjectID: e.SubjectID, sequence: e.Sequence,
		clientRef: clientRef, body: string(encoded), createdAt: e.CreatedAt,
	}, nil
}

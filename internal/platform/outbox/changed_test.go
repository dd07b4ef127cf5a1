package outbox_test

import (
	"encoding/json"
	"testing"

	"stead.dev/stead/internal/platform/outbox"
)

func TestOnlyMembersThatChangedArePrevious(t *testing.T) {
	type object struct {
		Status string   `json:"status"`
		Items  []string `json:"items"`
		PaidAt *int     `json:"paid_at"`
		Note   string   `json:"note,omitempty"`
	}
	at := 7
	previous, err := outbox.Changed(object{Status: "pending", Items: []string{"a"}, Note: "x"}, object{Status: "pending", Items: []string{"b"}, PaidAt: &at})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(previous)
	if err != nil || string(text) != `{"items":["a"],"note":"x","paid_at":null}` {
		t.Errorf("%s, %v", text, err)
	}
}

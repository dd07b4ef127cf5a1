package mail

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

func TestMailboxesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		if document := w.Exported(w, 10); document != "" {
			t.Errorf("of none: %s", document)
		}
		stays := w.add(10, "info", `,"aliases":["sales@shop.example"]`)
		goes := w.add(10, "boss", `,"quota_mb":77,"forward_to":["me@elsewhere.example"],"keep_copy":true`)
		w.apply(10)
		document := w.Exported(w, 10)
		if err := w.Reimport(w, 10, `{"address":"info@shop.example"}`); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("what is no document: %v", err)
		}

		w.must2(w.Do("DELETE", fmt.Sprintf("/10/mailboxes/%d", goes), "own", ""))
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", stays), "own", `{"password":"another horse","aliases":[]}`))
		w.apply(10)
		w.add(10, "new", "")
		for range 2 {
			w.Must(w.Reimport(w, 10, document))
			w.apply(10)
		}
		all := w.shows(10)
		if len(all) != 3 || all["info@shop.example"].ID != stays || all["boss@shop.example"].QuotaMB != 77 || all["boss@shop.example"].Status != "active" {
			t.Errorf("mailboxes: %+v", all)
		}
		var was, is []struct {
			Address      string
			PasswordHash string `json:"password_hash"`
			Aliases      []string
			ForwardTo    []string `json:"forward_to"`
		}
		w.Must(json.Unmarshal([]byte(document), &was))
		w.Must(json.Unmarshal([]byte(w.Exported(w, 10)), &is))
		for _, m := range was {
			found := false
			for _, n := range is {
				found = found || n.Address == m.Address && n.PasswordHash == m.PasswordHash && m.PasswordHash != "" &&
					slices.Equal(n.Aliases, m.Aliases) && slices.Equal(n.ForwardTo, m.ForwardTo)
			}
			if !found {
				t.Errorf("%s is not as it was: %+v", m.Address, is)
			}
		}
	})
}

func TestAnAliasComesBackFromTheMailboxThatHasItNow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		first := w.add(10, "anna", `,"aliases":["sales@shop.example"],"catch_all":true`)
		second := w.add(10, "boris", "")
		w.apply(10)
		document := w.Exported(w, 10)
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", first), "own", `{"aliases":[],"catch_all":false}`))
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", second), "own", `{"aliases":["sales@shop.example"],"catch_all":true}`))
		w.apply(10)

		restore := func(items ...string) error { return w.Reimport(w, 10, document, items...) }
		if err := restore("anna@shop.example"); !errors.Is(err, fault.AlreadyExists) {
			t.Errorf("an alias that another keeps: %v", err)
		}
		w.Must(restore())
		w.apply(10)
		all := w.shows(10)
		if a, b := all["anna@shop.example"], all["boris@shop.example"]; !slices.Equal(a.Aliases, []string{"sales@shop.example"}) || len(b.Aliases) > 0 ||
			!a.CatchAll || b.CatchAll || a.Status != "active" || b.Status != "active" {
			t.Errorf("mailboxes: %+v", all)
		}
	})
}

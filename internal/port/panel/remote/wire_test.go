package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// compromised is a node that answers every call with this.
func compromised(t *testing.T, status int, answer string) *remote.Panel {
	t.Helper()
	in := newInstallation(t)
	far := remote.New(remote.Config{
		Name: "node:7", TLS: in.control.Client(nodelink.NodeName(7)), Capabilities: []panel.Capability{panel.CapFiles},
		Address: in.serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		})),
	})
	t.Cleanup(func() { _ = far.Close() })
	return far
}

func TestAnAnswerOfManyEmptyObjectsIsNotDecoded(t *testing.T) {
	many := `{"Entries": [` + strings.Repeat("{},", 1<<20) + `{}]}`
	l, err := compromised(t, http.StatusOK, many).List(t.Context(), "1", "/", 0, 0)
	if refused(t, err, panel.ErrInternal); len(l.Entries) > 0 {
		t.Errorf("%d entries", len(l.Entries))
	}
	// In a text they are none.
	l, err = compromised(t, http.StatusOK, `{"Entries": [{"Name": "\\\"`+strings.Repeat("{},", 1<<20)+`"}]}`).List(t.Context(), "1", "/", 0, 0)
	if err != nil || len(l.Entries) != 1 {
		t.Errorf("%d entries, %v", len(l.Entries), err)
	}
}

func TestADirectoryOfManyFilesCrossesTheWire(t *testing.T) {
	there := panel.Listing{Entries: make([]panel.Entry, 40_000), Total: 40_000}
	data, err := json.Marshal(there)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := compromised(t, http.StatusOK, string(data)).List(t.Context(), "1", "/", 0, 0); err != nil || len(l.Entries) != 40_000 {
		t.Errorf("%d entries, %v", len(l.Entries), err)
	}
}

func TestWhatANodeSaysOfAFailureIsHarmless(t *testing.T) {
	for name, f := range map[string]map[string]string{
		"nul":     {"kind": "busy", "message": "a\x00b\x1b[2J\xff"},
		"long":    {"kind": "busy", "message": strings.Repeat("x", 500_000)},
		"op":      {"kind": "busy", "op": strings.Repeat("y\x00", 5000), "ref": strings.Repeat("z\x1b", 5000)},
		"no kind": {"kind": "bu\x00sy"},
		"kinds":   {"kind": strings.Repeat("k", 5000)},
	} {
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = compromised(t, http.StatusUnprocessableEntity, string(data)).Stat(t.Context(), "1", "/")
		var failed *panel.Error
		if text := err.Error(); !errors.As(err, &failed) || len(text) > 6000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\n") {
			t.Errorf("%s: %d bytes, %.100q", name, len(text), text)
		}
	}
	// A task's failure is a kind too.
	var task panel.BackupTask
	if err := json.Unmarshal([]byte(`{"Failure": "a\u0000b"}`), &task); err != nil || task.Failure != panel.ErrInternal {
		t.Errorf("%q, %v", task.Failure, err)
	}
	if err := json.Unmarshal([]byte(`{"Failure": "of_a_later_release"}`), &task); err != nil || task.Failure != "of_a_later_release" {
		t.Errorf("%q, %v", task.Failure, err)
	}
}

func TestALongFailureOfAStreamArrives(t *testing.T) {
	long := errors.New(strings.Repeat("no room\n", 1<<20))
	far := connect(t, &scripted{zip: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("PK"), &failing{err: panel.Wrap("zip", "1", long)})), nil
	}})
	body, err := far.OpenZip(t.Context(), "1", "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	_, err = io.ReadAll(body)
	refused(t, err, panel.ErrInternal)
}

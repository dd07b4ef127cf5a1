// Package llmtest is the suite that every adapter of port llm passes, with local servers that speak the providers' formats
// and have the same faults as a transcript.
package llmtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/scripted"
)

// Key is the key that clients under test have. No error may hold it.
const Key = "sk-test-0123456789"

// Limits are short for tests that wait for a timeout.
func Limits() llm.Limits {
	return llm.Limits{First: 2 * time.Second, Idle: 300 * time.Millisecond, Total: 10 * time.Second}
}

const scenario = `
turns:
  - expect: {role: user, contains: "opening hours"}
    text: "Ўқийман: read."
    calls:
      - {id: c1, tool: read_file, args: {path: index.html}}
      - {id: c2, tool: list_files, raw: "{not json"}
    usage: {input: 900, cached: 100, output: 40}
  - expect: {tool: c1, ok: true}
    calls: [{id: c3, tool: edit_file, args: {etag: "${c1.etag}"}}]
    usage: {input: 1000, output: 10}
  - expect: {tool: c3, ok: false}
    text: "It failed."
`

// Suite runs the tests; open makes a client whose model plays a transcript.
func Suite(t *testing.T, open func(*testing.T, scripted.Transcript) llm.Client) {
	t.Helper()
	start := func(t *testing.T, text string) llm.Client {
		t.Helper()
		transcript, err := scripted.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return open(t, transcript)
	}
	t.Run("conversation", func(t *testing.T) { t.Parallel(); conversation(t, start(t, scenario)) })
	t.Run("index zero", func(t *testing.T) {
		t.Parallel()
		c := start(t, "turns: [{calls: [{id: a, tool: x, args: {n: 1}}, {id: b, tool: y, args: {n: 2}}], fault: {kind: index_zero}}]")
		answer, err := c.Ask(t.Context(), ask("go"), nil)
		want := []llm.Call{{ID: "a", Name: "x", Arguments: `{"n":1}`}, {ID: "b", Name: "y", Arguments: `{"n":2}`}}
		if diff := cmp.Diff(want, answer.Calls); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
	t.Run("no usage", func(t *testing.T) {
		t.Parallel()
		answer, err := start(t, `turns: [{text: hello, fault: {kind: no_usage}}]`).Ask(t.Context(), ask("go"), nil)
		if err != nil || answer.Text != "hello" || answer.Usage != (llm.Usage{}) {
			t.Fatalf("%+v, %v", answer, err)
		}
	})
	for _, c := range []struct {
		fault    string
		kind     llm.Kind
		received bool
	}{
		{"hang, after_bytes: 4", llm.Timeout, true},
		{"cut, after_bytes: 4", llm.Cut, true},
		{"garbage", llm.Garbage, true},
		{`"429", retry_after: 7`, llm.Busy, false},
		{`"500"`, llm.Unavailable, false},
	} {
		t.Run("fault "+c.fault, func(t *testing.T) {
			t.Parallel()
			client := start(t, "turns: [{text: abcdefgh, fault: {kind: "+c.fault+"}}, {text: fine}]")
			answer, err := client.Ask(t.Context(), ask("go"), nil)
			if llm.KindOf(err) != c.kind || answer.Received != c.received || strings.Contains(err.Error(), Key) {
				t.Fatalf("%+v, %v", answer, err)
			}
			if strings.Contains(c.fault, "after_bytes") && answer.Text != "abcd" {
				t.Errorf("the text before the fault is %q", answer.Text)
			}
			if answer, err = client.Ask(t.Context(), ask("go"), nil); err != nil || answer.Text != "fine" {
				t.Errorf("afterwards: %+v, %v", answer, err)
			}
		})
	}
	t.Run("retries", func(t *testing.T) { t.Parallel(); retries(t, start) })
	t.Run("the caller ends it", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		client := start(t, "turns: [{text: abcdefgh, fault: {kind: hang, after_bytes: 4}}]")
		if _, err := client.Ask(ctx, ask("go"), func(string) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
	t.Run("not in a transaction", func(t *testing.T) {
		t.Parallel()
		_, err := start(t, "turns: [{text: a}]").Ask(intx.Mark(t.Context()), ask("go"), nil)
		if !errors.Is(err, intx.ErrInTransaction) {
			t.Fatal(err)
		}
	})
	t.Run("an expectation that fails", func(t *testing.T) {
		t.Parallel()
		client := start(t, `turns: [{expect: {tool: c9}, text: a}]`)
		if _, err := client.Ask(t.Context(), ask("go"), nil); llm.KindOf(err) != llm.Refused {
			t.Fatal(err)
		}
	})
}

func ask(text string) llm.Request {
	return llm.Request{
		Model: "m", System: "You help.", MaxOutput: 100, Messages: []llm.Message{{Role: llm.User, Text: text}},
		Tools: []llm.Tool{{Name: "read_file", Description: "Reads.", Schema: []byte(`{"type":"object"}`)}},
	}
}

func conversation(t *testing.T, c llm.Client) {
	r := ask("Change the opening hours")
	var streamed strings.Builder
	first, err := c.Ask(t.Context(), r, func(s string) { streamed.WriteString(s) })
	want := llm.Answer{
		Text: "Ўқийман: read.", Received: true,
		Calls: []llm.Call{{ID: "c1", Name: "read_file", Arguments: `{"path":"index.html"}`}, {ID: "c2", Name: "list_files", Arguments: "{not json"}},
		Usage: llm.Usage{Input: 900, Cached: 100, Output: 40, Reported: true},
	}
	if diff := cmp.Diff(want, first); err != nil || diff != "" || streamed.String() != want.Text {
		t.Fatal(err, diff, streamed.String())
	}
	r.Messages = append(
		r.Messages,
		llm.Message{Role: llm.Assistant, Text: first.Text, Calls: first.Calls},
		llm.Message{Role: llm.ToolResult, CallID: "c1", Text: `{"etag":"e-1"}`},
		llm.Message{Role: llm.ToolResult, CallID: "c2", Text: "no JSON", Failed: true},
	)
	second, err := c.Ask(t.Context(), r, nil)
	if err != nil || len(second.Calls) != 1 || second.Calls[0].Arguments != `{"etag":"e-1"}` {
		t.Fatalf("%+v, %v", second, err)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: second.Calls}, llm.Message{Role: llm.ToolResult, CallID: "c3", Text: "changed", Failed: true})
	if third, err := c.Ask(t.Context(), r, nil); err != nil || third.Text != "It failed." || len(third.Calls) != 0 {
		t.Fatalf("%+v, %v", third, err)
	}
}

func retries(t *testing.T, start func(*testing.T, string) llm.Client) {
	for _, c := range []struct {
		fault string
		waits int
		kind  llm.Kind
	}{
		{`"429", retry_after: 7`, 1, ""},
		{`"500", times: 3`, 3, ""},
		{`"500", times: 4`, 3, llm.Unavailable},
		{`"429", retry_after: 31`, 0, llm.Busy},
		{"cut, after_bytes: 4", 0, llm.Cut},
	} {
		var waits []time.Duration
		client := llm.RetryWith(start(t, "turns: [{text: abcdefgh, fault: {kind: "+c.fault+"}}, {text: fine}]"), func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			return nil
		})
		_, err := client.Ask(t.Context(), ask("go"), nil)
		if len(waits) != c.waits || llm.KindOf(err) != c.kind || (err == nil) != (c.kind == "") {
			t.Errorf("%s: waited %v, %v", c.fault, waits, err)
		}
		if strings.Contains(c.fault, "retry_after: 7") && len(waits) == 1 && waits[0] != 7*time.Second {
			t.Errorf("%s: waited %v", c.fault, waits)
		}
	}
}

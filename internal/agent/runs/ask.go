package runs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/llm"
)

// ask asks the model, and writes its answer with what it used and the calls that it wants: one commit.
func (w *worker) ask(ctx context.Context, s situation) error {
	var (
		request llm.Request
		model   llm.Model
		client  llm.Client
		begun   run
	)
	if _, err := w.learnIssued(ctx, s.accountID, s.serviceID); err != nil {
		return err
	}
	err := w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		begun = run{}
		known, offered := w.Models.Find(r.terms.Model)
		asks, connected := w.Models.Client(r.terms.Model)
		if !offered || !connected {
			return w.finish(ctx, tx, r, ModelFailed)
		}
		built, err := w.request(ctx, tx, *r, known)
		if err != nil {
			return err
		}
		w.conceal(&built)
		worst := llm.Estimate(built, llm.Answer{})
		if worst.Input > mostInput {
			return w.finish(ctx, tx, r, SizeLimit)
		}
		worst.Output = int64(built.MaxOutput)
		if !r.affords(known.Cost(worst)) {
			return w.finish(ctx, tx, r, Budget)
		}
		if r.asking { // the process that had asked is dead, and the answer with it
			if r.lost++; r.lost > mostLost {
				return w.finish(ctx, tx, r, Interrupted)
			}
		}
		r.asking = true
		r.steps++
		request, model, client, begun = built, known, asks, *r
		return w.tell(ctx, tx, r, "step.started", map[string]any{"step": r.steps})
	})
	if err != nil || client == nil || begun.id == 0 {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-w.stop:
			stop()
		case <-asking.Done():
		}
	}()
	heard := w.listen(ctx)
	answer, failure := client.Ask(asking, request, heard.text)
	if ctx.Err() != nil {
		return ctx.Err() // the answer is lost
	}
	if err := heard.flush(true); err != nil {
		return err
	}
	return w.note(ctx, model, request, answer, failure)
}

// note writes an answer.
func (w *worker) note(ctx context.Context, m llm.Model, request llm.Request, answer llm.Answer, failure error) error {
	used := answer.Usage
	if !used.Reported && answer.Received {
		used = llm.Estimate(request, answer)
	}
	return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		r.asking = false
		r.cost += m.Cost(used)
		r.inputTokens += used.Input + used.Cached + used.CacheWrite
		r.outputTokens += used.Output
		if err := w.tell(ctx, tx, r, "usage", map[string]any{"input_tokens": r.inputTokens, "output_tokens": r.outputTokens, "cost_usd_cents": r.charge()}); err != nil {
			return err
		}
		text := w.said(answer.Text)
		if failure == nil || text != "" {
			id, err := insertMessage(ctx, tx, message{conversationID: *r.conversationID, runID: r.id, role: byAssistant, content: text, failed: failure != nil})
			if err != nil {
				return err
			}
			if failure == nil {
				if err := w.noteCalls(ctx, tx, r, id, answer.Calls); err != nil {
					return err
				}
			}
		}
		switch {
		case r.cancelling:
			return nil // it ends next
		case llm.KindOf(failure) == llm.Garbage, failure == nil && strings.TrimSpace(text) == "" && len(answer.Calls) == 0:
			return w.finish(ctx, tx, r, ModelGarbage)
		case failure != nil:
			w.Log.Warn("runs: a model failed", "run", r.id, "model", m.Name, "error", failure)
			return w.finish(ctx, tx, r, ModelFailed)
		case answer.Truncated && len(answer.Calls) == 0:
			return w.finish(ctx, tx, r, SizeLimit)
		}
		return nil
	})
}

// noteCalls writes the calls of an answer. Those beyond the bound are not done, and the model is told so.
func (w *worker) noteCalls(ctx context.Context, tx *db.Tx, r *run, messageID int64, calls []llm.Call) error {
	for i, wanted := range calls {
		if i >= 4*mostCalls {
			return w.finish(ctx, tx, r, ModelGarbage)
		}
		c := call{
			conversationID: *r.conversationID, runID: r.id, messageID: messageID, ref: wanted.ID, tool: shorten(plain(wanted.Name), 100),
			arguments: w.mask.Mask("", plainArguments(wanted.Arguments)), status: callPending,
		}
		var err error
		if c.id, err = insertCall(ctx, tx, c); err != nil {
			return err
		}
		if err := w.tell(ctx, tx, r, "tool.started", map[string]any{"call": c.id, "tool": c.tool}); err != nil {
			return err
		}
		if i >= mostCalls {
			if err := w.answerCall(ctx, tx, r, c, outcomeOf(&refusal{key: "too_many_calls", detail: "at most 8 in an answer", malformed: true})); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainArguments are arguments that can be stored and sent back to a provider: JSON, whatever the model wrote.
func plainArguments(arguments string) string {
	if json.Valid([]byte(arguments)) && strings.ToValidUTF8(arguments, "") == arguments && !strings.ContainsRune(arguments, 0) {
		return arguments
	}
	b, err := json.Marshal(map[string]string{"malformed": strings.ToValidUTF8(arguments, "")})
	if err != nil {
		return `{"malformed": ""}`
	}
	return string(b)
}

// textWriter writes the text of an answer for who watches, while it comes.
type textWriter struct {
	w       *worker
	ctx     context.Context
	pending strings.Builder
	since   time.Time
	err     error
}

// How often text is written: often enough to be read as it comes, and not for every word.
const (
	textEvery = 300 * time.Millisecond
	textBytes = 2 << 10
)

func (w *worker) listen(ctx context.Context) *textWriter {
	return &textWriter{w: w, ctx: ctx, since: w.Clock.Now()}
}

// text takes a piece of the answer.
func (h *textWriter) text(piece string) {
	h.pending.WriteString(piece)
	if h.err == nil && (h.pending.Len() >= textBytes || h.w.Clock.Now().Sub(h.since) >= textEvery) {
		h.err = h.flush(false)
	}
}

// flush writes whole words, so that no secret is cut in two and escapes its mask; at the end everything.
func (h *textWriter) flush(end bool) error {
	text, rest := h.pending.String(), ""
	if !end {
		i := strings.LastIndexAny(text, " \n\t")
		text, rest = text[:i+1], text[i+1:]
	}
	h.since = h.w.Clock.Now()
	if text == "" || h.err != nil {
		return h.err
	}
	h.pending.Reset()
	h.pending.WriteString(rest)
	return h.w.change(h.ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		return h.w.tell(ctx, tx, r, "message.delta", map[string]any{"text": h.w.said(text)})
	})
}

// said is a text of the model as it is kept: without secrets, and without what a database cannot store.
func (w *worker) said(text string) string {
	return w.mask.Mask("", strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
}

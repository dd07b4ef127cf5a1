package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// outcome is the result of a call.
type outcome struct {
	text, summary string
	status        callStatus
	malformed     bool
}

// refusedForGood tells of an error that the service does not exist or takes no changes.
func refusedForGood(err error) bool {
	return errors.Is(err, fault.NotFound) || errors.Is(err, fault.ServiceSuspended) || errors.Is(err, fault.ServiceNotActive) ||
		errors.Is(err, fault.UnsupportedOperation)
}

// outcomeOf is the result of a call that was refused.
func outcomeOf(r *refusal) outcome {
	text, err := encode(map[string]string{"error": r.key, "detail": r.detail})
	if err != nil {
		text = `{"error": "` + r.key + `"}`
	}
	return outcome{text: text, summary: r.key, status: callFailed, malformed: r.malformed}
}

// act does a call, or tells that it waits for a person.
func (w *worker) act(ctx context.Context, s situation, c call) (waits bool, err error) {
	o, waits, err := w.do(ctx, s, c)
	if known, ok := refusalOf(err); ok {
		o, err = outcomeOf(known), nil
	}
	if waits || err != nil {
		if err != nil {
			err = w.impossible(ctx, err)
		}
		return waits, err
	}
	if o.text == "" {
		return false, nil // its changes are in the journal, and made next
	}
	return false, w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error { return w.answerCall(ctx, tx, r, c, o) })
}

// do does a call. An empty outcome says that its changes are in the journal.
func (w *worker) do(ctx context.Context, s situation, c call) (o outcome, waits bool, err error) {
	done := slices.DeleteFunc(slices.Clone(s.changes), func(ch change) bool { return ch.callID == nil || *ch.callID != c.id })
	half := len(done) == 1 && done[0].kind == unpack && done[0].status == applied
	if len(done) > 0 && !half {
		o, err = outcomeOfChanges(done)
		return o, false, err
	}
	t, ok := findTool(c.tool)
	switch {
	case !ok:
		return o, false, malformed("there is no tool %s", shorten(c.tool, 100))
	case !s.terms.mayUse(c.tool):
		return o, false, refuse("tool_not_allowed", "the customer has not allowed %s", c.tool)
	case t.acts && s.terms.Mode == Suggest:
		return o, false, refuse("mode_suggest", "nothing may be done, only suggested")
	}
	project, err := w.project(ctx, s.accountID, s.serviceID)
	if err != nil {
		return o, false, err
	}
	known, err := w.learnIssued(ctx, s.accountID, s.serviceID)
	if err != nil {
		return o, false, err
	}
	place := workplace{project: project, runID: s.id, terms: s.terms, mask: &w.mask, issued: known}
	if err := w.learn(ctx, place, s.calls); err != nil {
		return o, false, err
	}
	if t.look != nil {
		found, err := t.look(ctx, place, c.arguments)
		if err != nil {
			return o, false, err
		}
		text, err := encode(found)
		return outcome{text: text, summary: "ok", status: callDone}, false, err
	}
	if half {
		p, err := w.placeExtracted(ctx, place, c, done[0])
		if err != nil {
			return o, false, err
		}
		if len(p.changes) == 0 { // it had nothing but folders that are there
			o, err = outcomeOfChanges(done)
			return o, false, err
		}
		return o, false, w.prepare(ctx, c, p, s.changes)
	}
	p, err := t.plan(ctx, place, c.arguments)
	if err != nil {
		return o, false, err
	}
	ask := false
	for _, ch := range p.changes {
		switch permission, key := s.terms.permit(ch); permission {
		case refused:
			return o, false, refuse(key, "%s may not be changed in this way", ch.path)
		case asks:
			ask = true
		case allowed:
		}
	}
	if ask {
		answered, err := lastApproval(ctx, w.DB, c.id)
		if err != nil && !errors.Is(err, db.ErrNoRows) {
			return o, false, err
		}
		if err != nil || answered.status != approvalApproved || answered.hash != hashOfPlan(c, p) {
			if s.site == siteChanged { // nobody waits for a person with a broken site
				return o, false, w.inspect(ctx, s)
			}
			return o, true, w.question(ctx, c, p)
		}
	}
	if p.first > 0 {
		p.changes = p.changes[:p.first]
	}
	return o, false, w.prepare(ctx, c, p, s.changes)
}

// prepare writes the changes of a call into the journal. A plan without any is refused: nothing would end the call.
func (w *worker) prepare(ctx context.Context, c call, p plan, before []change) error {
	if len(p.changes) == 0 {
		return refuse("nothing_changed", "there is nothing to do")
	}
	files, bytes := len(before)+len(p.changes), int64(0)
	for _, ch := range slices.Concat(before, p.changes) {
		bytes += ch.bytes
	}
	return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		kept, err := keptBytes(ctx, tx, r.serviceID)
		if err != nil {
			return err
		}
		if files > mostFiles || bytes > mostBytes || kept > mostKept {
			return w.finish(ctx, tx, r, SizeLimit)
		}
		for i := range p.changes {
			p.changes[i].callID = &c.id
		}
		for _, content := range p.contents {
			if err := putBlob(ctx, tx, change{serviceID: r.serviceID, accountID: r.accountID}, content); err != nil {
				return err
			}
		}
		return w.journal(ctx, tx, r, p.changes)
	})
}

// journal writes changes of a run that are to be made.
func (s *Service) journal(ctx context.Context, tx *db.Tx, r *run, changes []change) error {
	ids, err := db.NextIDs(ctx, tx, "ai_changes", len(changes))
	if err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		c.id, c.accountID, c.serviceID, c.runID = ids[i], r.accountID, r.serviceID, r.id
		if c.kind == remove || c.kind == unpack {
			c.toPath = fmt.Sprintf("%s/%d-%s", trash, c.id, c.path[strings.LastIndex(c.path, "/")+1:])
		}
		if err := s.tell(ctx, tx, r, "change.recorded", map[string]any{"change": c.id, "path": c.path, "action": c.kind}); err != nil {
			return err
		}
	}
	return insertChanges(ctx, tx, changes)
}

// question asks a person about a call; the run waits.
func (w *worker) question(ctx context.Context, c call, p plan) error {
	return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		id, err := insertApproval(ctx, tx, approval{
			accountID: r.accountID, serviceID: r.serviceID, runID: r.id, callID: c.id, hash: hashOfPlan(c, p), tool: c.tool, changes: proposals(p),
			expiresAt: tx.Now.Add(approvalTime),
		})
		if err != nil {
			return err
		}
		c.status = callWaiting
		if err := putCall(ctx, tx, c); err != nil {
			return err
		}
		r.status = Waiting
		r.pause(tx.Now)
		if err := w.tell(ctx, tx, r, "approval.required", map[string]any{"approval": id, "tool": c.tool}); err != nil {
			return err
		}
		if err := setTalk(ctx, tx, *r.conversationID, TalkWaits); err != nil {
			return err
		}
		return w.announce(ctx, tx, "ai.approval_required", *r)
	})
}

// outcomeOfChanges is the result of a call whose changes are settled.
func outcomeOfChanges(changes []change) (outcome, error) {
	type changed struct {
		Path   string       `json:"path"`
		ToPath string       `json:"to_path,omitempty"`
		Action changeKind   `json:"action"`
		ETag   string       `json:"etag,omitempty"`
		Status changeStatus `json:"status"`
	}
	o := outcome{summary: "ok", status: callDone}
	var all []changed
	etag := ""
	for _, c := range changes {
		one := changed{Path: c.path, Action: c.kind, Status: c.status}
		switch {
		case c.kind == move && inside(c.path, trash): // it was extracted
			one.Path = c.toPath
		case c.kind == move:
			one.ToPath = c.toPath
		}
		if c.kind.writes() {
			one.ETag, etag = c.after, c.after
		}
		if c.status != applied {
			o.status, o.summary = callFailed, string(c.status)
		}
		all = append(all, one)
	}
	answer := map[string]any{"ok": o.status == callDone, "changes": all}
	if etag != "" {
		answer["etag"] = etag
	}
	if o.status == callFailed {
		answer["error"], answer["detail"] = "not_written", "the hosting server refused it, such as for want of space"
	}
	var err error
	o.text, err = encode(answer)
	return o, err
}

// answerCall writes the result of a call: the model reads it next.
func (s *Service) answerCall(ctx context.Context, tx *db.Tx, r *run, c call, o outcome) error {
	sum := sha256.Sum256([]byte(c.tool + "\x00" + c.arguments + "\x00" + o.text))
	signature := hex.EncodeToString(sum[:])
	c.status, c.malformed, c.signature, c.summary, c.finishedAt = o.status, o.malformed, &signature, o.summary, &tx.Now
	if err := putCall(ctx, tx, c); err != nil {
		return err
	}
	all, err := callsOf(ctx, tx, r.id)
	if err != nil {
		return err
	}
	if same(all, signature) == mostSame {
		o.text += "\nThis is the same call with the same result as before. Do something else, or say that you cannot go on."
	}
	if _, err := insertMessage(ctx, tx, message{
		conversationID: c.conversationID, runID: r.id, role: byTool, content: o.text, callID: &c.id, failed: o.status != callDone,
	}); err != nil {
		return err
	}
	return s.tell(ctx, tx, r, "tool.finished", map[string]any{"call": strconv.FormatInt(c.id, 10), "tool": c.tool, "status": c.status, "summary": c.summary})
}

// learn finds the secrets again in files that the run has read before another process took it: they must stay masked.
func (w *worker) learn(ctx context.Context, place workplace, calls []call) error {
	if w.learned {
		return nil
	}
	w.learned = true
	read := map[string]bool{}
	for _, c := range calls {
		if c.tool != "read_file" || c.status != callDone || read[c.arguments] {
			continue
		}
		read[c.arguments] = true
		if _, err := readFile(ctx, place, c.arguments); err != nil {
			if _, known := refusalOf(err); !known {
				return err
			}
		}
	}
	return nil
}

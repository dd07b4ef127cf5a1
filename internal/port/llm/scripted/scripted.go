// Package scripted is the adapter that plays transcripts instead of asking a model, for the demo and for tests.
//
// A transcript is chosen by the newest message of the user, and the turn by the number of answers after it, so a
// conversation goes on after a restart, and one that is repeated is answered alike.
package scripted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/llm"
)

// Transcript is one scenario.
type Transcript struct {
	Turns []Turn `yaml:"turns"`
}

// Turn is one answer, or a fault instead of it or in it.
type Turn struct {
	Expect Expect `yaml:"expect"`
	Text   string `yaml:"text"`
	Calls  []Call `yaml:"calls"`
	Usage  struct {
		Input  int64 `yaml:"input"`
		Cached int64 `yaml:"cached"`
		Output int64 `yaml:"output"`
	} `yaml:"usage"`
	Fault Fault `yaml:"fault"`
}

// Call is a call of a tool. Raw is sent instead of Args, for arguments that are no JSON.
type Call struct {
	ID   string         `yaml:"id"`
	Tool string         `yaml:"tool"`
	Args map[string]any `yaml:"args"`
	Raw  string         `yaml:"raw"`
}

// Expect is what must hold of a conversation before its turn. A turn without answers what comes.
type Expect struct {
	Role     string `yaml:"role"` // user
	Tool     string `yaml:"tool"` // the id of a call that was answered
	OK       *bool  `yaml:"ok"`
	Contains string `yaml:"contains"`
}

// Fault is what goes wrong. It goes wrong Times times, once without, for each request; no_usage and index_zero belong to
// the answer of their turn.
type Fault struct {
	Kind       string `yaml:"kind"`
	AfterBytes int    `yaml:"after_bytes"` // of the turn's text
	Times      int    `yaml:"times"`
	RetryAfter int    `yaml:"retry_after"` // seconds
}

// The faults.
const (
	Hang      = "hang"
	Cut       = "cut"
	TooMany   = "429"
	Broken    = "500"
	Garbage   = "garbage"
	NoUsage   = "no_usage"
	IndexZero = "index_zero"
)

// Instead tells whether a fault takes the place of an answer.
func (f Fault) Instead() bool { return f.Kind != "" && f.Kind != NoUsage && f.Kind != IndexZero }

// Parse reads a transcript.
func Parse(data []byte) (Transcript, error) {
	var t Transcript
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&t); err != nil {
		return t, fmt.Errorf("transcript: %w", err)
	}
	for i, turn := range t.Turns {
		switch turn.Fault.Kind {
		case "", Hang, Cut, TooMany, Broken, Garbage, NoUsage, IndexZero:
		default:
			return t, fmt.Errorf("transcript: turn %d: there is no fault %q", i+1, turn.Fault.Kind)
		}
	}
	return t, nil
}

// Player finds the turns of conversations. It is safe for concurrent use.
type Player struct {
	transcripts []Transcript
	mu          sync.Mutex
	faults      map[[sha256.Size]byte]int // faults that each request has had
}

// maxRequests bounds how many requests a player remembers.
const maxRequests = 1000

// NewPlayer returns a player of transcripts.
func NewPlayer(transcripts ...Transcript) *Player {
	return &Player{transcripts: transcripts, faults: map[[sha256.Size]byte]int{}}
}

// Next returns the turn that answers a request. In its calls what refers to earlier results is filled in.
func (p *Player) Next(r llm.Request) (Turn, error) {
	question, answers := "", 0
	for _, m := range r.Messages {
		switch m.Role {
		case llm.User:
			question, answers = m.Text, 0
		case llm.Assistant:
			answers++
		case llm.ToolResult:
		}
	}
	for _, t := range p.transcripts {
		if len(t.Turns) == 0 || !strings.Contains(question, t.Turns[0].Expect.Contains) {
			continue
		}
		turn, err := p.turn(t, answers, r)
		if err == nil {
			err = turn.Expect.check(r, question)
		}
		if err == nil {
			turn.Calls, err = fill(turn.Calls, r)
		}
		return turn, err
	}
	return Turn{}, errors.New("no transcript begins with this message")
}

// turn returns the answer of a number, or the fault before it that this request has not had yet.
func (p *Player) turn(t Transcript, number int, r llm.Request) (Turn, error) {
	state, err := json.Marshal(r.Messages)
	if err != nil {
		return Turn{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := sha256.Sum256(state)
	had := p.faults[key]
	for _, turn := range t.Turns {
		switch {
		case !turn.Fault.Instead():
			if number == 0 {
				return turn, nil
			}
			number--
		case number == 0 && had < max(turn.Fault.Times, 1):
			if len(p.faults) >= maxRequests {
				clear(p.faults)
			}
			p.faults[key]++
			return turn, nil
		case number == 0:
			had -= max(turn.Fault.Times, 1)
		}
	}
	return Turn{}, errors.New("the transcript is over")
}

func (e Expect) check(r llm.Request, question string) error {
	text := question
	if e.Tool != "" {
		result, ok := resultOf(r, e.Tool)
		if !ok {
			return fmt.Errorf("expected a result of %q", e.Tool)
		}
		if e.OK != nil && *e.OK == result.Failed {
			return fmt.Errorf("expected ok=%t of %q", *e.OK, e.Tool)
		}
		text = result.Text
	}
	if e.Role != "" && (len(r.Messages) == 0 || string(r.Messages[len(r.Messages)-1].Role) != e.Role) {
		return fmt.Errorf("expected a message of %q", e.Role)
	}
	if !strings.Contains(text, e.Contains) {
		return fmt.Errorf("expected a message with %q", e.Contains)
	}
	return nil
}

func resultOf(r llm.Request, id string) (llm.Message, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == llm.ToolResult && m.CallID == id {
			return m, true
		}
	}
	return llm.Message{}, false
}

// fill replaces each string argument "${call.field}" by that field of the call's result.
func fill(calls []Call, r llm.Request) ([]Call, error) {
	out := append([]Call(nil), calls...)
	for i, call := range out {
		args := map[string]any{}
		for name, value := range call.Args {
			args[name] = value
			text, _ := value.(string)
			inner, isReference := strings.CutPrefix(text, "${")
			if !isReference {
				continue
			}
			id, field, _ := strings.Cut(strings.TrimSuffix(inner, "}"), ".")
			result, _ := resultOf(r, id)
			var fields map[string]any
			if err := json.Unmarshal([]byte(result.Text), &fields); err != nil || fields[field] == nil {
				return nil, fmt.Errorf("%s has no value", text)
			}
			args[name] = fields[field]
		}
		out[i].Args = args
		if call.Raw == "" {
			raw, err := json.Marshal(args)
			if err != nil {
				return nil, err
			}
			out[i].Raw = string(raw)
		}
	}
	return out, nil
}

// Client implements llm.Client.
type Client struct {
	player *Player
	limits llm.Limits
}

// New returns a client that plays transcripts.
func New(limits llm.Limits, transcripts ...Transcript) *Client {
	return &Client{player: NewPlayer(transcripts...), limits: limits}
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request, onText func(string)) (llm.Answer, error) {
	if err := errors.Join(intx.Check(ctx), ctx.Err()); err != nil {
		return llm.Answer{}, err
	}
	turn, err := c.player.Next(r)
	if err != nil {
		return llm.Answer{}, &llm.Error{Kind: llm.Refused, Cause: err}
	}
	after := time.Duration(turn.Fault.RetryAfter) * time.Second
	switch turn.Fault.Kind {
	case TooMany:
		return llm.Answer{}, &llm.Error{Kind: llm.Busy, Status: 429, After: after}
	case Broken:
		return llm.Answer{}, &llm.Error{Kind: llm.Unavailable, Status: 500, After: after}
	case Garbage:
		return llm.Answer{Received: true}, &llm.Error{Kind: llm.Garbage}
	}
	answer := llm.Answer{Text: turn.Text, Received: true}
	if turn.Fault.Instead() {
		answer.Text = turn.Text[:min(turn.Fault.AfterBytes, len(turn.Text))]
	}
	if onText != nil && answer.Text != "" {
		onText(answer.Text)
	}
	switch turn.Fault.Kind {
	case Cut:
		return answer, &llm.Error{Kind: llm.Cut}
	case Hang:
		return answer, c.hang(ctx)
	}
	if turn.Fault.Kind != NoUsage {
		answer.Usage = llm.Usage{Input: turn.Usage.Input, Cached: turn.Usage.Cached, Output: turn.Usage.Output, Reported: true}
	}
	for _, call := range turn.Calls {
		answer.Calls = append(answer.Calls, llm.Call{ID: call.ID, Name: call.Tool, Arguments: call.Raw})
	}
	answer.Calls = llm.NameCalls(answer.Calls)
	return answer, nil
}

func (c *Client) hang(ctx context.Context) error {
	timer := time.NewTimer(c.limits.Idle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return &llm.Error{Kind: llm.Timeout}
	}
}

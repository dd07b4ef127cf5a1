// Package llm is the port to language models. Adapters: openai, for OpenAI and every server that speaks its chat
// interface, local ones too; anthropic; and scripted, which plays transcripts for the demo and tests. Suite llmtest holds
// what all of them must do.
//
// What a model answers is never trusted: names of tools may be unknown, and arguments may be no JSON. An adapter hands
// them on as they came, and the caller judges them.
//
// The adapters are small clients of our own over net/http: a program with the SDKs of OpenAI (v3.98.0) and Anthropic
// (v1.84.0) is 26 MB larger than one with net/http alone (go build -ldflags='-s -w', linux/amd64, 2026-11-26).
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Client asks models of one provider. It is safe for concurrent use.
type Client interface {
	// Ask sends a request and returns the whole answer. It calls onText, which may be nil, with each piece of text as it
	// arrives, from the goroutine of the caller.
	//
	// A failure is an *Error, or the error of ctx. The Answer beside it holds what had arrived: its text and its usage count
	// for the bill, its calls are incomplete and must not run. One call of Ask is one request: Retry repeats.
	Ask(ctx context.Context, r Request, onText func(string)) (Answer, error)
}

// Request is a conversation with a model, and what the model may answer.
type Request struct {
	// Model is the provider's name of the model.
	Model    string
	System   string
	Messages []Message
	Tools    []Tool
	// MaxOutput is the most tokens that the model may write. It is above zero.
	MaxOutput int
}

// Role tells who a message is from.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	// ToolResult is the role of what a tool answered.
	ToolResult Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role Role
	Text string
	// Calls are the tools that an assistant's message asks for.
	Calls []Call
	// CallID names the call that a tool's message answers.
	CallID string
	// Failed marks the result of a tool that failed.
	Failed bool
}

// Call is a model's wish to use a tool.
type Call struct {
	// ID is unique within an answer, also where a server sends none.
	ID   string
	Name string
	// Arguments are as the model wrote them: perhaps empty, perhaps no JSON.
	Arguments string
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object.
	Schema json.RawMessage
}

// NameCalls gives an id of its own to each call that has none, and to each whose id another call has. Adapters use it.
func NameCalls(calls []Call) []Call {
	taken := map[string]bool{}
	for _, call := range calls {
		taken[call.ID] = true
	}
	used := map[string]bool{"": true}
	for i := range calls {
		for n := i + 1; used[calls[i].ID]; n++ {
			if id := fmt.Sprintf("call_%d", n); !taken[id] {
				calls[i].ID = id
				taken[id] = true
			}
		}
		used[calls[i].ID] = true
	}
	return calls
}

// Answer is what a model wrote.
type Answer struct {
	Text  string
	Calls []Call
	Usage Usage
	// Truncated says that the model stopped because it had written MaxOutput tokens.
	Truncated bool
	// Received says that the provider had begun to answer. It may bill an answer that failed later.
	Received bool
}

// Usage counts tokens. The four do not overlap.
type Usage struct {
	Input      int64 // read, and not from the cache
	Cached     int64 // read from the provider's cache
	CacheWrite int64 // read and put into the cache
	Output     int64
	// Reported says that the provider counted. Without it all four are zero, and the caller estimates (Estimate).
	Reported bool
}

// Kind classifies failures by what a caller can do about them.
type Kind string

// The kinds of failures.
const (
	// Busy is a 429: the same request may succeed later.
	Busy Kind = "busy"
	// Unavailable is a 5xx, or no connection.
	Unavailable Kind = "unavailable"
	// Refused is another refusal: the request or the key is wrong, so repeating it is useless.
	Refused Kind = "refused"
	// Timeout says that the provider sent nothing for too long.
	Timeout Kind = "timeout"
	// Cut says that an answer ended in the middle.
	Cut Kind = "cut"
	// Garbage says that an answer is not in the provider's format.
	Garbage Kind = "garbage"
)

// Error is a failure of a provider. Its text is for logs and never holds the key.
type Error struct {
	Kind   Kind
	Status int           // of HTTP; zero without
	After  time.Duration // pause that a Busy or Unavailable provider asks for; zero without
	Cause  error
}

func (e *Error) Error() string {
	text := "llm: " + string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of a failure, and "" for what is no *Error.
func KindOf(err error) Kind {
	if failure, ok := asError(err); ok {
		return failure.Kind
	}
	return ""
}

func asError(err error) (*Error, bool) {
	var failure *Error
	ok := errors.As(err, &failure)
	return failure, ok
}

// Limits bound how long an answer may take.
type Limits struct {
	First time.Duration // until the first byte
	Idle  time.Duration // between two pieces
	Total time.Duration
}

// DefaultLimits are generous for a model that thinks, and short enough that a person waits for them.
func DefaultLimits() Limits {
	return Limits{First: 30 * time.Second, Idle: 20 * time.Second, Total: 180 * time.Second}
}

// Estimate returns the usage of an answer whose provider counted nothing: a token for each three bytes, which is more than
// models need for English and markup, and about right for Cyrillic text.
func Estimate(r Request, a Answer) Usage {
	input := len(r.System)
	for _, m := range r.Messages {
		input += len(m.Text) + callBytes(m.Calls)
	}
	for _, tool := range r.Tools {
		input += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return Usage{Input: tokens(input), Output: tokens(len(a.Text) + callBytes(a.Calls))}
}

func callBytes(calls []Call) int {
	n := 0
	for _, call := range calls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

func tokens(bytes int) int64 { return int64(bytes+2) / 3 }

// Package openai is the adapter for OpenAI's chat completions and for the servers that speak the same interface.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/wire"
)

const defaultURL = "https://api.openai.com/v1"

// Config says which server to ask.
type Config struct {
	BaseURL string // empty: OpenAI's own
	Key     string // empty: none is sent
	Flags   llm.Flags
	Limits  llm.Limits
}

// Client implements llm.Client.
type Client struct {
	config Config
	sender *wire.Sender
}

// New returns a client of a server.
func New(c Config) *Client {
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, defaultURL), "/")
	return &Client{config: c, sender: wire.NewSender(c.Limits)}
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request, onText func(string)) (llm.Answer, error) {
	body, err := json.Marshal(c.request(r))
	if err != nil {
		return llm.Answer{}, &llm.Error{Kind: llm.Refused, Cause: err}
	}
	header := http.Header{}
	if c.config.Key != "" {
		header.Set("Authorization", "Bearer "+c.config.Key)
	}
	stream, err := c.sender.Post(ctx, c.config.BaseURL+"/chat/completions", header, body)
	if err != nil {
		return llm.Answer{}, err
	}
	defer stream.Close()
	a := accumulator{onText: onText}
	err = a.read(stream)
	return a.result(), err
}

type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string  `json:"content"`
			ToolCalls []delta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type delta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// accumulator puts an answer together. Servers differ in how they number calls, so an id counts before an index: a new id
// begins a new call, whatever its index.
type accumulator struct {
	onText   func(string)
	text     strings.Builder
	calls    []*llm.Call
	at       map[int]*llm.Call // the latest call at each index
	answer   llm.Answer
	finished bool
}

func (a *accumulator) read(stream *wire.Stream) error {
	a.at = map[int]*llm.Call{}
	for {
		data, err := stream.Next()
		if errors.Is(err, io.EOF) && a.finished {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return &llm.Error{Kind: llm.Cut, Cause: io.ErrUnexpectedEOF}
		}
		if err != nil {
			return err
		}
		a.answer.Received = true
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			return nil
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return &llm.Error{Kind: llm.Garbage, Cause: err}
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			return &llm.Error{Kind: llm.Unavailable, Cause: errors.New("the provider reports an error in the answer")}
		}
		a.add(c)
	}
}

func (a *accumulator) add(c chunk) {
	if c.Usage != nil { // some servers send it with every chunk: the last one counts
		a.answer.Usage = llm.Usage{
			Input: c.Usage.Prompt - c.Usage.Details.Cached, Cached: c.Usage.Details.Cached, Output: c.Usage.Completion, Reported: true,
		}
	}
	if len(c.Choices) == 0 {
		return
	}
	choice := c.Choices[0]
	if choice.Delta.Content != "" {
		a.text.WriteString(choice.Delta.Content)
		if a.onText != nil {
			a.onText(choice.Delta.Content)
		}
	}
	for _, d := range choice.Delta.ToolCalls {
		call := a.call(d)
		call.Name = cmp.Or(call.Name, d.Function.Name)
		call.Arguments += d.Function.Arguments
	}
	if choice.FinishReason != "" {
		a.finished = true
		a.answer.Truncated = choice.FinishReason == "length"
	}
}

// call finds the call that a delta continues, or begins a new one.
func (a *accumulator) call(d delta) *llm.Call {
	if d.ID != "" {
		for _, call := range a.calls {
			if call.ID == d.ID {
				return call
			}
		}
	}
	current := a.at[d.Index]
	if current == nil || d.ID != "" && current.ID != "" || d.Function.Name != "" && json.Valid([]byte(current.Arguments)) {
		current = &llm.Call{}
		a.calls = append(a.calls, current)
		a.at[d.Index] = current
	}
	current.ID = cmp.Or(current.ID, d.ID)
	return current
}

func (a *accumulator) result() llm.Answer {
	a.answer.Text = a.text.String()
	for _, call := range a.calls {
		a.answer.Calls = append(a.answer.Calls, *call)
	}
	a.answer.Calls = llm.NameCalls(a.answer.Calls)
	return a.answer
}

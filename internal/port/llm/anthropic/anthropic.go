// Package anthropic is the adapter for Anthropic's messages.
package anthropic

import (
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

const (
	defaultURL = "https://api.anthropic.com"
	version    = "2023-06-01"
)

// Config says which server to ask.
type Config struct {
	BaseURL string // empty: Anthropic's own
	Key     string
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
	body, err := json.Marshal(encode(r))
	if err != nil {
		return llm.Answer{}, &llm.Error{Kind: llm.Refused, Cause: err}
	}
	header := http.Header{"X-Api-Key": {c.config.Key}, "Anthropic-Version": {version}}
	stream, err := c.sender.Post(ctx, c.config.BaseURL+"/v1/messages", header, body)
	if err != nil {
		return llm.Answer{}, err
	}
	defer stream.Close()
	a := accumulator{onText: onText}
	err = a.read(stream)
	return a.result(), err
}

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"text"`
	} `json:"content_block"`
	Delta struct {
		Text       string `json:"text"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Output     *int64 `json:"output_tokens"`
}

type accumulator struct {
	onText func(string)
	text   strings.Builder
	calls  []*llm.Call
	at     map[int]*llm.Call // the latest call at each index
	answer llm.Answer
}

func (a *accumulator) read(stream *wire.Stream) error {
	a.at = map[int]*llm.Call{}
	for {
		data, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return &llm.Error{Kind: llm.Cut, Cause: io.ErrUnexpectedEOF}
		}
		if err != nil {
			return err
		}
		a.answer.Received = true
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return &llm.Error{Kind: llm.Garbage, Cause: err}
		}
		switch e.Type {
		case "message_stop":
			return nil
		case "error":
			return &llm.Error{Kind: llm.Unavailable, Cause: errors.New("the provider reports an error in the answer")}
		default: // kinds that are not known are passed over, as the interface asks
			a.add(e)
		}
	}
}

func (a *accumulator) add(e event) {
	a.count(e.Message.Usage)
	a.count(e.Usage)
	switch e.Type {
	case "content_block_start":
		delete(a.at, e.Index)
		if e.Block.Type == "tool_use" {
			call := &llm.Call{ID: e.Block.ID, Name: e.Block.Name}
			a.calls = append(a.calls, call)
			a.at[e.Index] = call
		}
		a.write(e.Block.Text)
	case "content_block_delta":
		a.write(e.Delta.Text)
		if call := a.at[e.Index]; call != nil {
			call.Arguments += e.Delta.Partial
		}
	case "message_delta":
		a.answer.Truncated = e.Delta.StopReason == "max_tokens"
	}
}

func (a *accumulator) write(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	if a.onText != nil {
		a.onText(text)
	}
}

// count takes the usage of an event. Its values are totals, so the last one of each counts.
func (a *accumulator) count(u *usage) {
	if u == nil {
		return
	}
	total := &a.answer.Usage
	total.Reported = true
	for _, part := range [...]struct {
		to   *int64
		from *int64
	}{{&total.Input, u.Input}, {&total.Cached, u.CacheRead}, {&total.CacheWrite, u.CacheWrite}, {&total.Output, u.Output}} {
		if part.from != nil {
			*part.to = *part.from
		}
	}
}

func (a *accumulator) result() llm.Answer {
	a.answer.Text = a.text.String()
	for _, call := range a.calls {
		a.answer.Calls = append(a.answer.Calls, *call)
	}
	a.answer.Calls = llm.NameCalls(a.answer.Calls)
	return a.answer
}

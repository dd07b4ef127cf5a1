package openai

import (
	"encoding/json"

	"stead.dev/stead/internal/port/llm"
)

type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  []call  `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   *string         `json:"arguments,omitempty"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

func (c *Client) request(r llm.Request) request {
	out := request{Model: r.Model, Stream: true}
	if c.config.Flags.LegacyMaxTokens {
		out.MaxTokens = r.MaxOutput
	} else {
		out.MaxCompletionTokens = r.MaxOutput
	}
	if !c.config.Flags.NoStreamUsage {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	if c.config.Flags.OneCall && len(out.Tools) > 0 {
		out.ParallelToolCalls = new(bool)
	}
	if r.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		row := message{Role: string(m.Role), Content: &m.Text, ToolCallID: m.CallID}
		for _, k := range m.Calls {
			row.ToolCalls = append(row.ToolCalls, call{ID: k.ID, Type: "function", Function: function{Name: k.Name, Arguments: &k.Arguments}})
		}
		if m.Failed { // the interface has no field for it
			text := "error: " + m.Text
			row.Content = &text
		}
		if m.Text == "" && len(row.ToolCalls) > 0 {
			row.Content = nil
		}
		out.Messages = append(out.Messages, row)
	}
	return out
}

package anthropic

import (
	"encoding/json"

	"stead.dev/stead/internal/port/llm"
)

type request struct {
	Model     string    `json:"model"`
	System    []block   `json:"system,omitempty"`
	Messages  []message `json:"messages"`
	Tools     []tool    `json:"tools,omitempty"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func encode(r llm.Request) request {
	out := request{Model: r.Model, MaxTokens: r.MaxOutput, Stream: true}
	if r.System != "" { // the cache keeps tools and system, which stay the same in all calls of a run
		out.System = []block{{Type: "text", Text: r.System, CacheControl: &cacheControl{Type: "ephemeral"}}}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	for _, m := range r.Messages {
		role, blocks := "user", []block(nil)
		if m.Role == llm.Assistant {
			role = "assistant"
		}
		if m.Role == llm.ToolResult {
			blocks = append(blocks, block{Type: "tool_result", ToolUseID: m.CallID, Content: m.Text, IsError: m.Failed})
		} else if m.Text != "" { // an empty text is refused
			blocks = append(blocks, block{Type: "text", Text: m.Text})
		}
		for _, call := range m.Calls {
			blocks = append(blocks, block{Type: "tool_use", ID: call.ID, Name: call.Name, Input: object(call.Arguments)})
		}
		// Roles take turns: the results of all calls of an answer are one message.
		if last := len(out.Messages) - 1; last >= 0 && out.Messages[last].Role == role {
			out.Messages[last].Content = append(out.Messages[last].Content, blocks...)
		} else if len(blocks) > 0 {
			out.Messages = append(out.Messages, message{Role: role, Content: blocks})
		}
	}
	return out
}

// object returns arguments as the interface takes them back: what was no object is quoted in one.
func object(arguments string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) == nil && fields != nil {
		return json.RawMessage(arguments)
	}
	quoted, err := json.Marshal(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return quoted
}

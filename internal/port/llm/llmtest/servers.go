package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/scripted"
)

// serve answers with the turn of a request, or its fault; write sends the turn in the format of a provider.
func serve(w http.ResponseWriter, r *http.Request, player *scripted.Player, request llm.Request, write func(scripted.Turn, func(any))) {
	turn, err := player.Next(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fault := turn.Fault
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
	}
	switch fault.Kind {
	case scripted.TooMany:
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case scripted.Broken:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if fault.Instead() {
		turn.Text = turn.Text[:min(fault.AfterBytes, len(turn.Text))]
	}
	if fault.Kind == scripted.Garbage {
		_, _ = fmt.Fprint(w, "data: {\"oops\n\n")
		return
	}
	flusher := http.NewResponseController(w)
	write(turn, func(event any) {
		data, _ := json.Marshal(event)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		_ = flusher.Flush()
	})
	if fault.Kind == scripted.Hang {
		<-r.Context().Done()
	}
}

type object = map[string]any

// OpenAI serves a transcript in the format of chat completions, below /chat/completions.
func OpenAI(transcript scripted.Transcript) http.Handler {
	player := scripted.NewPlayer(transcript)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct {
				Role, Content string
				ToolCallID    string `json:"tool_call_id"`
			}
			MaxTokens int `json:"max_completion_tokens"`
			Stream    bool
		}
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.URL.Path != "/chat/completions" || r.Header.Get("Authorization") != "Bearer "+Key || !body.Stream || body.MaxTokens == 0 {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		var request llm.Request
		for _, m := range body.Messages[1:] {
			failed := m.Role == "tool" && len(m.Content) > 7 && m.Content[:7] == "error: "
			request.Messages = append(request.Messages, llm.Message{Role: llm.Role(m.Role), Text: m.Content, CallID: m.ToolCallID, Failed: failed})
		}
		serve(w, r, player, request, func(turn scripted.Turn, send func(any)) {
			delta := func(d object, finish any) {
				send(object{"choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}})
			}
			for _, character := range turn.Text {
				delta(object{"content": string(character)}, nil)
			}
			if turn.Fault.Instead() {
				return
			}
			for i, call := range turn.Calls {
				if turn.Fault.Kind == scripted.IndexZero {
					i = 0
				}
				half := len(call.Raw) / 2
				delta(object{"tool_calls": []object{{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Tool, "arguments": call.Raw[:half]}}}}, nil)
				delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": call.Raw[half:]}}}}, nil)
			}
			delta(object{}, "stop") // also with calls, as some servers say
			if turn.Fault.Kind != scripted.NoUsage {
				send(object{"choices": []object{}, "usage": object{
					"prompt_tokens": turn.Usage.Input + turn.Usage.Cached, "completion_tokens": turn.Usage.Output,
					"prompt_tokens_details": object{"cached_tokens": turn.Usage.Cached},
				}})
			}
			_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
		})
	})
}

// Anthropic serves a transcript in the format of messages, below /v1/messages.
func Anthropic(transcript scripted.Transcript) http.Handler {
	player := scripted.NewPlayer(transcript)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct {
				Role    string
				Content []struct {
					Type, Text, Content string
					ToolUseID           string `json:"tool_use_id"`
					IsError             bool   `json:"is_error"`
				}
			}
			MaxTokens int `json:"max_tokens"`
			Stream    bool
		}
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != Key || r.Header.Get("Anthropic-Version") == "" || !body.Stream || body.MaxTokens == 0 {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		var request llm.Request
		for i, m := range body.Messages {
			if want := [...]string{"user", "assistant"}[i%2]; m.Role != want {
				http.Error(w, "roles must alternate", http.StatusBadRequest)
				return
			}
			if m.Role == "assistant" {
				request.Messages = append(request.Messages, llm.Message{Role: llm.Assistant})
				continue
			}
			for _, b := range m.Content {
				message := llm.Message{Role: llm.User, Text: b.Text}
				if b.Type == "tool_result" {
					message = llm.Message{Role: llm.ToolResult, CallID: b.ToolUseID, Text: b.Content, Failed: b.IsError}
				}
				request.Messages = append(request.Messages, message)
			}
		}
		serve(w, r, player, request, writeAnthropic)
	})
}

func writeAnthropic(turn scripted.Turn, send func(any)) {
	counted := turn.Fault.Kind != scripted.NoUsage
	start := object{"type": "message_start", "message": object{"role": "assistant"}}
	if counted {
		start["message"] = object{"usage": object{"input_tokens": turn.Usage.Input, "cache_read_input_tokens": turn.Usage.Cached, "output_tokens": 1}}
	}
	send(start)
	send(object{"type": "ping"})
	index := 0
	if turn.Text != "" {
		send(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
		for _, character := range turn.Text {
			send(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": string(character)}})
		}
		if turn.Fault.Instead() {
			return
		}
		send(object{"type": "content_block_stop", "index": 0})
		index = 1
	}
	for i, call := range turn.Calls {
		at := index + i
		if turn.Fault.Kind == scripted.IndexZero {
			at = 0
		}
		send(object{"type": "content_block_start", "index": at, "content_block": object{"type": "tool_use", "id": call.ID, "name": call.Tool, "input": object{}}})
		half := len(call.Raw) / 2
		for _, part := range []string{call.Raw[:half], call.Raw[half:]} {
			send(object{"type": "content_block_delta", "index": at, "delta": object{"type": "input_json_delta", "partial_json": part}})
		}
		send(object{"type": "content_block_stop", "index": at})
	}
	end := object{"type": "message_delta", "delta": object{"stop_reason": "tool_use"}}
	if counted {
		end["usage"] = object{"output_tokens": turn.Usage.Output}
	}
	send(end)
	send(object{"type": "message_stop"})
}

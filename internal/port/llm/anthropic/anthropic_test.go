package anthropic_test

import (
	"net/http/httptest"
	"testing"

	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/anthropic"
	"stead.dev/stead/internal/port/llm/llmtest"
	"stead.dev/stead/internal/port/llm/scripted"
)

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(t *testing.T, transcript scripted.Transcript) llm.Client {
		t.Helper()
		server := httptest.NewServer(llmtest.Anthropic(transcript))
		t.Cleanup(server.Close)
		return anthropic.New(anthropic.Config{BaseURL: server.URL, Key: llmtest.Key, Limits: llmtest.Limits()})
	})
}

package openai_test

import (
	"net/http/httptest"
	"testing"

	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/llmtest"
	"stead.dev/stead/internal/port/llm/openai"
	"stead.dev/stead/internal/port/llm/scripted"
)

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(t *testing.T, transcript scripted.Transcript) llm.Client {
		t.Helper()
		server := httptest.NewServer(llmtest.OpenAI(transcript))
		t.Cleanup(server.Close)
		return openai.New(openai.Config{BaseURL: server.URL, Key: llmtest.Key, Limits: llmtest.Limits()})
	})
}

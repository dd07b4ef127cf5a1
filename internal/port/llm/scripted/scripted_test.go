package scripted_test

import (
	"testing"

	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/llmtest"
	"stead.dev/stead/internal/port/llm/scripted"
)

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(t *testing.T, transcript scripted.Transcript) llm.Client {
		t.Helper()
		return scripted.New(llmtest.Limits(), transcript)
	})
}

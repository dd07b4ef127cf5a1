package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/port/llm"
)

// modelFiles writes the files into a folder and returns the path of models.yaml in it.
func modelFiles(t *testing.T, files map[string]string, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "models.yaml")
}

const threeModels = `
margin_percent: 20
models:
  - {name: rehearsed, provider: scripted, model: hello.yaml, price: {input: 0, output: 0}}
  - {name: far, provider: anthropic, model: m1, key_file: key, price: {input: 3000000, output: 15000000}}
  - {name: near, provider: openai, model: m2, base_url: "http://127.0.0.1:11434/v1", price: {input: 0, output: 0}}
`

func TestModelsAreThoseOfTheFile(t *testing.T) {
	file := modelFiles(t, map[string]string{
		"models.yaml": threeModels, "key": "secret\n", "hello.yaml": "turns:\n  - text: Hello.\n",
	}, 0o600)
	offer, err := newModels(config.Config{LLMModelsFile: file}, server)
	if err != nil {
		t.Fatal(err)
	}
	first, ok := offer.Default()
	if !ok || first.Name != "rehearsed" || len(offer.Models()) != 3 {
		t.Errorf("the default is %q of %d models", first.Name, len(offer.Models()))
	}
	for _, m := range offer.Models() {
		if _, ok := offer.Client(m.Name); !ok {
			t.Errorf("%s has no client", m.Name)
		}
	}
	if _, ok := offer.Client("other"); ok {
		t.Error("a model that is not in the file has a client")
	}
	client, _ := offer.Client("rehearsed")
	answer, err := client.Ask(context.Background(), llm.Request{
		Model: first.ID, Messages: []llm.Message{{Role: llm.User, Text: "Hi"}}, MaxOutput: 10,
	}, nil)
	if err != nil || answer.Text != "Hello." {
		t.Errorf("it answers %q, %v", answer.Text, err)
	}
}

func TestWithoutAFileNoModelIsOffered(t *testing.T) {
	offer, err := newModels(config.Config{}, server)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := offer.Default(); ok {
		t.Errorf("the default is %q", m.Name)
	}
}

func TestFilesOfModelsAreChecked(t *testing.T) {
	whole := func() map[string]string {
		return map[string]string{"models.yaml": threeModels, "key": "secret", "hello.yaml": "turns: []"}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		mode  os.FileMode
		want  string
	}{
		{"open key", whole(), 0o644, "open to others"},
		{"empty key", func() map[string]string { f := whole(); f["key"] = "\n"; return f }(), 0o600, "is empty"},
		{"no key", func() map[string]string { f := whole(); delete(f, "key"); return f }(), 0o600, `model "far"`},
		{"no transcript", func() map[string]string { f := whole(); delete(f, "hello.yaml"); return f }(), 0o600, `model "rehearsed"`},
		{"no file", map[string]string{}, 0o600, "llm_models_file"},
		{"no price", map[string]string{"models.yaml": "models: [{name: a, provider: openai, model: b}]"}, 0o600, "price"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newModels(config.Config{LLMModelsFile: modelFiles(t, c.files, c.mode)}, server)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

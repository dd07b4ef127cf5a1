package app

import (
	_ "embed" // the rehearsed model
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/anthropic"
	"stead.dev/stead/internal/port/llm/openai"
	"stead.dev/stead/internal/port/llm/scripted"
)

// newModels connects the language models of the operator's file. Without one a demonstration has the rehearsed model, and
// others have none. A command has none and needs no keys. It asks no provider.
func newModels(cfg config.Config, as role) (*llm.Offer, error) {
	if cfg.LLMModelsFile == "" && cfg.Demo && as == server {
		return rehearsed()
	}
	var content []byte
	if cfg.LLMModelsFile != "" && as == server {
		var err error
		if content, err = os.ReadFile(cfg.LLMModelsFile); err != nil {
			return nil, fmt.Errorf("llm_models_file: %w", err)
		}
	}
	catalog, err := llm.ParseCatalog(content)
	if err != nil {
		return nil, fmt.Errorf("llm_models_file: %w", err)
	}
	offer, err := llm.NewOffer(catalog, func(m llm.Model) (llm.Client, error) {
		return newModel(m, filepath.Dir(cfg.LLMModelsFile))
	})
	if err != nil {
		return nil, fmt.Errorf("llm_models_file: %w", err)
	}
	return offer, nil
}

// rehearsals are the transcripts of the model of demonstrations; the last one answers what the others do not know.
var (
	//go:embed rehearsed/heading.yaml
	rehearsedHeading []byte
	//go:embed rehearsed/otherwise.yaml
	rehearsedOtherwise []byte
)

// rehearsed offers a model that plays transcripts, so that a demonstration shows the agent without a provider. Its price is
// that of a small model.
func rehearsed() (*llm.Offer, error) {
	var all []scripted.Transcript
	for _, content := range [][]byte{rehearsedHeading, rehearsedOtherwise} {
		t, err := scripted.Parse(content)
		if err != nil {
			return nil, fmt.Errorf("rehearsed: %w", err)
		}
		all = append(all, t)
	}
	catalog, err := llm.NewCatalog(llm.Model{
		Name: "rehearsed", Provider: llm.ProviderScripted, ID: "rehearsed", Price: llm.Price{Input: 200_000, Cached: 200_000, CacheWrite: 200_000, Output: 1_000_000},
	})
	if err != nil {
		return nil, err
	}
	return llm.NewOffer(catalog, func(llm.Model) (llm.Client, error) { return scripted.New(llm.DefaultLimits(), all...), nil })
}

// newModel makes the client of a model. The files that it names are beside the operator's file.
func newModel(m llm.Model, dir string) (llm.Client, error) {
	limits := llm.DefaultLimits()
	if m.Provider == llm.ProviderScripted {
		content, err := os.ReadFile(beside(dir, m.ID))
		if err != nil {
			return nil, err
		}
		transcript, err := scripted.Parse(content)
		if err != nil {
			return nil, err
		}
		return scripted.New(limits, transcript), nil
	}
	key, err := readModelKey(m.KeyFile, dir)
	if err != nil {
		return nil, err
	}
	if m.Provider == llm.ProviderAnthropic {
		return llm.Retry(anthropic.New(anthropic.Config{BaseURL: m.BaseURL, Key: key, Limits: limits})), nil
	}
	return llm.Retry(openai.New(openai.Config{BaseURL: m.BaseURL, Key: key, Flags: m.Flags, Limits: limits})), nil
}

// readModelKey reads the key of a provider; empty where the model names no file. Others of the machine must not read it.
func readModelKey(file, dir string) (string, error) {
	if file == "" {
		return "", nil
	}
	file = beside(dir, file)
	content, err := secret.ReadFile(file)
	key := strings.TrimSpace(string(content))
	if err == nil && key == "" {
		err = fmt.Errorf("key_file %s is empty", file)
	}
	return key, err
}

func beside(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

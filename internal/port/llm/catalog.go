package llm

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"

	"stead.dev/stead/internal/platform/yamlfile"
)

// Catalog is the models that an operator offers, in the operator's order. The first one is the default.
type Catalog struct{ models []Model }

// Model is a model that can be used, with its price. A model without a price does not exist.
type Model struct {
	// Name is ours: customers choose it, and it stays when ID changes.
	Name     string
	Provider string // openai, anthropic or scripted
	ID       string // the provider's name of it
	BaseURL  string // empty: the provider's own
	KeyFile  string // file that holds the key; empty for a server that needs none
	Price    Price
	// MarginPercent is added to the price.
	MarginPercent int64
	Flags         Flags
}

// Price is what a provider takes, in micro-USD for each million tokens.
type Price struct {
	Input      int64
	Cached     int64
	CacheWrite int64
	Output     int64
}

// Flags tell in what an OpenAI-compatible server differs from OpenAI.
type Flags struct {
	// LegacyMaxTokens sends max_tokens instead of max_completion_tokens.
	LegacyMaxTokens bool
	// NoStreamUsage leaves out stream_options, which some servers refuse.
	NoStreamUsage bool
	// OneCall asks the server for at most one tool call in an answer.
	OneCall bool
}

// The providers.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	ProviderScripted  = "scripted"
)

// maxPrice is a thousand dollars for a million tokens, maxTokens more than any answer has: amounts stay within 64 bits.
const (
	maxPrice  = 1_000_000_000
	maxMargin = 1_000
	maxTokens = 100_000_000
	maxModels = 50
)

// picoPerCent is how many of Cost's units are one cent.
const picoPerCent = 10_000_000_000

// Cost returns what a customer pays for usage, margin included, in pico-USD. Costs of several answers are added before
// Cents rounds them.
func (m Model) Cost(u Usage) int64 {
	var sum int64
	for _, part := range [...]struct{ tokens, price int64 }{
		{u.Input, m.Price.Input}, {u.Cached, m.Price.Cached}, {u.CacheWrite, m.Price.CacheWrite}, {u.Output, m.Price.Output},
	} {
		sum += min(max(part.tokens, 0), maxTokens) * part.price / 4 // a quarter, so that the sum of four fits
	}
	return (sum + 24) / 25 * (100 + m.MarginPercent)
}

// Cents rounds a cost in pico-USD up to whole cents.
func Cents(pico int64) int64 {
	cents := pico / picoPerCent
	if pico%picoPerCent > 0 {
		cents++
	}
	return cents
}

// NewCatalog returns a catalog of these models.
func NewCatalog(models ...Model) (*Catalog, error) {
	c := &Catalog{}
	var wrong []error
	if len(models) > maxModels {
		wrong = append(wrong, fmt.Errorf("more than %d models", maxModels))
	}
	for _, m := range models {
		if _, taken := c.Find(m.Name); taken {
			wrong = append(wrong, fmt.Errorf("model %q is named twice", m.Name))
		}
		if err := m.check(); err != nil {
			wrong = append(wrong, fmt.Errorf("model %q: %w", m.Name, err))
		}
		c.models = append(c.models, m)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

// Find returns the model of a name.
func (c *Catalog) Find(name string) (Model, bool) {
	for _, m := range c.models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// Models returns all models, the default first.
func (c *Catalog) Models() []Model { return append([]Model(nil), c.models...) }

var modelName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (m Model) check() error {
	var wrong []error
	refuse := func(condition bool, format string, args ...any) {
		if condition {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	refuse(!modelName.MatchString(m.Name), "the name must be 1 to 64 of a-z, 0-9, '.', '_' and '-'")
	refuse(m.Provider != ProviderOpenAI && m.Provider != ProviderAnthropic && m.Provider != ProviderScripted,
		"the provider must be openai, anthropic or scripted, and is %q", m.Provider)
	refuse(m.ID == "", "model, the provider's name of it, is missing")
	refuse(m.MarginPercent < 0 || m.MarginPercent > maxMargin, "margin_percent must be 0 to %d", maxMargin)
	for _, price := range []int64{m.Price.Input, m.Price.Cached, m.Price.CacheWrite, m.Price.Output} {
		refuse(price < 0 || price > maxPrice, "a price must be 0 to %d micro-USD for a million tokens", maxPrice)
	}
	if m.BaseURL != "" {
		u, err := url.Parse(m.BaseURL)
		refuse(err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "",
			"base_url must be an http(s) address without user and query")
	}
	return errors.Join(wrong...)
}

// catalogFile is the form of the operator's file.
type catalogFile struct {
	MarginPercent int64 `yaml:"margin_percent"`
	Models        []struct {
		Name          string     `yaml:"name"`
		Provider      string     `yaml:"provider"`
		Model         string     `yaml:"model"`
		BaseURL       string     `yaml:"base_url"`
		KeyFile       string     `yaml:"key_file"`
		MarginPercent *int64     `yaml:"margin_percent"`
		Price         *filePrice `yaml:"price"`
		Legacy        bool       `yaml:"legacy_max_tokens"`
		NoStreamUsage bool       `yaml:"no_stream_usage"`
		OneCall       bool       `yaml:"one_call"`
	} `yaml:"models"`
}

type filePrice struct {
	Input      *int64 `yaml:"input"`
	Cached     *int64 `yaml:"cached_input"`
	CacheWrite *int64 `yaml:"cache_write"`
	Output     *int64 `yaml:"output"`
}

// ParseCatalog reads the operator's file of models. Everything that is wrong is reported at once.
func ParseCatalog(data []byte) (*Catalog, error) {
	var file catalogFile
	if err := yamlfile.Decode(data, &file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("models: %w", err)
	}
	var models []Model
	var wrong []error
	for _, row := range file.Models {
		m := Model{
			Name: row.Name, Provider: row.Provider, ID: row.Model, BaseURL: row.BaseURL, KeyFile: row.KeyFile,
			MarginPercent: file.MarginPercent,
			Flags:         Flags{LegacyMaxTokens: row.Legacy, NoStreamUsage: row.NoStreamUsage, OneCall: row.OneCall},
		}
		if row.MarginPercent != nil {
			m.MarginPercent = *row.MarginPercent
		}
		if row.Price == nil || row.Price.Input == nil || row.Price.Output == nil {
			wrong = append(wrong, fmt.Errorf("model %q: price needs input and output; 0 is free", row.Name))
		} else {
			m.Price = row.Price.complete()
		}
		models = append(models, m)
	}
	catalog, err := NewCatalog(models...)
	if err = errors.Join(append(wrong, err)...); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return catalog, nil
}

// complete takes the price of input where those of the cache are not stated.
func (p *filePrice) complete() Price {
	price := Price{Input: *p.Input, Cached: *p.Input, CacheWrite: *p.Input, Output: *p.Output}
	if p.Cached != nil {
		price.Cached = *p.Cached
	}
	if p.CacheWrite != nil {
		price.CacheWrite = *p.CacheWrite
	}
	return price
}

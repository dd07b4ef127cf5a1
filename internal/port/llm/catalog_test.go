package llm_test

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/port/llm"
)

func TestAModelNeedsAPrice(t *testing.T) {
	for text, want := range map[string]string{
		"models: [{name: a, provider: openai, model: m}]":                                                    "price needs input and output",
		"models: [{name: a, provider: openai, model: m, price: {input: 1}}]":                                 "price needs input and output",
		"models: [{name: a, provider: other, model: m, price: {input: 1, output: 1}}]":                       "provider",
		"models: [{name: a, provider: openai, model: m, price: {input: -1, output: 1}}]":                     "a price must be",
		"models: [{name: a, provider: openai, model: m, prise: {input: 1, output: 1}}]":                      "prise",
		"models: [{name: a, provider: openai, model: m, base_url: 'ftp://x', price: {input: 1, output: 1}}]": "base_url",
	} {
		if _, err := llm.ParseCatalog([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestCostHasMarginAndIsRoundedUpOnce(t *testing.T) {
	catalog, err := llm.ParseCatalog([]byte("margin_percent: 20\nmodels: [{name: a, provider: anthropic, model: m, price: {input: 3000000, cached_input: 300000, output: 15000000}}]"))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := catalog.Find("a")
	if !ok {
		t.Fatal("the model is not found")
	}
	// 1,000 × $3 + 2,000 × $0.30 + 100 × $15 for a million = 0.51 cents, 0.612 with the margin.
	cost := m.Cost(llm.Usage{Input: 1000, Cached: 2000, Output: 100})
	if cost != 6_120_000_000 {
		t.Errorf("cost %d", cost)
	}
	if one, three := llm.Cents(cost), llm.Cents(3*cost); one != 1 || three != 2 {
		t.Errorf("cents %d and %d", one, three)
	}
	if got := llm.Cents(m.Cost(llm.Usage{})); got != 0 {
		t.Errorf("nothing costs %d", got)
	}
}

func TestTheLargestCostFits(t *testing.T) {
	const most = 1 << 62
	price := llm.Price{Input: 1e9, Cached: 1e9, CacheWrite: 1e9, Output: 1e9}
	m := llm.Model{Price: price, MarginPercent: 1000}
	if cost := m.Cost(llm.Usage{Input: most, Cached: most, CacheWrite: most, Output: most}); cost <= 0 {
		t.Errorf("cost %d", cost)
	}
}

func TestEveryCallGetsAnIDOfItsOwn(t *testing.T) {
	calls := llm.NameCalls([]llm.Call{{}, {ID: "call_1"}, {ID: "call_1"}, {}})
	seen := map[string]bool{}
	for _, call := range calls {
		if call.ID == "" || seen[call.ID] {
			t.Fatalf("%+v", calls)
		}
		seen[call.ID] = true
	}
}

package module_test

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/module"
)

type asked interface{ ask() }

type somebody struct{ inner *int }

func (somebody) ask() {}

type nobody struct{}

func (nobody) ask() {}

type shared struct{ Shared asked }

type needs struct {
	shared
	One   asked
	Func  func()
	Many  []asked
	Named map[string]asked
	// What follows may be empty.
	Text  string
	Texts []string
	Count int
	Rules struct{ byCountry map[string]int }
}

func full() needs {
	return needs{shared: shared{somebody{new(int)}}, One: somebody{new(int)}, Func: func() {}, Many: []asked{}, Named: map[string]asked{}}
}

func TestCompleteNamesWhatIsNotSet(t *testing.T) {
	if err := module.Complete(full(), struct{}{}); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*needs){
		"needs.One ":           func(n *needs) { n.One = nil },
		"needs.shared.Shared ": func(n *needs) { n.Shared = nil },
		"needs.One.inner ":     func(n *needs) { n.One = somebody{} },
		"needs.Func ":          func(n *needs) { n.Func = nil },
		"needs.Many ":          func(n *needs) { n.Many = nil },
		"needs.Many[1] ":       func(n *needs) { n.Many = []asked{nobody{}, nil} },
		"needs.Named ":         func(n *needs) { n.Named = nil },
		"needs.Named[dns] ":    func(n *needs) { n.Named = map[string]asked{"dns": nil} },
	} {
		n := full()
		change(&n)
		if err := module.Complete(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := module.Complete(&needs{}); err == nil {
		t.Error("a pointer was looked at")
	}
}

func TestNobodyIsSomebody(t *testing.T) {
	n := full()
	n.One = nobody{}
	if err := module.Complete(n); err != nil {
		t.Error(err)
	}
}

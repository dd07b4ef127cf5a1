package runs

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Mode is what the agent may do without asking.
type Mode string

// The modes (resources, section 13).
const (
	Suggest        Mode = "suggest"          // write nothing
	AskBeforeWrite Mode = "ask_before_write" // ask before each change
	Autopilot      Mode = "autopilot"        // ask only before what can do harm (policy.go)
)

// settings are a row of ai_settings.
type settings struct {
	enabled         bool
	mode            Mode
	tools           []string
	allowed, denied []string
	steps           int
	budget          money.USDCents
	model, language *string
	notifyOnInsight bool
	// undoWhenBroken has a run undo its changes when the site does not work any more after them.
	undoWhenBroken bool
}

// The defaults of settings.
const (
	defaultSteps                 = 30
	defaultBudget money.USDCents = 500
	mostPaths                    = 50
	mostPath                     = 1024 // bytes
)

// defaults are the settings of an account that has none: nobody pays for an agent, or lets it read files, without having
// switched it on.
func defaults() settings {
	return settings{mode: AskBeforeWrite, allowed: []string{webRoot}, steps: defaultSteps, budget: defaultBudget, undoWhenBroken: true}
}

// webRoot is where a service's sites are.
const webRoot = "/public_html"

// trash is where files go that the agent deletes; it is no document root.
const trash = "/.ai-trash"

// neverTouched is closed to the agent whatever the settings allow.
var neverTouched = []string{trash, "/.ssh"}

// check refuses settings that make no sense, and normalises them.
func (s *settings) check() error {
	for _, name := range s.tools {
		if _, ok := findTool(name); !ok {
			return fault.InvalidData("allowed_tools", "ai_tool", map[string]any{"Name": name})
		}
	}
	for field, paths := range map[string]*[]string{"allowed_paths": &s.allowed, "denied_paths": &s.denied} {
		for i, p := range *paths {
			clean, ok := cleanPath(p)
			if !ok {
				return fault.Invalid(field, "file_path")
			}
			(*paths)[i] = clean
		}
	}
	if len(s.allowed) == 0 {
		s.allowed = []string{webRoot}
	}
	return nil
}

// cleanPath is a path of the model or of the settings from the account's home, with a leading slash; false for one that
// leads out of it or is not well formed. The hosting server judges it again.
func cleanPath(p string) (string, bool) {
	if p == "" || len(p) > mostPath || strings.ContainsFunc(p, unicode.IsControl) || slices.Contains(strings.Split(p, "/"), "..") {
		return "", false
	}
	return path.Clean("/" + p), true
}

// inside tells whether a path is a folder, or lies in it.
func inside(p, folder string) bool {
	return folder == "/" || p == folder || strings.HasPrefix(p, folder+"/")
}

// reaches tells whether the agent may touch a path.
func (t terms) reaches(p string) bool {
	in := func(folder string) bool { return inside(p, folder) }
	return slices.ContainsFunc(t.Allowed, in) && !slices.ContainsFunc(t.Denied, in) && !slices.ContainsFunc(neverTouched, in)
}

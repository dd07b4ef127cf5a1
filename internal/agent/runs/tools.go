package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/panel"
)

// tool is something that the model may call. It has one of look, which reads or, where it acts, does what needs no journal,
// and plan, which says what it would change.
type tool struct {
	name, description string
	schema            string // of the arguments, JSON
	look              func(ctx context.Context, w workplace, arguments string) (any, error)
	acts              bool
	plan              func(ctx context.Context, w workplace, arguments string) (plan, error)
}

// reads tells that a tool changes nothing.
func (t tool) reads() bool { return t.plan == nil && !t.acts }

// workplace is what tools work with: they know no other service.
type workplace struct {
	project

	runID  int64
	terms  terms
	mask   *redact.Masker
	issued issued
}

// plan is what a call would change.
type plan struct {
	changes []change
	// first is how many of the changes are made at first, because the rest depends on them; 0: all.
	first    int
	contents [][]byte // of files, before and after
}

// refusal is why a tool did not do a call, told to the model.
type refusal struct {
	key, detail string
	malformed   bool // the call makes no sense, whatever the site has
}

func (r *refusal) Error() string { return r.key + ": " + r.detail }

func refuse(key, format string, args ...any) error {
	return &refusal{key: key, detail: fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) error {
	return &refusal{key: "invalid_arguments", detail: fmt.Sprintf(format, args...), malformed: true}
}

// refusalOf is what the model is told of an error; false for what it cannot do anything about.
func refusalOf(err error) (*refusal, bool) {
	var r *refusal
	if errors.As(err, &r) {
		return r, true
	}
	switch kind := panel.KindOf(err); kind {
	case "", panel.ErrInternal, panel.ErrUnreachable, panel.ErrBusy, panel.ErrSuspended:
		return nil, false
	default:
		return &refusal{key: string(kind), detail: "the hosting server refused it"}, true
	}
}

// decode reads the arguments of a call. They must have no member that the tool does not know: the model means something by
// it that would not happen.
func decode[T any](arguments string) (in T, err error) {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, malformed("%v", err)
	}
	if d.More() {
		return in, malformed("more than one JSON value")
	}
	return in, nil
}

// decodePath is decode for tools whose one argument is a path that the run may touch.
func (w workplace) decodePath(arguments string) (string, error) {
	in, err := decode[struct {
		Path string `json:"path"`
	}](arguments)
	if err != nil {
		return "", err
	}
	return w.within(in.Path)
}

// findTool returns a tool by its name.
func findTool(name string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

// offered are the tools of a run, as the model gets them.
func (t terms) offered() []llm.Tool {
	var all []llm.Tool
	for _, one := range tools {
		if t.mayUse(one.name) && (one.reads() || t.Mode != Suggest) {
			all = append(all, llm.Tool{Name: one.name, Description: one.description, Schema: json.RawMessage(one.schema)})
		}
	}
	return all
}

// toolNames are the names of all tools.
func toolNames() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return names
}

// tools are all that there are, in the order in which the model gets them.
var tools []tool

func init() {
	tools = slices.Concat(readingTools(), writingTools(), []tool{extractTool()}, siteTools())
}

package runs

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/panel"
)

// Bounds of what reading tools return.
const (
	mostDepth   = 3
	mostEntries = 200
	mostLines   = 400
	mostMatches = 50
)

func readingTools() []tool {
	return []tool{
		{
			name: "list_files", look: listFiles,
			description: "List a folder of the project, sorted, with sizes. Folders end with a slash; links are shown and never followed.",
			schema: `{"type": "object", "properties": {"path": {"type": "string", "description": "From the home, such as /public_html"},
				"depth": {"type": "integer", "minimum": 1, "maximum": 3}}, "required": ["path"], "additionalProperties": false}`,
		},
		{
			name: "read_file", look: readFile,
			description: "Read a text file, from a line on. The etag of the answer is needed to change the file. Secrets are shown as tokens; leave them as they are.",
			schema: `{"type": "object", "properties": {"path": {"type": "string"}, "from_line": {"type": "integer", "minimum": 1},
				"lines": {"type": "integer", "minimum": 1, "maximum": 400}}, "required": ["path"], "additionalProperties": false}`,
		},
		{
			name: "search_files", look: searchFiles,
			description: "Find files below a folder by their name, or lines that contain a text. Upper and lower case are alike.",
			schema: `{"type": "object", "properties": {"q": {"type": "string", "minLength": 1}, "in": {"type": "string", "enum": ["content", "name"]},
				"path": {"type": "string"}}, "required": ["q", "path"], "additionalProperties": false}`,
		},
	}
}

// within is a path of the model that the run may touch.
func (w workplace) within(p string) (string, error) {
	clean, ok := cleanPath(p)
	if !ok || !w.terms.reaches(clean) {
		return "", refuse("path_not_allowed", "%s is not among the paths that the customer has opened: %s", p, strings.Join(w.terms.Allowed, ", "))
	}
	return clean, nil
}

// data is a result that stands for a text of the site.
func (w workplace) data(source, p, text string) untrusted {
	return untrusted{Source: source, Path: p, Trust: "untrusted", Nonce: w.terms.Nonce, Text: plain(text)}
}

// lines is a result of many lines, without secrets.
func (w workplace) lines(source, p string, lines []string, truncated bool) untrusted {
	out := w.data(source, p, w.mask.Mask("", strings.Join(lines, "\n")))
	out.Text, out.Truncated = shorten(out.Text, mostResult), truncated
	return out
}

func listFiles(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Path  string `json:"path"`
		Depth int    `json:"depth"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	root, err := w.within(in.Path)
	if err != nil {
		return nil, err
	}
	found, err := w.look(ctx, root)
	switch {
	case err != nil:
		return nil, err
	case found.hash != directory:
		return nil, refuse("not_found", "%s is no folder", root)
	}
	var lines []string
	truncated := false
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		l, err := w.files.List(ctx, w.ref, dir, 0, mostEntries)
		if err != nil {
			return err
		}
		truncated = truncated || l.Total > len(l.Entries)
		for _, e := range l.Entries {
			if len(lines) >= mostEntries {
				truncated = true
				return nil
			}
			if !w.terms.reaches(e.Path) {
				continue
			}
			switch e.Type {
			case panel.TypeDirectory:
				lines = append(lines, e.Path+"/")
				if depth > 1 {
					if err := walk(e.Path, depth-1); err != nil {
						return err
					}
				}
			case panel.TypeSymlink:
				lines = append(lines, e.Path+" (link)")
			case panel.TypeFile, panel.TypeOther:
				lines = append(lines, fmt.Sprintf("%s %d bytes", e.Path, e.SizeBytes))
			}
		}
		return nil
	}
	if err := walk(root, min(max(in.Depth, 1), mostDepth)); err != nil {
		return nil, err
	}
	return w.lines("listing", root, lines, truncated), nil
}

func readFile(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Path     string `json:"path"`
		FromLine int    `json:"from_line"`
		Lines    int    `json:"lines"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	p, err := w.within(in.Path)
	if err != nil {
		return nil, err
	}
	found, err := w.textAt(ctx, p)
	if err != nil {
		return nil, err
	}
	// The whole file is masked before a part is taken, so a secret is found that begins before the part.
	lines := strings.SplitAfter(w.mask.Mask(p, string(found.content)), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := min(max(in.FromLine, 1), len(lines)+1)
	count := mostLines
	if in.Lines > 0 {
		count = min(in.Lines, mostLines)
	}
	part := lines[from-1 : min(from-1+count, len(lines))]
	size := 0
	for i, line := range part {
		if size += len(line); size > mostResult && i > 0 {
			part = part[:i]
			break
		}
	}
	out := w.data("file", p, shorten(strings.Join(part, ""), mostResult))
	out.ETag, out.FromLine, out.TotalLines = found.hash, from, len(lines)
	out.Truncated = from+len(part) <= len(lines)
	return out, nil
}

// textAt is a text file of the project.
func (w workplace) textAt(ctx context.Context, p string) (thing, error) {
	found, err := w.look(ctx, p)
	switch {
	case err != nil:
		return found, err
	case found.hash == nothing:
		return found, refuse("not_found", "there is no file %s", p)
	case found.hash == directory, found.hash == other:
		return found, refuse("not_a_file", "%s is a folder or a link", p)
	case found.content == nil && found.size > 0:
		return found, refuse("file_too_large", "%s has more than %d bytes", p, mostEdited)
	case !utf8.Valid(found.content) || slices.Contains(found.content, 0):
		return found, refuse("file_not_text", "%s is no text", p)
	}
	return found, nil
}

func searchFiles(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Q    string `json:"q"`
		In   string `json:"in"`
		Path string `json:"path"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	root, err := w.within(in.Path)
	if err != nil {
		return nil, err
	}
	if in.Q == "" || redact.Masked(in.Q) {
		return nil, malformed("q must be a text without secrets")
	}
	found, err := w.files.Search(ctx, w.ref, panel.Query{Path: root, Text: in.Q, InContent: in.In != "name", MaxResults: mostMatches})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range found.Matches {
		switch {
		case !w.terms.reaches(m.Path):
		case m.Line == 0:
			lines = append(lines, m.Path)
		case redact.Sensitive(path.Base(m.Path)): // a line alone does not show all that is secret about it
			lines = append(lines, fmt.Sprintf("%s:%d", m.Path, m.Line))
		default:
			lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, m.Excerpt))
		}
	}
	return w.lines("search", root, lines, found.Truncated), nil
}

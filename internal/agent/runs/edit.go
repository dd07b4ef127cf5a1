package runs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// edition is one replacement in a file.
type edition struct {
	Old   string `json:"old"`
	New   string `json:"new"`
	Count int    `json:"count"` // how often old occurs; 0: once
}

// applyEdits makes all replacements at once, or none. Each old must occur in the original exactly as often as is said, and
// no two may overlap. Nothing is guessed but the ends of lines, which stay as the file has them. The error is for the model.
func applyEdits(content string, edits []edition) (string, error) {
	type span struct {
		from, to int
		text     string
	}
	var spans []span
	windows := strings.Contains(content, "\r\n")
	for n, e := range edits {
		before, after := e.Old, e.New
		if windows {
			before, after = withCRLF(before), withCRLF(after)
		}
		if before == "" {
			return "", fmt.Errorf("edit %d: old is empty", n+1)
		}
		want := max(e.Count, 1)
		if got := strings.Count(content, before); got != want {
			return "", fmt.Errorf("edit %d: old occurs %d times and not %d. %s", n+1, got, want, near(content, e.Old))
		}
		for at, rest := 0, content; want > 0; want-- {
			i := strings.Index(rest, before)
			at += i
			spans = append(spans, span{at, at + len(before), after})
			at += len(before)
			rest = content[at:]
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, s := range spans {
		if s.from < at {
			return "", fmt.Errorf("two edits overlap")
		}
		out.WriteString(content[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	out.WriteString(content[at:])
	return out.String(), nil
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// near are the lines of a content that look like the first line of what was sought.
func near(content, sought string) string {
	first := strings.TrimSpace(strings.SplitN(strings.TrimSpace(sought), "\n", 2)[0])
	var found []string
	for n, line := range strings.Split(content, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && first != "" && (strings.Contains(trimmed, first) || strings.Contains(first, trimmed) && 2*len(trimmed) > len(first)) {
			found = append(found, fmt.Sprintf("line %d: %s", n+1, shorten(trimmed, 200)))
		}
		if len(found) == 3 {
			break
		}
	}
	if found == nil {
		return "No line looks like it: read the file again."
	}
	return "Nearest: " + strings.Join(found, "; ")
}

// placeholder is what lazy models write instead of the text that they leave out.
var placeholder = regexp.MustCompile(`(?i)(\.\.\.|…)?\s*\b(rest of|remaining|existing|previous)\b.{0,40}\b(code|file|content|page|unchanged|same|here)\b|\bunchanged\b`)

// truncates tells that a new content is probably a part of the old one that pretends to be all of it.
func truncates(before, after string) bool {
	return 2*len(after) < len(before) && placeholder.MatchString(after)
}

// shorten cuts a text to at most n bytes, between two letters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// words splits a line as a shell does, as far as the guides need it.
var words = regexp.MustCompile(`(?:[^\s"']+|"[^"]*"|'[^']*')+`)

// commandLines are the lines of a guide's blocks that begin with stead: those that are indented, and those in fences of shell or of no language.
func commandLines(text string) (lines []string) {
	fence := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if lang, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if fence == "" {
				fence = "```" + lang
			} else {
				fence = ""
			}
			continue
		}
		command := strings.TrimSpace(line)
		shell := fence == "```" || fence == "```sh" || fence == "```bash" || fence == "```console" || fence == "" && strings.HasPrefix(line, "    ")
		if shell && strings.HasPrefix(command, "stead ") {
			lines = append(lines, command)
		}
	}
	return lines
}

// misspelt is the first word of a command line that the grammar does not have.
func misspelt(app *kong.Node, line string) string {
	node, positional := app, 0
	all := words.FindAllString(line, -1)[1:]
	if end := slices.IndexFunc(all, func(w string) bool { return strings.ContainsAny(w[:1], "#|<>;&") }); end >= 0 {
		all = all[:end]
	}
	for i := 0; i < len(all); i++ {
		word := all[i]
		if strings.HasPrefix(word, "-") && len(word) > 1 {
			name, _, valued := strings.Cut(word, "=")
			var flag *kong.Flag
			for _, group := range node.AllFlags(false) {
				for _, f := range group {
					if "--"+f.Name == name || f.Negated && "--no-"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
						flag = f
					}
				}
			}
			switch {
			case name == "--help":
			case flag == nil:
				return word
			case !valued && !flag.IsBool() && !flag.IsCounter():
				i++
			}
			continue
		}
		child := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word || slices.Contains(n.Aliases, word) })
		last := len(node.Positional) - 1
		switch {
		case child >= 0:
			node, positional = node.Children[child], 0
		case positional <= last:
			positional++
		case last < 0 || !node.Positional[last].IsCumulative():
			return word
		}
	}
	return ""
}

// TestTheGuidesNameWhatThereIs of commands and flags.
func TestTheGuidesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&cli{}, kong.Name("stead"), kong.ExplicitGroups(groups))
	if err != nil {
		t.Fatal(err)
	}
	for line, wrong := range map[string]string{
		"stead admin wallet credit a@example.com 5 --reason \"a gift\"": "", "stead serve --demo # a shop": "",
		"stead admin purse": "purse", "stead backup --hourly": "--hourly", "stead --config x serve extra": "extra",
	} {
		if got := misspelt(parser.Model.Node, line); got != wrong {
			t.Errorf("%s: %q is misspelt, want %q", line, got, wrong)
		}
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, runbooks...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			seen++
			if wrong := misspelt(parser.Model.Node, line); wrong != "" {
				t.Errorf("%s: %s: there is no %s", filepath.Base(file), line, wrong)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d command lines were found", seen)
	}
}

package customer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// IgnoreFile names the file of a folder that says what is not deployed. It is never deployed itself.
const IgnoreFile = ".steadignore"

// ignored are patterns in the form of .gitignore, of which the last one that matches decides.
type ignored []pattern

type pattern struct {
	*regexp.Regexp
	keep          bool // "!": what it matches is deployed
	directoryOnly bool
}

// readIgnored reads the patterns of a folder; none when it has no file of them.
func readIgnored(folder string) (ignored, error) {
	content, err := os.ReadFile(filepath.Join(folder, IgnoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIgnored(string(content))
}

func parseIgnored(text string) (ignored, error) {
	var all ignored
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var p pattern
		line, p.keep = strings.CutPrefix(line, "!")
		line = strings.TrimPrefix(line, `\`) // of a name that begins with # or !
		line, p.directoryOnly = strings.CutSuffix(line, "/")
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		expression, err := expressionOf(line)
		if err == nil {
			if !anchored {
				expression = "(?:.*/)?" + expression
			}
			p.Regexp, err = regexp.Compile("^" + expression + "$")
		}
		if err != nil || line == "" {
			return nil, fmt.Errorf("%s, line %d: %q is no pattern", IgnoreFile, i+1, line)
		}
		all = append(all, p)
	}
	return all, nil
}

// expressionOf translates a pattern to a regular expression: * and ? stay within a name, ** does not.
func expressionOf(glob string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(glob[i:], "**/") && (i == 0 || glob[i-1] == '/'):
				b.WriteString("(?:.*/)?")
				i += 2
			case strings.HasPrefix(glob[i:], "**"):
				b.WriteString(".*")
				i++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(glob[min(i+2, len(glob)):], ']')
			if end < 0 {
				return "", errors.New("a [ without its ]")
			}
			class := glob[i+1 : i+2+end]
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += 2 + end
		case '\\':
			if i++; i == len(glob) {
				return "", errors.New("a backslash at the end")
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return b.String(), nil
}

// skip reports whether a file or a directory of the folder is not deployed. What is in such a directory is not asked about.
func (all ignored) skip(name string, directory bool) bool {
	if path.Clean(name) == IgnoreFile {
		return true
	}
	skipped := false
	for _, p := range all {
		if p.directoryOnly && !directory {
			continue
		}
		if p.MatchString(name) {
			skipped = !p.keep
		}
	}
	return skipped
}

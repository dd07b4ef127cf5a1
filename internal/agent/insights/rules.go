package insights

import (
	"context"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

// Files reads the files of a hosting account; panel.Files is one.
type Files interface {
	Search(ctx context.Context, ref string, q panel.Query) (panel.Found, error)
	Read(ctx context.Context, ref, path string, opt panel.ReadOptions) (panel.Content, error)
}

const (
	ruleTime     = 5 * time.Second
	mostFiles    = 200 // .htaccess files that are read
	mostRules    = 10  // in the evidence
	allOfIts     = ".htacces[s]"
	ruleBytes    = htaccess.MaxBytes
	mostRuleName = 40 // bytes of a directive
)

// ruleFile is what has no effect of an .htaccess file.
type ruleFile struct {
	path     string
	count    int
	protects bool
	rules    []string // the first ones: "3: AuthType", without arguments, which may be secrets
}

// ruleFacts are the rules that sites bring and that have no effect.
type ruleFacts struct {
	complete bool
	read     map[string]bool // paths
	files    []ruleFile
}

// readRules reads the .htaccess files of the document roots; nil when they cannot be read.
func readRules(ctx context.Context, files Files, ref string, roots []string) *ruleFacts {
	if files == nil || ref == "" || len(roots) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ruleTime)
	defer cancel()
	found := &ruleFacts{complete: true, read: map[string]bool{}}
	for _, root := range roots {
		in, err := files.Search(ctx, ref, panel.Query{Path: root, Text: allOfIts, MaxResults: mostFiles})
		if err != nil {
			found.complete = false
			continue
		}
		found.complete = found.complete && !in.Truncated
		for _, m := range in.Matches {
			name := asSubject(m.Path)
			if m.Name != htaccess.Name || m.Type != panel.TypeFile || found.read[name] {
				continue
			}
			content, err := files.Read(ctx, ref, m.Path, panel.ReadOptions{MaxBytes: ruleBytes})
			if err != nil || len(found.read) == mostFiles {
				found.complete = false
				continue
			}
			found.read[name] = true
			if f := withoutEffect(name, content.Data); f.count > 0 {
				found.files = append(found.files, f)
			}
		}
	}
	return found
}

func withoutEffect(path string, text []byte) ruleFile {
	f := ruleFile{path: path}
	read := htaccess.Parse(string(text))
	for _, rule := range read.Ignored {
		f.count++
		f.protects = f.protects || rule.Protects && !read.Closed() // nobody sees anything in a closed directory
		if len(f.rules) < mostRules {
			f.rules = append(f.rules, strconv.Itoa(rule.Line)+": "+shorten(rule.Directive, mostRuleName))
		}
	}
	return f
}

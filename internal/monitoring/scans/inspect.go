package scans

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Place is where a site is hosted here.
type Place struct {
	ServiceID  int64
	PHPVersion string // empty: not known
	// Root is the site's document root in the service's home; Files and Ref reach it. Files is nil where this process has
	// no panel.
	Root  string
	Ref   string
	Files Files
}

// Files are the files of a hosting account; panel.Files is one.
type Files interface {
	List(ctx context.Context, ref, path string, offset, limit int) (panel.Listing, error)
	Read(ctx context.Context, ref, path string, opt panel.ReadOptions) (panel.Content, error)
}

const (
	mostEntries  = 500
	mostNamed    = 10
	mostVersion  = 8 << 10
	mostReleases = 64
)

var (
	dumpName  = regexp.MustCompile(`(?i)^[^/]*(?:\.sql(?:\.(?:gz|zip|bz2|xz))?|\.dump|\.sqlite3?|\.bak)$|(?i)^(?:[^/]*backup[^/]*|www|site|public_html|[^/]*dump[^/]*)\.(?:zip|tar|tgz|tar\.gz|7z|rar)$`)
	wpRelease = regexp.MustCompile(`(?m)^\s*\$wp_version\s*=\s*'([0-9.]+)'`)
)

// inspect reads of a site what the hosting server knows. What cannot be read is left out: a scan does not fail for it.
func inspect(ctx context.Context, p Place) *SiteFacts {
	f := &SiteFacts{ServiceID: p.ServiceID, PHPVersion: p.PHPVersion}
	if ends, ok := panel.PHPEndOfLife(p.PHPVersion); ok {
		ends = ends.Add(24*time.Hour - time.Second) // that day included
		f.PHPEnds = &ends
	}
	if p.Files == nil || p.Root == "" {
		return f
	}
	root, err := p.Files.List(ctx, p.Ref, p.Root, 0, mostEntries)
	if err != nil {
		return f
	}
	look := []panel.Listing{root}
	for _, e := range root.Entries {
		if e.Type == panel.TypeFile && dumpName.MatchString(e.Name) && len(f.Dumps) < mostNamed {
			f.Dumps = append(f.Dumps, "/"+e.Name)
		}
		if e.Type == panel.TypeDirectory && e.Name == "wp-content" {
			if inner, err := p.Files.List(ctx, p.Ref, e.Path, 0, mostEntries); err == nil {
				look = append(look, inner)
			}
		}
		if e.Type == panel.TypeDirectory && e.Name == "wp-includes" {
			content, err := p.Files.Read(ctx, p.Ref, path.Join(p.Root, "wp-includes/version.php"), panel.ReadOptions{MaxBytes: mostVersion})
			if m := wpRelease.FindSubmatch(content.Data); err == nil && m != nil && len(m[1]) < mostReleases {
				f.WordPress = string(m[1])
			}
		}
	}
	for _, l := range look {
		for _, e := range l.Entries {
			if writableByAll(e) && len(f.Writable) < mostNamed {
				f.Writable = append(f.Writable, e.Path)
			}
		}
	}
	return f
}

// writableByAll tells whether every user of the machine may write an entry that programs are run from.
func writableByAll(e panel.Entry) bool {
	if e.Type != panel.TypeDirectory && (e.Type != panel.TypeFile || !isCode(e.Name)) {
		return false
	}
	mode, err := strconv.ParseUint(e.Mode, 8, 32)
	return err == nil && mode&0o002 != 0 && mode&0o1000 == 0
}

func isCode(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".php", ".phtml", ".phar", ".cgi", ".pl", ".py", ".sh", ".js", ".html", ".htm":
		return true
	default:
		return name == ".htaccess" || name == ".user.ini" || name == ".env"
	}
}

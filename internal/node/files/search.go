package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"stead.dev/stead/internal/port/panel"
)

// Bounds of one search.
const (
	defaultResults  = 100
	maxResults      = 1000
	maxVisited      = 200_000   // names looked at
	maxSearchedFile = 16 << 20  // bytes read of one file
	maxSearched     = 512 << 20 // bytes read of all
	perFile         = 20        // finds in one file
	excerptBytes    = 200

	// A search of content reads up to maxSearched and uses a processor the whole time, so few run at once: of one account,
	// and of all that the machine hosts.
	mostSearches    = 2
	mostSearchesAll = 4
)

// Search implements panel.Files.
func (d *Driver) Search(ctx context.Context, ref string, q panel.Query) (_ panel.Found, err error) {
	defer explain(&err, "search", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return panel.Found{}, err
	}
	defer c.close()
	dir, err := CleanPath(q.Path)
	if err != nil {
		return panel.Found{}, err
	}
	s := search{call: c, text: strings.ToLower(q.Text), results: min(q.MaxResults, maxResults)}
	if s.results <= 0 {
		s.results = defaultResults
	}
	if s.text == "" {
		return panel.Found{}, fmt.Errorf("%w: nothing to search for", panel.ErrInvalid)
	}
	look := s.name
	if q.InContent {
		end, ok := d.searches.Acquire(ref)
		if !ok {
			return panel.Found{}, fmt.Errorf("%w: %d searches of content at a time, %d of all accounts", panel.ErrBusy, mostSearches, mostSearchesAll)
		}
		defer end()
		look = s.content
	} else if s.glob = strings.ContainsAny(q.Text, "*?["); s.glob {
		if _, err := path.Match(s.text, ""); err != nil {
			return panel.Found{}, fmt.Errorf("%w: %w", panel.ErrInvalid, err)
		}
	}
	if _, err := c.root.Stat(dir); err != nil {
		return panel.Found{}, err
	}
	err = c.walk(dir, func(name string, info fs.FileInfo) error {
		if s.visited++; s.visited > maxVisited {
			return errEnough
		}
		if name == dir && info.IsDir() {
			return nil
		}
		if err := look(name, info); err != nil || !info.IsDir() || len(name) <= maxPath {
			return err
		}
		s.found.Truncated = true
		return fs.SkipDir
	})
	if errors.Is(err, errEnough) {
		s.found.Truncated, err = true, nil
	}
	return s.found, err
}

// errEnough ends a walk that has reached one of the search's bounds.
var errEnough = errors.New("enough")

type search struct {
	*call
	text     string // lower case
	glob     bool
	results  int
	visited  int
	searched int64
	found    panel.Found
}

func (s *search) add(m panel.Match) error {
	if len(s.found.Matches) == s.results {
		return errEnough
	}
	s.found.Matches = append(s.found.Matches, m)
	return nil
}

func (s *search) name(name string, _ fs.FileInfo) error {
	base := strings.ToLower(path.Base(name))
	matches := strings.Contains(base, s.text)
	if s.glob {
		matches, _ = path.Match(s.text, base) // the pattern was tried before
	}
	if !matches {
		return nil
	}
	entry, err := s.entry(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.add(panel.Match{Entry: entry})
}

func (s *search) content(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	f, info, err := s.openFile(name)
	if err != nil {
		return nil // vanished or unreadable: nothing to find in it
	}
	defer f.Close()
	if s.searched >= maxSearched {
		return errEnough
	}
	in := bufio.NewReaderSize(io.LimitReader(patient{s, f}, maxSearchedFile), 64<<10)
	if head, _ := in.Peek(8 << 10); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	found := 0
	for line := 1; found < perFile; {
		chunk, err := in.ReadSlice('\n')
		s.searched += int64(len(chunk))
		if at := strings.Index(strings.ToLower(string(chunk)), s.text); at >= 0 {
			found++
			m := panel.Match{Entry: s.describe(name, info), Line: line, Excerpt: excerpt(chunk, at, len(s.text))}
			if err := s.add(m); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull): // the rest of a very long line is the next chunk
			return err
		}
	}
	return nil
}

// excerpt is the match with some of its line around it, fit for display. Lower-casing can change the length of the text
// before the match, so its position is only a hint.
func excerpt(line []byte, at, length int) string {
	start := min(max(at-(excerptBytes-min(length, excerptBytes))/2, 0), len(line))
	end := min(start+excerptBytes, len(line))
	clean := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, string(line[start:end]))
	return strings.TrimSpace(clean)
}

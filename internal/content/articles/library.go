package articles

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/db"
)

// libraryFiles are the articles that ship with Stead, in the form of an import.
//
//go:embed library
var libraryFiles embed.FS

// Library is the directory of the articles that ship with Stead.
func Library() fs.FS {
	dir, err := fs.Sub(libraryFiles, "library")
	if err != nil {
		panic(fmt.Sprintf("articles: the library: %v", err)) // the name is a constant
	}
	return dir
}

// libraryName is the row in which the version of the whole library is noted.
const libraryName = "library"

// library is the parsed library with its version; tests hold that it has no problems.
var library = sync.OnceValues(func() (b bundle, err error) {
	b, problems, err := readBundle(Library())
	if err == nil && len(problems) > 0 {
		err = problems
	}
	return b, err
})

// libraryVersion is a hash of all files of the library.
var libraryVersion = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(libraryFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := libraryFiles.ReadFile(path)
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00", path, len(content))
		h.Write(content)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:16])
})

// BringLibrary brings the library of this version into the installation, once for each version. What the company has
// written, changed or removed stays as it is; what an older library brought, the newer one replaces, or removes where it
// has it no more.
func (s *Service) BringLibrary(ctx context.Context) error {
	b, err := library()
	if err != nil {
		return fmt.Errorf("articles: the library: %w", err)
	}
	return s.bring(ctx, b, libraryVersion())
}

func (s *Service) bring(ctx context.Context, b bundle, version string) error {
	brought, err := broughtByLibrary(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("articles: read what the library brought: %w", err)
	}
	if brought[libraryName] == version {
		return nil
	}
	return s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		brought, err := broughtByLibrary(ctx, tx)
		if err != nil || brought[libraryName] == version { // another replica was faster
			return err
		}
		b, gone, err := unchanged(ctx, tx, b, brought)
		if err != nil {
			return err
		}
		var r Report
		if err := s.apply(ctx, tx, b, fromLibrary, false, &r); err != nil {
			return err
		}
		for _, a := range gone.articles {
			if err := remove(ctx, tx, a.Kind, a.Slug); err != nil {
				return fmt.Errorf("articles: remove %s: %w", name(a), err)
			}
		}
		for _, m := range gone.media {
			if err := removeMedia(ctx, tx, m.Name); err != nil {
				return fmt.Errorf("articles: remove picture %s: %w", m.Name, err)
			}
		}
		for n := range b.names() {
			if err := noteBrought(ctx, tx, n, version); err != nil {
				return fmt.Errorf("articles: note %s: %w", n, err)
			}
		}
		if err := noteBrought(ctx, tx, libraryName, version); err != nil {
			return fmt.Errorf("articles: note the library: %w", err)
		}
		s.Log.InfoContext(ctx, "the library of articles was brought in", "created", len(r.Created), "updated", len(r.Updated),
			"removed", len(gone.articles)+len(gone.media), "unchanged", r.Unchanged)
		return nil
	})
}

// names lists what the bundle has.
func (b bundle) names() map[string]bool {
	names := map[string]bool{}
	for _, a := range b.articles {
		names[name(a)] = true
	}
	for _, m := range b.media {
		names["media/"+m.Name] = true
	}
	return names
}

// unchanged leaves out of the library what the company has written, changed or removed. gone is what an older library
// brought and this one does not have, as far as nobody has changed it.
func unchanged(ctx context.Context, tx *db.Tx, b bundle, brought map[string]string) (kept, gone bundle, err error) {
	sources, err := readSources(ctx, tx)
	if err != nil {
		return kept, gone, fmt.Errorf("articles: read sources: %w", err)
	}
	ours := func(n string) bool {
		from, there := sources[n]
		_, before := brought[n]
		return from == fromLibrary || !there && !before
	}
	for _, a := range b.articles {
		if ours(name(a)) {
			kept.articles = append(kept.articles, a)
		}
	}
	for _, m := range b.media {
		if ours("media/" + m.Name) {
			kept.media = append(kept.media, m)
		}
	}
	has := b.names()
	present, err := listAll(ctx, tx, true)
	if err != nil {
		return kept, gone, err
	}
	for _, a := range present {
		if a.source == fromLibrary && !has[name(a)] {
			gone.articles = append(gone.articles, a)
		}
	}
	for n, from := range sources {
		if m, ok := strings.CutPrefix(n, "media/"); ok && from == fromLibrary && !has[n] {
			gone.media = append(gone.media, Media{Name: m})
		}
	}
	return kept, gone, nil
}

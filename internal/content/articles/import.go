package articles

import (
	"context"
	"fmt"
	"io/fs"
	"sort"

	"stead.dev/stead/internal/platform/db"
)

// Report says what an import did, by names such as kb/first-site and media/panel.png.
type Report struct {
	Created   []string `json:"created"`
	Updated   []string `json:"updated"`
	Removed   []string `json:"removed"`
	Unchanged int      `json:"unchanged"`
}

// Import takes over the articles and pictures of a directory; docs/content.md describes its form. With prune, those that it
// does not have are removed. A directory with problems is refused whole, with all of them (Problems).
func (s *Service) Import(ctx context.Context, dir fs.FS, prune bool) (Report, error) {
	b, problems, err := readBundle(dir)
	if err != nil {
		return Report{}, err
	}
	if len(b.files) == 0 && len(b.media) == 0 && len(problems) == 0 {
		problems.add("kb", 0, "there are no texts: they lie in the directories kb, blog and glossary")
	}
	var r Report
	err = s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		r = Report{Created: []string{}, Updated: []string{}, Removed: []string{}} // the transaction may be repeated
		var there map[string]source
		if !prune {
			if there, err = readSources(ctx, tx); err != nil {
				return fmt.Errorf("articles: read names: %w", err)
			}
		}
		if all := append(append(Problems{}, problems...), b.dangling(there)...); len(all) > 0 {
			return sorted(all)
		}
		return s.apply(ctx, tx, b, fromCompany, prune, &r)
	})
	if err != nil {
		return Report{}, err
	}
	return r, nil
}

func sorted(p Problems) Problems {
	sort.SliceStable(p, func(i, j int) bool {
		return p[i].File < p[j].File || p[i].File == p[j].File && p[i].Line < p[j].Line
	})
	return p
}

// dangling finds links that lead to nothing of the bundle and nothing that is there already.
func (b bundle) dangling(there map[string]source) (problems Problems) {
	has := b.names()
	for _, f := range b.files {
		for _, r := range f.references {
			if _, before := there[r.String()]; !has[r.String()] && !before {
				problems.addAs("article_dangling", map[string]any{"Name": r.String()}, f.path, r.line, "there is no %s", r)
			}
		}
	}
	return problems
}

// name is how an article is called in reports and by links.
func name(a Article) string { return string(a.Kind) + "/" + a.Slug }

// apply writes what differs. It reads the present state under the lock of change.
func (s *Service) apply(ctx context.Context, tx *db.Tx, b bundle, from source, prune bool, r *Report) error {
	present, err := listAll(ctx, tx, true)
	if err != nil {
		return fmt.Errorf("articles: read all: %w", err)
	}
	old := map[string]Article{}
	for _, a := range present {
		old[name(a)] = a
	}
	for _, a := range b.articles {
		before, there := old[name(a)]
		delete(old, name(a))
		if there && before.equal(a) {
			r.Unchanged++
			continue
		}
		a.source = from
		if _, err := put(ctx, tx, a); err != nil {
			return fmt.Errorf("articles: write %s: %w", name(a), err)
		}
		r.note(there, name(a))
	}
	pictures, err := listMedia(ctx, tx)
	if err != nil {
		return fmt.Errorf("articles: read pictures: %w", err)
	}
	shown := map[string]Media{}
	for _, m := range pictures {
		shown[m.Name] = m
	}
	for _, m := range b.media {
		before, there := shown[m.Name]
		delete(shown, m.Name)
		if there && string(before.Content) == string(m.Content) {
			r.Unchanged++
			continue
		}
		m.source = from
		if err := putMedia(ctx, tx, m); err != nil {
			return fmt.Errorf("articles: write picture %s: %w", m.Name, err)
		}
		r.note(there, "media/"+m.Name)
	}
	if !prune {
		return nil
	}
	for _, a := range present {
		if _, left := old[name(a)]; left {
			if err := remove(ctx, tx, a.Kind, a.Slug); err != nil {
				return fmt.Errorf("articles: remove %s: %w", name(a), err)
			}
			r.Removed = append(r.Removed, name(a))
		}
	}
	for _, m := range pictures {
		if _, left := shown[m.Name]; left {
			if err := removeMedia(ctx, tx, m.Name); err != nil {
				return fmt.Errorf("articles: remove picture %s: %w", m.Name, err)
			}
			r.Removed = append(r.Removed, "media/"+m.Name)
		}
	}
	return nil
}

func (r *Report) note(there bool, name string) {
	if there {
		r.Updated = append(r.Updated, name)
	} else {
		r.Created = append(r.Created, name)
	}
}

// Files are the articles and pictures in the form that Import reads, by the paths of their files.
func (s *Service) Files(ctx context.Context) (map[string][]byte, error) {
	all, err := listAll(ctx, s.DB, true)
	if err != nil {
		return nil, fmt.Errorf("articles: read all: %w", err)
	}
	files := map[string][]byte{}
	for _, a := range all {
		for lang := range a.Texts {
			content, err := renderFile(a, lang)
			if err != nil {
				return nil, err
			}
			files[filePath(a.Kind, a.Slug, lang)] = content
		}
	}
	pictures, err := listMedia(ctx, s.DB)
	if err != nil {
		return nil, fmt.Errorf("articles: read pictures: %w", err)
	}
	for _, m := range pictures {
		files["media/"+m.Name] = m.Content
	}
	return files, nil
}

package articles

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// maxPictureSide bounds what is uploaded, in pixels of a side.
const maxPictureSide = 8192

// Picture is a picture of articles as those who write them see it.
type Picture struct {
	Name          string
	Width, Height int // in pixels; zero where it is not known, as of drawings
	Bytes         int64
}

// Pictures lists all pictures by name. There are some hundreds.
func (s *Service) Pictures(ctx context.Context) ([]Picture, error) { return listPictures(ctx, s.DB) }

// AddPicture keeps a picture under a name that none has. Drawings (SVG) come by the import alone: they are documents.
func (s *Service) AddPicture(ctx context.Context, name string, content []byte) (Picture, error) {
	m := Media{Name: name, Content: content, source: fromCompany}
	of := m.size()
	switch {
	case len(content) > maxMedia:
		return Picture{}, fault.InvalidData("content", "article_picture_size", map[string]any{"Max": maxMedia >> 20})
	case !slugForm.MatchString(strings.TrimSuffix(name, path.Ext(name))) || len(name) > maxSlug || path.Ext(name) == "":
		return Picture{}, fault.Invalid("name", "article_picture_name")
	case path.Ext(name) == ".svg" || checkMedia(m) != "" || of.width < 1 || of.height < 1 || of.width > maxPictureSide || of.height > maxPictureSide:
		return Picture{}, fault.Invalid("content", "article_picture_type")
	}
	m, err := m.cleaned()
	if err != nil {
		return Picture{}, fault.Invalid("content", "article_picture_type")
	}
	err = s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		sources, err := readSources(ctx, tx)
		switch _, taken := sources["media/"+name]; {
		case err != nil:
			return fmt.Errorf("articles: read names: %w", err)
		case taken:
			return fault.Invalid("name", "article_picture_taken")
		}
		return putMedia(ctx, tx, m)
	})
	return Picture{name, of.width, of.height, int64(len(m.Content))}, err
}

// RemovePicture removes a picture that no article shows, drafts too.
func (s *Service) RemovePicture(ctx context.Context, name string) error {
	return s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		sources, err := readSources(ctx, tx)
		if err != nil {
			return fmt.Errorf("articles: read names: %w", err)
		}
		if _, there := sources["media/"+name]; !there {
			return fault.NotFound.New()
		}
		from, err := showing(ctx, tx, name)
		switch {
		case err != nil:
			return err
		case len(from) > 0:
			return errShown.With(fault.Fields{"articles": strings.Join(from, ", ")})
		}
		return removeMedia(ctx, tx, name)
	})
}

// showing names the articles that show a picture.
func showing(ctx context.Context, q db.Querier, picture string) (from []string, err error) {
	all, err := listAll(ctx, q, true)
	if err != nil {
		return nil, fmt.Errorf("articles: read all: %w", err)
	}
	for _, a := range all {
		for _, t := range a.Texts {
			if slices.Contains(pictures(a.Kind, t.Body), picture) {
				from = append(from, name(a))
				break
			}
		}
	}
	return from, nil
}

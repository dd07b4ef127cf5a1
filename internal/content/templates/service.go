package templates

import (
	"context"
	"net/url"
	"strconv"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	BaseURL string
	// PreviewOrigin is where previews are shown, such as https://preview.example.com; empty: below BaseURL, in a
	// sandbox.
	PreviewOrigin string
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// previewURL is the address of a template's preview.
func (s *Service) previewURL(t *Template) string {
	origin := s.PreviewOrigin
	if origin == "" {
		origin = s.BaseURL
	}
	return origin + "/templates/" + strconv.FormatInt(t.ID, 10) + "/preview"
}

// thumbnailURL is the address of a template's picture.
func (s *Service) thumbnailURL(t *Template) string {
	return s.BaseURL + "/templates/" + strconv.FormatInt(t.ID, 10) + "/thumbnail"
}

// PreviewHost is the host, with its port, that shows previews and nothing else; empty where previews have no origin of
// their own.
func (s *Service) PreviewHost() string {
	u, err := url.Parse(s.PreviewOrigin)
	if err != nil {
		return "" // the configuration is checked at the start
	}
	return u.Host
}

// used counts the services that have each template, by slug.
func (s *Service) used(ctx context.Context) (map[string]int, error) { return used(ctx, s.DB) }

// Installed returns what was last put on one of the account's services, or fault.NotFound.
func (s *Service) Installed(ctx context.Context, accountID, serviceID int64) (Installation, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return Installation{}, err
	}
	return ofService(ctx, s.DB, accountID, serviceID)
}

// Install puts a template on one of the account's services: a job writes the files.
func (s *Service) Install(ctx context.Context, accountID, serviceID int64, w Wish) (i Installation, err error) {
	if w, err = w.normal(); err != nil {
		return i, err
	}
	if offered, err := s.IsOffered(ctx, s.DB, Find(w.Slug).ID); err != nil {
		return i, err
	} else if !offered {
		return i, errUnknown()
	}
	if err := s.refuseEarly(ctx, accountID, serviceID, w); err != nil {
		return i, err
	}
	err = site.Change[panel.Files](ctx, s.DB, s.Services, s.Panels, panel.CapFiles, accountID, serviceID,
		func(ctx context.Context, tx *db.Tx, _ site.Site) error {
			running, err := isRunning(ctx, tx, serviceID)
			if err != nil {
				return err
			}
			if running {
				return fault.JobRunning.New()
			}
			if i, err = replace(ctx, tx, Installation{ServiceID: serviceID, AccountID: accountID, Wish: w, Status: Pending}); err != nil {
				return err
			}
			return s.enqueue(ctx, tx, i.ID)
		})
	return i, err
}

// refuseEarly asks the panel for what is in the way, so that the caller learns of it at once. The job looks again.
func (s *Service) refuseEarly(ctx context.Context, accountID, serviceID int64, w Wish) error {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err == nil {
		err = on.Changeable()
	}
	if err != nil {
		return err
	}
	files, err := site.On[panel.Files](s.Panels, on, panel.CapFiles)
	if err != nil {
		return site.Refusal(err)
	}
	made, err := Find(w.Slug).Site(w.Language, w.Title)
	if err != nil {
		return err
	}
	there, err := inTheWay(ctx, files, on.Ref, Installation{Wish: w}, made)
	switch {
	case err != nil:
		return refusal(err)
	case len(there) > 0 && !w.Overwrite:
		return errFilesExist.With(fault.Fields{"paths": paths(there)})
	}
	return nil
}

// Closed forgets what an account has put on its services.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return forget(ctx, tx, accountID)
}

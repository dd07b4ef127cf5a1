package templates

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// run does an installation. It may run twice, also at once: it compares what is there with what should be, keeps aside
// what differs, and replaces it. What fails for good is undone.
func (s *Service) run(ctx context.Context, id int64) error {
	i, there, err := find(ctx, s.DB, id)
	if err != nil || !there {
		return err
	}
	on, err := s.Services.Site(ctx, s.DB, i.AccountID, i.ServiceID)
	if err == nil {
		err = on.Changeable()
	}
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Def != fault.Internal {
		return s.finish(ctx, i, Failed, &refused.Def.Key, "")
	}
	if err != nil {
		return err
	}
	files, err := site.On[panel.Files](s.Panels, on, panel.CapFiles)
	if errors.Is(err, panel.ErrUnsupported) {
		return s.finish(ctx, i, Failed, &fault.UnsupportedOperation.Key, "")
	}
	if err != nil {
		return err
	}
	made, err := Find(i.Slug).Site(i.Language, i.Title)
	if err != nil {
		return err
	}
	w := work{files: files, ref: on.Ref, installation: i, site: made, note: func(names []string) ([]string, error) { return s.noteAbsent(ctx, i.ID, names) }}
	keptIn, err := w.do(ctx)
	var exist *fault.Error
	switch {
	case errors.As(err, &exist):
		return s.finish(ctx, i, Failed, &exist.Def.Key, "")
	case err != nil && site.ForGood(err):
		if undone := w.undo(ctx); undone != nil {
			return errors.Join(err, undone) // tried again from the start
		}
		key := site.FailureKey(err)
		return s.finish(ctx, i, Failed, &key, "")
	case err != nil:
		return err
	}
	return s.finish(ctx, i, Completed, nil, keptIn)
}

// finish notes the end of an installation and tells who shows it.
func (s *Service) finish(ctx context.Context, i Installation, status Status, failureKey *string, keptIn string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		first, err := finish(ctx, tx, i.ID, status, failureKey, keptIn)
		if err != nil || !first {
			return err
		}
		return s.Tell(ctx, tx, "template", site.Owned{ID: i.ID, AccountID: i.AccountID, ServiceID: i.ServiceID}, string(status))
	})
}

// noteAbsent keeps which files of the template were not there before the first run, and returns what that run has found.
func (s *Service) noteAbsent(ctx context.Context, id int64, names []string) (first []string, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		first, err = noteAbsent(ctx, tx, id, names)
		return err
	})
	return first, err
}

// work is an installation with the panel that it is done on.
type work struct {
	files        panel.Files
	ref          string
	installation Installation
	site         []File

	note   func(absent []string) ([]string, error) // see noteAbsent
	absent []string                                // files of the site that were not there before; only these may be removed
}

// do writes the files and returns the folder that keeps what was replaced; empty when nothing was.
func (w *work) do(ctx context.Context) (keptIn string, err error) {
	i := w.installation
	obstacles, err := inTheWay(ctx, w.files, w.ref, i, w.site)
	if err != nil {
		return "", err
	}
	if len(obstacles) > 0 && !i.Overwrite {
		return "", errFilesExist.New()
	}
	if w.absent, err = w.missing(ctx); err != nil {
		return "", err
	}
	if w.absent, err = w.note(w.absent); err != nil {
		return "", err
	}
	for _, o := range obstacles {
		if err := w.keep(ctx, o); err != nil {
			return "", err
		}
	}
	for _, f := range w.site {
		if _, err := w.files.Write(ctx, w.ref, i.at(f.Name), f.Content, panel.WriteOptions{Parents: true}); err != nil {
			return "", err
		}
	}
	// Other home pages would hide ours on some servers; they are kept by now.
	for _, o := range obstacles {
		if !slices.ContainsFunc(w.site, func(f File) bool { return f.Name == o.Name }) {
			if err := w.files.Remove(ctx, w.ref, o.Path, true); err != nil && panel.KindOf(err) != panel.ErrNotFound {
				return "", err
			}
		}
	}
	if _, err := w.files.Stat(ctx, w.ref, i.keptDirectory()); panel.KindOf(err) == panel.ErrNotFound {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return i.keptDirectory(), nil
}

// keep copies what is in the way to the folder of what was replaced, so that visitors see it until it is. What is no
// file cannot be replaced by one and is moved. What an earlier run has kept stays.
func (w *work) keep(ctx context.Context, o panel.Entry) error {
	if _, err := w.files.Mkdir(ctx, w.ref, w.installation.keptDirectory()); err != nil {
		return err
	}
	aside := w.files.Copy
	if o.Type != panel.TypeFile {
		aside = w.files.Move
	}
	_, err := aside(ctx, w.ref, o.Path, w.installation.kept(o.Name), false)
	if kind := panel.KindOf(err); o.Type == panel.TypeFile && kind == panel.ErrExists || kind == panel.ErrNotFound {
		return nil
	}
	return err
}

// missing lists the files of the site that are not there.
func (w *work) missing(ctx context.Context) (names []string, err error) {
	for _, f := range w.site {
		_, err := w.files.Stat(ctx, w.ref, w.installation.at(f.Name))
		if panel.KindOf(err) == panel.ErrNotFound {
			names = append(names, f.Name)
		} else if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// undo puts back what was kept, and removes the files of the template that were not there before. A file that was there with the
// template's content, such as the style of an earlier installation, was not written and stays.
func (w *work) undo(ctx context.Context) error {
	i := w.installation
	kept, err := w.files.List(ctx, w.ref, i.keptDirectory(), 0, 0)
	if err != nil && panel.KindOf(err) != panel.ErrNotFound {
		return err
	}
	for _, f := range w.site {
		if !slices.Contains(w.absent, f.Name) {
			continue
		}
		if ours, err := w.isOurs(ctx, f); err != nil {
			return err
		} else if !ours {
			continue
		}
		if err := w.files.Remove(ctx, w.ref, i.at(f.Name), false); err != nil {
			return err
		}
	}
	for _, e := range kept.Entries {
		if _, err := w.files.Move(ctx, w.ref, e.Path, i.at(e.Name), true); err != nil {
			return err
		}
	}
	if len(kept.Entries) == 0 {
		return nil
	}
	return w.files.Remove(ctx, w.ref, i.keptDirectory(), true)
}

// isOurs reports whether the file is there as the template has it.
func (w *work) isOurs(ctx context.Context, f File) (bool, error) {
	e, err := w.files.Stat(ctx, w.ref, w.installation.at(f.Name))
	if panel.KindOf(err) == panel.ErrNotFound || panel.KindOf(err) == panel.ErrPathNotAllowed {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return same(ctx, w.files, w.ref, e, f)
}

// same reports whether the entry is a file with that content.
func same(ctx context.Context, files panel.Files, ref string, e panel.Entry, f File) (bool, error) {
	if e.Type != panel.TypeFile || e.SizeBytes != int64(len(f.Content)) {
		return false, nil
	}
	c, err := files.Read(ctx, ref, e.Path, panel.ReadOptions{MaxBytes: e.SizeBytes + 1})
	return err == nil && bytes.Equal(c.Data, f.Content), err
}

// inTheWay lists what the site would replace or hide: files of its names with another content, and other home pages.
func inTheWay(ctx context.Context, files panel.Files, ref string, i Installation, made []File) (there []panel.Entry, err error) {
	names := slices.Clone(indexes)
	for _, f := range made {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		e, err := files.Stat(ctx, ref, i.at(name))
		if panel.KindOf(err) == panel.ErrNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(made, func(f File) bool { return f.Name == name })
		if at >= 0 {
			ours, err := same(ctx, files, ref, e, made[at])
			if err != nil {
				return nil, err
			}
			if ours {
				continue
			}
		}
		there = append(there, e)
	}
	return there, nil
}

func paths(entries []panel.Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Path
	}
	return all
}

// refusal translates a failure of the panel within a request.
func refusal(err error) error {
	switch panel.KindOf(err) {
	case panel.ErrPathNotAllowed:
		return fault.PathNotAllowed.Wrap(err)
	case panel.ErrInvalid:
		invalid := fault.Invalid("directory", "file_path")
		invalid.Cause = err
		return invalid
	default:
		return site.Refusal(err)
	}
}

package runs

import (
	"context"
	"errors"
	"path"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// project is a service: its files, as its hosting server has them, and what other sections know of it. The server does everything as the account's user,
// beneath the account's home.
type project struct {
	Needs

	accountID, serviceID int64
	files                panel.Files
	archives             panel.Archives // nil where the hosting server has none
	programs             panel.PHP      // nil likewise
	ref                  string
}

// project finds the files of one of the account's services, which must take changes.
func (s *Service) project(ctx context.Context, accountID, serviceID int64) (project, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err == nil {
		err = on.Changeable()
	}
	if err != nil {
		return project{}, err
	}
	files, err := site.On[panel.Files](s.Panels, on, panel.CapFiles)
	if err != nil {
		return project{}, site.Refusal(err)
	}
	archives, err := site.On[panel.Archives](s.Panels, on, panel.CapArchives)
	if errors.Is(err, panel.ErrUnsupported) {
		archives, err = nil, nil
	}
	if err != nil {
		return project{}, site.Refusal(err)
	}
	programs, err := site.On[panel.PHP](s.Panels, on, panel.CapPHP)
	if errors.Is(err, panel.ErrUnsupported) {
		programs, err = nil, nil
	}
	return project{s.Needs, accountID, serviceID, files, archives, programs, on.Ref}, site.Refusal(err)
}

// thing is what is at a path.
type thing struct {
	hash    string // see nothing
	content []byte // of a file that is not too large to be edited
	etag    string // the server's name of the version
	size    int64
}

// look tells what is at a path. A link, and what is behind one, is other: the agent follows none, because they lead out of
// the folders to which it is confined.
func (p project) look(ctx context.Context, name string) (thing, error) {
	if name == phpPath {
		return p.lookPHP(ctx)
	}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		switch e, err := p.files.Stat(ctx, p.ref, dir); {
		case errors.Is(err, panel.ErrNotFound):
			return thing{hash: nothing}, nil
		case err != nil:
			return thing{}, err
		case e.Type != panel.TypeDirectory:
			return thing{hash: other}, nil
		}
	}
	e, err := p.files.Stat(ctx, p.ref, name)
	switch {
	case errors.Is(err, panel.ErrNotFound):
		return thing{hash: nothing}, nil
	case err != nil:
		return thing{}, err
	case e.Type == panel.TypeDirectory:
		return thing{hash: directory}, nil
	case e.Type != panel.TypeFile:
		return thing{hash: other}, nil
	case e.SizeBytes > mostEdited:
		return versionOf(e), nil
	}
	c, err := p.files.Read(ctx, p.ref, name, panel.ReadOptions{MaxBytes: mostEdited})
	switch {
	case errors.Is(err, panel.ErrNotFound):
		return thing{hash: nothing}, nil
	case errors.Is(err, panel.ErrFileTooLarge):
		return versionOf(e), nil
	case err != nil:
		return thing{}, err
	case c.Truncated:
		return versionOf(c.Entry), nil
	}
	return thing{hash: hashOf(c.Data), content: c.Data, etag: c.ETag, size: c.SizeBytes}, nil
}

// versionOf tells of a file that is too large to be read; the server's name of its version stays when it is moved.
func versionOf(e panel.Entry) thing {
	return thing{hash: "version:" + e.ETag, etag: e.ETag, size: e.SizeBytes}
}

// lookAt tells what is at paths.
func (p project) lookAt(ctx context.Context, paths []string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range paths {
		t, err := p.look(ctx, name)
		if err != nil {
			return nil, err
		}
		found[name] = t.hash
	}
	return found, nil
}

// apply makes a change, unless it was made already or something else is there now. content is what a change that writes
// leaves. An error means that it is not known whether the change was made: to apply it again finds out.
func (p project) apply(ctx context.Context, c change, content []byte) (changeStatus, error) {
	at, err := p.look(ctx, c.path)
	if err != nil {
		return "", err
	}
	var to thing
	if c.toPath != "" {
		if to, err = p.look(ctx, c.toPath); err != nil {
			return "", err
		}
	}
	switch c.judge(at.hash, to.hash) {
	case made:
		return applied, nil
	case clash:
		return conflict, nil
	case possible:
	}
	switch {
	case c.kind == php:
		return p.applyPHP(ctx, at, content)
	case c.kind == unpack:
		err = p.applyUnpack(ctx, c)
	case c.kind.writes():
		_, err = p.files.Write(ctx, p.ref, c.path, content, panel.WriteOptions{ETag: at.etag, IfAbsent: c.before == nothing})
	case c.kind == remove:
		if _, err = p.files.Mkdir(ctx, p.ref, trash); err == nil {
			_, err = p.files.Move(ctx, p.ref, c.path, c.toPath, false)
		}
	case c.kind == move:
		_, err = p.files.Move(ctx, p.ref, c.path, c.toPath, false)
	case c.kind == mkdir:
		_, err = p.files.Mkdir(ctx, p.ref, c.path)
	case c.kind == rmdir:
		err = p.files.Remove(ctx, p.ref, c.path, false)
	}
	switch panel.KindOf(err) {
	case panel.ErrETagMismatch, panel.ErrExists, panel.ErrNotFound:
		return conflict, nil // somebody changed it at the same moment
	case panel.ErrPathNotAllowed, panel.ErrInvalid, panel.ErrDiskFull, panel.ErrLimit, panel.ErrSuspended, panel.ErrInUse, panel.ErrFileTooLarge,
		panel.ErrUnsupported:
		return failed, nil
	}
	return applied, err
}

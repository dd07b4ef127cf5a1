package admin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// placeOf is where a tree belongs: its name in the report and a function from its paths to those in the home; "" for what is not taken.
func (b *bringing) placeOf(t archive.Tree) (name string, to func(string) string, reason string) {
	if t.Domain == "" {
		return t.Name, func(p string) string { return path.Join("imported", p) }, ""
	}
	i := slices.IndexFunc(b.inv.Domains, func(d archive.Domain) bool { return d.Name == t.Domain })
	here := b.sites[t.Domain]
	if i < 0 || here == "" {
		return t.Domain, nil, "its site is not brought along"
	}
	base, root := strings.TrimPrefix(b.base(here), "/"), b.inv.Domains[i].Root
	return t.Domain, func(p string) string {
		if top, _, _ := strings.Cut(p, "/"); base == "" && (top == "logs" || top == "tmp" || top == "sites" || "/"+top == loading) {
			return "" // the home has its own
		}
		return path.Join(base, p)
	}, rootless(root)
}

func rootless(root string) string {
	if root == "" || strings.HasPrefix(root, "/") || strings.Contains("/"+root+"/", "/../") {
		return "its document root is none"
	}
	return ""
}

// Bounds of a batch: small files travel together, in an archive that the machine unpacks.
const (
	batchFiles = 2000
	batchBytes = 16 << 20
	smallFile  = 1 << 20
)

// sending sends the files of a tree.
type sending struct {
	*bringing
	files    panel.Files
	archives panel.Archives
	item     AccountThing
	of       string
	seen     map[string]map[string]panel.Entry // directories of the home, by their path
	batch    []queued
	bytes    int64
}

type queued struct {
	archive.File
	data []byte
}

func (b *bringing) files(ctx context.Context) error {
	files, err := site.On[panel.Files](b.Hosting.Panels, b.on, panel.CapFiles)
	if err != nil {
		return site.Refusal(err)
	}
	archives, err := site.On[panel.Archives](b.Hosting.Panels, b.on, panel.CapArchives)
	if err != nil {
		return site.Refusal(err)
	}
	for _, t := range b.inv.Trees {
		name, to, reason := b.placeOf(t)
		s := &sending{bringing: b, files: files, archives: archives, of: name, seen: map[string]map[string]panel.Entry{}, item: AccountThing{Kind: "files", Name: name, State: importNew}}
		if reason != "" {
			s.item.State, s.item.Reason = importLeft, reason
			b.add(s.item)
			continue
		}
		b.told("sending the files of %s", name)
		err := s.tree(ctx, t, to)
		if err == nil {
			err = s.flush(ctx)
		}
		if err = failed(&s.item, err); s.item.State == importNew && s.item.Count == 0 && s.item.There > 0 {
			s.item.State = importThere
		}
		if s.item.State != importNew || s.item.Count > 0 { // there is something in it
			b.add(s.item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sending) tree(ctx context.Context, t archive.Tree, to func(string) string) error {
	for f, err := range t.Files() {
		if err != nil {
			if err := s.refused(ctx, "files", s.of, err); err != nil {
				return err
			}
			continue
		}
		if f.Path = to(f.Path); f.Path == "" || f.Path == "." {
			continue
		}
		if err := s.one(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// one sends a file, unless it is there.
func (s *sending) one(ctx context.Context, f archive.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	there, err := s.entry(ctx, f.Path)
	switch {
	case err != nil:
		return err
	case f.Type == panel.TypeDirectory && there.Type == panel.TypeDirectory:
		return nil
	case there.Name != "" && (!s.o.Replace || f.Type == panel.TypeDirectory || there.Type == panel.TypeDirectory):
		if f.Type != panel.TypeDirectory {
			s.item.There++
		}
		if (f.Type == panel.TypeDirectory) != (there.Type == panel.TypeDirectory) {
			s.add(AccountThing{Kind: "files", Name: "/" + f.Path, State: importLeft, Reason: "something of another kind has the name"})
		}
		return nil
	case f.Type == panel.TypeFile && f.Size > smallFile && !f.Exec:
		if err := s.flush(ctx); err != nil {
			return err
		}
		return s.upload(ctx, f, f.Body)
	}
	q := queued{File: f}
	if f.Type == panel.TypeFile {
		const mostExec = 256 << 20 // of a program, which is held in memory
		if f.Size > mostExec {
			s.add(AccountThing{Kind: "files", Name: "/" + f.Path, State: importLeft, Reason: "a program of more than 256 MiB"})
			return nil
		}
		if q.data, err = io.ReadAll(f.Body); err != nil {
			return fmt.Errorf("%w: %s: %w", archive.ErrFormat, f.Path, err)
		}
		q.data = s.configured(f.Path, q.data)
		q.Size = int64(len(q.data))
	}
	s.batch = append(s.batch, q)
	if s.bytes += q.Size; len(s.batch) >= batchFiles || s.bytes >= batchBytes {
		return s.flush(ctx)
	}
	return nil
}

// listedAtOnce is how many entries of a directory are asked for in one call.
const listedAtOnce = 10_000

// mostListed bounds the entries of a directory that are asked for, whatever a machine says.
const mostListed = 1_000_000

// entry is what the home has at a path; nothing when it has nothing.
func (s *sending) entry(ctx context.Context, name string) (panel.Entry, error) {
	dir := path.Dir(name)
	there, known := s.seen[dir]
	if !known {
		there = map[string]panel.Entry{}
		above := panel.Entry{Type: panel.TypeDirectory}
		if dir != "." {
			var err error
			if above, err = s.entry(ctx, dir); err != nil {
				return above, err
			}
		}
		if above.Type == panel.TypeDirectory {
			for offset := 0; ; offset += listedAtOnce {
				found, err := s.files.List(ctx, s.on.Ref, "/"+dir, offset, listedAtOnce)
				if err != nil && !errors.Is(err, panel.ErrNotFound) {
					return panel.Entry{}, err
				}
				for _, e := range found.Entries {
					there[e.Name] = e
				}
				// A page may be short: what goes while it is read is left out.
				if offset+listedAtOnce >= min(found.Total, mostListed) {
					break
				}
			}
		}
		s.seen[dir] = there
	}
	return there[path.Base(name)], nil
}

func (s *sending) upload(ctx context.Context, f archive.File, body io.Reader) error {
	e, err := s.files.Upload(ctx, s.on.Ref, "/"+f.Path, body, panel.WriteOptions{Parents: true, IfAbsent: !s.o.Replace})
	return s.sent(f, e.SizeBytes, err)
}

// sent counts a file, or reports why the machine refuses it. Only a full account ends the tree.
func (s *sending) sent(f archive.File, bytes int64, err error) error {
	t := AccountThing{Kind: "files", Name: "/" + f.Path, State: importNew}
	if kind := panel.KindOf(err); err != nil && (kind == panel.ErrDiskFull || kind == panel.ErrLimit) {
		return err
	}
	if err := failed(&t, err); err != nil {
		return err
	}
	if t.State == importFailed {
		t.State = importLeft
		s.add(t)
		return nil
	}
	if f.Type != panel.TypeDirectory {
		s.item.Count++
		s.item.Bytes += bytes
	}
	return nil
}

// flush sends the batch as an archive. When the machine refuses it, each file is sent by itself, so that the one at fault is known.
func (s *sending) flush(ctx context.Context) error {
	batch := s.batch
	s.batch, s.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	err := s.unpack(ctx, batch)
	switch kind := panel.KindOf(err); {
	case err == nil:
		for _, q := range batch {
			if err := s.sent(q.File, q.Size, nil); err != nil {
				return err
			}
		}
		return nil
	case kind != panel.ErrInvalid && kind != panel.ErrExists && kind != panel.ErrPathNotAllowed:
		return err
	}
	for _, q := range batch {
		if q.Type == panel.TypeFile && !q.Exec {
			err = s.upload(ctx, q.File, bytes.NewReader(q.data))
		} else {
			err = s.sent(q.File, q.Size, s.unpack(ctx, []queued{q}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpack sends files as an archive that the machine unpacks and judges.
func (s *sending) unpack(ctx context.Context, batch []queued) (err error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, q := range batch {
		h := &tar.Header{Name: q.Path, Mode: 0o644, Size: q.Size, Typeflag: tar.TypeReg, ModTime: q.Time, Format: tar.FormatPAX}
		switch {
		case q.Type == panel.TypeDirectory:
			h.Typeflag, h.Mode, h.Size = tar.TypeDir, 0o755, 0
		case q.Type == panel.TypeSymlink:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, q.Link, 0
		case q.Exec:
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return panel.Wrap("import", s.on.Ref, fmt.Errorf("%w: %w", panel.ErrInvalid, err))
		}
		if _, err := t.Write(q.data); err != nil {
			return err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return err
	}
	at := "/tmp/stead-import-" + rand.Text() + ".tar.gz"
	if _, err := s.files.Upload(ctx, s.on.Ref, at, &packed, panel.WriteOptions{Parents: true}); err != nil {
		return err
	}
	_, err = s.archives.Extract(ctx, s.on.Ref, at, "/", s.o.Replace)
	removed := s.files.Remove(context.WithoutCancel(ctx), s.on.Ref, at, false)
	if err == nil && !errors.Is(removed, panel.ErrNotFound) {
		err = removed
	}
	return err
}

// wordpress are the settings of WordPress that name its database.
var wordpress = regexp.MustCompile(`(?m)^([ \t]*define\(\s*['"](DB_NAME|DB_USER|DB_PASSWORD|DB_HOST)['"]\s*,\s*)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\$]|\\.)*")(\s*\)\s*;)`)

var wordpressName = regexp.MustCompile(`define\(\s*['"]DB_NAME['"]\s*,\s*['"]([^'"]+)['"]`)

// configured is a file with the names and the password of its database as they are here: that of WordPress, whose form is known.
func (s *sending) configured(name string, text []byte) []byte {
	if path.Base(name) != "wp-config.php" {
		return text
	}
	found := wordpressName.FindSubmatch(text)
	if found == nil {
		return text
	}
	i := slices.IndexFunc(s.databases, func(d broughtDatabase) bool { return d.Database.Name == string(found[1]) })
	if i < 0 || s.databases[i].password == "" {
		s.add(AccountThing{Kind: "config", Name: "/" + name, State: importLeft, Reason: "its database " + string(found[1]) + " is not here"})
		return text
	}
	d := s.databases[i]
	values := map[string]string{"DB_NAME": d.Imported.Name, "DB_USER": d.Imported.Name, "DB_PASSWORD": d.password, "DB_HOST": d.host}
	s.add(AccountThing{Kind: "config", Name: "/" + name, As: "with database " + d.Imported.Name, State: importNew})
	return wordpress.ReplaceAllFunc(text, func(line []byte) []byte {
		parts := wordpress.FindSubmatch(line)
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(values[string(parts[2])])
		return slices.Concat(parts[1], []byte("'"+quoted+"'"), parts[3])
	})
}

package admin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/databases"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// foresee reports the content that would be sent. It reads the whole archive.
func (b *bringing) foresee(ctx context.Context) error {
	for _, t := range b.inv.Trees {
		name, _, reason := b.placeOf(t)
		item := AccountThing{Kind: "files", Name: name, State: importNew}
		if reason != "" {
			item.State, item.Reason = importLeft, reason
			b.add(item)
			continue
		}
		for f, err := range t.Files() {
			if err := b.refused(ctx, "files", name, err); err != nil {
				return err
			} else if f.Type == panel.TypeFile {
				item.Count++
				item.Bytes += f.Size
			}
		}
		b.add(item)
	}
	for _, s := range b.inv.Stores {
		counts := map[string]*AccountThing{}
		var order []string
		for m, err := range s.Mail() {
			if err := b.refused(ctx, "mail", m.Address, err); err != nil {
				return err
			}
			if m.Type != panel.TypeFile || !b.mailboxes[m.Address] || !message(m.Path) {
				continue
			}
			if counts[m.Address] == nil {
				counts[m.Address] = &AccountThing{Kind: "mail", Name: m.Address, State: importNew}
				order = append(order, m.Address)
			}
			counts[m.Address].Count++
			counts[m.Address].Bytes += m.Size
		}
		for _, address := range order {
			b.add(*counts[address])
		}
	}
	return b.fits()
}

// fits reports content that is larger than the plan's disk.
func (b *bringing) fits() error {
	var total int64
	for _, t := range b.report.Items {
		if t.State == importNew {
			total += t.Bytes
		}
	}
	if most := b.on.Limits.Of("disk_mb"); most != site.Unlimited && total > most<<20 {
		b.add(AccountThing{Kind: "files", Name: "all", State: importFailed, Reason: fmt.Sprintf("%d MiB of files and mail, and the plan has %d: choose a larger plan first", total>>20, most)})
	}
	return nil
}

func message(name string) bool {
	dir := path.Base(path.Dir(name))
	return dir == "cur" || dir == "new"
}

// refused reports an entry of an archive that is not taken; other errors end the import.
func (b *bringing) refused(ctx context.Context, kind, of string, err error) error {
	var refused *archive.Refused
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		b.add(AccountThing{Kind: kind, Name: path.Join(of, refused.Path), State: importLeft, Reason: refused.Reason})
		return nil
	case errors.Is(err, archive.ErrFormat):
		// The rest of this part cannot be read; other parts can.
		b.add(AccountThing{Kind: kind, Name: of, State: importFailed, Reason: err.Error()})
		return nil
	default:
		return err
	}
}

// content sends what the archive has to the hosting machine: databases before files, whose configuration names them.
func (b *bringing) content(ctx context.Context) error {
	for _, part := range []func(context.Context) error{b.settleSites, b.loadDatabases, b.files, b.mails} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bringing) settleSites(ctx context.Context) error {
	_, err := b.settle(ctx, "site", b.Hosting.Sites.Followed)
	return err
}

// failed turns what a machine refuses into a thing of the report; an error that it may overcome ends the import.
func failed(t *AccountThing, err error) error {
	switch kind := panel.KindOf(err); {
	case err == nil:
		return nil
	case errors.Is(err, archive.ErrFormat):
		t.State, t.Reason = importFailed, err.Error()
	case kind == panel.ErrDiskFull || kind == panel.ErrLimit:
		t.State, t.Reason = importFailed, "the plan's room is used up: choose a larger plan and run the import again"
	case kind == panel.ErrInvalid || kind == panel.ErrExists || kind == panel.ErrPathNotAllowed || kind == panel.ErrNotFound || kind == panel.ErrUnsupported ||
		kind == panel.ErrFileTooLarge:
		t.State, t.Reason = importFailed, err.Error()
	default:
		return err
	}
	return nil
}

// loading is a file of the home in which the databases are that are being loaded: one that is not empty and is in it was loaded in part.
const loading = "/.importing.json"

func (b *bringing) readLoading(ctx context.Context, files panel.Files) (names []string, err error) {
	c, err := files.Read(ctx, b.on.Ref, loading, panel.ReadOptions{MaxBytes: 64 << 10})
	if errors.Is(err, panel.ErrNotFound) {
		return nil, nil
	}
	if err == nil && json.Unmarshal(c.Data, &names) != nil {
		names = nil // its owner may write what they like
	}
	return names, err
}

func (b *bringing) writeLoading(ctx context.Context, files panel.Files, names []string) error {
	if len(names) == 0 {
		err := files.Remove(ctx, b.on.Ref, loading, false)
		if errors.Is(err, panel.ErrNotFound) {
			err = nil
		}
		return err
	}
	text, err := json.Marshal(names)
	if err == nil {
		_, err = files.Write(ctx, b.on.Ref, loading, text, panel.WriteOptions{})
	}
	return err
}

func (b *bringing) loadDatabases(ctx context.Context) error {
	if len(b.databases) == 0 {
		return nil
	}
	refused, err := b.settle(ctx, "database", b.Hosting.Databases.Followed)
	if err != nil {
		return err
	}
	files, err := site.On[panel.Files](b.Hosting.Panels, b.on, panel.CapFiles)
	if err != nil {
		return site.Refusal(err)
	}
	server, err := site.On[panel.Databases](b.Hosting.Panels, b.on, panel.CapDatabases)
	if err != nil {
		return site.Refusal(err)
	}
	have, err := server.ListDatabases(ctx, b.on.Ref)
	if err != nil {
		return err
	}
	marked, err := b.readLoading(ctx, files)
	if err != nil {
		return err
	}
	for i := range b.databases {
		d := &b.databases[i]
		if refused[d.Imported.Name] {
			continue
		}
		for _, on := range have {
			if on.Name == d.Imported.Name {
				d.host = fmt.Sprintf("%s:%d", on.Host, on.Port)
			}
		}
		if d.password, _, err = b.Hosting.Secrets.Secret(ctx, b.DB, databases.SecretKind, d.ID); err != nil {
			return err
		}
		if marked, err = b.loadDatabase(ctx, server, files, d, marked); err != nil {
			return err
		}
	}
	return nil
}

// loadDatabase loads a dump. It returns which databases are marked as being loaded.
func (b *bringing) loadDatabase(ctx context.Context, server panel.Databases, files panel.Files, d *broughtDatabase, marked []string) ([]string, error) {
	name := d.Imported.Name
	t := AccountThing{Kind: "content", Name: d.Database.Name, As: name, State: importNew}
	full, err := hasContent(ctx, server, b.on.Ref, name)
	if err != nil {
		return marked, err
	}
	if full && !b.o.Replace && !slices.Contains(marked, name) {
		t.State, t.Reason = importThere, "the database is not empty; --replace loads it all the same"
		b.add(t)
		return marked, nil
	}
	b.told("loading database %s", name)
	if !slices.Contains(marked, name) {
		marked = append(marked, name)
		if err := b.writeLoading(ctx, files, marked); err != nil {
			return marked, err
		}
	}
	dump, err := d.Dump()
	if err == nil {
		counted := &counting{r: archive.Portable(d.Engine, dump)}
		err = server.ImportDatabase(ctx, b.on.Ref, name, counted)
		t.Bytes = counted.n
		_ = dump.Close() // was read only
	}
	if left := failed(&t, err); left != nil {
		return marked, left
	}
	b.add(t)
	if t.State == importFailed {
		return marked, nil
	}
	marked = slices.DeleteFunc(marked, func(m string) bool { return m == name })
	return marked, b.writeLoading(ctx, files, marked)
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

var created = regexp.MustCompile(`(?m)^(?:/\*!\d+ )?CREATE (?:TABLE|.{0,80}VIEW|.{0,80}FUNCTION|.{0,80}PROCEDURE|SEQUENCE)`)

// hasContent reports whether a database has tables or the like, by the beginning of a dump.
func hasContent(ctx context.Context, server panel.Databases, ref, name string) (bool, error) {
	dump, err := server.DumpDatabase(ctx, ref, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = dump.Close() }() // ends it
	const enough = 256 << 10
	head, err := io.ReadAll(io.LimitReader(dump, enough))
	return len(head) == enough || created.Match(head), err
}

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
		b.add(s.item)
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
			found, err := s.files.List(ctx, s.on.Ref, "/"+dir, 0, 0)
			if err != nil && !errors.Is(err, panel.ErrNotFound) {
				return panel.Entry{}, err
			}
			for _, e := range found.Entries {
				there[e.Name] = e
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
	_, err = s.archives.Extract(ctx, s.on.Ref, at, "/", true)
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

func (b *bringing) mails(ctx context.Context) error {
	if len(b.mailboxes) == 0 {
		return nil
	}
	refused, err := b.settle(ctx, "mailbox", b.Hosting.Mail.Followed)
	if err != nil {
		return err
	}
	for address := range refused {
		delete(b.mailboxes, address)
	}
	server, err := site.On[panel.Mail](b.Hosting.Panels, b.on, panel.CapMail)
	if err != nil {
		return site.Refusal(err)
	}
	for _, store := range b.inv.Stores {
		if err := b.store(ctx, server, store); err != nil {
			return err
		}
	}
	return nil
}

// store sends the mail of a store, one mailbox after the other.
func (b *bringing) store(ctx context.Context, server panel.Mail, store archive.Store) error {
	var to *delivery
	full := map[string]bool{}
	end := func() error {
		if to == nil {
			return nil
		}
		t, err := to.end()
		full[t.Name] = t.State == importFailed
		b.add(t)
		to = nil
		return err
	}
	for m, err := range store.Mail() {
		if err != nil {
			if err := b.refused(ctx, "mail", m.Address, err); err != nil {
				return errors.Join(err, end())
			}
			continue
		}
		if m.Type != panel.TypeFile || !b.mailboxes[m.Address] || full[m.Address] {
			continue
		}
		if to != nil && to.address != m.Address {
			if err := end(); err != nil {
				return err
			}
		}
		if to == nil {
			b.told("sending the mail of %s", m.Address)
			to = deliver(ctx, server, b.on.Ref, m.Address)
		}
		if err := to.add(m.File); err != nil {
			if errors.Is(err, archive.ErrFormat) {
				b.add(AccountThing{Kind: "mail", Name: m.Address, State: importFailed, Reason: err.Error()})
			}
			if err := end(); err != nil {
				return err
			}
		}
	}
	return end()
}

// delivery is a running AddMail.
type delivery struct {
	address string
	w       *io.PipeWriter
	t       *tar.Writer
	ended   chan struct{}
	done    panel.AddedMail
	err     error
}

func deliver(ctx context.Context, server panel.Mail, ref, address string) *delivery {
	r, w := io.Pipe()
	d := &delivery{address: address, w: w, t: tar.NewWriter(w), ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		d.done, d.err = server.AddMail(ctx, ref, address, r)
		_ = r.CloseWithError(errEnded) // who still writes hears of it
	}()
	return d
}

var errEnded = errors.New("admin: the mailbox takes no more")

// add sends a file. One that another server had packed is unpacked.
func (d *delivery) add(f archive.File) error {
	size := f.Size
	var magic [3]byte
	n, err := io.ReadFull(f.Body, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", archive.ErrFormat, err)
	}
	body := io.MultiReader(bytes.NewReader(magic[:n]), f.Body)
	if message(f.Path) && bytes.Equal(magic[:], []byte{0x1f, 0x8b, 8}) {
		const most = 64 << 20
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil //nolint:nilerr // it is no mail, and the next one may be
		}
		plain, err := io.ReadAll(io.LimitReader(z, most+1))
		if err != nil || len(plain) > most {
			return nil //nolint:nilerr // likewise
		}
		body, size = bytes.NewReader(plain), int64(len(plain))
	}
	err = d.t.WriteHeader(&tar.Header{Name: f.Path, Mode: 0o600, Size: size, ModTime: f.Time, Typeflag: tar.TypeReg, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(d.t, body)
	}
	if err != nil && !errors.Is(err, errEnded) {
		err = fmt.Errorf("%w: %w", archive.ErrFormat, err)
	}
	return err
}

// end ends the stream and reports what the machine did.
func (d *delivery) end() (AccountThing, error) {
	err := d.t.Close()
	_ = d.w.CloseWithError(err) // nil ends it well
	<-d.ended
	t := AccountThing{Kind: "mail", Name: d.address, State: importNew, Count: d.done.Messages, There: d.done.There, Bytes: d.done.Bytes}
	if panel.KindOf(d.err) == panel.ErrDiskFull {
		t.State, t.Reason = importFailed, "the mailbox, or the plan, has no more room: make it larger and run the import again"
		return t, nil
	}
	err = failed(&t, d.err)
	if t.State == importNew && t.Count == 0 && t.There > 0 {
		t.State = importThere
	}
	return t, err
}

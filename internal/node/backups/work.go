package backups

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

// The names in the streams of parts other than files.
const (
	documentName = "document.json" // first in its stream
	dataDir      = "data"          // the facility's dump
)

// measured counts a stream and computes its checksum.
type measured struct {
	sum hash.Hash
	n   int64
}

func newMeasured() *measured { return &measured{sum: sha256.New()} }

func (m *measured) Write(b []byte) (int, error) {
	m.n += int64(len(b))
	return m.sum.Write(b)
}

func (m *measured) hex() string { return hex.EncodeToString(m.sum.Sum(nil)) }

// make makes a backup and reads it back. When that finds the store damaged, it makes it once more, in a new one.
func (d *Driver) make(ctx context.Context, t *task) error {
	a, err := d.cfg.Accounts(t.Ref)
	if err != nil {
		return err
	}
	for range 2 {
		if err = d.saveParts(ctx, a, t); err == nil && !isMoves(a, t) {
			err = d.readBack(ctx, *t)
		}
		if !errors.Is(err, errDamaged) {
			return err
		}
		d.suspect(t.Ref, "", err)
		for i := range t.Parts {
			t.Parts[i] = part{Part: t.Parts[i].Part, Status: panel.TaskRunning}
		}
		if failed := d.write(*t); failed != nil {
			return failed
		}
	}
	return err
}

// isMoves reports whether a task makes the last copy of a move. Customers wait for it, and another machine reads it whole before it
// counts.
func isMoves(a accounts.Account, t *task) bool {
	return a.OnHold() && slices.ContainsFunc(t.Parts, func(p part) bool { return p.Part == panel.PartLogs })
}

// saveParts saves part after part. It skips parts that an interrupted run has completed.
func (d *Driver) saveParts(ctx context.Context, a accounts.Account, t *task) error {
	for i := range t.Parts {
		p := &t.Parts[i]
		if p.Status == panel.TaskCompleted {
			continue
		}
		if err := d.save(ctx, a, t, p); err != nil {
			return fmt.Errorf("%s: %w", p.Part, err)
		}
		p.Status = panel.TaskCompleted
		if err := d.write(*t); err != nil {
			return err
		}
	}
	return nil
}

// readBack reads what a backup has stored, and a sample of what it shares with earlier ones; all of it where there is a
// suspicion.
func (d *Driver) readBack(ctx context.Context, t task) error {
	how := Reading{Backup: t.ID, Now: d.cfg.Now(), Most: d.cfg.Sample}
	suspected, err := d.suspectedAt(t.Ref)
	if err != nil {
		return err
	}
	if !suspected.IsZero() {
		how.Before = how.Now
	}
	return d.cfg.Store.ReadBack(ctx, t.Ref, how)
}

// save streams one part into the store.
func (d *Driver) save(ctx context.Context, a accounts.Account, t *task, p *part) error {
	work := d.work(t.Ref, t.ID)
	defer func() { _ = os.RemoveAll(work) }() // the next start empties it too
	var items int64 = -1
	b := d.part(p.Part)
	if b != nil {
		if err := freshDir(work); err != nil {
			return err
		}
		var err error
		if items, err = b.DumpBackup(ctx, a, work); err != nil {
			return err
		}
	}
	sum := newMeasured()
	pr, pw := io.Pipe()
	var (
		c       counted
		packing sync.WaitGroup
	)
	packing.Go(func() {
		w := tar.NewWriter(pw)
		var err error
		if p.Part == panel.PartFiles {
			c, err = packFiles(ctx, a, w, t.find(panel.PartLogs) != nil)
		} else {
			c, err = packPart(ctx, w, t.Documents[p.Part], work, b != nil, t.StartedAt)
		}
		if err == nil {
			err = w.Close()
		}
		pw.CloseWithError(err)
	})
	handle, err := d.cfg.Store.Save(ctx, t.Ref, t.ID, p.Part, io.TeeReader(pr, sum))
	pr.CloseWithError(errors.Join(io.ErrClosedPipe, err)) // the packer ends when the store did not read to the end
	packing.Wait()
	if err != nil {
		return err
	}
	p.Handle, p.SHA256, p.Stream, p.Bytes, p.Count, p.Unreadable = handle, sum.hex(), sum.n, c.bytes, c.entries, c.unreadable
	if items >= 0 {
		p.Count = items
	}
	if c.unreadable > 0 {
		d.cfg.Log.Warn("files of an account cannot be read by its own user; the backup has their names only",
			"account", t.Ref, "backup", t.ID, "files", c.unreadable)
	}
	return nil
}

// packFiles writes the home, as the account's user; a move takes its temporary directories along.
func packFiles(ctx context.Context, a accounts.Account, w *tar.Writer, moves bool) (c counted, err error) {
	skip := skipped
	if moves {
		skip = staged
	}
	err = identity.Do(a, func() error {
		root, err := os.OpenRoot(a.Home)
		if err != nil {
			return err
		}
		defer root.Close()
		p := &packer{ctx: ctx, root: root, tar: w, skip: skip, most: a.Limits.DiskBytes()}
		err = p.dir(".")
		c = p.counted
		return err
	})
	return c, err
}

// packPart writes a document and a facility's dump.
func packPart(ctx context.Context, w *tar.Writer, document json.RawMessage, dump string, dumped bool, at time.Time) (c counted, err error) {
	if document != nil {
		h := &tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: documentName, Mode: 0o600, Size: int64(len(document)), ModTime: at}
		if err := w.WriteHeader(h); err != nil {
			return c, err
		}
		if _, err := w.Write(document); err != nil {
			return c, err
		}
		c.entries, c.bytes = 1, h.Size
	}
	if !dumped {
		return c, nil
	}
	root, err := os.OpenRoot(dump)
	if err != nil {
		return c, err
	}
	defer root.Close()
	p := &packer{ctx: ctx, root: root, tar: w, skip: func(string) bool { return false }, into: dataDir + "/"}
	err = p.dir(".")
	c.bytes += p.bytes
	return c, err
}

func freshDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

// read passes the stream of a part to f, which reads it to its end, and verifies the checksum.
func (d *Driver) read(ctx context.Context, backup task, p part, f func(io.Reader) error) error {
	stream, err := d.cfg.Store.Open(ctx, backup.Ref, backup.ID, p.Part, p.Handle)
	if err != nil {
		return err
	}
	sum := newMeasured()
	err = f(io.TeeReader(canceled{ctx, stream}, sum))
	if closed := stream.Close(); err == nil {
		err = closed
	}
	if err == nil && (sum.hex() != p.SHA256 || sum.n != p.Stream) {
		err = damaged(fmt.Errorf("%d bytes with the checksum %s, there were %d with %s", sum.n, sum.hex(), p.Stream, p.SHA256))
	}
	return err
}

// discard reads a stream only for its checksum.
func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// readEvery is the age at which a thorough check reads stored data again. Checks are a week apart, so that all data is read
// every four weeks.
const readEvery = 21 * 24 * time.Hour

// check reads a whole backup. What it finds about the rest of the store is no failure of this backup.
func (d *Driver) check(ctx context.Context, t *task) error {
	b, err := d.backup(t.Ref, t.Backup)
	if err != nil {
		return err
	}
	for i := range t.Parts {
		if err := d.read(ctx, b, *b.find(t.Parts[i].Part), discard); err != nil {
			return fmt.Errorf("%s: %w", t.Parts[i].Part, err)
		}
		t.Parts[i].Status = panel.TaskCompleted
	}
	if err := d.examined(b, false); err != nil {
		return err
	}
	handle := b.handle()
	if err = d.cfg.Store.Check(ctx, t.Ref, handle); err == nil && t.Thorough {
		now := d.cfg.Now()
		handle, err = "", d.cfg.Store.ReadBack(ctx, t.Ref, Reading{Now: now, Before: now.Add(-readEvery), Most: d.cfg.Sample})
	}
	if errors.Is(err, errDamaged) {
		d.suspect(t.Ref, handle, err)
		return nil
	}
	if err == nil && t.Thorough {
		return d.checkApart(ctx, t.Ref)
	}
	return err
}

// checkApart reads the backups that lie where no backup is added any more, each as often as ReadBack reads everything else. A
// repository in which damage was found, or that was taken over from another machine, may hold many that are whole.
func (d *Driver) checkApart(ctx context.Context, ref string) error {
	all, err := d.tasks(ref)
	if err != nil {
		return err
	}
	due := d.cfg.Now().Add(-readEvery)
	for _, b := range all {
		if !b.restorable() || b.Damaged || b.StartedAt.After(due) || b.ExaminedAt.After(due) {
			continue
		}
		if read, err := d.cfg.Store.Reads(ref, b.handle()); err != nil || read {
			if err != nil {
				return err
			}
			continue
		}
		err := d.readWhole(ctx, b)
		if errors.Is(err, errDamaged) && ctx.Err() == nil {
			d.foundDamaged(ref, b.ID, err)
			return nil // all are read now
		}
		if err == nil {
			err = d.examined(b, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restore restores parts of a backup. It reads everything once before it changes anything.
func (d *Driver) restore(ctx context.Context, t *task) error {
	b, err := d.backup(t.Ref, t.Backup)
	if err != nil {
		return err
	}
	a, err := d.cfg.Accounts(t.Ref)
	if err != nil {
		return err
	}
	items, err := paths(t.Items)
	if t.find(panel.PartFiles) != nil && err != nil {
		return err
	}
	home := newContents(scope{items})
	home.beside = t.Target != ""
	work := d.work(t.Ref, t.ID)
	if err := freshDir(work); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // the next start empties it too
	for _, p := range t.Parts {
		f := discard // of a document, which belongs to the platform
		var unpacked error
		switch {
		case p.Part == panel.PartFiles:
			f = home.read
		case d.part(p.Part) != nil:
			f = func(r io.Reader) error {
				unpacked = unpackPart(ctx, r, path.Join(work, string(p.Part)))
				return discard(r) // whatever became of it, a damaged backup is told by its checksum
			}
		}
		if err := d.read(ctx, b, *b.find(p.Part), f); err != nil {
			return fmt.Errorf("%s: %w", p.Part, err)
		}
		if unpacked != nil {
			return fmt.Errorf("%s: %w", p.Part, unpacked)
		}
	}
	if most := a.Limits.DiskBytes(); most > 0 && home.bytes > most {
		return fmt.Errorf("%w: the files need %d bytes", panel.ErrDiskFull, home.bytes)
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		if p.Part == panel.PartFiles {
			err = d.restoreFiles(ctx, a, b, *b.find(p.Part), home, t.Target)
		} else {
			err = d.load(ctx, a, p.Part, path.Join(work, string(p.Part)), t.Items)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Part, err)
		}
		p.Status = panel.TaskCompleted
	}
	return nil
}

// restoreFiles restores the home, or the selected part, from the stream.
func (d *Driver) restoreFiles(ctx context.Context, a accounts.Account, b task, p part, home *contents, into string) error {
	if len(home.scope.items) > len(home.found) {
		return fmt.Errorf("%w: not all of the items are in the backup", panel.ErrNotFound)
	}
	err := d.read(ctx, b, p, func(r io.Reader) error {
		root, err := os.OpenRoot(a.Home)
		if err != nil {
			return err
		}
		defer root.Close()
		// First remove what is superfluous, so that an account at its limit has the room.
		err = identity.Do(a, func() error { return removeOthers(ctx, root, home, ".") })
		if err != nil {
			return err
		}
		if err := d.placePublic(a, root, home); err != nil {
			return err
		}
		u := &unpacker{ctx: ctx, root: root, scope: home.scope, into: into}
		return identity.Do(a, func() error { return u.unpack(r) })
	})
	return errors.Join(err, d.measure(ctx, a.Ref))
}

// placePublic creates the primary site's directory again when the account has lost it. It has the web server's group,
// which the account's user could not set.
func (d *Driver) placePublic(a accounts.Account, root *os.Root, home *contents) error {
	if a.User.UID == 0 || home.beside || home.kinds[key(accounts.PublicHTML)] != isDir {
		return nil
	}
	err := identity.Do(a, func() error {
		info, err := root.Lstat(accounts.PublicHTML)
		if err == nil && !info.IsDir() {
			err = root.Remove(accounts.PublicHTML)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	at, err := root.Open(".")
	if err != nil {
		return err
	}
	defer at.Close()
	var of unix.Stat_t
	if err := unix.Fstat(int(at.Fd()), &of); err != nil {
		return err
	}
	// By descriptors that follow no link: the customer works in the home meanwhile.
	if err := unix.Mkdirat(int(at.Fd()), accounts.PublicHTML, 0o700); errors.Is(err, unix.EEXIST) {
		return nil
	} else if err != nil {
		return err
	}
	dir, err := unix.Openat(int(at.Fd()), accounts.PublicHTML, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }() // nothing was written
	return unix.Fchown(dir, a.User.UID, int(of.Gid))
}

// unpackPart unpacks a facility's dump into dir, which it creates. A dump has no links; one of another machine's may, to what is other
// accounts'.
func unpackPart(ctx context.Context, r io.Reader, dir string) error {
	if err := os.MkdirAll(path.Join(dir, dataDir), 0o700); err != nil { // a backup may be without any
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{ctx: ctx, root: root, plain: true}
	return u.unpack(r)
}

// load passes a facility its unpacked dump.
func (d *Driver) load(ctx context.Context, a accounts.Account, of panel.BackupPart, dir string, items []string) error {
	f := d.part(of)
	if f == nil {
		return nil
	}
	err := f.LoadBackup(ctx, a, path.Join(dir, dataDir), items)
	if errors.Is(err, panel.ErrInvalid) {
		// The checksum was right: a refusal by a server damages no other part, and this one may be tried again.
		err = fmt.Errorf("%w: %s", panel.ErrInternal, err.Error())
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// BackupDocuments implements panel.Backups.
func (d *Driver) BackupDocuments(ctx context.Context, ref, id string) (map[panel.BackupPart]json.RawMessage, error) {
	docs, err := d.documents(ctx, ref, id)
	return docs, panel.Wrap("backups.documents", ref, err)
}

func (d *Driver) documents(ctx context.Context, ref, id string) (map[panel.BackupPart]json.RawMessage, error) {
	b, err := d.ofComplete(ref, id)
	if err != nil {
		return nil, err
	}
	docs := map[panel.BackupPart]json.RawMessage{}
	for _, p := range b.Parts {
		if p.Part == panel.PartFiles {
			continue
		}
		doc, err := d.document(ctx, b, p)
		if errors.Is(err, errDamaged) {
			d.suspectRead(ref, err)
		}
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs[p.Part] = doc
		}
	}
	return docs, nil
}

// ofComplete returns a complete backup of an unvalidated ref.
func (d *Driver) ofComplete(ref, id string) (task, error) {
	if err := d.known(ref); err != nil {
		return task{}, err
	}
	return d.backup(ref, id)
}

// maxDocument bounds a document that is read back, in bytes.
const maxDocument = 64 << 20

// document reads the first entry of a part's stream, if it is the document. A check verifies the rest.
func (d *Driver) document(ctx context.Context, b task, p part) (json.RawMessage, error) {
	stream, err := d.cfg.Store.Open(ctx, b.Ref, b.ID, p.Part, p.Handle)
	if err != nil {
		return nil, err
	}
	defer stream.Close() // read as far as it was wanted
	r := tar.NewReader(stream)
	h, err := r.Next()
	if errors.Is(err, io.EOF) || err == nil && h.Name != documentName {
		return nil, nil
	}
	var doc []byte
	if err == nil {
		doc, err = io.ReadAll(io.LimitReader(r, maxDocument))
	}
	if err == nil && !json.Valid(doc) {
		err = errors.New("the document is no JSON")
	}
	if err != nil && ctx.Err() == nil {
		var known panel.Kind
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, damaged(err)
	}
	return doc, err
}

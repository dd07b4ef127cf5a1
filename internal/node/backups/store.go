package backups

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Store keeps streams: one for each part of each backup of an account. Refs and ids are validated names of one path
// element. Calls for one ref are serialized.
type Store interface {
	// Name is reported to customers: "local", "s3".
	Name() string
	// Save stores r until its end, and returns the handle for Open. When r fails, no returned handle refers to stored
	// content.
	Save(ctx context.Context, ref, id string, part panel.BackupPart, r io.Reader) (handle string, err error)
	// Open reads a stream. Reading fails as panel.ErrInvalid when it is damaged, and as panel.ErrUnreachable when the
	// store cannot be reached.
	Open(ctx context.Context, ref, id string, part panel.BackupPart, handle string) (io.ReadCloser, error)
	// ReadBack reads what Save stored, as far as in says; panel.ErrInvalid when something is damaged. What Save does not add to
	// any more is not read: see Reads.
	ReadBack(ctx context.Context, ref string, in Reading) error
	// Reads tells whether ReadBack reads what holds the stream of that handle.
	Reads(ref, handle string) (bool, error)
	// Check verifies the structure of what holds a stream; panel.ErrInvalid when it is damaged.
	Check(ctx context.Context, ref, handle string) error
	// Abandon has Save begin anew beside what holds the stream of that handle, which is damaged, or what Save would add to,
	// where the handle is empty.
	Abandon(ctx context.Context, ref, handle string) error
	// Delete removes all streams of a backup, including those of interrupted attempts. The handles of all other backups of
	// the account are rest.
	Delete(ctx context.Context, ref, id string, rest []string) error
	// Drop removes everything of an account.
	Drop(ctx context.Context, ref string) error
	// Lend answers the secrets with which another machine opens the streams of these handles, by where they lie.
	Lend(ref string, handles []string) (map[string]string, error)
	// Borrow takes what Lend of another machine answered, and has Save begin apart from it. Handles that fit no such
	// place are refused as panel.ErrInvalid.
	Borrow(ref string, handles []string, secrets map[string]string) error
	// Return forgets what Borrow took for an account, and where its streams lie. It leaves the streams.
	Return(ref string) error
}

// Reading says how much of an account's store is read back: always what was never read.
type Reading struct {
	Backup string // the backup that was just saved; empty when none was
	Now    time.Time
	// Before has everything read that was last read before that time.
	Before time.Time
	// Most has more of the rest read, in bytes, the least recently read first.
	Most int64
}

// Folder is the store without dependencies: one compressed tar per part.
type Folder struct{ dir string }

var _ Store = Folder{}

// NewFolder keeps the streams below dir, which is made when missing.
func NewFolder(dir string) (Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // the operator's
		return Folder{}, fmt.Errorf("backups: %w", err)
	}
	return Folder{dir}, nil
}

// Name implements Store.
func (Folder) Name() string { return "local" }

func (f Folder) file(ref, id string, part panel.BackupPart) string {
	return filepath.Join(f.dir, ref, id, string(part)+".tar.gz")
}

// Save implements Store.
func (f Folder) Save(_ context.Context, ref, id string, part panel.BackupPart, r io.Reader) (string, error) {
	name := f.file(ref, id, part)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	err := atomicfile.WriteStream(name, 0o600, func(w io.Writer) error {
		gz := gzip.NewWriter(w)
		_, err := io.Copy(gz, r)
		return errors.Join(err, gz.Close())
	})
	if err != nil {
		return "", err
	}
	return filepath.Base(name), errors.Join(atomicfile.SyncDir(filepath.Join(f.dir, ref)), atomicfile.SyncDir(f.dir))
}

// Open implements Store.
func (f Folder) Open(_ context.Context, ref, id string, part panel.BackupPart, _ string) (io.ReadCloser, error) {
	return openArchive(f.file(ref, id, part))
}

func openArchive(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, damaged(err)
	}
	gz, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(damaged(err), file.Close())
	}
	return &unzipped{gz, file}, nil
}

// unzipped reports an unreadable file as damaged.
type unzipped struct {
	*gzip.Reader
	file *os.File
}

func (u *unzipped) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	return n, err
}

func (u *unzipped) Close() error { return u.file.Close() }

// errDamaged is in every error that says that stored data is damaged.
var errDamaged = errors.New("the backup is damaged")

// damaged is the failure of a damaged backup.
func damaged(err error) error {
	return fmt.Errorf("%w: %w: %w", panel.ErrInvalid, errDamaged, err)
}

// ReadBack implements Store: it reads the archives of the new backup, or all.
func (f Folder) ReadBack(ctx context.Context, ref string, in Reading) error {
	dir := filepath.Join(f.dir, ref, in.Backup)
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(p) != ".gz" {
			return err
		}
		r, err := openArchive(p)
		if err != nil {
			return err
		}
		return errors.Join(discard(canceled{ctx, r}), r.Close())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Reads implements Store.
func (Folder) Reads(string, string) (bool, error) { return true, nil }

// Check implements Store: the files are judged by their checksums, which the records have.
func (Folder) Check(context.Context, string, string) error { return nil }

// Abandon implements Store: no backup shares anything with another.
func (Folder) Abandon(context.Context, string, string) error { return nil }

// Delete implements Store.
func (f Folder) Delete(_ context.Context, ref, id string, _ []string) error {
	return os.RemoveAll(filepath.Join(f.dir, ref, id)) //nolint:gosec // checked names
}

// Lend implements Store: the archives are open to whoever reaches the folder.
func (Folder) Lend(string, []string) (map[string]string, error) { return nil, nil }

// Borrow implements Store: archives share nothing, so they lie apart anyway.
func (Folder) Borrow(_ string, handles []string, _ map[string]string) error {
	for _, h := range handles {
		if !nameForm.MatchString(h) {
			return fmt.Errorf("%w: handle %q", panel.ErrInvalid, h)
		}
	}
	return nil
}

// Return implements Store.
func (Folder) Return(string) error { return nil }

// Drop implements Store.
func (f Folder) Drop(_ context.Context, ref string) error {
	err := os.RemoveAll(filepath.Join(f.dir, ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

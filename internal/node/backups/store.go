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
	// Check verifies the structure of the account's store; panel.ErrInvalid when it is damaged.
	Check(ctx context.Context, ref string) error
	// Delete removes all streams of a backup, including those of interrupted attempts.
	Delete(ctx context.Context, ref, id string) error
	// Drop removes everything of an account.
	Drop(ctx context.Context, ref string) error
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
	file, err := os.Open(f.file(ref, id, part))
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

// damaged is the failure of a damaged backup.
func damaged(err error) error {
	return fmt.Errorf("%w: the backup is damaged: %w", panel.ErrInvalid, err)
}

// Check implements Store: the files are judged by their checksums, which the records have.
func (Folder) Check(context.Context, string) error { return nil }

// Delete implements Store.
func (f Folder) Delete(_ context.Context, ref, id string) error {
	return os.RemoveAll(filepath.Join(f.dir, ref, id)) //nolint:gosec // checked names
}

// Drop implements Store.
func (f Folder) Drop(_ context.Context, ref string) error {
	err := os.RemoveAll(filepath.Join(f.dir, ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

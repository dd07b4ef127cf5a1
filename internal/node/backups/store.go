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

	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/panel"
)

// Store keeps streams: one for each part of each backup of an account. Refs and ids are names of one
// element that were checked. Calls for one ref follow each other.
type Store interface {
	// Name is what customers are told: "local", "s3".
	Name() string
	// Save keeps what r gives until its end, and answers the handle by which Open finds it. When r
	// fails, nothing is kept under a handle that was answered.
	Save(ctx context.Context, ref, id string, part panel.BackupPart, r io.Reader) (handle string, err error)
	// Open reads a stream. Reading fails as panel.ErrInvalid when it is damaged, and as
	// panel.ErrUnreachable when the store is.
	Open(ctx context.Context, ref, id string, part panel.BackupPart, handle string) (io.ReadCloser, error)
	// Check looks whether the account's store is sound in itself; panel.ErrInvalid when it is not.
	Check(ctx context.Context, ref string) error
	// Delete removes all streams of a backup, those of interrupted tries too.
	Delete(ctx context.Context, ref, id string) error
	// Drop removes all that the store has of an account.
	Drop(ctx context.Context, ref string) error
}

// Folder is the store that needs nothing installed: a compressed tar per part.
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
	tmp := name + ".tmp"
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	gz := gzip.NewWriter(file)
	_, err = io.Copy(gz, r)
	if err == nil {
		err = gz.Close()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return "", err
	}
	return filepath.Base(name), errors.Join(record.SyncDir(filepath.Dir(name)), record.SyncDir(filepath.Join(f.dir, ref)), record.SyncDir(f.dir))
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

// unzipped tells a file that cannot be read as one that is damaged.
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

// damaged is the failure of a backup that is not as it was.
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

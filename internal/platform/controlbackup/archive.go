package controlbackup

import (
	"archive/tar"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// Format is the number of the newest form of archives that this program reads, and of those that it writes.
const Format = 1

// The entries of an archive. It has one of the two databases.
const (
	manifestEntry = "manifest.json"
	sqliteEntry   = "database/stead.db"
	postgresEntry = "database/stead.dump"
	keyEntry      = "secret.key"
	settingsEntry = "stead.yaml"
)

// Suffixes of the files in a store.
const (
	archiveSuffix = ".sbk"
	sidecarSuffix = ".json"
)

// Manifest describes an archive from within.
type Manifest struct {
	Format  int       `json:"format"`
	Archive string    `json:"archive"`
	MadeAt  time.Time `json:"made_at"`
	Version string    `json:"version"` // of the program that made it
	Schema  int64     `json:"schema"`  // the last migration of its database
	Engine  string    `json:"engine"`
	// Rows are the rows of each table.
	Rows map[string]int64 `json:"rows"`
	// LedgerCents is the sum of all postings of the wallet above zero, which the sum of those below zero equals.
	LedgerCents int64 `json:"ledger_cents"`
	// Key is the fingerprint of the secret key.
	Key     string  `json:"key"`
	Entries []Entry `json:"entries"`
}

// Entry is a file of an archive.
type Entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Sidecar describes an archive from outside. It has no secret.
type Sidecar struct {
	Format  int       `json:"format"`
	Archive string    `json:"archive"`
	MadeAt  time.Time `json:"made_at"`
	Version string    `json:"version"`
	Schema  int64     `json:"schema"`
	Engine  string    `json:"engine"`
	Key     string    `json:"key"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	// Proven says that the archive was restored into a scratch database after it was made.
	Proven bool `json:"proven"`
}

// Errors of reading an archive. Each says what to do.
var (
	ErrPassphrase = errors.New("the archive cannot be decrypted: the passphrase or the key is not one that it was made for")
	ErrCut        = errors.New("the archive is damaged or was cut off: fetch it again from the store, or take another one (stead restore --list)")
	ErrNewer      = errors.New("the archive was made by a newer version of Stead: restore it with that version")
)

var nameForm = regexp.MustCompile(`^stead-\d{8}T\d{6}Z-[0-9a-f]{4}$`)

// newName is the name of an archive that is made at that time, without suffix.
func newName(now time.Time) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "stead-" + now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// madeAt reads the time in a name.
func madeAt(name string) time.Time {
	if !nameForm.MatchString(name) {
		return time.Time{}
	}
	at, err := time.Parse("20060102T150405Z", strings.Split(name, "-")[1])
	if err != nil {
		return time.Time{}
	}
	return at
}

// describe measures a file that goes into an archive as name.
func describe(name, path string) (Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	return Entry{Name: name, Size: size, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// write writes an archive of the files of dir that m names.
func write(w io.Writer, m Manifest, dir string, to []age.Recipient) (err error) {
	sealed, err := age.Encrypt(w, to...)
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	packed, err := zstd.NewWriter(sealed, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	add := func(name string, size int64, content io.Reader) error {
		if err := out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: m.MadeAt, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err := io.Copy(out, content)
		return err
	}
	if err := add(manifestEntry, int64(len(head)), strings.NewReader(string(head))); err != nil {
		return err
	}
	for _, e := range m.Entries {
		err := func() error {
			f, err := os.Open(filepath.Join(dir, filepath.Base(e.Name)))
			if err != nil {
				return err
			}
			defer f.Close()
			return add(e.Name, e.Size, f)
		}()
		if err != nil {
			return err
		}
	}
	// Each closing writes what makes the end of the layer below recognizable.
	return errors.Join(out.Close(), packed.Close(), sealed.Close())
}

const maxManifest = 4 << 20

// read reads an archive to its end and verifies all of it. Its files are put into dir, where one is given: under the last
// part of their names, readable by their owner alone. What it returns with an error means nothing.
func read(r io.Reader, with []age.Identity, dir string, room func(Manifest) error) (Manifest, error) {
	opened, err := age.Decrypt(r, with...)
	if err != nil {
		var none *age.NoIdentityMatchError
		if errors.As(err, &none) {
			return Manifest{}, ErrPassphrase
		}
		return Manifest{}, fmt.Errorf("%w (%w)", ErrCut, err)
	}
	m, err := unpack(opened, dir, room)
	var failure *localError
	switch {
	case err == nil, errors.Is(err, ErrNewer):
		return m, err
	case errors.As(err, &failure): // of this machine, not of the archive
		return m, failure.error
	default:
		return m, fmt.Errorf("%w (%w)", ErrCut, err)
	}
}

// localError is a failure to write what an archive holds.
type localError struct{ error }

func unpack(opened io.Reader, dir string, room func(Manifest) error) (m Manifest, err error) {
	packed, err := zstd.NewReader(opened, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return m, err
	}
	defer packed.Close()
	in := tar.NewReader(packed)
	head, err := in.Next()
	if err != nil {
		return m, err
	}
	if head.Name != manifestEntry || head.Size > maxManifest {
		return m, errors.New("it does not begin with a manifest")
	}
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return m, err
	}
	if m.Format > Format {
		return m, fmt.Errorf("%w, %s", ErrNewer, m.Version)
	}
	if room != nil {
		if err := room(m); err != nil {
			return m, &localError{err}
		}
	}
	known := []string{sqliteEntry, postgresEntry, keyEntry, settingsEntry}
	for _, want := range m.Entries {
		head, err := in.Next()
		switch {
		case err != nil:
			return m, fmt.Errorf("%s: %w", want.Name, err)
		case head.Name != want.Name, head.Size != want.Size, head.Typeflag != tar.TypeReg, !slices.Contains(known, want.Name):
			return m, fmt.Errorf("it holds %q in the place of %q", head.Name, want.Name)
		}
		if err := extract(in, want, dir); err != nil {
			return m, fmt.Errorf("%s: %w", want.Name, err)
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return m, errors.Join(errors.New("it holds more than its manifest says"), err)
	}
	// To the end, where the last hash of the encryption stands.
	_, err = io.Copy(io.Discard, packed)
	return m, err
}

func extract(in io.Reader, want Entry, dir string) (err error) {
	h := sha256.New()
	sink := io.Writer(h)
	if dir != "" {
		f, err := os.OpenFile(filepath.Join(dir, filepath.Base(want.Name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return &localError{err}
		}
		defer func() {
			if closeErr := errors.Join(f.Sync(), f.Close()); closeErr != nil && err == nil {
				err = &localError{closeErr}
			}
		}()
		sink = io.MultiWriter(h, localWriter{f})
	}
	if _, err := io.Copy(sink, in); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("its hash is %s, its manifest says %s", got, want.SHA256)
	}
	return nil
}

// localWriter marks its errors as this machine's.
type localWriter struct{ w io.Writer }

// Write implements io.Writer.
func (l localWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if err != nil {
		err = &localError{err}
	}
	return n, err
}

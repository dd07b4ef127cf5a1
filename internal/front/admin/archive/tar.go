package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// Source is a file with a tar without compression.
type Source interface {
	io.ReadSeeker
	io.ReaderAt
}

// ReadTar indexes a tar without compression.
func ReadTar(ctx context.Context, f Source) (*Tar, error) {
	t := &Tar{at: f, byName: map[string]int{}}
	r := tar.NewReader(f)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, whole(f)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		e, ok := entryOf(h)
		if !ok {
			continue
		}
		if e.offset, err = f.Seek(0, io.SeekCurrent); err != nil {
			return nil, err
		}
		if len(t.Entries) == maxEntries {
			return nil, fmt.Errorf("%w: more than %d entries", ErrFormat, maxEntries)
		}
		if _, twice := t.byName[e.Name]; !twice {
			t.byName[e.Name] = len(t.Entries)
		}
		t.Entries = append(t.Entries, e)
	}
}

// whole refuses a tar that was cut: one ends with empty blocks, which a reader does not ask for.
func whole(f Source) error {
	const block = 512
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var last [block]byte
	if size < block {
		return fmt.Errorf("%w: it is empty", ErrFormat)
	}
	if _, err := f.ReadAt(last[:], size-block); err != nil {
		return err
	}
	if last != [block]byte{} {
		return fmt.Errorf("%w: its end is missing", ErrFormat)
	}
	return nil
}

// entryOf judges an entry; false for one that says nothing.
func entryOf(h *tar.Header) (Entry, bool) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return Entry{}, false
	}
	e := Entry{Mode: h.FileInfo().Mode(), Size: h.Size, Link: h.Linkname, Time: h.ModTime, hard: h.Typeflag == tar.TypeLink}
	name, ok := cleanName(h.Name)
	switch {
	case !ok:
		e.Name, e.Refused = h.Name, "its name leads out of the archive"
		if len(e.Name) > maxName {
			e.Name = e.Name[:maxName]
		}
	case name == ".":
		return Entry{}, false
	default:
		e.Name = name
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
	case tar.TypeGNUSparse:
		e.Refused = "a sparse file"
	default:
		e.Mode, e.Refused = fs.ModeIrregular, "neither file, directory nor link"
	}
	if h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "" || h.PAXRecords["GNU.sparse.name"] != "" {
		e.Refused = "a sparse file"
	}
	return e, true
}

// Unpack reads gzip and zstd, and passes on what is neither.
func Unpack(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	magic, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case len(magic) > 1 && magic[0] == 0x1f && magic[1] == 0x8b:
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, nil
	case len(magic) == 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd:
		const window = 128 << 20 // of zstd --long=27
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// WalkPacked walks a tar, packed or not, as a stream. Names begin with prefix for those that are wanted, which is taken away.
func WalkPacked(r io.Reader) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		plain, err := Unpack(r)
		if err != nil {
			yield(File{}, err)
			return
		}
		defer func() { _ = plain.Close() }() // was read only
		t := tar.NewReader(plain)
		for {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
				yield(File{}, fmt.Errorf("%w: %w", ErrFormat, err))
				return
			}
			e, ok := entryOf(h)
			if ok && !yieldEntry(e, e.Name, t, yield) {
				return
			}
		}
	}
}

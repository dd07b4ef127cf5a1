package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"stead.dev/stead/internal/port/panel"
)

// readLimit bounds what one Read returns unless the caller says otherwise.
const readLimit = 1 << 20

// Read implements panel.Files.
func (d *Driver) Read(ctx context.Context, ref, p string, opt panel.ReadOptions) (_ panel.Content, err error) {
	defer explain(&err, "read", ref)
	if opt.FromLine < 0 || opt.Lines < 0 || opt.MaxBytes < 0 {
		return panel.Content{}, fmt.Errorf("%w: negative range", panel.ErrInvalid)
	}
	c, err := d.open(ctx, ref)
	if err != nil {
		return panel.Content{}, err
	}
	defer c.close()
	name, err := CleanPath(p)
	if err != nil {
		return panel.Content{}, err
	}
	f, info, err := c.openFile(name)
	if err != nil {
		return panel.Content{}, err
	}
	defer f.Close()
	content, err := readLines(patient{ctx, f}, opt)
	content.Entry = c.describe(name, info)
	return content, err
}

// readLines reads all of r, keeps the requested lines and counts all. A file that is not text is returned unchanged
// when it is requested whole and fits.
func readLines(r io.Reader, opt panel.ReadOptions) (panel.Content, error) {
	from := max(opt.FromLine, 1)
	most := int(opt.MaxBytes)
	if most == 0 {
		most = readLimit
	}
	ranged := from > 1 || opt.Lines > 0
	out := panel.Content{FromLine: from, Data: []byte{}}
	in := bufio.NewReaderSize(r, 64<<10)
	line := 1 // number of the line being read
	open := false
	for eof := false; !eof; {
		chunk, err := in.ReadSlice('\n')
		if line >= from && (opt.Lines == 0 || line-from < opt.Lines) && !out.Truncated {
			room := most - len(out.Data)
			out.Truncated = len(chunk) > room
			out.Data = append(out.Data, chunk[:min(len(chunk), room)]...)
			if out.Truncated {
				out.Data = wholeRunes(out.Data)
				if !isText(out.Data) {
					break // no need to count the lines of what has none
				}
			}
		}
		open = len(chunk) > 0 && chunk[len(chunk)-1] != '\n'
		switch {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			eof = true
		case !errors.Is(err, bufio.ErrBufferFull):
			return out, err
		}
	}
	out.Text = isText(out.Data)
	switch {
	case out.Text:
		out.TotalLines = line
		if !open {
			out.TotalLines-- // the last line ended; nothing followed
		}
		return out, nil
	case ranged:
		return panel.Content{}, panel.ErrNotText
	case out.Truncated:
		return panel.Content{}, fmt.Errorf("%w: more than %d bytes that are not text", panel.ErrFileTooLarge, most)
	}
	out.FromLine = 0
	return out, nil
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// wholeRunes drops a truncated character at the end.
func wholeRunes(b []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut <= len(b); cut++ {
		if tail := b[len(b)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-cut]
			}
			return b
		}
	}
	return b
}

// Open implements panel.Files.
func (d *Driver) Open(ctx context.Context, ref, p string) (_ panel.File, err error) {
	defer explain(&err, "open", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer c.close()
	name, err := CleanPath(p)
	if err != nil {
		return nil, err
	}
	f, info, err := c.openFile(name)
	if err != nil {
		return nil, err
	}
	return &openedFile{File: f, entry: c.describe(name, info)}, nil
}

type openedFile struct {
	*os.File
	entry panel.Entry
}

func (f *openedFile) Entry() panel.Entry { return f.entry }

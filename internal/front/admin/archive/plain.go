package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Plain is what an archive unpacks to, in a file beside it that has no name any more: its entries can then be opened in any order. It is bounded, and
// closed by the caller.
func Plain(ctx context.Context, f *os.File) (_ *os.File, err error) {
	from, err := Unpack(f)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	to, err := os.CreateTemp(filepath.Dir(f.Name()), ".stead-import-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	if err := os.Remove(to.Name()); err != nil {
		return nil, err
	}
	const ratio, always = 50, 1 << 30
	most := info.Size()*ratio + always
	n, err := io.Copy(to, io.LimitReader(ending{ctx, from}, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case n > most:
		return nil, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrFormat, most)
	}
	_, err = to.Seek(0, io.SeekStart)
	return to, err
}

// ending ends a stream with its context.
type ending struct {
	ctx  context.Context
	from io.Reader
}

func (e ending) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.from.Read(p)
}

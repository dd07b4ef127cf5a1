package backups

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

// OpenBackup implements panel.Backups.
func (d *Driver) OpenBackup(ctx context.Context, ref, id string) (io.ReadCloser, error) {
	b, err := d.ofComplete(ref, id)
	if err != nil {
		return nil, panel.Wrap("backups.open", ref, err)
	}
	end, ok := d.downloads.Acquire(ref)
	if !ok {
		return nil, panel.Wrap("backups.open", ref, fmt.Errorf("%w: backups are being downloaded already", panel.ErrBusy))
	}
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	go func() {
		defer end()
		gz := gzip.NewWriter(pw)
		w := tar.NewWriter(gz)
		var err error
		for _, p := range b.Parts {
			if err == nil {
				err = d.read(ctx, b, p, func(r io.Reader) error { return appendPart(w, r, p.Part) })
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = gz.Close()
		}
		if errors.Is(err, errDamaged) && ctx.Err() == nil {
			d.suspectRead(ref, err)
		}
		pw.CloseWithError(panel.Wrap("backups.open", ref, err))
	}()
	return &download{pr, cancel}, nil
}

// Each download is a process that reads the store, for as long as the customer takes.
const (
	downloadsMost    = 2 // of an account
	downloadsMostAll = 16
)

// download ends the reading of the store when it is closed early.
type download struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (d *download) Close() error {
	d.cancel()
	return d.PipeReader.Close()
}

// appendPart copies the entries of a part below a directory of its name. It omits the documents of parts with other
// content: they belong to the platform and may hold what customers must not see.
func appendPart(w *tar.Writer, r io.Reader, p panel.BackupPart) error {
	return entries(r, func(name string, h *tar.Header, body io.Reader) error {
		if p != panel.PartFiles {
			inner, data := strings.CutPrefix(name, dataDir+"/")
			switch {
			case data:
				name = inner
			case p != panel.PartDNS && p != panel.PartCron:
				return nil
			}
		}
		if kindOf(h) == isUnread {
			return nil
		}
		h.Name = string(p) + "/" + name
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(w, body)
		return err
	})
}

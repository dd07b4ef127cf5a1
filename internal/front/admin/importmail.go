package admin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

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
	if len(b.mailboxes) == 0 {
		return nil // the machine may have no mail
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
		var refused *archive.Refused
		switch err := to.add(m.File); {
		case err == nil:
		case errors.As(err, &refused):
			b.add(AccountThing{Kind: "mail", Name: path.Join(m.Address, refused.Path), State: importLeft, Reason: refused.Reason})
		default:
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

// add sends a file. One that another server had packed is unpacked. The error is an archive.Refused for one of which nothing was sent.
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
			return &archive.Refused{Path: f.Path, Reason: "it is packed, and damaged"}
		}
		plain, err := io.ReadAll(io.LimitReader(z, most+1))
		if err != nil || len(plain) > most {
			return &archive.Refused{Path: f.Path, Reason: "it is packed, and damaged or larger than 64 MiB"}
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

package admin

import (
	"context"
	"errors"
	"fmt"
	"path"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// foresee reports the content that would be sent. It reads the whole archive.
func (b *bringing) foresee(ctx context.Context) error {
	for _, t := range b.inv.Trees {
		name, _, reason := b.placeOf(t)
		item := AccountThing{Kind: "files", Name: name, State: importNew}
		if reason != "" {
			item.State, item.Reason = importLeft, reason
			b.add(item)
			continue
		}
		for f, err := range t.Files() {
			if err := b.refused(ctx, "files", name, err); err != nil {
				return err
			} else if f.Type == panel.TypeFile {
				item.Count++
				item.Bytes += f.Size
			}
		}
		b.add(item)
	}
	for _, s := range b.inv.Stores {
		counts := map[string]*AccountThing{}
		var order []string
		for m, err := range s.Mail() {
			if err := b.refused(ctx, "mail", m.Address, err); err != nil {
				return err
			}
			if m.Type != panel.TypeFile || !b.mailboxes[m.Address] || !message(m.Path) {
				continue
			}
			if counts[m.Address] == nil {
				counts[m.Address] = &AccountThing{Kind: "mail", Name: m.Address, State: importNew}
				order = append(order, m.Address)
			}
			counts[m.Address].Count++
			counts[m.Address].Bytes += m.Size
		}
		for _, address := range order {
			b.add(*counts[address])
		}
	}
	return b.fits()
}

// fits reports content that is larger than the plan's disk.
func (b *bringing) fits() error {
	var total int64
	for _, t := range b.report.Items {
		if t.State == importNew {
			total += t.Bytes
		}
	}
	if most := b.on.Limits.Of("disk_mb"); most != site.Unlimited && total > most<<20 {
		b.add(AccountThing{Kind: "files", Name: "all", State: importFailed, Reason: fmt.Sprintf("%d MiB of files and mail, and the plan has %d: choose a larger plan first", total>>20, most)})
	}
	return nil
}

func message(name string) bool {
	dir := path.Base(path.Dir(name))
	return dir == "cur" || dir == "new"
}

// refused reports an entry of an archive that is not taken; other errors end the import.
func (b *bringing) refused(ctx context.Context, kind, of string, err error) error {
	var refused *archive.Refused
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		b.add(AccountThing{Kind: kind, Name: path.Join(of, refused.Path), State: importLeft, Reason: refused.Reason})
		return nil
	case errors.Is(err, archive.ErrFormat):
		// The rest of this part cannot be read; other parts can.
		b.add(AccountThing{Kind: kind, Name: of, State: importFailed, Reason: err.Error()})
		return nil
	default:
		return err
	}
}

// content sends what the archive has to the hosting machine: databases before files, whose configuration names them.
func (b *bringing) content(ctx context.Context) error {
	for _, part := range []func(context.Context) error{b.settleSites, b.loadDatabases, b.files, b.mails} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bringing) settleSites(ctx context.Context) error {
	_, err := b.settle(ctx, "site", b.Hosting.Sites.Followed)
	return err
}

// failed turns what a machine refuses into a thing of the report; an error that it may overcome ends the import.
func failed(t *AccountThing, err error) error {
	switch kind := panel.KindOf(err); {
	case err == nil:
		return nil
	case errors.Is(err, archive.ErrFormat):
		t.State, t.Reason = importFailed, err.Error()
	case kind == panel.ErrDiskFull || kind == panel.ErrLimit:
		t.State, t.Reason = importFailed, "the plan's room is used up: choose a larger plan and run the import again"
	case kind == panel.ErrInvalid || kind == panel.ErrExists || kind == panel.ErrPathNotAllowed || kind == panel.ErrNotFound || kind == panel.ErrUnsupported ||
		kind == panel.ErrFileTooLarge:
		t.State, t.Reason = importFailed, err.Error()
	default:
		return err
	}
	return nil
}

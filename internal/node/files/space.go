package files

import (
	"context"

	"stead.dev/stead/internal/port/panel"
)

// Take counts room that another facility is about to fill in an account's home, and refuses it when it would exceed a
// limit of the account: panel.ErrDiskFull for bytes, panel.ErrLimit for inodes. Both counts may be zero, none negative.
func (d *Driver) Take(ctx context.Context, ref string, bytes, inodes int64) (err error) {
	defer explain(&err, "take", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return err
	}
	defer c.close()
	h, err := c.hold()
	if err != nil {
		return err
	}
	if err := h.grow(bytes, inodes); err != nil {
		return err
	}
	h.keep()
	return nil
}

// Give returns room that another facility did not need after all, or freed.
func (d *Driver) Give(ref string, bytes, inodes int64) { d.meter(ref).give(bytes, inodes) }

// KindOf classifies an error of the operating system or of an os.Root like the files facility; empty when callers could
// not act on it.
func KindOf(err error) panel.Kind { return kindOf(err) }

package logs

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"stead.dev/stead/internal/port/panel"
)

// traffic is an account's traffic of a month, its visits of the present day, and the counted position of its access log.
type traffic struct {
	Month  string `json:"month"` // "2026-11", in UTC
	Bytes  int64  `json:"bytes"`
	Volume int64  `json:"volume"`
	Offset int64  `json:"offset"`
	Today  today  `json:"today"`

	over []pastDay // days that ended while it was counted
}

const monthForm = "2006-01"

// count adds the new lines of the account's access log and returns the traffic of the present month.
func (d *Driver) count(ctx context.Context, account string) (int64, error) {
	d.counting.Lock()
	defer d.counting.Unlock()
	before := d.sent.Get(account)
	if before.Volume == 0 { // the account has ended meanwhile
		return 0, nil
	}
	from, now := before, d.store.cfg.Now().UTC()
	from.Today = before.Today.clone()
	month, day := now.Format(monthForm), now.Format(dayForm)
	if from.Month > month { // counted by a clock that was set back since
		from.Month, from.Bytes = month, 0
	}
	if from.Today.Date > day {
		from.Today.Date = day
	}
	counted, err := d.store.countFrom(ctx, account, from)
	if err != nil {
		return 0, err
	}
	if over, ended := counted.advance(day); ended {
		counted.over = append(counted.over, over)
	}
	// First the days that are over: when the position is not stored, they are counted again, and replaced.
	if err := d.keep(account, counted.over); err != nil {
		return 0, err
	}
	counted.over = nil
	if counted.Month != before.Month || counted.Bytes != before.Bytes || counted.Volume != before.Volume || counted.Offset != before.Offset ||
		counted.Today.Date != before.Today.Date {
		if _, err := d.sent.Update(account, func(t *traffic) error { *t = counted; return nil }); err != nil {
			return 0, err
		}
	}
	if counted.Month != month {
		return 0, nil
	}
	return counted.Bytes, nil
}

func (s *Store) countFrom(ctx context.Context, account string, t traffic) (traffic, error) {
	all, err := s.volumes(account, panel.LogAccess)
	if err != nil {
		return t, err
	}
	present := all[len(all)-1].number
	for _, v := range all {
		// Read the former file once more: lines are added to it for a moment after the rotation.
		if v.number < t.Volume {
			continue
		}
		if v.number > t.Volume {
			t.Volume, t.Offset = v.number, 0
		}
		if err := s.countVolume(ctx, v, &t); err != nil {
			return t, err
		}
		if v.number == present-1 && s.written(v) {
			return t, nil // the present one next time
		}
	}
	return t, nil
}

// written reports that a rotated file may still be written to: it was rotated a moment ago.
func (s *Store) written(v volume) bool {
	f, packed, err := open(v)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && !packed && s.cfg.Now().Sub(info.ModTime()) < every/2
}

func (s *Store) countVolume(ctx context.Context, v volume, t *traffic) error {
	f, packed, err := open(v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if packed {
		if in, err = unpacked(ctx, f, v); err == nil {
			_, err = io.CopyN(io.Discard, in, t.Offset)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	} else {
		_, err = f.Seek(t.Offset, io.SeekStart)
	}
	if err != nil {
		return err
	}
	start, day := t.Offset, s.cfg.Now().UTC().Format(dayForm)
	err = forwards(bounded(ctx, in, v.most-start), func(line []byte, _, next int64) bool {
		t.Offset = start + next
		if l, sent, ok := ParseAccess(string(line)); ok {
			switch month := l.At.UTC().Format(monthForm); {
			case month == t.Month:
				t.Bytes += sent
			case month > t.Month:
				t.Month, t.Bytes = month, sent
			}
			// Lines are a little out of order, and the machine's clock may have been ahead.
			if over, ended := t.advance(min(l.At.UTC().Format(dayForm), day)); ended {
				t.over = append(t.over, over)
			}
			t.Today.add(l, sent, parseAgent(string(line)))
		}
		return ctx.Err() == nil
	})
	return errors.Join(err, ctx.Err())
}

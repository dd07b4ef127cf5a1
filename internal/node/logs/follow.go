package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

const (
	pollEvery   = 300 * time.Millisecond
	heartbeat   = 15 * time.Second
	streamsMost = 5 // of an account
)

// follow returns a stream of lines as they are written; see panel.Logs.
func (d *Driver) follow(ctx context.Context, account string, q panel.LogQuery) (io.ReadCloser, error) {
	after, err := checkQuery(q, q.After)
	if err != nil {
		return nil, err
	}
	all, err := d.store.volumes(account, q.Type)
	if err != nil {
		return nil, err
	}
	present := all[len(all)-1]
	if after.volume > present.number {
		return nil, fmt.Errorf("%w: cursor %q", panel.ErrInvalid, q.After)
	}
	known := after != position{}
	if !known {
		after.volume = present.number
		if info, err := os.Lstat(present.path); err == nil {
			after.offset = info.Size()
		}
	}
	end, ok := d.streams.Acquire(account)
	if !ok {
		return nil, fmt.Errorf("%w: %d streams are open", panel.ErrBusy, streamsMost)
	}

	// The context bounds the stream; closing the stream ends it as well.
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	f := &follower{store: d.store, account: account, q: q, text: strings.ToLower(q.Text), at: after, skip: known, out: in}
	go func() {
		defer end()
		_ = in.CloseWithError(f.run(ctx))
		cancel()
	}()
	return &stream{out, cancel}, nil
}

type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	s.cancel()
	return s.PipeReader.Close()
}

// follower writes the new lines of a log.
type follower struct {
	store   *Store
	account string
	q       panel.LogQuery
	text    string
	at      position // position of the next line
	skip    bool     // the line at it is known
	out     *io.PipeWriter

	last panel.LogLine // the entry that further lines may continue
}

// run follows the log until ctx ends, the reader closes or the account is deleted.
func (f *follower) run(ctx context.Context) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	quiet := time.Duration(0)
	for {
		n, err := f.pass(ctx)
		if err != nil {
			return err
		}
		if quiet += pollEvery; n > 0 {
			quiet = 0
		}
		if quiet >= heartbeat {
			quiet = 0
			if _, err := io.WriteString(f.out, "\n"); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return io.EOF
		case <-poll.C:
		}
		if _, err := os.Lstat(f.store.Dir(f.account)); errors.Is(err, fs.ErrNotExist) {
			return io.EOF
		}
	}
}

// pass writes what is there now, over all files from the one of the position. It leaves a rotated file when nothing was
// added since the pass before, because its writer may not have reopened the log yet.
func (f *follower) pass(ctx context.Context) (lines int, err error) {
	for {
		all, err := f.store.volumes(f.account, f.q.Type)
		if err != nil {
			return lines, err
		}
		present := all[len(all)-1].number
		v := all[0]
		for _, other := range all {
			if v = other; v.number >= f.at.volume {
				break
			}
		}
		if v.number > f.at.volume { // the file is no longer kept
			f.at, f.skip = position{volume: v.number}, false
		}
		n, err := f.drain(ctx, v)
		lines += n
		if err != nil {
			return lines, err
		}
		if v.number == present || n > 0 && v.number == present-1 {
			return lines, nil
		}
		f.at, f.skip = position{volume: v.number + 1}, false
	}
}

// drain writes the lines of a file from the position.
func (f *follower) drain(ctx context.Context, v volume) (lines int, err error) {
	file, packed, err := open(v)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var in io.Reader = attended{ctx, file}
	if packed {
		if in, err = unpacked(ctx, file, v); err != nil {
			return 0, err
		}
		if _, err := io.CopyN(io.Discard, in, f.at.offset); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	} else if _, err := file.Seek(f.at.offset, io.SeekStart); err != nil {
		return 0, err
	}
	start := f.at.offset
	var failed error
	err = forwards(bounded(ctx, in, v.most-start), func(line []byte, at, next int64) bool {
		here := position{v.number, start + at}
		f.at.offset = start + next
		if f.skip {
			f.skip = false
			return true
		}
		lines++
		if failed = errors.Join(ctx.Err(), f.line(line, here)); failed != nil {
			return false
		}
		return true
	})
	return lines, errors.Join(err, failed)
}

// line writes a line when it matches.
func (f *follower) line(line []byte, at position) error {
	l, ok := parse(f.q.Type, string(line))
	if ok {
		f.last = l
	} else {
		if f.last.At.IsZero() {
			return nil
		}
		l = f.last
		l.Message = strings.ToValidUTF8(string(line), "\ufffd")
	}
	l.Cursor = at.String()
	if !matches(panel.LogQuery{}, f.text, l) {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	_, err := f.out.Write(b.Bytes())
	return err
}

package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/port/panel"
)

const (
	block       = 64 << 10
	longestLine = 32 << 10 // the rest of a longer line is omitted
	readMost    = 64 << 20 // bytes read for one page at most
	entryLines  = 100      // lines of one entry, such as a stack trace
	// disorder is how much earlier than its neighbour a line may be: requests are logged when they end.
	disorder = 10 * time.Minute
)

// position is a position in a log: the number of the file and the offset in it.
type position struct {
	volume, offset int64
}

func (p position) String() string { return fmt.Sprintf("%d-%d", p.volume, p.offset) }

func parsePosition(s string) (p position, err error) {
	volume, offset, ok := strings.Cut(s, "-")
	if p.volume, err = strconv.ParseInt(volume, 10, 64); err == nil {
		p.offset, err = strconv.ParseInt(offset, 10, 64)
	}
	if !ok || err != nil || p.volume < 1 || p.offset < 0 || p.String() != s {
		return p, fmt.Errorf("%w: cursor %q", panel.ErrInvalid, s)
	}
	return p, nil
}

// matches reports whether a line matches the query.
func matches(q panel.LogQuery, text string, l panel.LogLine) bool {
	return (q.Since.IsZero() || !l.At.Before(q.Since)) && (q.Until.IsZero() || l.At.Before(q.Until)) &&
		(text == "" || strings.Contains(strings.ToLower(l.Message+" "+l.Path+" "+l.IP+" "+strconv.Itoa(l.Status)), text))
}

// checkQuery returns where to begin: the zero position is the end of the log.
func checkQuery(q panel.LogQuery, cursor string) (position, error) {
	known := false
	for _, t := range panel.LogTypes() {
		known = known || t == q.Type
	}
	if !known {
		return position{}, fmt.Errorf("%w: no log is called %q", panel.ErrInvalid, q.Type)
	}
	if cursor == "" {
		return position{}, nil
	}
	return parsePosition(cursor)
}

// Read returns the newest lines of a log that match; see panel.Logs.
func (s *Store) Read(ctx context.Context, account string, q panel.LogQuery) (panel.LogPage, error) {
	before, err := checkQuery(q, q.Before)
	if err == nil && (q.Limit < 1 || q.Limit > panel.MaxLogLines) {
		err = fmt.Errorf("%w: %d lines", panel.ErrInvalid, q.Limit)
	}
	if err != nil {
		return panel.LogPage{}, err
	}
	all, err := s.volumes(account, q.Type)
	if err != nil {
		return panel.LogPage{}, err
	}
	if last := all[len(all)-1].number; before.volume > last {
		return panel.LogPage{}, fmt.Errorf("%w: cursor %q", panel.ErrInvalid, q.Before)
	}
	r := reader{ctx: ctx, q: q, text: strings.ToLower(q.Text), budget: readMost, page: panel.LogPage{Lines: []panel.LogLine{}}}
	for i := len(all) - 1; i >= 0 && !r.done; i-- {
		v := all[i]
		if before.volume != 0 && v.number > before.volume {
			continue
		}
		end := int64(-1)
		if v.number == before.volume {
			end = before.offset
		}
		if err := r.volume(v, end); err != nil {
			return panel.LogPage{}, err
		}
	}
	return r.page, nil
}

// reader collects a page.
type reader struct {
	ctx    context.Context
	q      panel.LogQuery
	text   string
	budget int64
	page   panel.LogPage
	done   bool

	tail []string // further lines of an entry whose beginning comes next, the last one first
}

// volume reads a file backwards from end; -1 is its own end.
func (r *reader) volume(v volume, end int64) error {
	f, packed, err := open(v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was written yet, or it was just removed
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r.tail = nil
	if packed {
		return r.packed(f, v, end)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size = min(size, v.most); end < 0 || end > size {
		end = size
	}
	return backwards(r.ctx, f, end, func(line []byte, at int64) bool { return r.line(line, position{v.number, at}) })
}

func open(v volume) (f *os.File, packed bool, err error) {
	f, err = os.OpenFile(v.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(v.path+".gz", os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		packed = true
	}
	return f, packed, err
}

// backwards calls each with the complete lines of f that end before end, the last one first, until each returns false.
// Text after the last line break is an incomplete line.
func backwards(ctx context.Context, f io.ReaderAt, end int64, each func(line []byte, at int64) bool) error {
	var rest []byte // the part of a line whose beginning is not read yet
	whole := false  // rest ends with the end of a line
	for end > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(block, end)
		buf := make([]byte, n, int(n)+len(rest))
		if _, err := f.ReadAt(buf, end-n); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end -= n
		buf = append(buf, rest...)
		for {
			i := bytes.LastIndexByte(buf, '\n')
			if i < 0 {
				break
			}
			if whole && !each(clip(buf[i+1:]), end+int64(i)+1) {
				return nil
			}
			whole = true
			buf = buf[:i]
		}
		if rest = buf; len(rest) > longestLine+block {
			rest = rest[:longestLine] // its end is omitted
		}
	}
	if whole {
		each(clip(rest), 0)
	}
	return nil
}

func clip(line []byte) []byte { return line[:min(len(line), longestLine)] }

// line adds a line; earlier lines come later. It returns false when the page is full.
func (r *reader) line(text []byte, at position) bool {
	r.budget -= int64(len(text)) + 1
	l, ok := parse(r.q.Type, string(text))
	if !ok {
		if len(r.tail) < entryLines {
			r.tail = append(r.tail, strings.ToValidUTF8(string(text), "\ufffd"))
		}
		return true
	}
	for i := len(r.tail) - 1; i >= 0; i-- {
		l.Message += "\n" + r.tail[i]
	}
	r.tail = nil
	l.Cursor = at.String()
	if matches(r.q, r.text, l) {
		r.page.Lines = append(r.page.Lines, l)
	}
	switch {
	case !r.q.Since.IsZero() && l.At.Before(r.q.Since.Add(-disorder)):
		r.done, r.page.Before = true, ""
	case len(r.page.Lines) == r.q.Limit, r.budget <= 0:
		r.done, r.page.Before = true, l.Cursor
	}
	return !r.done
}

// packed reads a compressed file. It can only be read forwards, so the last matching lines are kept meanwhile.
func (r *reader) packed(f io.Reader, v volume, end int64) error {
	if end == 0 { // what is before its first line is in older files
		return nil
	}
	in, err := unpacked(r.ctx, f, v)
	if err != nil {
		return err
	}
	type kept struct {
		line []byte
		at   int64
	}
	// Never more than a page of entries is needed; some entries have several lines.
	var last []kept
	most := (r.q.Limit - len(r.page.Lines)) * 2
	dropped := false
	entry := []kept{}
	flush := func() {
		if len(entry) == 0 {
			return
		}
		l, ok := parse(r.q.Type, string(entry[0].line))
		for _, k := range entry[1:] {
			l.Message += "\n" + string(k.line)
		}
		if ok && matches(r.q, r.text, l) {
			last = append(last, entry...)
			for len(last) > most+entryLines {
				last, dropped = last[1:], true
			}
		}
		entry = entry[:0:0]
	}
	whole := in.N
	err = forwards(in, func(line []byte, at, _ int64) bool {
		if end >= 0 && at >= end || r.ctx.Err() != nil {
			return false
		}
		if _, ok := parse(r.q.Type, string(line)); ok {
			flush()
		}
		if len(entry) < entryLines {
			entry = append(entry, kept{bytes.Clone(line), at})
		}
		return true
	})
	flush()
	r.budget -= whole - in.N // also what is no line
	if err := errors.Join(err, r.ctx.Err()); err != nil {
		return err
	}
	for i := len(last) - 1; i >= 0; i-- {
		spare := r.budget
		r.budget = max(spare, 1<<20) // it was counted above, and the matches are returned
		more := r.line(last[i].line, position{v.number, last[i].at})
		r.budget = spare
		if !more {
			return nil
		}
	}
	if r.budget <= 0 || dropped {
		r.done = true
		r.page.Before = position{v.number, 0}.String()
		if dropped && len(last) > 0 {
			r.page.Before = position{v.number, last[0].at}.String()
		}
	}
	return nil
}

// mostUnpacked bounds the bytes that are read of a compressed file. Logs are rotated when they are far smaller, but a file that has come
// along with an account was made elsewhere, and may unpack to a thousand times its size.
const mostUnpacked = 512 << 20

// unpacked reads a compressed file of a log until ctx ends.
func unpacked(ctx context.Context, f io.Reader, v volume) (*io.LimitedReader, error) {
	gz, err := gzip.NewReader(bufio.NewReader(attended{ctx, f}))
	if err != nil {
		return nil, err
	}
	return &io.LimitedReader{R: attended{ctx, gz}, N: min(v.most, mostUnpacked)}, nil
}

// bounded reads in until ctx ends, and at most most bytes: a file may have no line end.
func bounded(ctx context.Context, in io.Reader, most int64) io.Reader {
	return io.LimitReader(attended{ctx, in}, most)
}

type attended struct {
	ctx context.Context //nolint:containedctx // of one reading
	in  io.Reader
}

func (a attended) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.in.Read(p)
}

// forwards calls each with the complete lines of in, with their beginning and end, until each returns false.
func forwards(in io.Reader, each func(line []byte, at, next int64) bool) error {
	b := bufio.NewReaderSize(in, block)
	var at int64
	var line []byte
	size := int64(0)
	for {
		part, err := b.ReadSlice('\n')
		size += int64(len(part))
		line = append(line, part[:min(len(part), longestLine-min(longestLine, len(line)))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !each(bytes.TrimSuffix(line, []byte("\n")), at, at+size) {
			return nil
		}
		at += size
		line, size = line[:0], 0
	}
}

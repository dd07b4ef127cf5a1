package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	flushEvery  = time.Second
	flushBytes  = 64 << 10  // a busy site does not wait for the next second
	pendingMost = 256 << 10 // further lines are dropped: a stalled disk must not fill the memory
	rotateBytes = 10 << 20
	rotated     = 4 // older logs kept: .1 to .4
)

// accessLogs collects the lines of all sites and appends them to their files every second. A file is open only while it
// is appended to, so a machine of ten thousand sites holds none open.
type accessLogs struct {
	log  *slog.Logger
	kick chan struct{}
	stop chan struct{}
	done chan struct{}

	once    sync.Once
	mu      sync.Mutex
	pending map[string]*pendingLog // by domain
	writing sync.Mutex             // serializes flushes
}

type pendingLog struct {
	site  *Site
	lines []byte
}

func newAccessLogs(log *slog.Logger) *accessLogs {
	l := &accessLogs{
		log: log, kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		pending: map[string]*pendingLog{},
	}
	go l.run()
	return l
}

func (l *accessLogs) run() {
	defer close(l.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.flush()
		case <-l.kick:
			l.flush()
		case <-l.stop:
			l.flush()
			return
		}
	}
}

func (l *accessLogs) close() error {
	l.once.Do(func() { close(l.stop) })
	<-l.done
	return nil
}

func (l *accessLogs) add(site *Site, line []byte) {
	l.mu.Lock()
	p := l.pending[site.Domain]
	if p == nil || p.site.Home != site.Home { // a moved domain takes no lines along
		p = &pendingLog{}
		l.pending[site.Domain] = p
	}
	p.site = site
	if len(p.lines)+len(line) <= pendingMost {
		p.lines = append(p.lines, line...)
	}
	full := len(p.lines) >= flushBytes
	l.mu.Unlock()
	if full {
		select {
		case l.kick <- struct{}{}:
		default: // a flush is pending already
		}
	}
}

// forget drops the pending lines of a deleted site, after a flush that may be writing them.
func (l *accessLogs) forget(site *Site) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, site.Domain)
}

func (l *accessLogs) flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	due := l.pending
	l.pending = make(map[string]*pendingLog)
	l.mu.Unlock()
	for _, p := range due {
		if err := appendLog(p.site, p.lines); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("access log cannot be written", "site", p.site.Domain, "error", err)
		}
	}
}

// appendLog writes in the customer's home, so it expects that the customer has replaced the log by a link or a pipe.
func appendLog(site *Site, lines []byte) (err error) {
	home, err := os.OpenRoot(site.Home)
	if err != nil {
		return err
	}
	defer home.Close()
	name := site.accessLog()
	if info, err := home.Lstat(name); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", name)
		}
		if info.Size()+int64(len(lines)) > rotateBytes {
			if err := rotate(home, name); err != nil {
				return err
			}
		}
	}
	f, err := home.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(lines)
	return err
}

func rotate(home *os.Root, name string) error {
	for n := rotated - 1; n >= 0; n-- {
		from := name
		if n > 0 {
			from += "." + strconv.Itoa(n)
		}
		if err := home.Rename(from, name+"."+strconv.Itoa(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// logLine formats a line of the combined format.
func logLine(r *http.Request, status int, sent int64, at time.Time) []byte {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = "-"
	}
	b := make([]byte, 0, 256)
	b = append(b, ip...)
	b = append(b, " - - ["...)
	b = at.AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	b = append(b, `] "`...)
	b = appendEscaped(b, r.Method)
	b = append(b, ' ')
	b = appendEscaped(b, r.RequestURI)
	b = append(b, ' ')
	b = append(b, r.Proto...)
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, sent, 10)
	for _, text := range []string{r.Referer(), r.UserAgent()} {
		b = append(b, ` "`...)
		if text == "" {
			text = "-"
		}
		b = appendEscaped(b, text)
		b = append(b, '"')
	}
	return append(b, '\n')
}

// appendEscaped prevents a client's text from ending its field or its line.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := range min(len(s), 2048) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// recorder records the answer for the log.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// ReadFrom lets the kernel send a file without copying it here.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	n, err := io.Copy(r.ResponseWriter, src)
	r.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

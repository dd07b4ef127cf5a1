package ssh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// How often the server's log is read, and its maximum size before it is truncated. sshd appends, so the file can be
// truncated while it is open.
const (
	readEvery = 5 * time.Second
	mostLog   = 16 << 20
)

// tail reads the text added to a file since the last read.
type tail struct {
	file string
	kept string // file with the position for the next agent

	mu sync.Mutex
	at int64
}

// openTail continues where a former agent has read something that mattered: the lines have no time, so a line that is
// read again would count as new.
func openTail(file, kept string) *tail {
	t := &tail{file: file, kept: kept}
	if data, err := os.ReadFile(kept); err == nil {
		t.at, _ = strconv.ParseInt(string(data), 10, 64) // from the beginning, if it cannot be read
	}
	return t
}

// keep stores the position for the next agent.
func (t *tail) keep() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return atomicfile.Write(t.kept, strconv.AppendInt(nil, t.at, 10), 0o600)
}

// lines returns the new complete lines.
func (t *tail) lines() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(t.file, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if t.at < 0 || info.Size() < t.at {
		t.at = 0 // truncated
	}
	data, err := io.ReadAll(io.NewSectionReader(f, t.at, min(info.Size()-t.at, mostLog)))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	t.at += int64(len(data))
	if t.at > mostLog && t.at == info.Size() {
		if err := f.Truncate(0); err != nil {
			return nil, err
		}
		t.at = 0
	}
	return strings.Split(string(data), "\n"), nil
}

// accepted matches sshd's message about a sign-in. It begins its line: a name sent by a stranger is further on, and
// without line breaks.
var accepted = regexp.MustCompile(`^Accepted publickey for ([a-z][a-z0-9]*) from \S+ port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})\r?$`)

// readLog records which keys were used.
func (d *Driver) readLog() {
	lines, err := d.log.lines()
	if err != nil {
		d.cfg.Log.Warn("log of sshd cannot be read", "error", err)
		return
	}
	var users map[string]string // account by Linux user
	for _, line := range lines {
		found := accepted.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if users == nil {
			users = d.users()
		}
		if err := d.used(users[found[1]], found[2], d.cfg.Now().UTC()); err != nil {
			d.cfg.Log.Warn("use of an SSH key cannot be kept", "user", found[1], "error", err)
		}
	}
	if users != nil {
		if err := d.log.keep(); err != nil {
			d.cfg.Log.Warn("how far the log of sshd was read cannot be kept", "error", err)
		}
	}
}

func (d *Driver) users() map[string]string {
	all := map[string]string{}
	for name, e := range d.records.All() {
		if a, err := d.lookup(e.Ref); err == nil {
			all[userOf(a)] = name
		}
	}
	return all
}

// follow reads the log, and maintains sshd's directory, until ctx ends.
func (d *Driver) follow(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.readLog()
			if err := makePrivsep(); err != nil {
				d.cfg.Log.Error("sshd cannot take anybody", "error", err)
			}
		}
	}
}

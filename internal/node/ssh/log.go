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

	"stead.dev/stead/internal/node/record"
)

// How often the server's log is read, and how large it may become before it is begun anew. sshd appends, so
// the file can be emptied under it.
const (
	readEvery = 5 * time.Second
	mostLog   = 16 << 20
)

// tail reads what was added to a file since it last looked.
type tail struct {
	file string
	kept string // where it says how far the file was read, for the next agent

	mu sync.Mutex
	at int64
}

// openTail goes on where an agent before read something that mattered: the lines bear no time, so one that
// is read again would be taken for one of now.
func openTail(file, kept string) *tail {
	t := &tail{file: file, kept: kept}
	if data, err := os.ReadFile(kept); err == nil {
		t.at, _ = strconv.ParseInt(string(data), 10, 64) // from the beginning, if it cannot be read
	}
	return t
}

// keep has the next agent go on behind what was read.
func (t *tail) keep() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return record.WriteFile(t.kept, strconv.AppendInt(nil, t.at, 10), 0o600)
}

// lines answers the complete lines that came.
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
		t.at = 0 // begun anew
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

// accepted is what sshd writes when somebody came in. It begins its line: what strangers send as a name
// stands further on, and without line breaks.
var accepted = regexp.MustCompile(`^Accepted publickey for ([a-z][a-z0-9]*) from \S+ port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})\r?$`)

// readLog notes which keys were used.
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

// follow reads the log, and keeps what sshd needs, until ctx ends.
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

package mail

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/panel"
)

// logReader reads what the daemons log, takes it apart, and gives each account what is about it, and
// nothing of others'. How far it is lasts over restarts: the daemons log on without it.
type logReader struct {
	d      *Driver
	cancel context.CancelFunc
	done   sync.WaitGroup

	places map[string]int64    // of the files, in bytes
	queue  map[string]*message // by Postfix's queue id
}

// message is what was said of one in Postfix's queue.
type message struct {
	from, ip, login string
	at              time.Time
}

const (
	readEvery   = time.Second
	rotateAfter = 64 << 20     // bytes of a log
	forget      = 4 * 24 * 60  // minutes after which a message is out of the queue
	mostQueued  = 200_000      // messages that are remembered
	longestLine = 16 << 10     // bytes
	readAtOnce  = 1_000        // lines between which the place is noted
	logPlaces   = "log-places" // the file, in the directory of the state
)

func startLogs(d *Driver) *logReader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &logReader{d: d, cancel: cancel, places: map[string]int64{}, queue: map[string]*message{}}
	if d.cfg.Lines == nil {
		return r
	}
	if data, err := os.ReadFile(r.placesFile()); err == nil {
		_ = json.Unmarshal(data, &r.places) // from the start, when it is broken
	}
	r.done.Go(func() {
		tick := time.NewTicker(readEvery)
		defer tick.Stop()
		for {
			r.read(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return r
}

func (r *logReader) stop() {
	r.cancel()
	r.done.Wait()
}

func (r *logReader) placesFile() string { return filepath.Join(r.d.cfg.Dir, "state", logPlaces) }

func (r *logReader) read(ctx context.Context) {
	known := ownersOf(r.d.store.All())
	for name, parse := range map[string]func(line string, o owners){"postfix": r.postfix, "dovecot": r.dovecot} {
		if err := r.readFile(ctx, name, func(line string) { parse(line, known) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.d.cfg.Log.Warn("log of mail cannot be read", "log", name, "error", err)
		}
	}
}

func (r *logReader) readFile(ctx context.Context, name string, parse func(line string)) (err error) {
	f, err := os.Open(r.d.cfg.logFile(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at := r.places[name]
	if at > info.Size() {
		at = 0 // it was rotated
	}
	if at == info.Size() && at < rotateAfter {
		return nil
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(f, longestLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break // what has no end yet is read next time
		}
		at += int64(len(line))
		parse(strings.TrimRight(string(line), "\n"))
		if n%readAtOnce == 0 {
			if err := r.note(name, at); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
	if at >= rotateAfter {
		return r.rotate(ctx, name)
	}
	return r.note(name, at)
}

func (r *logReader) note(name string, at int64) error {
	if r.places[name] == at {
		return nil
	}
	r.places[name] = at
	data, err := json.Marshal(r.places)
	if err != nil {
		return err
	}
	return record.WriteFile(r.placesFile(), data, 0o600)
}

// rotate puts a log that was read aside; one older one is kept, for the operator.
func (r *logReader) rotate(ctx context.Context, name string) error {
	file := r.d.cfg.logFile(name)
	if err := os.Rename(file, file+".1"); err != nil {
		return err
	}
	if name == "postfix" {
		if err := r.d.cfg.Supervisor.Reload(ctx, daemonPostfix); err != nil {
			return err
		}
	} else if err := run(ctx, nil, "/usr/bin/doveadm", "-c", r.d.conf("dovecot.conf"), "log", "reopen"); err != nil {
		return err
	}
	return r.note(name, 0)
}

// owners says which account a domain or one who signs in belongs to.
type owners struct{ domains, logins map[string]string }

func ownersOf(all map[string]state) owners {
	o := owners{map[string]string{}, map[string]string{}}
	for name, s := range all {
		o.logins[name] = name
		for _, domain := range s.Domains {
			o.domains[domain] = name
		}
	}
	return o
}

func (o owners) of(address string) string {
	if account, ok := o.logins[address]; ok {
		return account
	}
	return o.domains[domainOf(strings.ToLower(address))]
}

func (r *logReader) tell(account string, l panel.LogLine) {
	if account == "" {
		return
	}
	l.Source = panel.LogMail
	if err := r.d.cfg.Lines(account, r.d.store.Get(account).GID, l); err != nil {
		r.d.cfg.Log.Warn("log of mail cannot be kept", "account", account, "error", err)
	}
}

var (
	postfixLine = regexp.MustCompile(`^([A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}) \S+ postfix\S*/(\w+)\[\d+\]: (NOQUEUE|[0-9A-Za-z]{6,20}): (.*)$`)
	delivered   = regexp.MustCompile(`^to=<([^>]*)>,(?: orig_to=<([^>]*)>,)? relay=([^,]*),.* dsn=([0-9.]+), status=(\w+) \((.*)\)$`)
	rejected    = regexp.MustCompile(`^(?:milter-)?reject: \S+ from \S*\[([^\]]*)\][^;]*?: ([45][0-9]{2}) (.*?); from=<([^>]*)>(?: to=<([^>]*)>)?`)
	notOwned    = regexp.MustCompile(`not owned by user (\S+)$`)
	clientLine  = regexp.MustCompile(`^client=\S*\[([^\]]*)\](?:.*sasl_username=([^,\s]+))?`)
	fromLine    = regexp.MustCompile(`^from=<([^>]*)>, size=`)
	dovecotLine = regexp.MustCompile(`^(\S+) (imap|pop3)-login: Info: (.*)$`)
	loginUser   = regexp.MustCompile(`user=<([^>]+)>`)
	loginIP     = regexp.MustCompile(`rip=([0-9a-fA-F.:]+)`)
)

// postfix takes a line of Postfix apart: who sends is said when a message comes, to whom it went, and
// what became of it, with every recipient.
func (r *logReader) postfix(line string, o owners) {
	m := postfixLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	at, id, said := r.syslogTime(m[1]), m[3], m[4]
	if id == "NOQUEUE" || strings.HasPrefix(said, "reject:") || strings.HasPrefix(said, "milter-reject:") {
		r.rejected(at, said, o)
		return
	}
	q := r.queue[id]
	if q == nil {
		if len(r.queue) >= mostQueued {
			r.prune(at)
		}
		q = &message{at: at}
		r.queue[id] = q
	}
	switch {
	case said == "removed":
		delete(r.queue, id)
	case strings.HasPrefix(said, "client="):
		if c := clientLine.FindStringSubmatch(said); c != nil {
			q.ip, q.login = c[1], c[2]
		}
	case strings.HasPrefix(said, "from="):
		if f := fromLine.FindStringSubmatch(said); f != nil {
			q.from = f[1]
		}
	case strings.HasPrefix(said, "to="):
		r.delivered(at, said, *q, o)
	}
}

func (r *logReader) delivered(at time.Time, said string, q message, o owners) {
	d := delivered.FindStringSubmatch(said)
	if d == nil {
		return
	}
	to, written, relay, status, why := d[1], d[2], d[3], d[5], d[6]
	if written == "" {
		written = to
	}
	code, _ := strconv.Atoi(why[:min(len(why), 3)])
	l := panel.LogLine{At: at, Level: levelOf(status), IP: q.ip, Status: code}
	sender := o.of(q.login)
	if q.login == "" && q.from != "" {
		sender = o.of(q.from)
		if q.ip != "" && q.ip != "127.0.0.1" { // anybody may write as anybody
			sender = ""
		}
	}
	recipient := o.of(to)
	if recipient == "" || strings.Contains(relay, "lmtp") {
		recipient = o.of(written)
	}
	l.Message = fmt.Sprintf("%s: from <%s> to <%s>: %s", status, q.from, written, why)
	r.tell(sender, l)
	if recipient != sender {
		r.tell(recipient, l)
	}
}

func levelOf(status string) string {
	switch status {
	case "sent":
		return "info"
	case "deferred":
		return "warning"
	default:
		return "error"
	}
}

func (r *logReader) rejected(at time.Time, said string, o owners) {
	m := rejected.FindStringSubmatch(said)
	if m == nil {
		return
	}
	code, _ := strconv.Atoi(m[2])
	l := panel.LogLine{
		At: at, Level: "warning", IP: m[1], Status: code,
		Message: fmt.Sprintf("refused: from <%s> to <%s>: %s %s", m[4], m[5], m[2], m[3]),
	}
	sender, recipient := "", o.of(m[5])
	if login := notOwned.FindStringSubmatch(m[3]); login != nil {
		sender = o.of(login[1])
	}
	r.tell(sender, l)
	if recipient != sender {
		r.tell(recipient, l)
	}
}

// dovecot takes a line of Dovecot apart: who signed in, and who could not.
func (r *logReader) dovecot(line string, o owners) {
	m := dovecotLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	user := loginUser.FindStringSubmatch(m[3])
	if user == nil {
		return
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", m[1], time.Local)
	if err != nil {
		return
	}
	l := panel.LogLine{At: at.UTC(), Level: "info"}
	if ip := loginIP.FindStringSubmatch(m[3]); ip != nil {
		l.IP = ip[1]
	}
	protocol := strings.ToUpper(m[2])
	switch {
	case strings.HasPrefix(m[3], "Login:"):
		l.Message = fmt.Sprintf("%s signed in by %s", user[1], protocol)
	case strings.Contains(m[3], "auth failed"):
		l.Level, l.Message = "warning", fmt.Sprintf("%s could not sign in by %s", user[1], protocol)
	default:
		return
	}
	r.tell(o.of(user[1]), l)
}

// syslogTime is a time of syslog, which names no year: the last one with which it is not to come.
func (r *logReader) syslogTime(s string) time.Time {
	now := r.d.cfg.Now()
	at, err := time.ParseInLocation("Jan _2 15:04:05", s, time.Local)
	if err != nil {
		return now.UTC()
	}
	at = time.Date(now.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local)
	if at.After(now.Add(24 * time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at.UTC()
}

func (r *logReader) prune(now time.Time) {
	for id, q := range r.queue {
		if now.Sub(q.at) > forget*time.Minute {
			delete(r.queue, id)
		}
	}
	if len(r.queue) >= mostQueued {
		clear(r.queue)
	}
}

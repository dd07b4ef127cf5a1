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

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// logReader parses the daemons' logs and gives each account the lines about it, and no others. It stores its position
// over restarts: the daemons keep logging without it.
type logReader struct {
	d      *Driver
	cancel context.CancelFunc
	done   sync.WaitGroup

	places map[string]int64    // bytes read of the files; the name of a rotated one ends in aside
	asked  map[string]bool     // daemons that were asked to reopen a log, by its name, since the last rotation
	queue  map[string]*message // by Postfix's queue id
}

// message is the state of a message in Postfix's queue.
type message struct {
	from, ip, login string
	at              time.Time
}

const (
	readEvery   = time.Second
	rotateAfter = 64 << 20     // bytes of a log
	forget      = 4 * 24 * 60  // minutes until a message has left the queue
	mostQueued  = 200_000      // bound of the remembered messages
	longestLine = 16 << 10     // bytes
	readAtOnce  = 1_000        // lines after which the position is stored
	logPlaces   = "log-places" // the file, in the directory of the state
	aside       = ".1"         // suffix of a rotated log
)

func startLogs(d *Driver) *logReader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &logReader{d: d, cancel: cancel, places: map[string]int64{}, asked: map[string]bool{}, queue: map[string]*message{}}
	if d.cfg.Lines == nil {
		return r
	}
	if data, err := os.ReadFile(r.placesFile()); err == nil {
		_ = json.Unmarshal(data, &r.places) // from the start, when it is damaged
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
	known := owners{r.d.routes, r.d.store}
	for name, parse := range map[string]func(line string, o owners){"postfix": r.postfix, "dovecot": r.dovecot} {
		if err := r.readFile(ctx, name, func(line string) { parse(line, known) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.d.cfg.Log.Warn("log of mail cannot be read", "log", name, "error", err)
		}
	}
}

func (r *logReader) readFile(ctx context.Context, name string, parse func(line string)) error {
	if begun, err := r.finish(ctx, name, parse); err != nil || !begun {
		return err
	}
	info, err := os.Stat(r.d.cfg.logFile(name))
	if err != nil {
		return err
	}
	at := r.places[name]
	if at > info.Size() {
		at = 0 // somebody truncated it
	}
	if at == info.Size() && at < rotateAfter {
		return nil
	}
	if at, err = r.lines(ctx, name, at, parse); err != nil || ctx.Err() != nil {
		return err
	}
	if at >= rotateAfter {
		return r.rotate(ctx, name, parse)
	}
	return nil
}

// lines reads a log from a position, stores and returns the new position.
func (r *logReader) lines(ctx context.Context, name string, at int64, parse func(line string)) (_ int64, err error) {
	file, wasAside := strings.CutSuffix(name, aside)
	if file = r.d.cfg.logFile(file); wasAside {
		file += aside
	}
	f, err := os.Open(file)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return at, err
	}
	lines := bufio.NewReaderSize(f, longestLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break // an incomplete line is read next time
		}
		at += int64(len(line))
		parse(strings.TrimRight(string(line), "\n"))
		if n%readAtOnce == 0 {
			if err := r.note(name, at); err != nil || ctx.Err() != nil {
				return at, err
			}
		}
	}
	return at, r.note(name, at)
}

func (r *logReader) note(name string, at int64) error {
	if now, known := r.places[name]; known && now == at {
		return nil
	}
	r.places[name] = at
	return r.keep()
}

func (r *logReader) keep() error {
	data, err := json.Marshal(r.places)
	if err != nil {
		return err
	}
	return atomicfile.Write(r.placesFile(), data, 0o600)
}

// rotate renames a log that was read; one older log is kept, for the operator.
func (r *logReader) rotate(ctx context.Context, name string, parse func(line string)) error {
	if err := os.Rename(r.d.cfg.logFile(name), r.d.cfg.logFile(name)+aside); err != nil {
		return err
	}
	_, err := r.finish(ctx, name, parse)
	return err
}

// finish reads the rest of a rotated log, until its daemon has begun a new one; begun says that it has, or that none
// was rotated.
func (r *logReader) finish(ctx context.Context, name string, parse func(line string)) (begun bool, err error) {
	_, missing := os.Stat(r.d.cfg.logFile(name))
	begun = !errors.Is(missing, fs.ErrNotExist)
	at, there := r.places[name+aside]
	if !there {
		if begun || r.places[name] < rotateAfter {
			return true, nil
		}
		at = r.places[name] // rotated just now, or by an agent that was killed then
		r.places[name], r.places[name+aside], r.asked[name] = 0, at, false
		if err := r.keep(); err != nil {
			return false, err
		}
	}
	if !begun && !r.asked[name] {
		if err := r.reopen(ctx, name); err != nil {
			return false, err
		}
		r.asked[name] = true
	}
	if _, err := r.lines(ctx, name+aside, at, parse); err != nil && !errors.Is(err, fs.ErrNotExist) || !begun || ctx.Err() != nil {
		return false, err
	}
	delete(r.places, name+aside)
	return true, r.keep()
}

// reopen makes a daemon reopen its log.
func (r *logReader) reopen(ctx context.Context, name string) error {
	if name == "postfix" {
		return r.d.cfg.Supervisor.Reload(ctx, daemonPostfix)
	}
	return run(ctx, nil, "/usr/bin/doveadm", "-c", r.d.conf("dovecot.conf"), "log", "reopen")
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

// postfix parses a line of Postfix: the sender is logged when a message arrives, the recipient and the result with
// every delivery.
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
		written = strings.TrimSuffix(to, hereMark)
	}
	code, _ := strconv.Atoi(why[:min(len(why), 3)])
	l := panel.LogLine{At: at, Level: levelOf(status), IP: q.ip, Status: code}
	sender := o.of(q.login)
	if q.login == "" && q.from != "" {
		sender = o.of(q.from)
		if q.ip != "" && q.ip != "127.0.0.1" { // the sender of incoming mail can be forged
			sender = ""
		}
	}
	recipient := o.gets(to)
	if other := o.gets(written); other != "" && (recipient == "" || strings.Contains(relay, "lmtp")) {
		recipient = other
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
	sender, recipient := "", o.gets(m[5])
	if login := notOwned.FindStringSubmatch(m[3]); login != nil {
		sender = o.of(login[1])
	}
	r.tell(sender, l)
	if recipient != sender {
		r.tell(recipient, l)
	}
}

// dovecot parses a line of Dovecot: sign-ins and failed ones.
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

// syslogTime parses a time of syslog, which has no year: it chooses the last year with which it is not in the future.
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

package mail

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The arguments by which this program runs as one of the facility's helpers, after the words that start it: see
// Config.Program.
const (
	PolicyCommand = "mail-policy" // followed by the facility's directory: Policy
	SubmitCommand = "mail-submit" // followed by the facility's directory and sendmail's arguments: Submit
)

// Policy answers Postfix's questions (SMTPD_POLICY_README) whether whoever signed in may send a message
// to so many recipients, until in ends. Postfix starts it for each of its processes, as an unprivileged
// user; what was sent within the last hour is in a file for each who sends, so they count together and
// over restarts.
func Policy(ctx context.Context, dir string, in io.Reader, out io.Writer, now func() time.Time) error {
	lines := bufio.NewScanner(in)
	question := map[string]string{}
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if ok {
			question[name] = value
			continue
		}
		action := "DUNNO"
		if login := question["sasl_username"]; login != "" {
			recipients, _ := strconv.Atoi(question["recipient_count"])
			recipients = max(recipients, 1)
			limit, over, err := spend(ctx, dir, login, recipients, now())
			switch {
			case err != nil:
				action = "451 4.3.0 What was sent cannot be counted now"
			case over && recipients > limit: // it would not fit into any hour
				action = fmt.Sprintf("554 5.7.1 %s may send to %d recipients in an hour, and this message has %d: send it to fewer at a time", login, limit, recipients)
			case over:
				action = fmt.Sprintf("450 4.7.1 %s may send to %d recipients in an hour: try again later", login, limit)
			}
		}
		if _, err := io.WriteString(out, "action="+action+"\n\n"); err != nil {
			return err
		}
		clear(question)
	}
	return lines.Err()
}

// window is the length of the counted time, in minutes.
const window = 60

// sent counts recipients by minute since 1970.
type sent map[int64]int

// spend takes recipients from login's limit for an hour; over says that the rest is not enough, and then it takes none.
func spend(ctx context.Context, dir, login string, recipients int, now time.Time) (limit int, over bool, err error) {
	limit, bound, err := limitOf(ctx, dir, login)
	if err != nil || !bound {
		return 0, false, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "sent", stateName(login)), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the name is hexadecimal
	if err != nil {
		return limit, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return limit, false, err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return limit, false, err
	}
	counts := sent{}
	if len(data) > 0 && json.Unmarshal(data, &counts) != nil {
		counts = sent{} // truncated by a crash: at worst an hour starts again
	}
	minute, total := now.Unix()/60, 0
	for m, n := range counts {
		if m <= minute-window || m > minute {
			delete(counts, m)
			continue
		}
		total += n
	}
	if total+recipients > limit {
		return limit, true, nil
	}
	counts[minute] += recipients
	if data, err = json.Marshal(counts); err != nil {
		return limit, false, err
	}
	if err := f.Truncate(0); err != nil {
		return limit, false, err
	}
	_, err = f.WriteAt(data, 0)
	return limit, false, err
}

// limitOf returns the limit of a signed-in user; not bound when there is none.
func limitOf(ctx context.Context, dir, login string) (limit int, bound bool, err error) {
	// Opened each time: the file may have been replaced.
	db, err := sql.Open("sqlite", dataSource(Config{Dir: dir}.dovecotDatabase(), "query_only(1)")+"&mode=ro")
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, "SELECT recipients FROM "+limits+" WHERE login = ? ORDER BY account LIMIT 1", strings.ToLower(login)).Scan(&limit)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return limit, err == nil, err
}

// Run executes args when they start with one of this package's commands; ok is false when they do not. It returns the
// exit code, one of sysexits.h.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, now func() time.Time) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	var err error
	switch args[0] {
	case PolicyCommand:
		err = Policy(ctx, args[1], stdin, stdout, now)
	case SubmitCommand:
		err = Submit(ctx, args[1], args[2:], stdin)
	default:
		return 0, false
	}
	if err == nil {
		return 0, true
	}
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
	var e exit
	if errors.As(err, &e) {
		return e.code, true
	}
	return exTempFail, true
}

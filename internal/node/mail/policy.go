package mail

import (
	"bufio"
	"context"
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

// The arguments by which this program runs as one of the facility's own, after the words that start it:
// see Config.Program.
const (
	PolicyCommand = "mail-policy" // and the facility's directory: Policy
	SubmitCommand = "mail-submit" // and the facility's directory, and sendmail's arguments: Submit
)

// Policy answers Postfix's questions (SMTPD_POLICY_README) whether whoever signed in may send a message
// to so many recipients, until in ends. Postfix starts it for each of its processes, as an unprivileged
// user; what was sent within the last hour is in a file for each who sends, so they count together and
// over restarts.
func Policy(dir string, in io.Reader, out io.Writer, now func() time.Time) error {
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
			limit, over, err := spend(dir, login, max(recipients, 1), now())
			switch {
			case err != nil:
				action = "451 4.3.0 What was sent cannot be counted now"
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

// window is within what is counted, by the minute.
const window = 60

// sent counts recipients by the minute since 1970.
type sent map[int64]int

// spend takes recipients from what login may send to within an hour; over tells that it is not enough,
// and then it takes none.
func spend(dir, login string, recipients int, now time.Time) (limit int, over bool, err error) {
	limit, bound, err := limitOf(dir, login)
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
		counts = sent{} // a crash cut it short: at worst an hour begins anew
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

// limitOf reads the limit of one who signed in; not bound when it has none.
func limitOf(dir, login string) (limit int, bound bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "tables", tableLimits)) //nolint:gosec // the operator's directory
	if err != nil {
		return 0, false, err
	}
	for line := range strings.Lines(string(data)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == strings.ToLower(login) {
			limit, err = strconv.Atoi(number)
			return limit, err == nil, err
		}
	}
	return 0, false, nil
}

// Run does what args ask when they start with one of this package's commands; ok is false when they do
// not. It answers the exit code, one of sysexits.h.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, now func() time.Time) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	var err error
	switch args[0] {
	case PolicyCommand:
		err = Policy(args[1], stdin, stdout, now)
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

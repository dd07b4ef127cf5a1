// Package mailguard keeps the users of accounts from the ports of mail servers: a hacked site cannot send mail by itself,
// as whom it likes, from an address whose SPF other customers trust. What accounts send goes through the machine's own
// submission, which knows who sends.
//
// It is a table of nftables of its own, beside whatever rules the machine has, for IPv4 and IPv6. The agent sets it
// whenever it starts, and the unit that "stead node setup" installs sets it before the machine's daemons start.
package mailguard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Users is the range of the users whom it holds.
type Users struct{ First, Last int }

// Program is nft(8), of Debian's package nftables.
const Program = "/usr/sbin/nft"

// Table is the name of the table.
const Table = "stead_mail"

// Rules is the program for nft that replaces the table, in one step.
//
// Port 25 is closed on the machine itself as well: there the machine takes mail of other servers, which need no
// password. At the ports of submission it asks for one.
func Rules(u Users) string {
	return fmt.Sprintf(`table inet %[1]s
delete table inet %[1]s
table inet %[1]s {
	chain output {
		type filter hook output priority filter; policy accept;
		meta skuid %[2]d-%[3]d tcp dport { 25, 465, 587 } goto accounts
	}
	chain accounts {
		oif "lo" tcp dport { 465, 587 } accept
		reject with tcp reset
	}
}
`, Table, u.First, u.Last)
}

// Loaded reports whether the table that nft lists holds the users.
func Loaded(listed string, u Users) bool {
	return strings.Contains(listed, fmt.Sprintf("skuid %d-%d", u.First, u.Last)) && strings.Contains(listed, "reject with tcp reset")
}

// setTimeout bounds nft.
const setTimeout = 20 * time.Second

// Set sets the rules, and checks that they hold.
func Set(ctx context.Context, u Users) error {
	if u.First <= 0 || u.Last < u.First {
		return fmt.Errorf("mailguard: %d to %d is no range of users", u.First, u.Last)
	}
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, Program, "-f", "-")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	cmd.Stdin = strings.NewReader(Rules(u))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mailguard: nft: %w: %s", err, firstLine(out))
	}
	return Check(ctx, u)
}

func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(line)
}

// errOpen says that a user reached a port.
var errOpen = errors.New("users of accounts reach the ports of mail servers")

// Check tries as the first and as the last of the users, by IPv4 and IPv6, whether they reach port 25. It must run as
// root. Only this machine is called.
func Check(ctx context.Context, u Users) error {
	hosts := []string{"127.0.0.1"}
	if probe, err := (&net.ListenConfig{}).Listen(ctx, "tcp6", "[::1]:0"); err == nil {
		_ = probe.Close() // the machine supports IPv6
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		for _, uid := range []int{u.First, u.Last} {
			if err := try(ctx, net.JoinHostPort(host, "25"), uid); err != nil {
				return fmt.Errorf("mailguard: user %d, %s: %w", uid, host, err)
			}
		}
	}
	return nil
}

// try connects as a user to an address where somebody listens: the mail server of this machine, or else this function.
func try(ctx context.Context, address string, uid int) error {
	if l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address); err == nil {
		defer func() { _ = l.Close() }() // nothing was accepted
	} else if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	reached, err := dial(ctx, address, uid)
	switch {
	case err != nil:
		return err
	case reached:
		return errOpen
	}
	return nil
}

const dialTimeout = 3 * time.Second

// dial connects as a user. The kernel notes a socket's user when the socket is made: by the file system's id, which is
// one of each thread's.
func dial(ctx context.Context, address string, uid int) (reached bool, err error) {
	type result struct {
		reached bool
		err     error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if err := unix.Setfsuid(uid); err != nil {
			done <- result{err: err}
			return
		}
		if now, err := unix.SetfsuidRetUid(-1); err != nil || now != uid {
			done <- result{err: fmt.Errorf("cannot act as the user: %w", errors.Join(err, syscall.EPERM))}
			return
		}
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		if err == nil {
			done <- result{reached: true, err: conn.Close()}
			return
		}
		if ctx.Err() != nil {
			done <- result{err: ctx.Err()}
			return
		}
		done <- result{}
	}()
	r := <-done
	return r.reached, r.err
}

package mail

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// manage has a mailbox's owner say something by ManageSieve (RFC 5804), and returns the last answer.
func (w *world) manage(user, password string, lines ...string) (answer string) {
	w.t.Helper()
	plain, err := net.Dial("tcp", w.cfg.Sieve)
	must(w.t, err)
	defer plain.Close()
	must(w.t, plain.SetDeadline(time.Now().Add(time.Minute)))
	conn, r := plain, bufio.NewReader(plain)
	hear := func() string {
		var all strings.Builder
		for {
			line, err := r.ReadString('\n')
			must(w.t, err)
			all.WriteString(line)
			if strings.HasPrefix(line, "OK") || strings.HasPrefix(line, "NO") || strings.HasPrefix(line, "BYE") {
				return all.String()
			}
		}
	}
	hear()
	_, err = fmt.Fprint(conn, "STARTTLS\r\n")
	must(w.t, err)
	hear()
	secure := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
	conn, r = secure, bufio.NewReader(secure)
	hear()
	signIn := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
	for _, line := range append([]string{fmt.Sprintf("AUTHENTICATE \"PLAIN\" %q", signIn)}, lines...) {
		_, err = fmt.Fprint(conn, line+"\r\n")
		must(w.t, err)
		if answer = hear(); !strings.HasPrefix(answer, "OK") {
			return answer
		}
	}
	return answer
}

func TestCustomersHaveScriptsOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	put := func(script string) string {
		return fmt.Sprintf("PUTSCRIPT \"mine\" {%d+}\r\n%s", len(script), script)
	}
	if got := w.manage("info@alice.example", "wrong", "LISTSCRIPTS"); !strings.HasPrefix(got, "NO") {
		t.Errorf("a wrong password: %s", got)
	}
	got := w.manage("info@alice.example", password, put("require [\"fileinto\", \"mailbox\"];\r\nif header :contains \"Subject\" \"bill\" { fileinto :create \"Bills\"; }\r\n"), `SETACTIVE "mine"`)
	if !strings.HasPrefix(got, "OK") {
		t.Fatalf("a script is refused: %s", got)
	}
	must(t, w.comes("someone@outside.test", "info@alice.example", "a bill"))
	testkit.Eventually(t, time.Minute, func() bool {
		c, err := w.login("info@alice.example", password)
		must(t, err)
		defer c.Close()
		selected, err := c.Select("Bills", nil).Wait()
		return err == nil && selected.NumMessages == 1
	}, "the script sorts")
	for _, script := range []string{
		"require \"reject\"; reject \"no\";", "require \"ereject\"; ereject \"no\";", "redirect \"victim@outside.test\";",
		"require \"vnd.dovecot.pipe\"; pipe \"learn\" [\"ham\", \"me@bob.example\"];",
	} {
		if got := w.manage("info@alice.example", password, put(script)); !strings.HasPrefix(got, "NO") {
			t.Errorf("%s: %s", script, got)
		}
	}
}

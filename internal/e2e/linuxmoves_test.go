package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// movingSite counts the requests of a visitor's session, and writes to the log of PHP.
const movingSite = `<?php
session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
error_log('visit of ' . $_SERVER['REQUEST_URI']);
echo 'request ', $_SESSION['n'];
`

// watch asks an address every 20 ms until it is called off, and tells when it was first and last answered otherwise than 200.
func watch(site *guest, address string) (stop func() (requests int, first, last time.Time)) {
	var (
		over        = make(chan struct{})
		done        sync.WaitGroup
		requests    int
		first, last time.Time
	)
	done.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond): // sleeps: a visitor between two requests
			}
			answer, err := site.client.Get(address)
			requests++
			if err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			if err != nil || answer.StatusCode != http.StatusOK {
				if last = time.Now(); first.IsZero() {
					first = last
				}
			}
		}
	})
	return func() (int, time.Time, time.Time) {
		close(over)
		done.Wait()
		return requests, first, last
	}
}

// TestALivingServiceMovesWithItsLogs: a site of the size of WordPress with a database and a mailbox moves between Linux machines. Its
// visitors keep their sessions, its files are served all the time, and its owner reads the earlier lines of its logs.
func TestALivingServiceMovesWithItsLogs(t *testing.T) {
	t.Parallel()
	const domain, address = "moving-blog.example.com", "info@moving-blog.example.com"
	one, two := newMachine(t), newMachine(t)
	dns, control := testkit.Port(t), testkit.Address(t)
	one.ca = startPebble(t, one.ports["http"], 1, dns)
	two.ca = one.ca
	in := newInstallation(t, append(one.ca.environment(dns), "STEAD_PANEL=nodes", "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control, "STEAD_ALLOW_LOOPBACK_TARGETS=true")...)
	in.env = append(in.env, "STEAD_NODE_LISTEN=off")
	p := in.serve(t, "--demo")
	c := p.signIn(t)
	env := []string{"STEAD_BACKUP_STORE=" + filepath.Join(t.TempDir(), "sites"), "STEAD_MAIL_HOST=mx." + domain}
	one.newLinuxAgent(t, in, control, "node1", env...)
	service := one.buy(t, c, domain)
	two.newLinuxAgent(t, in, control, "node2", env...)
	at := func(rest string) string { return fmt.Sprintf("/api/v1/services/%d%s", service, rest) }

	c.writeBySFTP(service, "/wordpress.tar.gz", wordpressArchive)
	var unpacked struct{ Extracted struct{ Files int } }
	c.must("POST", at("/files/archive"), `{"operation": "extract", "paths": ["/wordpress.tar.gz"], "target": "/public_html", "overwrite": true}`, &unpacked)
	for name, content := range map[string]string{"/public_html/index.php": movingSite, "/public_html/static.html": "static", "/logs/own.log": "a line of a program"} {
		c.must("PUT", at("/files/content"), fmt.Sprintf(`{"path": %q, "content": %q}`, name, content), &struct{}{})
	}
	database := one.database(t, c, p, service, "blog", "mariadb")
	database.write(t)
	letters := one.mailbox(t, c, service, domain)
	site := one.visitor(t, domain)
	site.eventually("http://"+domain+"/", func(r page) bool { return r.status == http.StatusOK && r.body == "request 1" }, "the site is served")
	site.shows("http://"+domain+"/?before=the-move", "request 2")
	lines := func(of, text string) (all []string) {
		t.Helper()
		var list struct{ Data []struct{ Message string } }
		c.must("GET", at("/logs?type="+of+"&q="+url.QueryEscape(text)), "", &list)
		for _, l := range list.Data {
			all = append(all, l.Message)
		}
		return all
	}
	logged := map[string]string{"access": "the-move", "php": "the-move", "mail": address}
	before := map[string][]string{}
	for of, text := range logged {
		testkit.Eventually(t, time.Minute, func() bool { before[of] = lines(of, text); return len(before[of]) > 0 }, "the log of "+of+" has it")
	}

	programs := watch(one.visitor(t, domain), "http://"+domain+"/")
	files := watch(one.visitor(t, domain), "http://"+domain+"/static.html")
	var m struct {
		ID          int64
		State, Step string
		ErrorKey    *string `json:"error_key"`
		Cause       string
		CreatedAt   time.Time  `json:"created_at"`
		HeldAt      *time.Time `json:"held_at"`
		CommittedAt *time.Time `json:"committed_at"`
		OpenedAt    *time.Time `json:"opened_at"`
		LeftAt      *time.Time `json:"left_at"`
	}
	in.must(t, &m, "admin", "services", "move", fmt.Sprint(service), "--to", "node2", "--now")
	testkit.Eventually(t, 5*time.Minute, func() bool {
		in.must(t, &m, "admin", "moves", "show", fmt.Sprint(m.ID))
		return m.Step == "keep" || m.Step == "closed"
	}, "the service has moved")
	if m.State != "moved" || m.ErrorKey != nil || m.HeldAt == nil || m.OpenedAt == nil {
		t.Fatalf("the move: %+v", m)
	}
	var shown string
	site.eventually("http://"+domain+"/", func(r page) bool { shown = r.body; return r.status == http.StatusOK }, "the former machine passes visitors on")
	if shown != "request 3" {
		t.Errorf("the visitor's session is lost: %q", shown)
	}
	requests, first, last := programs()
	t.Logf("%d files; copied for %s, held for %s (committed after %s), told after %s; of %d requests for the program those of %s failed", unpacked.Extracted.Files,
		m.HeldAt.Sub(m.CreatedAt), m.OpenedAt.Sub(*m.HeldAt), m.CommittedAt.Sub(*m.HeldAt), m.LeftAt.Sub(*m.HeldAt), requests, last.Sub(first))
	if requests, first, last := files(); !first.IsZero() || requests < 100 {
		t.Errorf("of %d requests for a file those of %s failed, from %s after the hold began", requests, last.Sub(first), first.Sub(*m.HeldAt))
	}

	if got := two.visitor(t, domain); got.get("http://"+domain+"/static.html").body != "static" {
		t.Error("the other machine does not serve it")
	}
	for of, text := range logged {
		now := lines(of, text)
		for _, line := range before[of] {
			if !slices.Contains(now, line) {
				t.Errorf("the log of %s has %q, and no %q", of, now, line)
			}
		}
	}
	var file struct{ Content string }
	c.must("GET", at("/files/content?path=/logs/own.log"), "", &file)
	if file.Content != "a line of a program" {
		t.Errorf("the program's own log is %q", file.Content)
	}
	testkit.Eventually(t, time.Minute, func() bool { return database.find(c, service) }, "the database is there")
	database.check(t)
	testkit.Eventually(t, 2*time.Minute, func() bool {
		got, err := two.letters(address)
		return err == nil && slices.Equal(got, letters)
	}, "the letter is there, byte for byte")
	testkit.Eventually(t, time.Minute, func() bool { return two.deliver(address) == nil }, "mail is taken")
}

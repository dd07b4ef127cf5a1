package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

func TestTheDemoBuysAndPublishesASite(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		p := in.serve(t, "--demo")
		if printed := p.printed(); !strings.Contains(printed, p.url) || !strings.Contains(printed, demoPassword) || !strings.Contains(printed, binary+" demo "+p.url) {
			t.Errorf("the start does not say how to sign in, and what to type next:\n%s", printed)
		}
		stdout, stderr, code := in.run(t, "demo", p.url)
		if code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
		// Twice: one run must not prevent the next.
		if stdout, stderr, code := in.run(t, "demo", p.url, "--json"); code != 0 {
			t.Errorf("the second time: exit code %d\n%s%s", code, stdout, stderr)
		}
		if _, _, code := in.run(t, "demo", "http://127.0.0.1:1"); code != 1 {
			t.Errorf("against nobody: exit code %d, want 1", code)
		}
		p.terminate(t)
		p.ends(t)
	})
}

func TestKilledInTheMiddleOfPayingChargesOnce(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		p := in.serve(t, "--demo")
		c := p.signIn(t)
		in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "1000", "--reason", "a test")
		_, before, _ := c.charges()
		const n = 30
		plan := c.plan()
		orders := make([]int64, n)
		var price int64
		for i := range orders {
			orders[i], price = c.order(plan, fmt.Sprintf("kill-%d.example.com", i))
		}
		// pay sends the payment with the order's key until it is answered, at most times.
		pay := func(c *customer, order int64, times int) (status int, answer []byte, err error) {
			for range times {
				status, answer, err = c.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", fmt.Sprintf("key-%d", order))
				if err == nil && status != http.StatusConflict {
					break
				}
			}
			return status, answer, err
		}

		var (
			answered atomic.Int64
			paying   sync.WaitGroup
			enough   = make(chan struct{})
			once     sync.Once
		)
		for _, order := range orders {
			paying.Go(func() {
				status, answer, err := pay(c, order, 1)
				switch {
				case err == nil && status == http.StatusOK:
					if answered.Add(1) >= 7 {
						once.Do(func() { close(enough) })
					}
				case err == nil:
					t.Errorf("pay: %d %s", status, answer)
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(time.Minute):
			t.Error("too few payments were answered")
		}
		p.kill(t)
		paying.Wait()
		t.Logf("killed after %d of %d answers", answered.Load(), n)

		p = in.serve(t, "--demo")
		c = c.at(p)
		for _, order := range orders {
			paying.Go(func() {
				if status, answer, err := pay(c, order, 100); err != nil || status != http.StatusOK {
					t.Errorf("pay again: %d %v %s", status, err, answer)
				}
			})
		}
		paying.Wait()
		charged, balance, _ := c.charges()
		for _, order := range orders {
			if charged[order] != 1 {
				t.Errorf("order %d was charged %d times", order, charged[order])
			}
		}
		if want := before - n*price; balance != want {
			t.Errorf("the balance is %d, want %d", balance, want)
		}
		in.booksAreWhole(t)
		p.terminate(t)
		p.ends(t)
	})
}

// report is doctor's report.
type report struct {
	Checks []struct {
		Name, Status, Found, Do string
	} `json:"checks"`
	Worst string `json:"worst"`
}

func (in *installation) doctor(t *testing.T) (r report, code int) {
	t.Helper()
	stdout, stderr, code := in.run(t, "doctor", "--json")
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v in %s%s", err, stdout, stderr)
	}
	return r, code
}

func (r report) status(name string) string {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Status
		}
	}
	return "not checked"
}

// booksAreWhole has doctor recompute the money, and look for gaps in the numbers of invoices.
func (in *installation) booksAreWhole(t *testing.T) {
	t.Helper()
	if r, _ := in.doctor(t); r.status("ledger") != "ok" || r.status("invoices") != "ok" {
		t.Errorf("doctor says of the books: %+v", r)
	}
}

func TestAStopFinishesWhatRuns(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		p := in.serve(t, "--demo")
		c := p.signIn(t)
		body := fmt.Sprintf(`{"plan_id": %d, "domain": "slow.example.com"}`, c.plan())
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "POST /api/v1/orders HTTP/1.1\r\nHost: stead\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", c.token, len(body), body[:10])
		testkit.Eventually(t, time.Minute, func() bool { return p.inFlight(t) > 0 }, "the request is being served")
		p.terminate(t)
		testkit.Eventually(t, time.Minute, func() bool {
			other, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err == nil {
				_ = other.Close()
			}
			return err != nil
		}, "new connections are refused")
		_, _ = io.WriteString(conn, body[10:])
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 201") {
			t.Errorf("the running request: %v\n%s", err, answer)
		}
		p.ends(t)
		if !strings.Contains(p.logged(), `"msg":"stopped"`) || !strings.Contains(p.logged(), `"clean":true`) {
			t.Errorf("the log does not tell of a clean end:\n%s", tail(p.logged(), 2000))
		}
	})
}

// inFlight is the number of requests in progress.
func (p *process) inFlight(t *testing.T) int {
	t.Helper()
	r, err := http.Get(p.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "stead_http_requests_in_flight "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no such metric in\n%s", text)
	return 0
}

func TestTwoServersNeverShareADataDirectory(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serve(t)
	_, stderr, code := in.run(t, "serve")
	if code != 1 || !strings.Contains(stderr, "STEAD_DATA_DIR") || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
		t.Errorf("exit code %d, and says:\n%s", code, stderr)
	}
}

func TestAWarmStartAnswersWithinTwoSecondsInLittleMemory(t *testing.T) {
	in := newInstallation(t)
	p := in.serve(t, "--demo")
	// Other tests and the linters run on this machine meanwhile: one of many starts counts.
	var took time.Duration
	for range 20 {
		p.terminate(t)
		p.ends(t)
		p = in.serve(t, "--demo")
		if took = p.took; took < 2*time.Second {
			break
		}
	}
	t.Logf("answered after %v", took)
	if took > 2*time.Second {
		t.Errorf("a warm start took %v", took)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("this system has no /proc: memory is not measured")
	}
	for line := range strings.Lines(string(status)) {
		// Its own memory. The pages of the program itself, up to 95 MiB beside it, are the kernel's cache of the file: how many of them
		// count for the process depends on whether it was just built or read from a disk, and the kernel takes them back.
		if kib, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("memory at rest: %d MiB", n>>10)
			if n > 80<<10 {
				t.Errorf("memory at rest: %d MiB", n>>10)
			}
		}
	}
}

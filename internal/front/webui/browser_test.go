package webui_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"stead.dev/stead/internal/platform/i18n"
)

// chromium is a real browser in which the visitor is signed in.
type chromium struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

func (b *browser) chromium() *chromium {
	b.t.Helper()
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		b.t.Fatalf("%v: run the tests with `make test`, which installs it", err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	b.t.Cleanup(release)
	c := &chromium{t: b.t}
	ctx, cancel := chromedp.NewContext(allocated)
	b.t.Cleanup(cancel)
	c.ctx = ctx
	if err := chromedp.Do(ctx); err != nil { // starts it, for longer than a step
		b.t.Fatal(err)
	}
	c.do(chromedp.EmulateViewport(1000, 740), call(audits.Enable, cdp.Empty{}))
	if err := chromedp.Listen(ctx, c.notice); err != nil {
		b.t.Fatal(err)
	}
	c.do(call(network.SetCookie, network.SetCookieParams{Name: "stead_session", Value: b.cookie("stead_session"), URL: b.site.url}))
	return c
}

// notice keeps what must not happen.
func (c *chromium) notice(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		c.problems = append(c.problems, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			c.problems = append(c.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if d := e.Issue.Details; d != nil && d.ContentSecurityPolicyIssueDetails != nil {
			c.problems = append(c.problems, "against the policy: "+d.ContentSecurityPolicyIssueDetails.ViolatedDirective)
		}
	}
}

func (c *chromium) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.problems)
}

func (c *chromium) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		c.t.Fatalf("%v: %q", err, c.said())
	}
}

func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// becomes waits until an expression is true on the page.
func (c *chromium) becomes(expression string) {
	const pageLeft = -32000 // "Inspected target navigated or closed"
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Minute)
	defer cancel()
	var err error
	for left := true; left; {
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](expression))
		var refused *cdproto.Error
		left = errors.As(err, &refused) && refused.Code == pageLeft && ctx.Err() == nil // then on the page that came
	}
	if err != nil {
		text, _ := chromedp.Run(c.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		c.t.Fatalf("%s: %v: %q\n%s", expression, err, c.said(), text)
	}
}

// TestWhatABrowserSaysOfPasskeysIsNotShown: its words are English, and for developers.
func TestWhatABrowserSaysOfPasskeysIsNotShown(t *testing.T) {
	s := newSite(t)
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1)
	c := s.browser(t).chromium()
	c.do(chromedp.Navigate(s.url + "/login?lang=ru"))
	c.becomes(`(navigator.credentials.get = () => Promise.reject(new DOMException("The user attempted to sign in", "InvalidStateError")), true)`)
	c.do(chromedp.Click(chromedp.CSS(`[data-passkey=login] button`)))
	c.becomes(`document.querySelector("[data-passkey=login] [role=alert]").textContent === ` + strconv.Quote(i18n.T("ru", "error.passkey_invalid", nil)))
}

// TestPublicPagesFitAPhone: nothing is wider than the screen, nothing is against the policy of the pages, and what the history
// shows by colours is there as text.
func TestPublicPagesFitAPhone(t *testing.T) {
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	c := b.chromium()
	for _, path := range []string{"/status?lang=ru", "/templates?lang=uz", "/templates/landing?lang=ru", "/reviews?lang=uz"} {
		for _, width := range []int64{1280, 390, 320} {
			c.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(s.url+path))
			c.becomes(`document.querySelector("h1") && location.pathname + location.search === ` + strconv.Quote(path))
			c.becomes(`innerWidth === ` + strconv.FormatInt(width, 10) + ` && document.documentElement.scrollWidth <= innerWidth`)
		}
	}
	c.do(chromedp.Navigate(s.url + "/status?lang=en"))
	c.becomes(`document.querySelector(".component .badge")?.innerText === "Works" && document.querySelectorAll(".component:first-child .days span").length === 90`)
	c.becomes(`(document.querySelector("[name=email]").value = "anna@example.com", true)`)
	c.do(chromedp.Click(chromedp.CSS(`form[action="/status/subscribe"] button`)))
	c.becomes(`location.pathname === "/status" && document.querySelector("main > [role=status]")?.innerText.startsWith("We have sent you a mail.")`)
	for _, said := range c.said() {
		if !strings.Contains(said, "/thumbnail") { // pictures are served by the API, which is not here
			t.Error(said)
		}
	}
}

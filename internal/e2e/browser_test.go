package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds one step in the browser; a busy machine needs it.
const patience = 3 * time.Minute

// chromium is the browser of all visitors of this run. The first of them starts it.
var chromium struct {
	sync.Once
	ctx   context.Context
	close func()
	err   error
}

func startChromium() {
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		chromium.err = fmt.Errorf("%w: run the tests with `make test`, which installs it", err)
		return
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // which refuses root
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// A request to any other host fails at once, and is reported.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	chromium.ctx, chromium.close = ctx, func() { cancel(); release() }
	chromium.err = chromedp.Do(ctx)
}

// stopChromium ends the browser, if it runs.
func stopChromium() {
	if chromium.close != nil {
		chromium.close()
	}
}

// visitor is a person with a browser profile of their own and a screen of 360 points. Every page that it opens is
// checked.
type visitor struct {
	t    *testing.T
	ctx  context.Context
	site string

	mu       sync.Mutex
	problems []string
	asked    map[string]bool // addresses that a person or a script requested, and that may be refused
}

// newVisitor opens the site by the machine's name, because passkeys need one.
func newVisitor(t *testing.T, p *process) *visitor {
	t.Helper()
	chromium.Do(startChromium)
	if chromium.err != nil {
		t.Fatalf("Chromium does not start: %v", chromium.err)
	}
	ctx, leave := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	v := &visitor{t: t, ctx: ctx, site: strings.Replace(p.url, "127.0.0.1", "localhost", 1), asked: map[string]bool{}}
	t.Cleanup(func() {
		v.report()
		leave()
	})
	if err := chromedp.Listen(ctx, v.notice); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.EmulateViewport(360, 740), call(audits.Enable, cdp.Empty{}))
	return v
}

// withoutScripts is a visitor who has switched JavaScript off.
func (v *visitor) withoutScripts() *visitor {
	v.t.Helper()
	v.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	return v
}

// notice records what must not happen on any page.
func (v *visitor) notice(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wrong := func(format string, args ...any) { v.problems = append(v.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		switch {
		case err != nil:
			wrong("a request for %q", e.Request.URL)
		case u.Scheme == "data" || u.Scheme == "blob":
		case u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1":
			wrong("a request for a third party: %s", u)
		}
		if e.Type == network.ResourceTypeDocument || e.Type == network.ResourceTypeFetch {
			v.asked[e.Request.URL] = true
		}
	case *runtime.EventExceptionThrown:
		wrong("an exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			wrong("on the console: %s", strings.Join(said, " "))
		}
	case *log.EventEntryAdded:
		refused := e.Entry.Source == log.EntrySourceNetwork && v.asked[e.Entry.URL] && strings.Contains(e.Entry.Text, "status of 4")
		if (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) && !refused {
			wrong("in the log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if d := e.Issue.Details; d != nil && d.ContentSecurityPolicyIssueDetails != nil {
			wrong("against the policy %s: %s", d.ContentSecurityPolicyIssueDetails.ViolatedDirective, d.ContentSecurityPolicyIssueDetails.BlockedURL)
		}
	}
}

// report reports the recorded events, and stores a screenshot when the test has failed.
func (v *visitor) report() {
	v.mu.Lock()
	for _, p := range v.problems {
		v.t.Error(p)
	}
	v.mu.Unlock()
	if !v.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		file := filepath.Join(v.t.ArtifactDir(), "page.png")
		err = os.WriteFile(file, picture, 0o600)
		v.t.Logf("the page where it failed: %s", file)
	}
	if err != nil {
		v.t.Logf("no picture of the page: %v", err)
	}
}

func (v *visitor) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatalf("%v\n%s", err, v.text())
	}
}

// call is a command of the browser's protocol as a step.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// ask evaluates an expression on the page.
func ask[T any](v *visitor, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// comes waits for the page to which the steps lead, checks it and returns its status.
func (v *visitor) comes(steps ...chromedp.Action[chromedp.Void]) (status int) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	r, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		v.t.Fatalf("%v on\n%s", err, v.text())
	}
	v.look()
	if r == nil {
		return 0
	}
	return int(r.Status)
}

// open opens a path of the site, or an address.
func (v *visitor) open(path string) (status int) {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.site + path
	}
	return v.comes(chromedp.Navigate(path))
}

// click follows a link or presses a button that leads to a page.
func (v *visitor) click(selector string) (status int) {
	v.t.Helper()
	return v.comes(chromedp.Click(chromedp.CSS(selector)))
}

// send presses the button of the form that goes to a path.
func (v *visitor) send(path string) (status int) {
	v.t.Helper()
	return v.click(`form[action="` + path + `"] button`)
}

// fill types into inputs: pairs of a name and a text.
func (v *visitor) fill(pairs ...string) {
	v.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		v.do(chromedp.WaitVisible(chromedp.CSS("#f-" + pairs[i])))
		ask[bool](v, fmt.Sprintf("(e => { e.focus(); e.select(); return true })(document.querySelector(%q))", "#f-"+pairs[i]))
		v.do(call(input.InsertText, input.InsertTextParams{Text: pairs[i+1]}))
	}
}

// text is the text of the page.
func (v *visitor) text() string {
	v.t.Helper()
	return ask[string](v, "document.body.innerText")
}

// list returns the texts of all elements that a selector finds.
func (v *visitor) list(selector string) []string {
	v.t.Helper()
	return ask[[]string](v, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText)", selector))
}

// shows fails unless the page contains all texts.
func (v *visitor) shows(texts ...string) {
	v.t.Helper()
	page := v.text()
	for _, want := range texts {
		if !strings.Contains(page, want) {
			v.t.Fatalf("%q is not on the page:\n%s", want, page)
		}
	}
}

// at fails unless the browser is on the path.
func (v *visitor) at(path string) {
	v.t.Helper()
	if is := ask[string](v, "location.pathname"); is != path {
		v.t.Fatalf("on %s instead of %s:\n%s", is, path, v.text())
	}
}

// signIn signs in with a password, from the sign-in page.
func (v *visitor) signIn(email, password string) (status int) {
	v.t.Helper()
	v.fill("email", email, "password", password)
	return v.send("/login")
}

// overlook returns what is wrong with a page for people with a small screen, a screen reader or no mouse.
const overlook = `(() => {
  const wrong = [], say = (ok, what) => ok || wrong.push(what);
  const named = e => e.innerText?.trim() || e.getAttribute('aria-label') || e.querySelector('[alt]:not([alt=""])');
  say(document.title.trim(), 'no title');
  say(/^(uz|ru|en)$/.test(document.documentElement.lang), 'no language');
  const h1 = document.querySelectorAll('h1:not(#root > .frame h1)').length;
  say(h1 === 1, h1 + ' headings h1');
  for (const e of document.querySelectorAll('input:not([type=hidden], :disabled), select, textarea'))
    say([...e.labels].some(l => l.textContent.trim()) || e.getAttribute('aria-label'), 'no label: ' + e.outerHTML.slice(0, 200));
  for (const e of document.querySelectorAll('main button, main a[href], header a[href], footer a[href]'))
    say(named(e) || !e.checkVisibility(), 'no name: ' + e.outerHTML.slice(0, 200));
  for (const e of document.querySelectorAll('img'))
    say(e.hasAttribute('alt'), 'no alternative text: ' + e.outerHTML.slice(0, 200));
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  say(new Set(ids).size === ids.length, 'an id twice: ' + ids.filter((id, i) => ids.indexOf(id) !== i));
  for (const e of document.querySelectorAll('[aria-describedby]'))
    say(document.getElementById(e.getAttribute('aria-describedby')), 'described by nothing: ' + e.outerHTML.slice(0, 200));
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
    wrong.push(root.scrollWidth + ' points wide at ' + root.clientWidth + ': ' + wide.map(e => e.tagName + '.' + e.className).slice(0, 8).join(' '));
  }
  return wrong.map(w => location.pathname + ' (' + root.lang + '): ' + w);
})()`

func (v *visitor) look() {
	v.t.Helper()
	if strings.HasPrefix(ask[string](v, "location.pathname"), "/panel/") {
		v.do(chromedp.WaitVisible(chromedp.CSS("h1:not(#root > .frame h1)"))) // a script draws the page in the place of the frame
	}
	for _, wrong := range ask[[]string](v, overlook) {
		v.t.Error(wrong)
	}
}

// program is an application on its user's computer: it listens on a port of its own for the authorization's redirect.
type program struct {
	url  string
	came chan url.Values
}

func newProgram(t *testing.T) *program {
	t.Helper()
	c := &program{came: make(chan url.Values, 8)}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.came <- r.URL.Query()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>Program</title><link rel="icon" href="data:,"><h1>Back in the program</h1>`)
	}))
	t.Cleanup(site.Close)
	c.url = site.URL + "/callback"
	return c
}

// answer is the query of the program's next visit.
func (c *program) answer(t *testing.T) url.Values {
	t.Helper()
	select {
	case q := <-c.came:
		return q
	case <-time.After(patience):
		t.Fatal("the browser did not come back to the program")
		return nil
	}
}

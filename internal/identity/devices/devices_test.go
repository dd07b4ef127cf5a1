package devices_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/identity/devices"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/push"
)

// phones is a push service: it takes tokens that begin with "phone", and writes them small.
type phones struct {
	mu   sync.Mutex
	got  []string // token and message
	fail error

	hanging chan struct{} // has one for each message to a token with "hang" in it, which waits for release to be closed
	release chan struct{}
}

func (p *phones) Canonical(token string) (string, error) {
	if !strings.HasPrefix(strings.ToLower(token), "phone") {
		return "", push.ErrToken
	}
	return strings.ToLower(token), nil
}

func (p *phones) Send(_ context.Context, token string, m push.Message) error {
	if strings.Contains(token, "hang") {
		p.hanging <- struct{}{}
		<-p.release
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	p.got = append(p.got, fmt.Sprintf("%s %s %s %s %s %s", token, m.ID, m.Title, m.Link, m.Urgency, m.TTL))
	return nil
}

func (p *phones) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := slices.Sorted(slices.Values(p.got))
	p.got = nil
	return got
}

// notices are notifications by id.
type notices map[int64]devices.Notice

func (n notices) Notice(_ context.Context, _ db.Querier, id int64, locale string) (devices.Notice, bool, error) {
	v, ok := n[id]
	v.Title += " in " + locale
	return v, ok, nil
}

// recorder is the queue, and remembers what was put into it.
type recorder struct {
	*jobs.Queue
	pushes [][2]int64 // device and notification
}

func (r *recorder) Enqueue(ctx context.Context, tx *db.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	encoded, err := json.Marshal(args)
	if err != nil {
		return err
	}
	var a struct {
		DeviceID       int64 `json:"device_id"`
		NotificationID int64 `json:"notification_id"`
	}
	if err := json.Unmarshal(encoded, &a); err != nil {
		return err
	}
	r.pushes = append(r.pushes, [2]int64{a.DeviceID, a.NotificationID})
	return r.Queue.Enqueue(ctx, tx, args, opts)
}

type world struct {
	t       *testing.T
	db      *db.DB
	clk     *clock.Fake
	queued  *recorder
	box     *secret.Box
	phones  *phones
	notices notices
	*devices.Service
	edge http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 2, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, db: d, clk: clk, queued: &recorder{Queue: q}, box: box, phones: &phones{}, notices: notices{}}
		w.Service = devices.New(devices.Config{DB: d, Clock: clk, Queue: w.queued, Box: box, Notices: w.notices})
		w.SetSender(devices.Android, w.phones)
		w.Register(q.Workers())
		scopes := []string{"profile"}
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"own":   {AccountID: 1, ApplicationID: 1, Scopes: scopes},
			"other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
			"app":   {AccountID: 1, ApplicationID: 2, Scopes: scopes},
			"home":  {AccountID: 1, ApplicationID: 1, SessionID: 7, Scopes: scopes},
			"away":  {AccountID: 1, ApplicationID: 1, SessionID: 8, Scopes: scopes},
		}, w.Operations())
		f(t, w)
	})
}

type object = map[string]any

// must is a call below /me/devices that answers with the status.
func (w *world) must(status int, token, method, path, body string) object {
	w.t.Helper()
	code, a := w.call(token, method, path, body)
	if code != status {
		w.t.Fatalf("%s %s %s: %d %v, want %d", method, path, body, code, a, status)
	}
	return a
}

// call is a call below /me/devices.
func (w *world) call(token, method, path, body string) (int, object) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, "/api/v1/me/devices"+path, body, "Accept-Language", "uz")
	a := object{}
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
			w.t.Fatalf("%s: %v", rec.Body, err)
		}
	}
	if strings.Contains(rec.Body.String(), "phone-") {
		w.t.Errorf("%s %s shows the token: %s", method, path, rec.Body)
	}
	return rec.Code, a
}

// register registers a device, be it new or not.
func (w *world) register(owner, token, more string) int64 {
	w.t.Helper()
	code, a := w.call(owner, "POST", "", fmt.Sprintf(`{"platform": "android", "token": %q%s}`, token, more))
	if code != http.StatusOK && code != http.StatusCreated {
		w.t.Fatalf("register %s: %d %v", token, code, a)
	}
	return int64(a["id"].(float64))
}

func TestADeviceIsMadeOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			owner, token string
			status       int
		}{{"own", "phone-1", 201}, {"own", "PHONE-1", 200}, {"own", "phone-2", 201}, {"other", "phone-1", 201}, {"own", "phone-2", 200}} {
			w.must(c.status, c.owner, "POST", "", fmt.Sprintf(`{"platform": "android", "token": %q}`, c.token))
		}
	})
}

func (w *world) list(owner string) []object {
	w.t.Helper()
	var all []object
	for _, d := range w.must(200, owner, "GET", "?per_page=50", "")["data"].([]any) {
		all = append(all, d.(object))
	}
	return all
}

// announce makes a notification of the account and has it pushed.
func (w *world) announce(accountID, id int64) {
	w.t.Helper()
	w.notices[id] = devices.Notice{
		AccountID: accountID, Kind: "ssl_failed", Title: fmt.Sprint("title ", id), Body: "body", Link: "/api/v1/services/7",
		Urgency: push.High, CreatedAt: w.clk.Now(), Wanted: true,
	}
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Announce(ctx, tx, accountID, id) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// push runs all pushes that were ever enqueued: what ran before runs twice.
func (w *world) push() (errs []error) {
	w.t.Helper()
	for _, j := range w.queued.pushes {
		if _, err := w.Push(w.t.Context(), j[0], j[1]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func TestANotificationIsPushedToEachDevice(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.register("own", "Phone-1", `, "locale": "ru-RU", "name": " Anna's "`)
		w.register("own", "phone-2", ``)
		w.register("other", "phone-3", ``)
		// One that nothing is pushed to here is kept for later.
		ios := w.must(201, "own", "POST", "", `{"platform": "ios", "token": "whatever"}`)
		if ios["reachable"] != false {
			t.Errorf("%v", ios)
		}
		w.announce(1, 7)
		if errs := w.push(); errs != nil {
			t.Error(errs)
		}
		want := []string{
			"phone-1 notification-7 title 7 in ru /api/v1/services/7 high 24h0m0s",
			"phone-2 notification-7 title 7 in uz /api/v1/services/7 high 24h0m0s",
		}
		if got := w.phones.taken(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		all := w.list("own")
		if len(all) != 3 || all[2]["name"] != "Anna's" || all[2]["locale"] != "ru" || all[2]["reachable"] != true {
			t.Errorf("%v", all)
		}
		// What is too old, read, or forgotten is not pushed.
		w.clk.Advance(25 * time.Hour)
		w.announce(1, 8)
		read := w.notices[8]
		read.Wanted = false
		w.notices[8] = read
		w.announce(1, 9)
		delete(w.notices, 9)
		if errs := w.push(); errs != nil || len(w.phones.taken()) != 0 {
			t.Errorf("pushed: %v", errs)
		}
	})
}

func TestATokenIsOneDevice(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.register("own", "phone-1", `, "name": "Old"`)
		w.clk.Advance(time.Hour)
		if again := w.register("own", "PHONE-1", `, "name": "New"`); again != id || len(w.list("own")) != 1 || w.list("own")[0]["name"] != "New" {
			t.Errorf("%v", w.list("own"))
		}
		// It changes hands while something is on its way to the one before.
		w.announce(1, 7)
		w.register("other", "phone-1", ``)
		if len(w.list("own")) != 0 || len(w.list("other")) != 1 {
			t.Errorf("%v %v", w.list("own"), w.list("other"))
		}
		if errs := w.push(); errs != nil || len(w.phones.taken()) != 0 {
			t.Errorf("the new owner got it: %v", errs)
		}
		w.announce(2, 8)
		if errs := w.push(); errs != nil || len(w.phones.taken()) != 1 {
			t.Errorf("%v", errs)
		}
	})
}

// TestATokenRegisteredByTwoAtOnceIsOnes: whoever comes last has it, and nothing fails.
func TestATokenRegisteredByTwoAtOnceIsOnes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { w.register([]string{"own", "other"}[i%2], "phone-1", ``) })
		}
		all.Wait()
		if n := len(w.list("own")) + len(w.list("other")); n != 1 {
			t.Errorf("%d devices", n)
		}
	})
}

func TestADeviceIsRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		inBody := `{"token": "Phone-1"}`
		w.register("own", "phone-1", ``)
		w.must(404, "other", "DELETE", "", inBody)
		w.must(200, "own", "DELETE", "", inBody)
		w.must(404, "own", "DELETE", "", inBody)
		w.register("own", "phone-1", ``)
		w.must(404, "other", "DELETE", "?token="+url.QueryEscape("PHONE-1"), "")
		w.must(200, "own", "DELETE", "?token="+url.QueryEscape("PHONE-1"), "")
		if a := w.must(422, "own", "DELETE", "", ""); a["errors"].(object)["token"] == nil {
			t.Errorf("%v", a)
		}
		id := w.register("own", "phone-1", ``)
		w.must(404, "other", "DELETE", fmt.Sprint("/", id), "")
		w.must(200, "own", "DELETE", fmt.Sprint("/", id), "")
		if len(w.list("own")) != 0 {
			t.Errorf("%v", w.list("own"))
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for body, member := range map[string]string{
			`{"platform": "android", "token": "tablet"}`:                                    "token",
			`{"platform": "android", "token": ""}`:                                          "token",
			`{"platform": "android"}`:                                                       "token",
			`{"platform": "toaster", "token": "phone-1"}`:                                   "platform",
			`{"platform": "android", "token": "phone-1", "locale": "tlh"}`:                  "locale",
			`{"platform": "ios", "token": "` + strings.Repeat("a", 4097) + `"}`:             "token",
			`{"platform": "ios", "token": "a", "name": "` + strings.Repeat("a", 101) + `"}`: "name",
		} {
			if a := w.must(422, "own", "POST", "", body); a["errors"].(object)[member] == nil {
				t.Errorf("%.80s: %v", body, a)
			}
		}
		if len(w.list("own")) != 0 {
			t.Errorf("%v", w.list("own"))
		}
	})
}

func TestWhatAPushServiceSaysIsHeeded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.register("own", "phone-1", ``)
		w.announce(1, 7)
		for name, c := range map[string]struct {
			fail  error
			pause time.Duration
			again bool
		}{
			"busy":               {&push.Busy{After: time.Minute}, time.Minute, false},
			"busy for who knows": {&push.Busy{}, 30 * time.Second, false},
			"out of order":       {errors.New("500"), 0, true},
			"a wrong message":    {push.ErrRejected, 0, true},
		} {
			w.phones.fail = c.fail
			if pause, err := w.Push(t.Context(), id, 7); pause != c.pause || (err != nil) != c.again {
				t.Errorf("%s: %s, %v", name, pause, err)
			}
			if len(w.list("own")) != 1 {
				t.Fatalf("%s: the device is forgotten", name)
			}
		}
		w.phones.fail = push.ErrGone
		if pause, err := w.Push(t.Context(), id, 7); pause != 0 || err != nil || len(w.list("own")) != 0 {
			t.Errorf("gone: %s, %v, %v", pause, err, w.list("own"))
		}
		w.phones.fail = nil
		if _, err := w.Push(t.Context(), id, 7); err != nil || len(w.phones.taken()) != 0 {
			t.Errorf("pushed to a device that is gone: %v", err)
		}
	})
}

func TestOldDevicesMakeRoom(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for i := range devices.MaxDevices + 2 {
			w.register("own", fmt.Sprint("phone-", i), fmt.Sprintf(`, "name": "%d"`, i))
			w.clk.Advance(time.Minute)
		}
		all := w.list("own")
		if len(all) != devices.MaxDevices || all[len(all)-1]["name"] != "2" {
			t.Errorf("%d devices, the oldest is %v", len(all), all[len(all)-1])
		}
		w.clk.Advance(devices.Retention - time.Hour)
		w.register("own", "phone-5", ``)
		w.clk.Advance(time.Hour)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := w.list("own"); len(all) != 1 {
			t.Errorf("%v", all)
		}
	})
}

func TestTheKeysOfBrowsersAreMadeOnceAndSealed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		var (
			all sync.WaitGroup
			mu  sync.Mutex
		)
		seen := map[push.Keys]bool{}
		for range 8 {
			all.Go(func() {
				k, err := w.Keys(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[k] = true
			})
		}
		all.Wait()
		if len(seen) != 1 {
			t.Fatalf("%d pairs of keys", len(seen))
		}
		for k := range seen {
			if shown := w.must(200, "own", "GET", "", "")["web_push_public_key"]; shown != k.Public || len(k.Public) != 87 || len(k.Private) != 43 {
				t.Errorf("%v, %+v", shown, k)
			}
			var sealed []byte
			if err := w.db.QueryRow(t.Context(), `SELECT private_key FROM devices_keys`).Scan(&sealed); err != nil || strings.Contains(string(sealed), k.Private) {
				t.Errorf("the private key lies open: %v", err)
			}
		}
		w.register("own", "phone-1", ``)
		var token []byte
		if err := w.db.QueryRow(t.Context(), `SELECT token FROM devices`).Scan(&token); err != nil || strings.Contains(string(token), "phone") {
			t.Errorf("the token lies open: %v", err)
		}
	})
}

// TestTheQueuePushes runs the queue in earnest.
func TestTheQueuePushes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.register("own", "phone-1", ``)
		w.announce(1, 7)
		if err := w.queued.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.queued.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		testkit.Eventually(t, time.Minute, func() bool { return len(w.phones.taken()) == 1 }, "the phone has it")
	})
}

// TestADeviceGoesWithItsApplication: one that was disconnected would hear of orders and domains for most of a year.
func TestADeviceGoesWithItsApplication(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		notification := int64(0)
		want := func(tokens ...string) {
			t.Helper()
			for _, account := range []int64{1, 2} {
				notification++
				w.announce(account, notification)
			}
			if errs := w.push(); errs != nil {
				t.Fatal(errs)
			}
			var got []string
			for _, m := range w.phones.taken() {
				if token, _, _ := strings.Cut(m, " "); !slices.Contains(got, token) {
					got = append(got, token)
				}
			}
			if !slices.Equal(got, tokens) {
				t.Errorf("pushed to %v, want %v", got, tokens)
			}
		}
		end := func(accountID, applicationID int64) {
			t.Helper()
			w.announce(accountID, 99) // and what is on its way
			err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Ended(ctx, tx, accountID, applicationID) })
			if err != nil {
				t.Fatal(err)
			}
		}
		w.register("own", "phone-1", "")
		w.register("app", "phone-2", "")
		w.register("other", "phone-3", "")
		want("phone-1", "phone-2", "phone-3")
		end(1, 2)
		want("phone-1", "phone-3")
		w.register("app", "phone-1", "") // the device is the other application's from now on
		end(1, 1)
		want("phone-1", "phone-3")
		w.register("own", "phone-4", "")
		end(0, 1)
		want("phone-1")
		end(1, 0)
		want()
	})
}

// TestDevicesThatHangHoldUpNobodyElse: all accounts share the workers, and whoever gives the address of a browser can have
// each of its pushes take as long as any may.
// TestABrowserGoesWithItsSession: who has signed out on somebody else's computer leaves no notices there.
func TestABrowserGoesWithItsSession(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		register := func() (phone, home, away int64) {
			return w.register("own", "phone-1", ""), w.register("home", "phone-2", ""), w.register("away", "phone-3", "")
		}
		want := func(what string, ids ...int64) {
			t.Helper()
			var got []int64
			for _, d := range w.list("own") {
				got = append(got, int64(d["id"].(float64)))
			}
			slices.Sort(got)
			if !slices.Equal(got, ids) {
				t.Errorf("%s: %v are left, want %v", what, got, ids)
			}
		}
		end := func(f func(context.Context, *db.Tx, int64, int64) error, session int64) {
			t.Helper()
			if err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, 1, session) }); err != nil {
				t.Fatal(err)
			}
		}
		phone, home, _ := register()
		end(w.EndSession, 8)
		want("one session has ended", phone, home)
		phone, home, _ = register()
		end(w.EndOtherSessions, 7)
		want("the other sessions have ended", phone, home)
		phone, _, _ = register()
		end(w.EndOtherSessions, 0)
		want("all sessions have ended", phone)
		if w.register("home", "phone-1", "") != phone { // the browser, not the session, is the device
			t.Error("a device became another")
		}
		end(w.EndSession, 7)
		want("the session that saw it last has ended")
	})
}

func TestDevicesThatHangHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.phones.hanging, w.phones.release = make(chan struct{}, 2*devices.MaxDevices), make(chan struct{})
		for i := range devices.MaxDevices {
			w.register("own", fmt.Sprintf("phone-hang-%d", i), "")
		}
		w.register("other", "phone-1", "")
		w.announce(1, 1)
		w.announce(2, 2)
		type outcome struct {
			pause time.Duration
			err   error
		}
		outcomes := make(chan outcome, len(w.queued.pushes))
		for _, j := range w.queued.pushes {
			go func() {
				pause, err := w.Push(t.Context(), j[0], j[1])
				outcomes <- outcome{pause, err}
			}()
		}
		testkit.Eventually(t, time.Minute, func() bool { return len(w.phones.hanging) == devices.MostSending }, "pushes hang")
		next := func() (o outcome) {
			t.Helper()
			select {
			case o = <-outcomes:
			case <-time.After(time.Minute):
				t.Fatalf("%d pushes hang", len(w.phones.hanging))
			}
			return o
		}
		for range devices.MaxDevices - devices.MostSending + 1 { // those that wait, and the other account's
			if o := next(); o.err != nil {
				t.Error(o.err)
			}
		}
		if got := w.phones.taken(); len(got) != 1 || !strings.HasPrefix(got[0], "phone-1 ") {
			t.Errorf("pushed %v", got)
		}
		close(w.phones.release)
		for range devices.MostSending {
			if o := next(); o.err != nil || o.pause != 0 {
				t.Errorf("%+v", o)
			}
		}
		if errs := w.push(); errs != nil {
			t.Error(errs)
		}
		if got := w.phones.taken(); len(got) < devices.MaxDevices {
			t.Errorf("%d pushes arrived after all", len(got))
		}
	})
}

package php

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// world is PHP-FPM behind nginx, with real accounts.
type world struct {
	*testing.T
	*Driver
	machine *nodetest.Machine
	store   *logs.Store
	nginx   *nginx.Server
	address string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	m := nodetest.New(t)
	store, err := logs.Open(logs.Config{Dir: filepath.Join(m.Dir, "logs"), Now: time.Now, Log: nodetest.Log(t)})
	must(t, err)
	w := &world{T: t, machine: m, store: store, address: testkit.Address(t)}
	w.nginx, err = nginx.Open(t.Context(), nginx.Config{
		Dir: filepath.Join(m.Dir, "nginx"), ACME: filepath.Join(m.Dir, "acme"), Logs: store, Supervisor: m.Supervisor,
		Now: time.Now, Log: nodetest.Log(t), HTTP: []string{w.address}, Workers: 1, Interval: 10 * time.Millisecond,
	})
	must(t, err)
	w.Driver, err = Open(Config{
		Dir: filepath.Join(m.Dir, "php"), State: filepath.Join(m.Dir, "state"), Logs: store, Supervisor: m.Supervisor,
		Now: time.Now, Log: nodetest.Log(t), Pause: 10 * time.Millisecond,
	}, m.Lookup)
	must(t, err)
	must(t, w.Start(t.Context()))
	w.Follow(func(ctx context.Context, ref string) error {
		a, err := m.Lookup(ref)
		if err == nil {
			err = w.Apply(ctx, a)
		}
		if err == nil {
			err = w.nginx.Apply(ctx, a.Name, w.sites(a))
		}
		return err
	})
	return w
}

func (w *world) sites(a accounts.Account) []web.Site {
	return []web.Site{{
		Domain: a.Domains[0].Name, Home: a.Home, DocumentRoot: a.Domains[0].DocumentRoot, Suspended: a.Suspended,
		PHP: w.Socket(a), GID: a.User.GID,
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// account makes an account whose programs are served.
func (w *world) account(name string, l panel.Limits) accounts.Account {
	w.Helper()
	a := w.machine.Account(name, l)
	must(w.T, w.apply(w.Context(), a.Ref))
	return a
}

// put makes a file of the account's.
func (w *world) put(a accounts.Account, name, content string) {
	w.Helper()
	file := filepath.Join(a.Home, "public_html", name)
	must(w.T, os.MkdirAll(filepath.Dir(file), 0o755))
	must(w.T, os.WriteFile(file, []byte(content), 0o644))
	must(w.T, os.Chown(file, a.User.UID, a.User.GID))
}

// run has the account's program run and answers what it prints.
func (w *world) run(a accounts.Account, program string) string {
	w.Helper()
	w.put(a, "run.php", "<?php "+program)
	// The cache looks at a file again after two seconds.
	past := time.Now().Add(-time.Hour)
	must(w.T, os.Chtimes(filepath.Join(a.Home, "public_html/run.php"), past, past))
	name := fmt.Sprintf("run%d.php", time.Now().UnixNano())
	must(w.T, os.Rename(filepath.Join(a.Home, "public_html/run.php"), filepath.Join(a.Home, "public_html", name)))
	_, body := w.get(a, "/"+name)
	return body
}

func (w *world) get(a accounts.Account, path string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+w.address+path, nil)
	must(w.T, err)
	req.Host = a.Domains[0].Name
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	must(w.T, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(w.T, err)
	return res.StatusCode, string(body)
}

func TestProgramsRunAsTheirAccount(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	got := w.run(a, `echo posix_geteuid(), "|", posix_getegid(), "|", json_encode(posix_getgroups()), "|", getcwd(), "|", PHP_VERSION, "|",
		ini_get("memory_limit"), "|", file_put_contents(sys_get_temp_dir()."/x", "y"), "|", fileowner(__FILE__);`)
	want := fmt.Sprintf("%d|%d|[%d]|", a.User.UID, a.User.GID, a.User.GID)
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "|256M|1|"+fmt.Sprint(a.User.UID)) {
		t.Errorf("%q, want %s…", got, want)
	}
	// Here is no mail, and PHP is not to say that it was sent.
	if got := w.run(a, `var_dump(@mail("somebody@example.com", "subject", str_repeat("text\n", 20000)));`); !strings.Contains(got, "bool(false)") {
		t.Errorf("mail() without mail: %q", got)
	}
	w.put(a, "index.php", `<?php echo "front:", $_SERVER["REQUEST_URI"], ":", $_SERVER["PATH_INFO"] ?? "", ":", $_SERVER["HTTP_PROXY"] ?? "";`)
	w.put(a, "static.txt", "static")
	for path, want := range map[string]string{
		"/": "front:/::", "/no/such?x=1": "front:/no/such?x=1::", "/index.php/info/x": "front:/index.php/info/x:/info/x:", "/static.txt": "static",
	} {
		if status, body := w.get(a, path); status != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", path, status, body, want)
		}
	}
	// What is not a program by its name is never run, wherever it came from.
	w.put(a, "uploads/evil.jpg", `<?php echo "RUN";`)
	for _, path := range []string{"/uploads/evil.jpg", "/uploads/evil.jpg/x.php", "/uploads/evil.jpg%00.php"} {
		if _, body := w.get(a, path); strings.Contains(body, "RUN") && !strings.Contains(body, "<?php") {
			t.Errorf("%s was run: %q", path, body)
		}
	}
	if got := w.run(a, `echo function_exists("exec") ? "yes" : "no", function_exists("opcache_get_status") ? "yes" : "no", class_exists("FFI") ? "yes" : "no",
		@ini_set("open_basedir", "/") === false ? "no" : "yes", @ini_set("memory_limit", "9G") === false ? "no" : "yes";`); got != "nonononono" {
		t.Errorf("what programs may not do: %q", got)
	}
}

func TestAProgramIsCheckedAsItsAccount(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("checked", panel.Limits{})
	must(t, w.Apply(t.Context(), a))
	for source, want := range map[string]string{
		"<?php echo 1;":                         "",
		"no program":                            "",
		"<?php\necho 1\necho 2;":                "line 3",
		"<?php function f() {":                  "line 1",
		"<?php file_put_contents('ran', 'x');":  "",
		"<?php readfile('/etc/shadow'); broken": "line 1",
	} {
		got, err := w.CheckPHP(t.Context(), a.Ref, []byte(source))
		if err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, %v, want %q", source, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(a.Home, "ran")); err == nil {
		t.Error("the program was run")
	}
	if _, err := w.CheckPHP(t.Context(), "nobody", nil); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("an account that there is not: %v", err)
	}
}

func TestWhatBeginsWithADotIsNeitherShownNorRun(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	w.put(a, "index.php", "<?php echo 'FRONT';")
	w.put(a, "x.php", `<?php echo "X:", $_SERVER["SCRIPT_NAME"], ":", $_SERVER["PATH_INFO"] ?? "", ":", $_SERVER["DOCUMENT_URI"];`)
	for _, name := range []string{".env", ".git/config", "a/.b/x", ".run.php", "a/.run.php", ".d/run.php", "a\n/.c", "l\n.php", ".well-known/.env", ".well-knownx/x"} {
		w.put(a, name, "<?php echo 'RUN'; // SECRET")
	}
	w.put(a, ".well-known/security.txt", "contact")
	w.put(a, "404.html", "OWN 404")
	for _, path := range []string{
		"/.env", "/%2eenv", "/.git/config", "/.git/", "/.git", "/.git/none", "/a/.b/x", "/.run.php", "/a/.run.php", "/.d/run.php", "/a%0a/.c",
		"/.none", "/x.php/.y", "/.y/x.php", "/none/.y", "/.well-known/.env", "/.well-knownx/x", "//.env", "/a/..%2f.env", "/.stead-page", "/none.php", "/none.php/x",
	} {
		if status, body := w.get(a, path); status != 404 || body != "OWN 404" {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	for path, want := range map[string]string{
		"/.well-known/security.txt": "contact", "/.well-known/none": "FRONT", "/none": "FRONT", "/a.b": "FRONT", "/x.phpx": "FRONT",
		"/x.php": "X:/x.php::/x.php", "/x.php/": "X:/x.php:/:/x.php", "/x.php/a.b/y.php": "X:/x.php:/a.b/y.php:/x.php", "/l%0a.php": "RUN",
	} {
		if _, body := w.get(a, path); body != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
	}
}

func TestAccountsDoNotReachEachOther(t *testing.T) {
	w := newWorld(t)
	a, b := w.account("alice", panel.Limits{}), w.account("bob", panel.Limits{})
	w.put(b, "secret.php", `<?php $secret = "BOBS"; echo "BOBS";`)
	must(t, os.Chmod(filepath.Join(b.Home, "public_html/secret.php"), 0o640))
	if _, body := w.get(b, "/secret.php"); body != "BOBS" { // and the cache has it now
		t.Fatalf("%q", body)
	}
	must(t, os.WriteFile(filepath.Join(b.Home, "tmp/sess_0123"), []byte("BOBS"), 0o600))
	must(t, os.Chown(filepath.Join(b.Home, "tmp/sess_0123"), b.User.UID, b.User.GID))
	if got := w.run(b, `$f = fopen("/dev/null", "r"); session_id("0123456789"); session_start(); $_SESSION["x"] = "BOBS"; echo session_save_path();`); got != b.Home+"/tmp" {
		t.Errorf("sessions of bob are in %q", got)
	}
	target := filepath.Join(b.Home, "public_html/secret.php")
	pid := 0
	testkit.Eventually(t, time.Minute, func() bool {
		w.get(b, "/secret.php")
		pid = processOf(t, b.User.UID)
		return pid != 0
	}, "bob has a process")
	// Without open_basedir, as somebody who found a way around it: the kernel alone.
	pool := w.usual().file("masters/1/pools/alice.conf")
	conf, err := os.ReadFile(pool)
	must(t, err)
	for _, basedir := range []bool{true, false} {
		if !basedir {
			bare := slices.DeleteFunc(strings.SplitAfter(string(conf), "\n"), func(l string) bool { return strings.Contains(l, "open_basedir") })
			must(t, w.usual().masters[1].files.Apply(t.Context(), map[string][]byte{"alice.conf": []byte(strings.Join(bare, ""))}))
		}
		program := fmt.Sprintf(`error_reporting(0);
			$r = [];
			$r["read"] = file_get_contents(%q);
			$r["include"] = (function() { return include %q; })();
			$r["list"] = scandir(%q);
			$r["home"] = scandir(%q);
			$r["accounts"] = scandir(%q);
			$r["session"] = file_get_contents(%q);
			$r["log"] = file_get_contents(%q);
			$r["conf"] = file_get_contents(%q);
			$r["write"] = file_put_contents(%q, "x");
			$r["socket"] = stream_socket_client("unix://%s");
			$r["environ"] = file_get_contents("/proc/%d/environ");
			$r["memory"] = fopen("/proc/%d/mem", "r");
			$r["files"] = scandir("/proc/%d/fd");
			$r["shadow"] = file_get_contents("/etc/shadow");
			$r["control"] = stream_socket_client("unix://%s");
			foreach ($r as $k => $v) if ($v !== false && $v !== null) echo $k, ";";
			echo "end";`,
			target, target, filepath.Dir(target), b.Home, filepath.Dir(filepath.Dir(b.Home)), filepath.Join(b.Home, "tmp/sess_0123"),
			w.store.File("bob", panel.LogPHP), w.usual().file("masters/1/pools/bob.conf"), filepath.Join(b.Home, "public_html/new"),
			w.Socket(b), pid, pid, pid, w.usual().masters[1].control())
		if got := w.run(a, program); got != "end" {
			t.Errorf("open_basedir %v: alice reached %s", basedir, got)
		}
	}
	// Signals go by the kernel's rule, whoever calls kill: alice's user cannot.
	if err := signalAs(a, pid); !errors.Is(err, syscall.EPERM) {
		t.Errorf("alice signals bob: %v", err)
	}
	if _, body := w.get(b, "/secret.php"); body != "BOBS" {
		t.Errorf("bob afterwards: %q", body)
	}
}

// processOf finds a process of a user.
func processOf(t *testing.T, uid int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		info, err := os.Stat(filepath.Join("/proc", e.Name()))
		if st, ok := statOf(info); err == nil && ok && int(st.Uid) == uid {
			return pid
		}
	}
	return 0
}

func statOf(info os.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}

func TestSettingsTakeEffect(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{MemoryMB: 300})
	v := w.usual()
	state, err := w.PHPSettings(t.Context(), a.Ref)
	must(t, err)
	if state.Version != v.name || !slices.Contains(state.Versions, v.name) || len(state.Choice[v.name]) < 20 {
		t.Errorf("%+v", state)
	}
	extension := "sockets"
	if !slices.Contains(v.optional, extension) || slices.Contains(v.optional, "ffi") {
		t.Fatalf("optional: %v", v.optional)
	}
	state, err = w.SetPHPSettings(t.Context(), a.Ref, panel.PHPSettings{
		Version:    v.name,
		Options:    map[string]string{"memory_limit": "1G", "display_errors": "true", "date.timezone": "Asia/Tashkent", "upload_max_filesize": "64M"},
		Extensions: []string{extension},
	})
	must(t, err)
	if state.Options["display_errors"] != "1" || state.Options["upload_max_filesize"] != "" || !slices.Contains(state.Choice[v.name], panel.PHPExtension{Name: extension, State: panel.PHPEnabled}) {
		t.Errorf("%+v", state)
	}
	if got := w.run(a, `echo ini_get("memory_limit"), ini_get("display_errors"), date_default_timezone_get(), extension_loaded("sockets") ? "+" : "-";`); got != "300M1Asia/Tashkent+" {
		t.Errorf("settings: %q", got)
	}
	before := w.Reloads()
	if _, err := w.SetPHPSettings(t.Context(), a.Ref, state.PHPSettings); err != nil || w.Reloads() != before {
		t.Errorf("the same again: %v, %d reloads", err, w.Reloads()-before)
	}
	for name, c := range map[string]struct {
		s    panel.PHPSettings
		kind panel.Kind
	}{
		"version":   {panel.PHPSettings{Version: "5.6"}, panel.ErrUnsupported},
		"malformed": {panel.PHPSettings{Version: "8"}, panel.ErrInvalid},
		"option":    {panel.PHPSettings{Options: map[string]string{"disable_functions": ""}}, panel.ErrInvalid},
		"range":     {panel.PHPSettings{Options: map[string]string{"memory_limit": "9999M"}}, panel.ErrInvalid},
		"injection": {panel.PHPSettings{Options: map[string]string{"date.timezone": "UTC\nuser = root"}}, panel.ErrInvalid},
		"zone":      {panel.PHPSettings{Options: map[string]string{"date.timezone": "Mars/Phobos"}}, panel.ErrInvalid},
		"extension": {panel.PHPSettings{Extensions: []string{"ffi"}}, panel.ErrInvalid},
		"path":      {panel.PHPSettings{Extensions: []string{"../x"}}, panel.ErrInvalid},
	} {
		if _, err := w.SetPHPSettings(t.Context(), a.Ref, c.s); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := w.PHPSettings(t.Context(), a.Ref); err != nil || now.Option("memory_limit") != "1024M" {
		t.Errorf("after refusals: %+v %v", now, err)
	}
	if _, err := w.PHPSettings(t.Context(), "nobody"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	// Suspended, nothing runs; removed, nothing is left.
	a = w.machine.Update(a.Ref, func(r *accounts.Record) { r.Suspended = true })
	must(t, w.apply(t.Context(), a.Ref))
	if status, _ := w.get(a, "/run.php"); status != 503 || w.Socket(a) != "" {
		t.Errorf("suspended: %d", status)
	}
	if _, err := os.Stat(v.file("masters/1/pools/alice.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pool of a suspended account: %v", err)
	}
	must(t, w.Remove(t.Context(), a))
	if _, err := os.Stat(v.socket("alice")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

func TestErrorsAreInTheAccountsLog(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	w.run(a, `date_default_timezone_set("Asia/Tashkent"); error_log("first"); trigger_error("second", E_USER_WARNING); throw new Exception("third");`)
	page, err := w.store.Read(t.Context(), "alice", panel.LogQuery{Type: panel.LogPHP, Limit: 10})
	must(t, err)
	if len(page.Lines) != 3 {
		t.Fatalf("%+v", page)
	}
	for i, want := range []struct{ level, message string }{{"critical", "third"}, {"warning", "second"}, {"error", "first"}} {
		l := page.Lines[i]
		if l.Level != want.level || !strings.Contains(l.Message, want.message) || time.Since(l.At).Abs() > 10*time.Minute {
			t.Errorf("%d: %+v", i, l)
		}
	}
	if !strings.Contains(page.Lines[0].Message, "Stack trace") {
		t.Errorf("the lines of an entry are apart: %+v", page.Lines[0])
	}
}

func TestAReloadDropsNoRequestAndABrokenPoolHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	a, b := w.account("alice", panel.Limits{}), w.account("bob", panel.Limits{})
	w.put(a, "slow.php", `<?php usleep(700000); echo "done";`)
	w.put(a, "fast.php", `<?php echo "fast";`)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if status, body := w.get(a, "/slow.php"); status != 200 || body != "done" {
				t.Errorf("a request that ran: %d %q", status, body)
			}
		})
	}
	testkit.Eventually(t, time.Minute, func() bool { return processOf(t, a.User.UID) != 0 }, "it runs")
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() {
		for ctx.Err() == nil {
			if status, body := w.get(a, "/fast.php"); status != 200 || body != "fast" {
				t.Errorf("a request during the reload: %d %q", status, body)
			}
		}
	})
	_, err := w.SetPHPSettings(t.Context(), b.Ref, panel.PHPSettings{Options: map[string]string{"max_input_vars": "5000"}})
	must(t, err)
	stop()
	wg.Wait()
	if got := w.run(b, `echo ini_get("max_input_vars");`); got != "5000" {
		t.Errorf("after the reload: %q", got)
	}
	v := w.usual()
	pool, err := os.ReadFile(v.file("masters/1/pools/bob.conf"))
	must(t, err)
	broken := bytes.ReplaceAll(pool, []byte("[bob]"), []byte("[carol]\nuser = nobody-of-that-name"))
	if err := v.masters[1].files.Apply(t.Context(), map[string][]byte{"carol.conf": broken}); err == nil {
		t.Error("a pool that PHP-FPM refuses was taken")
	}
	if got := w.run(a, `echo "alive";`); got != "alive" {
		t.Errorf("alice after bob's mistake: %q", got)
	}
}

// TestWorkersThatCrashRestartNobodyElses: an account can end its own workers as often as it likes, and others share the master.
func TestWorkersThatCrashRestartNobodyElses(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	w.put(a, "pid.php", `<?php echo getmypid();`)
	for range 12 {
		_, body := w.get(a, "/pid.php")
		pid, err := strconv.Atoi(body)
		must(t, err)
		must(t, syscall.Kill(pid, syscall.SIGSEGV))
		testkit.Eventually(t, time.Minute, func() bool { return syscall.Kill(pid, 0) != nil }, "the worker has ended")
	}
	log, err := os.ReadFile(w.usual().file("masters", "1", "fpm.log"))
	if err != nil || !strings.Contains(string(log), "SIGSEGV") || strings.Contains(string(log), "threshold") {
		t.Errorf("%v\n%s", err, log)
	}
}

func TestTheAgentMayDie(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	pid := w.cfg.Supervisor.PID(w.usual().daemonName(1))
	again, err := Open(w.cfg, w.machine.Lookup)
	must(t, err)
	must(t, again.Start(t.Context()))
	if w.cfg.Supervisor.PID(w.usual().daemonName(1)) != pid {
		t.Error("another agent started another master")
	}
	// By it its workers are found when it is killed: see daemon.Spec.
	if noted, err := os.ReadFile(w.usual().file("masters", "1", "fpm.pid")); err != nil || string(noted) != strconv.Itoa(pid) {
		t.Errorf("the master %d noted %q, %v", pid, noted, err)
	}
	if got := w.run(a, `echo "alive";`); got != "alive" {
		t.Errorf("%q", got)
	}
}

// together is a supervisor that has nobody run before so many are to.
type together struct {
	daemon.Supervisor
	all  sync.WaitGroup
	late time.Duration
}

func (s *together) Ensure(ctx context.Context, spec daemon.Spec) error {
	s.all.Done()
	come := make(chan struct{})
	go func() { s.all.Wait(); close(come) }()
	select {
	case <-come:
		return s.Supervisor.Ensure(ctx, spec)
	case <-time.After(s.late):
		return errors.New("the others wait for this one")
	}
}

// Each may wait for requests that run: one after the other those of a full machine took minutes.
func TestMastersAreAdoptedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.perMaster = 1
	a, b, c := w.account("alice", panel.Limits{}), w.account("bob", panel.Limits{}), w.account("carol", panel.Limits{})
	cfg, meeting := w.cfg, &together{Supervisor: w.cfg.Supervisor, late: 20 * time.Second}
	meeting.all.Add(3)
	cfg.Supervisor = meeting
	again, err := Open(cfg, w.machine.Lookup)
	must(t, err)
	must(t, again.Start(t.Context()))
	for _, account := range []accounts.Account{a, b, c} {
		if got := w.run(account, `echo "alive";`); got != "alive" {
			t.Errorf("%s: %q", account.Name, got)
		}
	}
}

func TestAccountsAreSpreadOverMasters(t *testing.T) {
	w := newWorld(t)
	w.perMaster = 2
	v := w.usual()
	pools := func() (all []string) {
		files, err := filepath.Glob(v.file("masters/*/pools/*.conf"))
		must(t, err)
		for _, f := range files {
			rel, err := filepath.Rel(v.file("masters"), f)
			must(t, err)
			all = append(all, rel)
		}
		return all
	}
	a, b, c := w.account("alice", panel.Limits{}), w.account("bob", panel.Limits{}), w.account("carol", panel.Limits{})
	if got := pools(); !slices.Equal(got, []string{"1/pools/alice.conf", "1/pools/bob.conf", "2/pools/carol.conf"}) {
		t.Fatalf("%v", got)
	}
	first := v.masters[1].reloads
	_, err := w.SetPHPSettings(t.Context(), c.Ref, panel.PHPSettings{Options: map[string]string{"max_input_vars": "5000"}})
	must(t, err)
	if got := w.run(c, `echo ini_get("max_input_vars");`); got != "5000" || v.masters[1].reloads != first {
		t.Errorf("%q, %d reloads of the others' master", got, v.masters[1].reloads-first)
	}
	// Room that is given back is taken; who has a place keeps it.
	must(t, w.Remove(t.Context(), b))
	must(t, w.Remove(t.Context(), b))
	d := w.account("dave", panel.Limits{})
	a = w.machine.Update(a.Ref, func(r *accounts.Record) { r.Suspended = true })
	must(t, w.apply(t.Context(), a.Ref))
	e := w.account("erin", panel.Limits{})
	a = w.machine.Update(a.Ref, func(r *accounts.Record) { r.Suspended = false })
	must(t, w.apply(t.Context(), a.Ref))
	if got := pools(); !slices.Equal(got, []string{"1/pools/alice.conf", "1/pools/dave.conf", "2/pools/carol.conf", "2/pools/erin.conf"}) {
		t.Fatalf("%v", got)
	}
	// An agent that finds a pool in another master than its account's, and a master without pools.
	must(t, w.Remove(t.Context(), c))
	must(t, w.Remove(t.Context(), e))
	pool, err := os.ReadFile(v.file("masters/1/pools/dave.conf"))
	must(t, err)
	must(t, os.WriteFile(v.file("masters/2/pools/dave.conf"), pool, 0o600))
	again, err := Open(w.cfg, w.machine.Lookup)
	must(t, err)
	must(t, again.Start(t.Context()))
	if got := pools(); !slices.Equal(got, []string{"1/pools/alice.conf", "1/pools/dave.conf"}) {
		t.Errorf("%v", got)
	}
	if w.cfg.Supervisor.PID(v.daemonName(1)) == 0 || w.cfg.Supervisor.PID(v.daemonName(2)) != 0 {
		t.Error("a master without pools runs, or one with pools does not")
	}
	for _, account := range []accounts.Account{a, d} {
		if got := w.run(account, `echo "alive";`); got != "alive" {
			t.Errorf("%s: %q", account.Name, got)
		}
	}
}

// TestWhatAProgramStartsIsConfined: mail() starts a program with the environment that the customer sets, LD_PRELOAD included:
// native code, which open_basedir does not bind. It gets no other rights, and shares no directory with anybody.
func TestWhatAProgramStartsIsConfined(t *testing.T) {
	w := newWorld(t)
	w.cfg.Sendmail = func(a accounts.Account) string {
		return `/bin/sh -c 'cat >/dev/null; for d in /tmp /var/tmp /dev/shm; do touch $d/stead-` + a.Name + ` 2>/dev/null && echo open $d; ls $d; done;` +
			` grep NoNewPrivs /proc/self/status; echo end' >` + filepath.Join(a.Home, "tmp/said") + ` #`
	}
	a := w.account("alice", panel.Limits{})
	must(t, os.WriteFile("/dev/shm/stead-of-the-host", nil, 0o666))
	t.Cleanup(func() { must(t, os.Remove("/dev/shm/stead-of-the-host")) })
	if got := w.run(a, `mail("a@example.com", "x", "y"); echo "done";`); got != "done" {
		t.Fatalf("mail: %q", got)
	}
	said, err := os.ReadFile(filepath.Join(a.Home, "tmp/said"))
	must(t, err)
	if got := strings.Join(strings.Fields(string(said)), " "); got != "NoNewPrivs: 1 end" {
		t.Errorf("what mail() started found %q", got)
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if _, err := os.Stat(filepath.Join(dir, "stead-"+a.Name)); err == nil {
			t.Errorf("it wrote into the host's %s", dir)
		}
	}
}

// TestAFullAccountIsServed: a program that may write no more is told by its write, and is not ended. Sessions still work.
func TestAFullAccountIsServed(t *testing.T) {
	w := newWorld(t)
	a := w.account("alice", panel.Limits{})
	const program = `session_start(); $_SESSION["n"] = 1; session_write_close();
		$n = @file_put_contents(getenv("HOME") . "/big", str_repeat("x", 300000));
		echo $n === 300000 ? "written" : "refused: " . error_get_last()["message"], ", session ", filesize(glob(getenv("HOME") . "/tmp/sess_*")[0]) > 0 ? "kept" : "lost";`
	if got := w.run(a, program); got != "written, session kept" {
		t.Fatalf("before: %q", got)
	}
	must(t, os.Remove(filepath.Join(a.Home, "big")))
	sweeper := limits.NewSweeper()
	sweep := func(u limits.User) {
		u.Name = a.User.Name
		_, err := sweeper.Sweep(map[int]limits.User{a.User.UID: u})
		must(t, err)
	}
	sweep(limits.User{Full: true})
	if got := w.run(a, program); !strings.HasPrefix(got, "refused: ") || !strings.HasSuffix(got, "session kept") {
		t.Errorf("full: %q", got)
	}
	log := w.store.File(a.Name, panel.LogPHP)
	must(t, os.Truncate(log, 300000))
	if got := w.run(a, `error_log("above the limit"); echo "served";`); got != "served" {
		t.Errorf("a full account with a large log: %q", got)
	}
	sweep(limits.User{Full: true, Log: w.store.Size(a.Name, panel.LogPHP)})
	w.run(a, `error_log("within the reserve");`)
	if text, err := os.ReadFile(log); err != nil || !strings.HasSuffix(string(text), "within the reserve\n") {
		t.Errorf("the log of a full account: %v, %.200s", err, text[min(len(text), 300000):])
	}
	sweep(limits.User{Full: true, Nothing: true})
	if got := w.run(a, `echo @file_put_contents(getenv("HOME") . "/small", "x") === 1 ? "written" : "refused";`); got != "refused" {
		t.Errorf("the reserve is used up: %q", got)
	}
	sweep(limits.User{})
	if got := w.run(a, program); got != "written, session kept" {
		t.Errorf("there is room again: %q", got)
	}
}

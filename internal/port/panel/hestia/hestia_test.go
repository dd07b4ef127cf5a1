package hestia

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/paneltest"
)

// accounts is the part of the adapter on which the suite is run: its other tests want document roots
// anywhere in a home, which the server does not have.
type accounts struct {
	panel.Accounts
	panel.Usages
}

func (accounts) Name() string { return "hestia" }

func TestSuite(t *testing.T) {
	paneltest.RunSuite(t, []panel.Capability{panel.CapAccounts, panel.CapUsage}, func(t *testing.T) panel.Panel {
		p := newServer(t).open(t)
		return accounts{p, p}
	})
}

var spec = panel.AccountSpec{Ref: "1001", Username: "s1001", PrimaryDomain: "alice.example", Limits: panel.Limits{DiskMB: 8, Domains: 3}}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, kind panel.Kind) {
	t.Helper()
	var e *panel.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error = %v, want %s", err, kind)
	}
}

func TestEveryCodeHasItsKind(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	_, err := p.CreateAccount(t.Context(), spec)
	must(t, err)
	for code, kind := range map[int]panel.Kind{
		1: panel.ErrInternal, 2: panel.ErrInvalid, 3: panel.ErrNotFound, 4: panel.ErrExists, 5: panel.ErrSuspended, 6: panel.ErrInvalid,
		7: panel.ErrInUse, 8: panel.ErrLimit, 9: panel.ErrInternal, 10: panel.ErrInternal, 11: panel.ErrUnsupported, 12: panel.ErrInternal,
		13: panel.ErrDiskFull, 14: panel.ErrBusy, 15: panel.ErrUnreachable, 16: panel.ErrUnreachable, 17: panel.ErrUnreachable,
		18: panel.ErrInternal, 19: panel.ErrInternal, 20: panel.ErrInternal, 99: panel.ErrInternal,
	} {
		s.mu.Lock()
		s.broken["v-delete-web-domain"], s.broken["v-list-web-domains"] = code, code
		s.mu.Unlock()
		refused(t, p.RemoveDomain(t.Context(), spec.Ref, "other.example"), kind)
		_, err := p.Domains(t.Context(), spec.Ref)
		refused(t, err, kind)
	}
}

func TestACrashAnywhereInCreatingIsMadeGood(t *testing.T) {
	for _, cmd := range []string{"v-list-user-package", "v-make-tmp-file", "v-add-user-package", "v-list-users", "v-add-user", "v-add-web-domain", "v-list-web-domains"} {
		s := newServer(t)
		s.broken[cmd] = 19 // after the command did its work
		_, err := s.open(t).CreateAccount(t.Context(), spec)
		refused(t, err, panel.ErrInternal)
		delete(s.broken, cmd)
		acc, err := s.open(t).CreateAccount(t.Context(), spec) // another process: it remembers nothing
		must(t, err)
		if acc.Username != "s1001" || acc.PrimaryDomain != "alice.example" || acc.Limits != spec.Limits || len(acc.Domains) != 1 || len(s.users) != 2 {
			t.Errorf("after a failure of %s: %+v, users %v", cmd, acc, s.users)
		}
		if acc.IPv4 != "192.0.2.10" || acc.OriginURL != "http://192.0.2.10" || acc.Location != "tas" ||
			!slices.Equal(acc.Nameservers, []string{"ns1.hestia.example", "ns2.hestia.example"}) {
			t.Errorf("where it is: %+v", acc)
		}
	}
}

// TestAnAccountThatLostItsNameIsNotDeleted: making it once more, after an administrator of the server gave its
// primary domain to somebody else, takes nothing from the customer.
func TestAnAccountThatLostItsNameIsNotDeleted(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	_, err := p.CreateAccount(t.Context(), spec)
	must(t, err)
	_, err = p.SetDomain(t.Context(), spec.Ref, panel.Domain{Name: "shop.example"})
	must(t, err)
	s.mu.Lock()
	s.domains["other"] = map[string]map[string]string{spec.PrimaryDomain: s.domains[spec.Username][spec.PrimaryDomain]}
	delete(s.domains[spec.Username], spec.PrimaryDomain)
	s.mu.Unlock()
	_, err = p.CreateAccount(t.Context(), spec)
	refused(t, err, panel.ErrExists)
	if domains, err := p.Domains(t.Context(), spec.Ref); err != nil || len(domains) != 1 || domains[0].Name != "shop.example" {
		t.Errorf("left: %+v, %v", domains, err)
	}
}

func TestSuspendingRepeatsAndRefusesChanges(t *testing.T) {
	p := newServer(t).open(t)
	_, err := p.CreateAccount(t.Context(), spec)
	must(t, err)
	for range 2 {
		must(t, p.SuspendAccount(t.Context(), spec.Ref))
	}
	acc, err := p.CreateAccount(t.Context(), spec)
	must(t, err)
	if acc.Status != panel.AccountSuspended {
		t.Errorf("status %s", acc.Status)
	}
	_, err = p.SetDomain(t.Context(), spec.Ref, panel.Domain{Name: "b.example"})
	refused(t, err, panel.ErrSuspended)
	for range 2 {
		must(t, p.UnsuspendAccount(t.Context(), spec.Ref))
	}
	must(t, p.DeleteAccount(t.Context(), spec.Ref))
	refused(t, p.DeleteAccount(t.Context(), spec.Ref), panel.ErrNotFound)
	refused(t, p.SuspendAccount(t.Context(), spec.Ref), panel.ErrNotFound)
}

func TestDomains(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	ctx := t.Context()
	_, err := p.CreateAccount(ctx, spec)
	must(t, err)
	_, err = p.CreateAccount(ctx, panel.AccountSpec{Ref: "2", Username: "s2", PrimaryDomain: "taken.example"})
	must(t, err)
	set := func(d panel.Domain) panel.Domain {
		t.Helper()
		var got panel.Domain
		for range 2 {
			got, err = p.SetDomain(ctx, spec.Ref, d)
			must(t, err)
		}
		return got
	}
	same := func(what string, got, want panel.Domain) {
		t.Helper()
		want.TLS = panel.TLSNone
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	same("alias", set(panel.Domain{Name: "Alias.Example"}), panel.Domain{Name: "alias.example", DocumentRoot: "/public_html"})
	same("own root", set(panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example"}), panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example"})
	same("below the primary's", set(panel.Domain{Name: "shop.example", DocumentRoot: "/public_html/shop"}),
		panel.Domain{Name: "shop.example", DocumentRoot: "/public_html/shop"})
	_, err = p.SetDomain(ctx, spec.Ref, panel.Domain{Name: "fourth.example"})
	refused(t, err, panel.ErrLimit)
	_, err = p.SetDomain(ctx, "2", panel.Domain{Name: "shop.example"})
	refused(t, err, panel.ErrExists)
	_, err = p.SetDomain(ctx, spec.Ref, panel.Domain{Name: "shop.example", DocumentRoot: "/elsewhere"})
	refused(t, err, panel.ErrUnsupported)
	_, err = p.SetDomain(ctx, spec.Ref, panel.Domain{Name: "shop.example", DocumentRoot: "/public_html/../../x"})
	refused(t, err, panel.ErrPathNotAllowed)
	_, err = p.SetDomain(ctx, spec.Ref, panel.Domain{Name: "shop.example", ForceHTTPS: true})
	refused(t, err, panel.ErrUnsupported)
	_, err = p.SetDomain(ctx, spec.Ref, panel.Domain{Name: "shop.example", RedirectTo: "javascript:alert(1)"})
	refused(t, err, panel.ErrInvalid)

	same("redirect", set(panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example", RedirectTo: "https://New.Example/"}),
		panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example", RedirectTo: "https://new.example"})
	same("no redirect", set(panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example"}), panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example"})
	s.domains["s1001"]["shop.example"]["SSL"] = "yes"
	for _, force := range []bool{true, false} {
		if got := set(panel.Domain{Name: "shop.example", DocumentRoot: "/shop.example", ForceHTTPS: force}); got.ForceHTTPS != force || got.TLS != panel.TLSActive {
			t.Errorf("HTTPS: %+v", got)
		}
	}

	refused(t, p.RemoveDomain(ctx, spec.Ref, "alice.example"), panel.ErrInUse)
	if got := set(panel.Domain{Name: "alias.example", Primary: true}); !got.Primary {
		t.Errorf("primary: %+v", got)
	}
	all, err := p.Domains(ctx, spec.Ref)
	must(t, err)
	if len(all) != 3 || all[0].Name != "alias.example" || !all[0].Primary || all[1].Primary {
		t.Errorf("domains: %+v", all)
	}
	must(t, p.RemoveDomain(ctx, spec.Ref, "alice.example"))
	refused(t, p.RemoveDomain(ctx, spec.Ref, "alice.example"), panel.ErrNotFound)
	u, err := p.Usage(ctx, spec.Ref)
	must(t, err)
	if u.DiskBytes != 3<<20 || *u.TrafficBytes != 7<<20 || u.Domains != 2 || u.Limits != spec.Limits {
		t.Errorf("usage: %+v", u)
	}
}

func TestCronJobs(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	ctx := t.Context()
	_, err := p.CreateAccount(ctx, spec)
	must(t, err)
	// One that somebody made in the server's own panel is none of ours.
	s.cron["s1001"]["99"] = map[string]string{"CMD": "sudo /usr/local/hestia/bin/v-backup-users", "SUSPENDED": "no"}
	want, err := panel.CronJob{ID: "7", Expression: "*/5 1 * * *", Command: `date +%H | tee "it's"` + " `x` #", Enabled: true}.Canonical()
	must(t, err)
	for range 2 {
		got, err := p.SetCronJob(ctx, spec.Ref, want)
		must(t, err)
		if got != want {
			t.Errorf("set: %+v", got)
		}
	}
	list := func() []panel.CronJob {
		t.Helper()
		all, err := p.CronJobs(ctx, spec.Ref)
		must(t, err)
		return all
	}
	if all := list(); len(all) != 1 || all[0] != want || len(s.cron["s1001"]) != 2 {
		t.Errorf("jobs: %+v", all)
	}
	// What runs is what was asked for: the line is given to a real shell.
	for n, job := range s.cron["s1001"] {
		if n == "99" {
			continue
		}
		if strings.ContainsAny(job["CMD"], "%'\"`\n") || job["MIN"]+" "+job["HOUR"] != "*/5 1" {
			t.Errorf("the line: %v", job)
		}
	}
	want.Command, want.Overlap, want.Enabled = "echo $((40+2)) 100% > out", panel.OverlapAllow, false
	_, err = p.SetCronJob(ctx, spec.Ref, want)
	must(t, err)
	if all := list(); len(all) != 1 || all[0] != want {
		t.Errorf("changed: %+v", all)
	}
	dir := t.TempDir()
	for n, job := range s.cron["s1001"] {
		if n == "99" {
			continue
		}
		run := exec.CommandContext(ctx, "sh", "-c", job["CMD"])
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	}
	if out, err := os.ReadFile(filepath.Join(dir, "out")); string(out) != "42 100%\n" {
		t.Errorf("it wrote %q, %v", out, err)
	}
	states, err := p.CronStates(ctx, spec.Ref)
	must(t, err)
	if len(states) != 1 || !states[0].NextRunAt.IsZero() || states[0].Runs == nil {
		t.Errorf("states: %+v", states)
	}
	for _, c := range []struct {
		change func(*panel.CronJob)
		kind   panel.Kind
	}{
		{func(j *panel.CronJob) { j.Timezone = "Asia/Tashkent" }, panel.ErrUnsupported},
		{func(j *panel.CronJob) { j.Command = strings.Repeat("x", 1000) }, panel.ErrUnsupported},
		{func(j *panel.CronJob) { j.Command = "a\nb" }, panel.ErrInvalid},
		{func(j *panel.CronJob) { j.Expression = "x" }, panel.ErrInvalid},
	} {
		j := want
		c.change(&j)
		_, err := p.SetCronJob(ctx, spec.Ref, j)
		refused(t, err, c.kind)
	}
	must(t, p.RemoveCronJob(ctx, spec.Ref, "7"))
	refused(t, p.RemoveCronJob(ctx, spec.Ref, "7"), panel.ErrNotFound)
	if len(s.cron["s1001"]) != 1 {
		t.Error("somebody else's job was removed")
	}
}

func TestDatabases(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	ctx := t.Context()
	_, err := p.CreateAccount(ctx, spec)
	must(t, err)
	engines, err := p.DatabaseEngines(ctx)
	must(t, err)
	if len(engines) != 3 {
		t.Errorf("engines: %v", engines)
	}
	want := panel.Database{Name: "s1001_shop", Engine: panel.MariaDB, Password: "Secret-1", PasswordVersion: "1"}
	for range 2 {
		got, err := p.SetDatabase(ctx, spec.Ref, want)
		must(t, err)
		if got.Name != want.Name || got.Charset != "utf8mb4" || got.PasswordVersion != "1" || got.Password != "" || got.SizeBytes != 2<<20 {
			t.Errorf("set: %+v", got)
		}
	}
	password := func() string { return s.dbs["s1001"]["s1001_shop"]["password"] }
	want.Password, want.PasswordVersion = "Secret-2", "2"
	_, err = p.SetDatabase(ctx, spec.Ref, want)
	must(t, err)
	if password() != "Secret-2" {
		t.Error("the password is the old one")
	}
	want.Engine, want.MaxSizeMB = panel.MySQL, 1 // the server's one type is both
	got, err := p.SetDatabase(ctx, spec.Ref, want)
	must(t, err)
	if got.Engine != panel.MySQL || got.MaxSizeMB != 1 || !got.Full || got.PasswordVersion != "2" {
		t.Errorf("bound: %+v", got)
	}
	// A process that started anew does not know which password is in force, and says so.
	p = s.open(t)
	all, err := p.ListDatabases(ctx, spec.Ref)
	must(t, err)
	if len(all) != 1 || all[0].PasswordVersion != "" {
		t.Errorf("listed: %+v", all)
	}
	for _, c := range []struct {
		change func(*panel.Database)
		kind   panel.Kind
	}{
		{func(d *panel.Database) { d.Name = "s2_shop" }, panel.ErrInvalid},
		{func(d *panel.Database) { d.Name = "s1001_Shop" }, panel.ErrInvalid},
		{func(d *panel.Database) { d.Engine = panel.PostgreSQL }, panel.ErrInvalid},
		{func(d *panel.Database) { d.Charset = "latin1" }, panel.ErrInvalid},
		{func(d *panel.Database) { d.Name, d.Password = "s1001_new", "" }, panel.ErrInvalid},
	} {
		d := want
		c.change(&d)
		_, err := p.SetDatabase(ctx, spec.Ref, d)
		refused(t, err, c.kind)
	}
	_, err = p.DumpDatabase(ctx, spec.Ref, want.Name)
	refused(t, err, panel.ErrUnsupported)
	refused(t, p.ImportDatabase(ctx, spec.Ref, want.Name, strings.NewReader("")), panel.ErrUnsupported)
	must(t, p.RemoveDatabase(ctx, spec.Ref, want.Name))
	refused(t, p.RemoveDatabase(ctx, spec.Ref, want.Name), panel.ErrNotFound)
}

func TestUsersOfOthersAreLeftAlone(t *testing.T) {
	s := newServer(t)
	p := s.open(t)
	s.users["s1001"] = map[string]string{"NAME": "Somebody Else", "SUSPENDED": "no"}
	_, err := p.CreateAccount(t.Context(), spec)
	refused(t, err, panel.ErrExists)
	refused(t, p.DeleteAccount(t.Context(), spec.Ref), panel.ErrNotFound)
	if s.users["s1001"] == nil {
		t.Error("somebody else's user was deleted")
	}
}

func TestAServerThatIsNoneIsUnreachable(t *testing.T) {
	s := newServer(t)
	for name, h := range map[string]http.HandlerFunc{
		"an error page": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a redirect":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, s.url, http.StatusTemporaryRedirect) },
		"another page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0")) },
	} {
		srv := httptest.NewTLSServer(h)
		transport, _ := srv.Client().Transport.(*http.Transport)
		p, err := New(Config{URL: srv.URL, AccessKey: testKey, TLS: transport.TLSClientConfig, Now: time.Now})
		must(t, err)
		t.Log(name)
		_, err = p.Account(t.Context(), "1")
		refused(t, err, panel.ErrUnreachable)
		if strings.Contains(err.Error(), testKey) {
			t.Error("the key is in the error")
		}
		srv.Close()
		_, err = p.Account(t.Context(), "1")
		refused(t, err, panel.ErrUnreachable)
	}
	if len(s.calls) != 0 {
		t.Error("the key went where a redirect pointed")
	}
	// Of another authority than the one that is trusted.
	p, err := New(Config{URL: s.url, AccessKey: testKey, Now: time.Now})
	must(t, err)
	refused(t, p.SuspendAccount(t.Context(), "1"), panel.ErrUnreachable)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.open(t).SuspendAccount(gone, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left: %v", err)
	}
	for _, c := range []Config{{URL: "http://x", AccessKey: testKey}, {URL: s.url, AccessKey: "short:key"}, {URL: "", AccessKey: testKey}} {
		if _, err := New(c); err == nil || strings.Contains(err.Error(), "short:key") {
			t.Errorf("%s: %v", c.URL, err)
		}
	}
}

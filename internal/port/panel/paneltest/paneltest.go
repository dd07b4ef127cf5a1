// Package paneltest states the contracts of the panel port as tests. Every adapter passes them:
//
//	func TestSuite(t *testing.T) { paneltest.RunSuite(t, capabilities, func(t *testing.T) panel.Panel { … }) }
package paneltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// RunSuite tests a panel that has the capabilities want, all of them and no others: each contract of
// theirs is tested, none is skipped. open answers a panel without accounts, for each test anew.
func RunSuite(t *testing.T, want []panel.Capability, open func(t *testing.T) panel.Panel) {
	t.Run("the panel has its capabilities", func(t *testing.T) {
		got := panel.Capabilities(open(t))
		// Which versions of PHP a machine has is its own affair; one without any has no PHP.
		withVersions := len(got)
		got = slices.DeleteFunc(got, func(c panel.Capability) bool { return strings.HasPrefix(string(c), string(panel.PHPVersion(""))) })
		if versions := withVersions - len(got); (versions > 0) != slices.Contains(want, panel.CapPHP) {
			t.Errorf("%d versions of PHP", versions)
		}
		missing, more := without(want, got), without(got, want)
		if len(missing)+len(more) > 0 {
			t.Fatalf("capabilities: %v are missing, %v were not expected", missing, more)
		}
	})
	for _, test := range []struct {
		name  string
		run   func(t *testing.T, p panel.Panel)
		needs []panel.Capability // besides accounts
	}{
		{"a created account is answered, again and again", createAccount, nil},
		{"a name or domain that is taken is refused and leaves nothing behind", createTaken, nil},
		{"malformed specifications are invalid", createInvalid, nil},
		{"creating one account from many sides makes one", createTogether, nil},
		{"suspending stops changes and is undone", suspend, needs(panel.CapFiles)},
		{"limits can be changed", updateLimits, needs(panel.CapUsage)},
		{"a deleted account is gone and its names are free", deleteAccount, needs(panel.CapFiles)},
		{"every method knows no unknown account", unknownRef, nil},
		{"domains are set and removed, the primary one stays", domains, needs(panel.CapSites)},
		{"another domain becomes the primary one", primaryDomain, needs(panel.CapSites)},
		{"domains redirect, and force HTTPS where it is", redirects, needs(panel.CapSites)},
		{"what is written is read", writeAndRead, needs(panel.CapFiles)},
		{"lines are read in ranges", readLines, needs(panel.CapFiles)},
		{"a version guards a write", etags, needs(panel.CapFiles)},
		{"an upload appears whole or not at all", upload, needs(panel.CapFiles)},
		{"trees are moved, copied and removed", trees, needs(panel.CapFiles, panel.CapUsage)},
		{"permissions are set, of one and of all in a directory", permissions, needs(panel.CapFiles)},
		{"no path leads out", paths, needs(panel.CapFiles)},
		{"the disk limit holds", diskLimit, needs(panel.CapFiles, panel.CapUsage)},
		{"files are found by name and by content", search, needs(panel.CapFiles)},
		{"archives go out and come back", archives, needs(panel.CapArchives, panel.CapFiles)},
		{"folders are deployed and taken back", deploys, needs(panel.CapDeploys, panel.CapFiles)},
		{"certificates are set, changed and removed, and bad ones change nothing", certificates, needs(panel.CapCertificates, panel.CapSites)},
		{"challenges are served for their account's domains only", challenges, needs(panel.CapCertificates)},
		{"what is backed up comes back", backUpAndRestore, needs(panel.CapBackups, panel.CapFiles)},
		{"backups refuse what makes no sense, and each other's", backupsRefuse, needs(panel.CapBackups)},
		{"backups outlast their account", backupsOutlastTheirAccount, needs(panel.CapBackups, panel.CapFiles)},
		{"a backup is handed over to another machine", handsOver, needs(panel.CapBackups, panel.CapHandover)},
		{"an account that has left is let go of", leaves, needs(panel.CapMoving, panel.CapFiles)},
		{"PHP runs as it is set, and refuses what is not to be had", phpSettings, needs(panel.CapPHP)},
		{"logs are read and followed", logs, needs(panel.CapLogs)},
		{"FTP accounts are set and removed", ftpAccounts, needs(panel.CapFTP)},
		{"the shell is switched, and keys are set as a whole", shellAccess, needs(panel.CapShell)},
		{"a terminal is the account's, and ends with its shell", terminal, needs(panel.CapTerminal, panel.CapShell, panel.CapFiles)},
		{"databases are made, dumped, imported and removed", Databases, needs(panel.CapDatabases, panel.CapUsage)},
		{"databases are opened in browsers", opening, needs(panel.CapAdminer, panel.CapDatabases)},
		{"cron jobs are set, refused and removed", Cron, needs(panel.CapCron)},
		{"mailboxes are set, refused and removed", mailboxes, needs(panel.CapMail, panel.CapSites)},
	} {
		if len(without(test.needs, want)) == 0 {
			t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
		}
	}
}

func needs(c ...panel.Capability) []panel.Capability { return c }

// without answers those of all that are not among others.
func without(all, others []panel.Capability) []panel.Capability {
	return slices.DeleteFunc(slices.Clone(all), func(c panel.Capability) bool { return slices.Contains(others, c) })
}

const ref = "1001"

var spec = panel.AccountSpec{
	Ref: ref, Username: "alice", PrimaryDomain: "alice.example", Limits: panel.Limits{DiskMB: 8, Inodes: 500, Domains: 3},
}

// capability answers the capability C of p, which the suite tests only where it is expected.
func capability[C any](t *testing.T, p panel.Panel) C {
	t.Helper()
	c, ok := p.(C)
	if !ok {
		t.Fatalf("%s does not have it", p.Name())
	}
	return c
}

func create(t *testing.T, p panel.Panel, s panel.AccountSpec) panel.Account {
	t.Helper()
	acc, err := capability[panel.Accounts](t, p).CreateAccount(t.Context(), s)
	must(t, err)
	return acc
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks that err is of the kind and is the port's typed error.
func refused(t *testing.T, err error, kind panel.Kind) {
	t.Helper()
	var e *panel.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error = %v, want kind %s", err, kind)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func createAccount(t *testing.T, p panel.Panel) {
	a := capability[panel.Accounts](t, p)
	first := create(t, p, spec)
	equal(t, "username", first.Username, "alice")
	equal(t, "domain", first.PrimaryDomain, "alice.example")
	equal(t, "status", first.Status, panel.AccountActive)
	equal(t, "limits", first.Limits, spec.Limits)
	if first.OriginURL == "" || first.CreatedAt.IsZero() {
		t.Errorf("account does not say where or since when it is: %+v", first)
	}
	again := create(t, p, spec)
	equal(t, "time of creation when repeated", again.CreatedAt, first.CreatedAt)
	got, err := a.Account(t.Context(), ref)
	must(t, err)
	equal(t, "username", got.Username, "alice")

	derived := create(t, p, panel.AccountSpec{Ref: "2", PrimaryDomain: "Bücher.Example."})
	equal(t, "canonical domain", derived.PrimaryDomain, "xn--bcher-kva.example")
	if derived.Username == "" {
		t.Error("no user name was derived")
	}
}

func createTaken(t *testing.T, p panel.Panel) {
	a := capability[panel.Accounts](t, p)
	create(t, p, spec)
	for name, s := range map[string]panel.AccountSpec{
		"name":              {Ref: "2", Username: "alice", PrimaryDomain: "other.example"},
		"domain":            {Ref: "2", Username: "bob", PrimaryDomain: "ALICE.example"},
		"ref, other domain": {Ref: ref, Username: "alice", PrimaryDomain: "other.example"},
	} {
		_, err := a.CreateAccount(t.Context(), s)
		t.Log(name)
		refused(t, err, panel.ErrExists)
	}
	create(t, p, panel.AccountSpec{Ref: "2", Username: "bob", PrimaryDomain: "other.example"})
}

func createInvalid(t *testing.T, p panel.Panel) {
	a := capability[panel.Accounts](t, p)
	for _, s := range []panel.AccountSpec{
		{Ref: "", PrimaryDomain: "a.example"},
		{Ref: "../x", PrimaryDomain: "a.example"},
		{Ref: "1", PrimaryDomain: ""},
		{Ref: "1", PrimaryDomain: "localhost"},
		{Ref: "1", PrimaryDomain: "127.0.0.1"},
		{Ref: "1", PrimaryDomain: "../../etc"},
		{Ref: "1", PrimaryDomain: "a b.example"},
		{Ref: "1", PrimaryDomain: "*.example.com"},
		{Ref: "1", Username: "../x", PrimaryDomain: "a.example"},
		{Ref: "1", Username: "Root", PrimaryDomain: "a.example"},
		{Ref: "1", PrimaryDomain: "a.example", Limits: panel.Limits{DiskMB: -1}},
	} {
		_, err := a.CreateAccount(t.Context(), s)
		refused(t, err, panel.ErrInvalid)
	}
}

func createTogether(t *testing.T, p panel.Panel) {
	a := capability[panel.Accounts](t, p)
	names := make([]string, 16)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			acc, err := a.CreateAccount(t.Context(), panel.AccountSpec{Ref: ref, PrimaryDomain: "one.example"})
			if err != nil {
				t.Error(err)
			}
			names[i] = acc.Username
		})
	}
	wg.Wait()
	for _, name := range names {
		equal(t, "user name", name, names[0])
	}
}

func suspend(t *testing.T, p panel.Panel) {
	a, f := capability[panel.Accounts](t, p), capability[panel.Files](t, p)
	create(t, p, spec)
	ctx := t.Context()
	for range 2 {
		must(t, a.SuspendAccount(ctx, ref))
	}
	acc, err := a.Account(ctx, ref)
	must(t, err)
	equal(t, "status", acc.Status, panel.AccountSuspended)
	_, err = f.Write(ctx, ref, "/public_html/index.html", nil, panel.WriteOptions{})
	refused(t, err, panel.ErrSuspended)
	_, err = f.List(ctx, ref, "/", 0, 0)
	must(t, err)
	for range 2 {
		must(t, a.UnsuspendAccount(ctx, ref))
	}
	_, err = f.Write(ctx, ref, "/public_html/index.html", nil, panel.WriteOptions{})
	must(t, err)
}

func updateLimits(t *testing.T, p panel.Panel) {
	a := capability[panel.Accounts](t, p)
	create(t, p, spec)
	want := panel.Limits{DiskMB: 99, Inodes: 1000, Domains: 5}
	acc, err := a.UpdateAccount(t.Context(), ref, want)
	must(t, err)
	equal(t, "limits", acc.Limits, want)
	_, err = a.UpdateAccount(t.Context(), ref, panel.Limits{Inodes: -1})
	refused(t, err, panel.ErrInvalid)
	u, err := capability[panel.Usages](t, p).Usage(t.Context(), ref)
	must(t, err)
	equal(t, "limits with usage", u.Limits, want)
	equal(t, "domains used", u.Domains, 1)
}

func deleteAccount(t *testing.T, p panel.Panel) {
	a, f := capability[panel.Accounts](t, p), capability[panel.Files](t, p)
	create(t, p, spec)
	ctx := t.Context()
	_, err := f.Write(ctx, ref, "/public_html/secret.txt", []byte("of the old customer"), panel.WriteOptions{})
	must(t, err)
	must(t, a.DeleteAccount(ctx, ref))
	refused(t, a.DeleteAccount(ctx, ref), panel.ErrNotFound)
	_, err = a.Account(ctx, ref)
	refused(t, err, panel.ErrNotFound)
	s := spec
	s.Ref = "2"
	create(t, p, s)
	_, err = f.Stat(ctx, "2", "/public_html/secret.txt")
	refused(t, err, panel.ErrNotFound)
}

func unknownRef(t *testing.T, p panel.Panel) {
	ctx, none := t.Context(), "nobody"
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	if a, ok := p.(panel.Accounts); ok {
		_, err := a.Account(ctx, none)
		add(err)
		_, err = a.UpdateAccount(ctx, none, panel.Limits{})
		add(err)
		add(a.SuspendAccount(ctx, none))
		add(a.UnsuspendAccount(ctx, none))
		add(a.DeleteAccount(ctx, none))
	}
	if s, ok := p.(panel.Sites); ok {
		_, err := s.Domains(ctx, none)
		add(err)
		_, err = s.SetDomain(ctx, none, panel.Domain{Name: "x.example"})
		add(err)
		add(s.RemoveDomain(ctx, none, "x.example"))
	}
	if u, ok := p.(panel.Usages); ok {
		_, err := u.Usage(ctx, none)
		add(err)
	}
	if f, ok := p.(panel.Files); ok {
		_, err := f.List(ctx, none, "/", 0, 0)
		add(err)
		_, err = f.Read(ctx, none, "/x", panel.ReadOptions{})
		add(err)
		_, err = f.Upload(ctx, none, "/x", strings.NewReader(""), panel.WriteOptions{})
		add(err)
		add(f.Remove(ctx, none, "/x", true))
	}
	if b, err := panel.Of[panel.Backups](p, panel.CapBackups); err == nil {
		_, err := b.StartBackup(ctx, none, filesAndRecords)
		add(err)
		_, err = b.StartRestore(ctx, none, panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: filesAndRecords.Parts})
		add(err)
		_, err = b.StartBackupCheck(ctx, none, panel.CheckRequest{ID: "c1", Backup: "b1"})
		add(err)
		_, err = b.BackupTask(ctx, none, "b1")
		add(err)
		_, err = b.ListBackups(ctx, none)
		add(err)
		_, err = b.BackupDocuments(ctx, none, "b1")
		add(err)
		_, err = b.OpenBackup(ctx, none, "b1")
		add(err)
		add(b.DeleteBackup(ctx, none, "b1"))
	}
	for _, err := range errs {
		refused(t, err, panel.ErrNotFound)
	}
}

func domains(t *testing.T, p panel.Panel) {
	s := capability[panel.Sites](t, p)
	create(t, p, spec)
	create(t, p, panel.AccountSpec{Ref: "2", PrimaryDomain: "taken.example"})
	ctx := t.Context()
	_, err := s.SetDomain(ctx, ref, panel.Domain{Name: "taken.example"})
	refused(t, err, panel.ErrExists)
	for range 2 {
		d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "Alias.Example"})
		must(t, err)
		equal(t, "alias", d, panel.Domain{Name: "alias.example", DocumentRoot: "/public_html", TLS: d.TLS})
		_, err = s.SetDomain(ctx, ref, panel.Domain{Name: "shop.example", DocumentRoot: "/shop"})
		must(t, err)
	}
	d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "shop.example", DocumentRoot: "/other"})
	must(t, err)
	equal(t, "changed root", d.DocumentRoot, "/other")
	_, err = s.SetDomain(ctx, ref, panel.Domain{Name: "fourth.example"})
	refused(t, err, panel.ErrLimit)
	_, err = s.SetDomain(ctx, ref, panel.Domain{Name: "shop.example", DocumentRoot: "/../../etc"})
	refused(t, err, panel.ErrPathNotAllowed)
	refused(t, s.RemoveDomain(ctx, ref, "alice.example"), panel.ErrInUse)
	must(t, s.RemoveDomain(ctx, ref, "shop.example"))
	refused(t, s.RemoveDomain(ctx, ref, "shop.example"), panel.ErrNotFound)
	all := listDomains(t, s)
	equal(t, "number of domains", len(all), 2)
	equal(t, "first domain", all[0], panel.Domain{Name: "alice.example", DocumentRoot: "/public_html", Primary: true, TLS: all[0].TLS})
	_, err = s.SetDomain(ctx, "2", panel.Domain{Name: "shop.example"})
	must(t, err)
}

func listDomains(t *testing.T, s panel.Sites) []panel.Domain {
	t.Helper()
	all, err := s.Domains(t.Context(), ref)
	must(t, err)
	return all
}

func primaryDomain(t *testing.T, p panel.Panel) {
	s := capability[panel.Sites](t, p)
	create(t, p, spec)
	ctx := t.Context()
	for range 2 {
		d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "new.example", DocumentRoot: "/new", Primary: true})
		must(t, err)
		equal(t, "primary", d.Primary, true)
	}
	acc, err := capability[panel.Accounts](t, p).Account(ctx, ref)
	must(t, err)
	equal(t, "the account's primary domain", acc.PrimaryDomain, "new.example")
	refused(t, s.RemoveDomain(ctx, ref, "new.example"), panel.ErrInUse)
	all := listDomains(t, s)
	equal(t, "number of domains", len(all), 2)
	equal(t, "the former", all[1], panel.Domain{Name: "alice.example", DocumentRoot: "/public_html", TLS: all[1].TLS})
	must(t, s.RemoveDomain(ctx, ref, "alice.example"))
	// One that is primary stays so when it is set without saying it.
	d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "new.example"})
	must(t, err)
	equal(t, "still primary", d, panel.Domain{Name: "new.example", DocumentRoot: "/new", Primary: true, TLS: d.TLS})
}

func redirects(t *testing.T, p panel.Panel) {
	s := capability[panel.Sites](t, p)
	create(t, p, spec)
	ctx := t.Context()
	for range 2 {
		d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "old.example", RedirectTo: "https://New.Example/"})
		must(t, err)
		equal(t, "redirect", d.RedirectTo, "https://new.example")
	}
	equal(t, "listed redirect", listDomains(t, s)[1].RedirectTo, "https://new.example")
	for _, to := range []string{"/here", "ftp://a.example", "javascript:alert(1)", "https://", "https://u:p@a.example", "https://a b.example"} {
		_, err := s.SetDomain(ctx, ref, panel.Domain{Name: "old.example", RedirectTo: to})
		refused(t, err, panel.ErrInvalid)
	}
	d, err := s.SetDomain(ctx, ref, panel.Domain{Name: "old.example"})
	must(t, err)
	equal(t, "redirect when taken back", d.RedirectTo, "")

	d, err = s.SetDomain(ctx, ref, panel.Domain{Name: "old.example", ForceHTTPS: true})
	if listDomains(t, s)[1].TLS != panel.TLSActive {
		refused(t, err, panel.ErrUnsupported)
	} else {
		must(t, err)
		equal(t, "force HTTPS", d.ForceHTTPS, true)
	}
}

// account makes the account whose files a test works on.
func account(t *testing.T, p panel.Panel) (context.Context, panel.Files) {
	t.Helper()
	f := capability[panel.Files](t, p)
	create(t, p, spec)
	return t.Context(), f
}

func write(t *testing.T, f panel.Files, path, content string) panel.Entry {
	t.Helper()
	e, err := f.Write(t.Context(), ref, path, []byte(content), panel.WriteOptions{Parents: true})
	must(t, err)
	return e
}

func read(t *testing.T, f panel.Files, path string) string {
	t.Helper()
	c, err := f.Read(t.Context(), ref, path, panel.ReadOptions{})
	must(t, err)
	return string(c.Data)
}

func writeAndRead(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	e := write(t, f, "public_html/a/index.html", "<p>salom</p>\n")
	equal(t, "path", e.Path, "/public_html/a/index.html")
	equal(t, "name", e.Name, "index.html")
	equal(t, "type", e.Type, panel.TypeFile)
	equal(t, "size", e.SizeBytes, 13)
	equal(t, "mode", e.Mode, "0644")
	equal(t, "mime", e.MIME, "text/html; charset=utf-8")
	equal(t, "owner", e.Owner, "alice")

	c, err := f.Read(ctx, ref, "/public_html/a/index.html", panel.ReadOptions{})
	must(t, err)
	equal(t, "content", string(c.Data), "<p>salom</p>\n")
	equal(t, "etag", c.ETag, e.ETag)
	equal(t, "text", c.Text, true)
	equal(t, "lines", c.TotalLines, 1)

	_, err = f.Write(ctx, ref, "/no/such/dir.txt", nil, panel.WriteOptions{})
	refused(t, err, panel.ErrNotFound)
	_, err = f.Read(ctx, ref, "/public_html/none", panel.ReadOptions{})
	refused(t, err, panel.ErrNotFound)
	_, err = f.Read(ctx, ref, "/public_html", panel.ReadOptions{})
	refused(t, err, panel.ErrInvalid)

	_, err = f.Mkdir(ctx, ref, "/public_html/z/y")
	must(t, err)
	_, err = f.Mkdir(ctx, ref, "/public_html/a/index.html")
	refused(t, err, panel.ErrExists)
	write(t, f, "/public_html/b.txt", "")
	l, err := f.List(ctx, ref, "/public_html", 1, 2)
	must(t, err)
	equal(t, "total", l.Total, 3)
	equal(t, "page", l.Entries[0].Name+" "+l.Entries[1].Name, "z b.txt")

	file, err := f.Open(ctx, ref, "/public_html/a/index.html")
	must(t, err)
	defer file.Close()
	_, err = file.Seek(3, io.SeekStart)
	must(t, err)
	rest, err := io.ReadAll(file)
	must(t, err)
	equal(t, "rest", string(rest), "salom</p>\n")
	equal(t, "size of download", file.Entry().SizeBytes, 13)
}

func readLines(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	write(t, f, "/public_html/lines.txt", "one\ntwo\nthree\nfour")
	for _, c := range []struct {
		opt       panel.ReadOptions
		want      string
		truncated bool
	}{
		{panel.ReadOptions{}, "one\ntwo\nthree\nfour", false},
		{panel.ReadOptions{FromLine: 2, Lines: 2}, "two\nthree\n", false},
		{panel.ReadOptions{FromLine: 4}, "four", false},
		{panel.ReadOptions{FromLine: 5}, "", false},
		{panel.ReadOptions{FromLine: 2, MaxBytes: 6}, "two\nth", true},
	} {
		got, err := f.Read(ctx, ref, "/public_html/lines.txt", c.opt)
		must(t, err)
		equal(t, "data", string(got.Data), c.want)
		equal(t, "truncated", got.Truncated, c.truncated)
		equal(t, "total lines", got.TotalLines, 4)
	}
	write(t, f, "/public_html/cut.txt", "ўзбек")
	c, err := f.Read(ctx, ref, "/public_html/cut.txt", panel.ReadOptions{MaxBytes: 3})
	must(t, err)
	equal(t, "text cut between characters", string(c.Data), "ў")

	write(t, f, "/public_html/bin", "\x00\x01\n\x02")
	c, err = f.Read(ctx, ref, "/public_html/bin", panel.ReadOptions{})
	must(t, err)
	equal(t, "binary", string(c.Data), "\x00\x01\n\x02")
	equal(t, "text", c.Text, false)
	_, err = f.Read(ctx, ref, "/public_html/bin", panel.ReadOptions{FromLine: 1, Lines: 1})
	refused(t, err, panel.ErrNotText)
	_, err = f.Read(ctx, ref, "/public_html/bin", panel.ReadOptions{MaxBytes: 2})
	refused(t, err, panel.ErrFileTooLarge)
}

func etags(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	const path = "/public_html/x"
	seen := map[string]bool{}
	for range 50 { // within one tick of many a file system's clock
		e := write(t, f, path, "same size")
		if seen[e.ETag] {
			t.Fatalf("etag %s came twice", e.ETag)
		}
		seen[e.ETag] = true
	}
	first := write(t, f, path, "first")
	_, err := f.Write(ctx, ref, path, []byte("second"), panel.WriteOptions{ETag: first.ETag})
	must(t, err)
	_, err = f.Write(ctx, ref, path, []byte("third"), panel.WriteOptions{ETag: first.ETag})
	refused(t, err, panel.ErrETagMismatch)
	_, err = f.Write(ctx, ref, path+"none", nil, panel.WriteOptions{ETag: first.ETag})
	refused(t, err, panel.ErrETagMismatch)
	_, err = f.Write(ctx, ref, path, nil, panel.WriteOptions{IfAbsent: true})
	refused(t, err, panel.ErrExists)
	equal(t, "content", read(t, f, path), "second")

	// Of many who write against one version, one succeeds.
	now, err := f.Stat(ctx, ref, path)
	must(t, err)
	won := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(won) {
		wg.Go(func() {
			_, err := f.Write(ctx, ref, path, []byte("mine"), panel.WriteOptions{ETag: now.ETag})
			won <- err == nil
		})
	}
	wg.Wait()
	close(won)
	winners := 0
	for ok := range won {
		if ok {
			winners++
		}
	}
	equal(t, "winners", winners, 1)
}

var errBroken = errors.New("the line broke")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func upload(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	const path = "/public_html/up.bin"
	write(t, f, path, "old")
	_, err := f.Upload(ctx, ref, path, io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), broken{}), panel.WriteOptions{})
	if !errors.Is(err, errBroken) {
		t.Errorf("error = %v, want that of the stream", err)
	}
	equal(t, "content after a broken upload", read(t, f, path), "old")
	_, err = f.Upload(ctx, ref, path, strings.NewReader("12345"), panel.WriteOptions{MaxBytes: 4})
	refused(t, err, panel.ErrFileTooLarge)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = f.Upload(gone, ref, path, strings.NewReader("x"), panel.WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the context", err)
	}
	e, err := f.Upload(ctx, ref, path, io.LimitReader(zeros{}, 5<<20), panel.WriteOptions{})
	must(t, err)
	equal(t, "size", e.SizeBytes, 5<<20)
	l, err := f.List(ctx, ref, "/tmp", 0, 0)
	must(t, err)
	equal(t, "left in tmp", l.Total, 0)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func trees(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	write(t, f, "/public_html/a/one.txt", "1")
	write(t, f, "/public_html/a/sub/two.txt", "22")
	_, err := f.Copy(ctx, ref, "/public_html/a", "/public_html/b", false)
	must(t, err)
	equal(t, "copied", read(t, f, "/public_html/b/sub/two.txt"), "22")
	_, err = f.Copy(ctx, ref, "/public_html/a", "/public_html/b", false)
	refused(t, err, panel.ErrExists)
	_, err = f.Copy(ctx, ref, "/public_html/a", "/public_html/a/sub/deeper", false)
	refused(t, err, panel.ErrInvalid)
	_, err = f.Move(ctx, ref, "/public_html/a", "/public_html/a/x", false)
	refused(t, err, panel.ErrInvalid)
	_, err = f.Move(ctx, ref, "/public_html/a/sub", "/public_html/a", true)
	refused(t, err, panel.ErrInvalid)
	_, err = f.Move(ctx, ref, "/public_html/none", "/public_html/c", false)
	refused(t, err, panel.ErrNotFound)
	_, err = f.Move(ctx, ref, "/public_html/a/one.txt", "/public_html/b", false)
	refused(t, err, panel.ErrExists)
	_, err = f.Move(ctx, ref, "/public_html/a/one.txt", "/public_html/b", true)
	must(t, err)
	equal(t, "moved over a tree", read(t, f, "/public_html/b"), "1")

	refused(t, f.Remove(ctx, ref, "/public_html/a", false), panel.ErrInUse)
	must(t, f.Remove(ctx, ref, "/public_html/a", true))
	must(t, f.Remove(ctx, ref, "/public_html/b", false))
	refused(t, f.Remove(ctx, ref, "/public_html/a", true), panel.ErrNotFound)
	for _, path := range []string{"/", "", ".", "/public_html", "/public_html/", "/logs", "/tmp", "/x/../public_html"} {
		refused(t, f.Remove(ctx, ref, path, true), panel.ErrPathNotAllowed)
		_, err = f.Move(ctx, ref, path, "/public_html/x", false)
		refused(t, err, panel.ErrPathNotAllowed)
	}
	u, err := capability[panel.Usages](t, p).Usage(ctx, ref)
	must(t, err)
	equal(t, "bytes after all was removed", u.DiskBytes, 0)
	equal(t, "inodes after all was removed", u.Inodes, 4) // the home, public_html, logs, tmp
}

func paths(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	for path, kind := range map[string]panel.Kind{
		"..":                           panel.ErrPathNotAllowed,
		"/../bob":                      panel.ErrPathNotAllowed,
		"/public_html/../../bob":       panel.ErrPathNotAllowed,
		"../alice/public_html":         panel.ErrPathNotAllowed,
		"/public_html/a\x00b":          panel.ErrInvalid,
		"/public_html/\xff":            panel.ErrInvalid,
		"/" + strings.Repeat("a", 300): panel.ErrInvalid,
	} {
		_, err := f.Stat(ctx, ref, path)
		refused(t, err, kind)
		_, err = f.Write(ctx, ref, path, nil, panel.WriteOptions{Parents: true})
		refused(t, err, kind)
		_, err = f.Open(ctx, ref, path)
		refused(t, err, kind)
		_, err = f.SetPermissions(ctx, ref, path, panel.Permissions{Files: 0o600, Directories: 0o700})
		refused(t, err, kind)
	}
	write(t, f, `/public_html/a\..\b`, "a backslash is a letter")
	equal(t, "content", read(t, f, `/public_html/a\..\b`), "a backslash is a letter")
}

func diskLimit(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	_, err := f.Upload(ctx, ref, "/public_html/big", io.LimitReader(zeros{}, 9<<20), panel.WriteOptions{})
	refused(t, err, panel.ErrDiskFull)
	_, err = f.Upload(ctx, ref, "/public_html/big", io.LimitReader(zeros{}, 7<<20), panel.WriteOptions{})
	must(t, err)
	_, err = f.Copy(ctx, ref, "/public_html/big", "/public_html/more", false)
	refused(t, err, panel.ErrDiskFull)
	// What replaces a file may use its room.
	_, err = f.Upload(ctx, ref, "/public_html/big", io.LimitReader(zeros{}, 8<<20), panel.WriteOptions{})
	must(t, err)
	u, err := capability[panel.Usages](t, p).Usage(ctx, ref)
	must(t, err)
	equal(t, "bytes", u.DiskBytes, 8<<20)
	_, err = capability[panel.Accounts](t, p).UpdateAccount(ctx, ref, panel.Limits{Inodes: u.Inodes})
	must(t, err)
	_, err = f.Write(ctx, ref, "/public_html/new", nil, panel.WriteOptions{})
	refused(t, err, panel.ErrLimit)
	_, err = f.Write(ctx, ref, "/public_html/big", nil, panel.WriteOptions{})
	must(t, err)
}

func search(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	write(t, f, "/public_html/Index.html", "<h1>Toshkent</h1>\nsecond\n")
	write(t, f, "/public_html/css/site.css", "body { color: TOSHKENT }\n")
	write(t, f, "/public_html/bin", "\x00toshkent")
	find := func(q panel.Query) string {
		t.Helper()
		found, err := f.Search(ctx, ref, q)
		must(t, err)
		var names []string
		for _, m := range found.Matches {
			names = append(names, m.Path)
		}
		return strings.Join(names, " ")
	}
	equal(t, "by name", find(panel.Query{Path: "/", Text: "index"}), "/public_html/Index.html")
	equal(t, "by glob", find(panel.Query{Path: "/", Text: "*.CSS"}), "/public_html/css/site.css")
	equal(t, "by content", find(panel.Query{Path: "/public_html", Text: "toshkent", InContent: true}),
		"/public_html/Index.html /public_html/css/site.css")
	found, err := f.Search(ctx, ref, panel.Query{Path: "/", Text: "second", InContent: true})
	must(t, err)
	equal(t, "line", found.Matches[0].Line, 2)
	equal(t, "excerpt", found.Matches[0].Excerpt, "second")
	found, err = f.Search(ctx, ref, panel.Query{Path: "/", Text: "i", MaxResults: 1})
	must(t, err)
	equal(t, "truncated", found.Truncated, true)
	_, err = f.Search(ctx, ref, panel.Query{Path: "/", Text: "[a*"})
	refused(t, err, panel.ErrInvalid)
	_, err = f.Search(ctx, ref, panel.Query{Path: "/none", Text: "a"})
	refused(t, err, panel.ErrNotFound)
}

func archives(t *testing.T, p panel.Panel) {
	a := capability[panel.Archives](t, p)
	ctx, f := account(t, p)
	write(t, f, "/public_html/site/index.html", "hello")
	write(t, f, "/public_html/site/img/x.png", "png")
	for _, name := range []string{"/site.zip", "/site.tar.gz", "/site.tgz"} {
		_, err := a.CreateArchive(ctx, ref, []string{"/public_html/site/index.html", "/public_html/site/img"}, name)
		must(t, err)
		_, err = a.CreateArchive(ctx, ref, []string{"/public_html/site"}, name)
		refused(t, err, panel.ErrExists)
		members, err := a.ListArchive(ctx, ref, name, 100)
		must(t, err)
		found := map[string]panel.ArchiveMember{}
		for _, m := range members {
			found[m.Path] = m
		}
		equal(t, "a file", found["index.html"], panel.ArchiveMember{Path: "index.html", Type: panel.TypeFile, SizeBytes: 5})
		equal(t, "a folder", found["img"], panel.ArchiveMember{Path: "img", Type: panel.TypeDirectory})
		equal(t, "members", len(members), 3)
		members, err = a.ListArchive(ctx, ref, name, 2)
		must(t, err)
		equal(t, "the first members", len(members), 2)
		got, err := a.Extract(ctx, ref, name, "/out"+name, false)
		must(t, err)
		equal(t, "extracted", got, panel.Extracted{Files: 2, Directories: 1, Bytes: 8})
		equal(t, "content", read(t, f, "/out"+name+"/img/x.png"), "png")
		_, err = a.Extract(ctx, ref, name, "/out"+name, false)
		refused(t, err, panel.ErrExists)
		_, err = a.Extract(ctx, ref, name, "/out"+name, true)
		must(t, err)
	}
	stream, err := a.OpenZip(ctx, ref, "/public_html/site")
	must(t, err)
	_, err = f.Upload(ctx, ref, "/download.zip", stream, panel.WriteOptions{})
	must(t, err)
	must(t, stream.Close())
	_, err = a.Extract(ctx, ref, "/download.zip", "/back", false)
	must(t, err)
	equal(t, "content", read(t, f, "/back/site/index.html"), "hello")
	_, err = a.OpenZip(ctx, ref, "/none")
	refused(t, err, panel.ErrNotFound)
	_, err = a.ListArchive(ctx, ref, "/public_html/site/index.html", 10)
	refused(t, err, panel.ErrInvalid)
	_, err = a.ListArchive(ctx, ref, "/none", 10)
	refused(t, err, panel.ErrNotFound)
	_, err = a.Extract(ctx, ref, "/public_html/site/index.html", "/bad", false)
	refused(t, err, panel.ErrInvalid)
	_, err = a.CreateArchive(ctx, ref, []string{"/public_html"}, "/x.rar")
	refused(t, err, panel.ErrInvalid)
}

package ftp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/jlaffaye/ftp"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestFilesGoBothWays(t *testing.T) {
	for name, options := range map[string][]client.DialOption{
		"EPSV": nil, "PASV": {client.DialWithDisabledEPSV(true)}, "LIST": {client.DialWithDisabledMLSD(true)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.user("web", "/public_html")
			c := w.login("alice_web", options...)
			if got, err := w.get(c, "index.html"); err != nil || got != "site of alice" {
				t.Fatalf("%q, %v", got, err)
			}
			big := strings.Repeat("0123456789", 100_000)
			w.must(c.MakeDir("/new"))
			w.must(c.Stor("/new/big.bin", strings.NewReader(big)))
			if got, err := w.get(c, "new/big.bin"); err != nil || got != big {
				t.Fatalf("%d bytes came back, %v", len(got), err)
			}
			// Resuming and appending.
			w.must(c.StorFrom("/new/big.bin", strings.NewReader("tail"), uint64(len(big))))
			w.must(c.Append("/new/big.bin", strings.NewReader("end")))
			size, err := c.FileSize("/new/big.bin")
			if err != nil || size != int64(len(big))+7 {
				t.Errorf("%d, %v", size, err)
			}
			info, err := os.Stat(filepath.Join(w.dir, "alice/public_html/new/big.bin"))
			w.must(err)
			if st := info.Sys().(*syscall.Stat_t); st.Uid != aliceUID || st.Gid != aliceUID || info.Mode().Perm() != 0o644 {
				t.Errorf("the file belongs to %d:%d, mode %v", st.Uid, st.Gid, info.Mode())
			}
			list, err := c.List("/new")
			if err != nil || len(list) != 1 || list[0].Name != "big.bin" || list[0].Size != uint64(size) {
				t.Errorf("%+v, %v", list, err)
			}
			w.must(c.Rename("/new/big.bin", "/new/renamed.bin"))
			w.must(c.Delete("/new/renamed.bin"))
			w.must(c.RemoveDir("/new"))
			if list, err := c.NameList("/"); err != nil || strings.Join(list, " ") != "index.html" {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// TestWhatClosesDirectoriesIsNoticed: the account's files are told of each change of a .htaccess, and of no other file.
func TestWhatClosesDirectoriesIsNoticed(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	changes := make(chan string, 10)
	w.disk.OnAccess(func(ref string) { changes <- ref })
	c := w.login("alice_web")
	w.must(c.Stor("page.html", strings.NewReader("x")))
	<-changes // the first measurement, before which nothing is known
	w.must(c.Rename("page.html", "index.html"))
	w.must(c.Delete("index.html"))
	w.must(c.MakeDir("closed"))
	if len(changes) != 0 {
		t.Error("a page is taken for a .htaccess")
	}
	for _, step := range []func() error{
		func() error { return c.Stor("closed/.htaccess", strings.NewReader("Require all denied")) },
		func() error { return c.Rename("closed", "shut") },
		func() error { return c.Rename("shut/.htaccess", "shut/off") },
		func() error { return c.Rename("shut/off", "shut/.htaccess") },
		func() error { return c.Delete("shut/.htaccess") },
	} {
		w.must(step())
		if ref := <-changes; ref != "1" || len(changes) != 0 {
			t.Errorf("account %q, and %d more", ref, len(changes))
		}
	}
}

func TestARealClient(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	local := t.TempDir()
	for i := range 20 {
		w.must(os.WriteFile(filepath.Join(local, fmt.Sprintf("f%d.txt", i)), bytes.Repeat([]byte{byte(i)}, 20_000), 0o644))
	}
	script := fmt.Sprintf(`set net:max-retries 1; set net:timeout 10; set ssl:verify-certificate no; set ftp:ssl-force true; set ftp:ssl-protect-data true;
open -u alice_web,%s -p %d 127.0.0.1; mirror -R --parallel=4 %s up; mirror --parallel=4 up %s/back; ls up`, password, w.Port(), local, local)
	out, err := exec.CommandContext(t.Context(), "lftp", "-c", script).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "f19.txt") {
		t.Fatalf("%v: %s", err, out)
	}
	for i := range 20 {
		back, err := os.ReadFile(filepath.Join(local, "back", fmt.Sprintf("f%d.txt", i)))
		if err != nil || !bytes.Equal(back, bytes.Repeat([]byte{byte(i)}, 20_000)) {
			t.Errorf("f%d: %v", i, err)
		}
	}
}

func TestNothingInTheClear(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	for _, first := range []string{"USER alice_web", "PASS " + password} {
		r := w.raw()
		if got := r.say(first); !strings.HasPrefix(got, "421") && !strings.HasPrefix(got, "530") {
			t.Errorf("%s: %q", first, got)
		}
		for _, line := range []string{"PASS " + password, "LIST", "PWD"} {
			if got := r.say(line); strings.HasPrefix(got, "2") || strings.HasPrefix(got, "1") {
				t.Errorf("%s: %q", line, got)
			}
		}
	}
	for _, line := range []string{"PWD", "LIST", "PASV", "EPSV", "RETR index.html", "PORT 127,0,0,1,10,10", "SITE CHMOD 777 x"} {
		if got := w.raw().say(line); !strings.HasPrefix(got, "530") {
			t.Errorf("without signing in, %s: %q", line, got)
		}
	}
	// What was sent with AUTH, before there was TLS, is not taken for a command after.
	r := w.raw()
	_, err := io.WriteString(r.conn, "AUTH TLS\r\nUSER alice_web\r\n")
	w.must(err)
	if got := r.answer(); !strings.HasPrefix(got, "234") {
		t.Fatal(got)
	}
	_ = r.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if b, err := r.r.ReadByte(); err == nil && b == '3' {
		t.Error("a command from before TLS was answered")
	}

	r = w.raw()
	r.say("AUTH TLS")
	old := tls.Client(r.conn, &tls.Config{RootCAs: w.roots, ServerName: "ftp.test", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err := old.HandshakeContext(t.Context()); err == nil {
		t.Error("an old TLS is spoken")
	}
}

func TestDataIsProtectedToo(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	signedIn := func() *raw {
		r := w.raw()
		r.protect(w.clientTLS())
		r.say("USER alice_web")
		if got := r.say("PASS " + password); !strings.HasPrefix(got, "230") {
			t.Fatal(got)
		}
		return r
	}
	data := func(r *raw) net.Conn {
		got := r.say("EPSV")
		_, port, ok := strings.Cut(got, "|||")
		if !ok {
			t.Fatal(got)
		}
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strings.TrimRight(port, "|)")))
		w.must(err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// Never asked for.
	r := signedIn()
	c := data(r)
	if got := r.say("RETR index.html"); strings.HasPrefix(got, "1") || strings.HasPrefix(got, "2") {
		t.Errorf("a transfer without protection: %q", got)
	}
	_ = c.Close()
	// Asked for after the port, so that the library's listener speaks no TLS.
	for _, command := range []string{"RETR index.html", "LIST", "STOR new.txt"} {
		r := signedIn()
		c := data(r)
		r.say("PBSZ 0")
		r.say("PROT P")
		if command == "STOR new.txt" {
			_, _ = io.WriteString(c, "in the clear")
			_ = c.(*net.TCPConn).CloseWrite()
		}
		first := r.say(command)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		got, _ := io.ReadAll(c)
		last := r.answer()
		if len(got) > 0 || strings.HasPrefix(last, "2") {
			t.Errorf("%s in the clear: %q, %q, %q", command, first, got, last)
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "alice/public_html/new.txt")); err == nil && len(data) > 0 {
		t.Errorf("stored in the clear: %q", data)
	}
	// Active mode: the server connects to nobody.
	for _, line := range []string{"PORT 127,0,0,1,10,10", "EPRT |1|127.0.0.1|2570|"} {
		if got := signedIn().say(line); strings.HasPrefix(got, "2") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestADataConnectionResumesTheSession(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := w.clientTLS()
		c.MaxVersion = version
		r := w.raw()
		r.protect(c)
		r.say("USER alice_web")
		r.say("PASS " + password) // its answer brings the tickets of TLS 1.3
		r.say("PBSZ 0")
		r.say("PROT P")
		_, port, _ := strings.Cut(r.say("EPSV"), "|||")
		plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strings.TrimRight(port, "|)")))
		w.must(err)
		secured := tls.Client(plain, c)
		done := make(chan error, 1)
		go func() { done <- secured.HandshakeContext(t.Context()) }()
		r.say("LIST")
		w.must(<-done)
		if !secured.ConnectionState().DidResume {
			t.Errorf("TLS %x: a client that insists on resuming, as FileZilla does, would refuse", version)
		}
		_ = secured.Close()
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	pub := filepath.Join(w.dir, "alice/public_html")
	for name, target := range map[string]string{
		"abs": "/etc", "up": "..", "far": "../../bob/public_html", "private": "../private", "passwd": "/etc/passwd",
		"bobs": filepath.Join(w.dir, "bob/private/secret.txt"), "secret": "../private/secret.txt",
	} {
		w.must(os.Symlink(target, filepath.Join(pub, name)))
		w.must(os.Lchown(filepath.Join(pub, name), aliceUID, aliceUID))
	}
	w.must(syscall.Mkfifo(filepath.Join(pub, "pipe"), 0o666))
	c := w.login("alice_web")
	for _, p := range []string{
		"passwd", "bobs", "secret", "/abs/passwd", "/up/private/secret.txt", "/far/index.html", "/private/secret.txt",
		"../private/secret.txt", "/../../../../etc/passwd", "/../private/secret.txt", "pipe", "/etc/passwd",
	} {
		if got, err := w.get(c, p); err == nil {
			t.Errorf("read %s: %q", p, got)
		}
	}
	for _, p := range []string{"/abs", "/up", "/far", "/private", "/.."} {
		if p == "/.." {
			continue // the root itself
		}
		if err := c.ChangeDir(p); err == nil {
			t.Errorf("entered %s", p)
		}
		if list, err := c.List(p + "/"); err == nil && len(list) > 0 {
			t.Errorf("listed %s: %v", p, list)
		}
	}
	for _, p := range []string{"secret", "/private/new", "/far/new", "../private/new", "/.stead-x", "tmp/.stead-x", "pipe"} {
		if err := c.Stor(p, strings.NewReader("mine")); err == nil {
			t.Errorf("wrote %s", p)
		}
	}
	for _, move := range [][2]string{{"index.html", "/private/x"}, {"index.html", "/up/x"}, {"/private/secret.txt", "x"}, {"index.html", "/.stead-y"}} {
		if err := c.Rename(move[0], move[1]); err == nil {
			t.Errorf("moved %s to %s", move[0], move[1])
		}
	}
	for _, p := range []string{"/private/secret.txt", "/far/index.html"} {
		if err := c.Delete(p); err == nil {
			t.Errorf("removed %s", p)
		}
	}
	for who, uid := range map[string]int{"alice": aliceUID, "bob": bobUID} {
		name := filepath.Join(w.dir, who, "private/secret.txt")
		data, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		if err != nil || string(data) != "secret of "+who || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, %v, %v", name, data, err, info)
		}
	}
	// A hard link that somebody else planted opens nothing: it is the user who opens it.
	w.must(os.Link(filepath.Join(w.dir, "bob/private/secret.txt"), filepath.Join(pub, "hard")))
	if got, err := w.get(c, "hard"); err == nil {
		t.Errorf("read another's file by a hard link: %q", got)
	}
	if err := c.Stor("hard", strings.NewReader("mine")); err == nil {
		t.Error("wrote another's file by a hard link")
	}
	w.must(c.Delete("passwd")) // a link is removed, not what it names
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Fatal(err)
	}
}

func TestASwappedDirectoryLeadsNowhere(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	pub := filepath.Join(w.dir, "alice/public_html")
	c := w.login("alice_web")
	w.must(c.MakeDir("d"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // the customer swaps a directory for a link and back
		defer close(done)
		for ctx.Err() == nil {
			_ = os.Rename(pub+"/d", pub+"/e")
			_ = os.Symlink("../private", pub+"/d")
			_ = os.Remove(pub + "/d")
			_ = os.Rename(pub+"/e", pub+"/d")
		}
	}()
	for i := range 300 {
		if got, err := w.get(c, "d/secret.txt"); err == nil {
			t.Fatalf("read %q", got)
		}
		_ = c.Stor("d/planted"+strconv.Itoa(i), strings.NewReader("x"))
	}
	cancel()
	<-done
	entries, err := os.ReadDir(filepath.Join(w.dir, "alice/private"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestAPipeInThePlaceOfAHomeBlocksNoSession: nobody opens it for writing.
func TestAPipeInThePlaceOfAHomeBlocksNoSession(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html/sub")
	pipe := filepath.Join(w.dir, "alice/public_html/sub")
	w.must(os.Remove(pipe))
	w.must(syscall.Mkfifo(pipe, 0o666))
	w.must(os.Chown(pipe, aliceUID, aliceUID))
	c := w.dial()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Login("alice_web", password); err != nil {
			t.Error(err)
		}
		if got, err := w.get(c, "index.html"); err == nil {
			t.Errorf("read %q", got)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("a pipe blocks the session")
		f, err := os.OpenFile(pipe, os.O_RDWR, 0) // lets it go on
		w.must(err)
		defer f.Close()
		<-done
	}
}

func TestQuotas(t *testing.T) {
	w := newWorld(t)
	w.user("small", "/public_html", func(f *panel.FTPAccount) { f.QuotaMB = 2 })
	c := w.login("alice_small")
	w.must(c.Stor("one", bytes.NewReader(make([]byte, 1<<20))))
	if err := c.Stor("two", bytes.NewReader(make([]byte, 3<<20))); err == nil || !strings.Contains(err.Error(), "552") && !strings.Contains(err.Error(), "storage") {
		t.Errorf("beyond the quota: %v", err)
	}
	w.must(c.Delete("two"))
	w.must(c.Stor("fits", bytes.NewReader(make([]byte, 900<<10))))
	w.must(c.Stor("one", bytes.NewReader(make([]byte, 1<<20)))) // again, in the place of the old
	list, err := w.FTPAccounts(t.Context(), "1")
	if err != nil || len(list) != 1 || list[0].UsedMB != 2 || list[0].LastLoginAt == nil {
		t.Errorf("%+v, %v", list, err)
	}
	// What others wrote counts once it is looked at.
	w.must(c.Delete("fits"))

	// The account's own limits hold for all its FTP accounts together.
	w.user("all", "/")
	c = w.login("alice_all")
	if err := c.Stor("/private/huge", bytes.NewReader(make([]byte, 11<<20))); err == nil {
		t.Error("beyond the account's disk limit")
	}
	w.must(c.Delete("/private/huge"))
	made := 0
	for ; made < 120; made++ {
		if err := c.MakeDir(fmt.Sprintf("/private/d%d", made)); err != nil {
			break
		}
	}
	if made > 95 || made < 50 {
		t.Errorf("%d directories were made of 100 inodes", made)
	}
	before, err := w.disk.Occupied(t.Context(), "1")
	w.must(err)
	w.must(w.disk.Measure(t.Context(), "1"))
	after, err := w.disk.Occupied(t.Context(), "1")
	if err != nil || before.DiskBytes != after.DiskBytes || before.Inodes != after.Inodes {
		t.Errorf("counted %d bytes and %d inodes, there are %d and %d", before.DiskBytes, before.Inodes, after.DiskBytes, after.Inodes)
	}
}

func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	w.user("reader", "/public_html", func(f *panel.FTPAccount) { f.ReadOnly = true })
	c := w.login("alice_reader")
	if got, err := w.get(c, "index.html"); err != nil || got != "site of alice" {
		t.Errorf("%q, %v", got, err)
	}
	for name, err := range map[string]error{
		"store": c.Stor("x", strings.NewReader("x")), "append": c.Append("index.html", strings.NewReader("x")), "delete": c.Delete("index.html"),
		"rename": c.Rename("index.html", "x"), "mkdir": c.MakeDir("x"), "time": c.SetTime("index.html", time.Now()),
	} {
		if err == nil {
			t.Errorf("%s was done", name)
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "alice/public_html/index.html")); err != nil || string(data) != "site of alice" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestWhatHostingNeedsStays(t *testing.T) {
	w := newWorld(t)
	w.user("all", "/")
	c := w.login("alice_all")
	if err := c.Rename("/public_html", "/gone"); err == nil {
		t.Error("public_html was moved away")
	}
	if err := c.RemoveDir("/tmp"); err == nil {
		t.Error("tmp was removed")
	}
	if err := c.Rename("/private", "/tmp"); err == nil {
		t.Error("tmp was replaced")
	}
}

func TestPermissionsAreChangedWithoutTheSpecialOnes(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	r := w.raw()
	r.protect(w.clientTLS())
	r.say("USER alice_web")
	r.say("PASS " + password)
	if got := r.say("SITE CHMOD 6755 index.html"); !strings.HasPrefix(got, "200") {
		t.Error(got)
	}
	info, err := os.Stat(filepath.Join(w.dir, "alice/public_html/index.html"))
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, line := range []string{"SITE CHOWN 0 index.html", "SITE SYMLINK /etc x", "SITE RMDIR /", "SITE MKDIR a/b", "SITE CHMOD", "SITE CHMOD 777", "SITE"} {
		if got := r.say(line); strings.HasPrefix(got, "2") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestWhoGuessesIsRefused(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	for i, name := range []string{"alice_web", "alice_nobody", "nobody", "", "alice_", "_", "../../etc", "alice_web\x00"} {
		if err := w.dial().Login(name, "wrong"+strconv.Itoa(i)); err == nil || strings.Contains(err.Error(), "wrong") || !strings.Contains(err.Error(), "sign-in refused") && name != "" {
			t.Errorf("%q: %v", name, err)
		}
	}
	w.must(w.dial().Login("ALICE_web", password)) // forgets the wrong ones, and names have no case
	for range attempts {
		_ = w.dial().Login("alice_web", "wrong")
	}
	if c, err := client.Dial(w.address(), client.DialWithExplicitTLS(w.clientTLS())); err == nil {
		if err := c.Login("alice_web", password); err == nil {
			t.Error("an address that guessed ten times signs in")
		}
	}
	if strings.Contains(w.log.String(), password) || strings.Contains(w.log.String(), "wrong0") {
		t.Error("the log has a password")
	}
}

func TestTheGuardForgetsAndStaysSmall(t *testing.T) {
	now := testkit.Start
	g := newGuard(func() time.Time { return now })
	a := netip.MustParseAddr("2001:db8::1")
	for range attempts {
		g.failed(a)
	}
	if !g.refuses(netip.MustParseAddr("2001:db8::2")) || g.refuses(netip.MustParseAddr("2001:db8:0:1::1")) || g.refuses(netip.MustParseAddr("192.0.2.1")) {
		t.Error("a /64 is one address, and no more")
	}
	now = now.Add(pause)
	if g.refuses(a) {
		t.Error("it remembers for ever")
	}
	for i := range remembered + 100 {
		g.failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if len(g.wrong) > remembered {
		t.Errorf("%d addresses are remembered", len(g.wrong))
	}
}

func TestASuspendedAccountLosesItsSessions(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	c := w.login("alice_web")
	r, err := c.Retr("index.html")
	w.must(err)
	_ = r.Close()
	slow, in := io.Pipe()
	uploaded := make(chan error, 1)
	other := w.login("alice_web")
	go func() { uploaded <- other.Stor("slow", slow) }()
	_, err = in.Write(make([]byte, 100_000))
	w.must(err)

	w.suspend("1", true)
	if err := c.NoOp(); err == nil {
		t.Error("the session goes on")
	}
	go func() { // a transfer that is under way ends, too
		for {
			if _, err := in.Write(make([]byte, 100_000)); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-uploaded:
		if err == nil {
			t.Error("the transfer was completed")
		}
	case <-time.After(time.Minute):
		t.Error("the transfer goes on")
	}
	_ = slow.Close()
	if err := w.dial().Login("alice_web", password); err == nil {
		t.Error("a suspended account signs in")
	}
	w.suspend("1", false)
	w.login("alice_web")
}

func TestAChangeEndsTheSessionsOfBefore(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	c := w.login("alice_web")
	w.user("web", "/public_html") // nothing changed
	w.must(c.NoOp())
	_, err := w.SetFTPAccount(t.Context(), "1", panel.FTPAccount{Username: "alice_web", Home: "/public_html", Password: "another-one", PasswordVersion: "2"})
	w.must(err)
	if err := c.NoOp(); err == nil {
		t.Error("who knows the old password goes on")
	}
	if err := w.dial().Login("alice_web", password); err == nil {
		t.Error("the old password works")
	}
	c = w.dial()
	w.must(c.Login("alice_web", "another-one"))
	w.must(w.RemoveFTPAccount(t.Context(), "1", "alice_web"))
	if err := c.NoOp(); err == nil {
		t.Error("a removed FTP account goes on")
	}
	if err := w.RemoveFTPAccount(t.Context(), "1", "alice_web"); !errors.Is(err, panel.ErrNotFound) {
		t.Error(err)
	}
	if err := w.dial().Login("alice_web", "another-one"); err == nil {
		t.Error("a removed FTP account signs in")
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.PerAddress, c.PerAccount = 4, 2 })
	w.user("web", "/public_html")
	first := w.login("alice_web")
	w.login("alice_web")
	if err := w.dial().Login("alice_web", password); err == nil {
		t.Error("a third session")
	}
	w.must(first.Quit())
	testkit.Eventually(t, time.Minute, func() bool {
		c, err := client.Dial(w.address(), client.DialWithExplicitTLS(w.clientTLS()))
		if err != nil {
			return false
		}
		defer func() { _ = c.Quit() }()
		return c.Login("alice_web", password) == nil
	}, "the place of a session that ended is free")
	var open []net.Conn
	refused := false
	for range 6 {
		c, err := net.Dial("tcp", w.address())
		w.must(err)
		open = append(open, c)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 3)); err != nil {
			refused = true
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
	if !refused {
		t.Error("an address has as many connections as it likes")
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Idle = time.Second })
	w.user("web", "/public_html")
	r := w.raw()
	r.protect(w.clientTLS())
	r.say("USER alice_web")
	r.say("PASS " + password)
	if got := r.answer(); got != "" && !strings.HasPrefix(got, "421") {
		t.Error(got)
	}
	if got := r.say("NOOP"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestAccountsOutliveTheServer(t *testing.T) {
	w := newWorld(t)
	w.user("web", "/public_html")
	w.login("alice_web")
	cfg := w.cfg
	w.must(w.Close())
	if _, err := net.Dial("tcp", w.address()); err == nil {
		t.Error("it still listens")
	}
	w.open(cfg)
	w.login("alice_web")
	data, err := os.ReadFile(filepath.Join(w.dir, "state/ftp/alice.json"))
	if err != nil || strings.Contains(string(data), password) {
		t.Errorf("%s, %v", data, err)
	}
	a, err := w.lookup("1")
	w.must(err)
	w.must(w.Remove(t.Context(), a))
	if list, err := w.FTPAccounts(t.Context(), "1"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if err := w.dial().Login("alice_web", password); err == nil {
		t.Error("it signs in after the account was removed")
	}
}

func TestWhatIsNotWellFormedIsRefused(t *testing.T) {
	w := newWorld(t)
	w.must(os.Symlink("/etc", filepath.Join(w.dir, "alice/etc")))
	w.must(os.Symlink("../bob", filepath.Join(w.dir, "alice/bob")))
	for _, c := range []struct {
		f    panel.FTPAccount
		kind panel.Kind
	}{
		{panel.FTPAccount{Username: "bob_web", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_A", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a\nb", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a/../b", Home: "/", Password: "x"}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a", Home: "/", Password: ""}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a", Home: "/", Password: strings.Repeat("x", 73)}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a", Home: "/", Password: "x", QuotaMB: -1}, panel.ErrInvalid},
		{panel.FTPAccount{Username: "alice_a", Home: "/../bob", Password: "x"}, panel.ErrPathNotAllowed},
		{panel.FTPAccount{Username: "alice_a", Home: "../bob", Password: "x"}, panel.ErrPathNotAllowed},
		{panel.FTPAccount{Username: "alice_a", Home: "/etc", Password: "x"}, panel.ErrPathNotAllowed},
		{panel.FTPAccount{Username: "alice_a", Home: "/etc/new", Password: "x"}, panel.ErrPathNotAllowed},
		{panel.FTPAccount{Username: "alice_a", Home: "/bob/public_html", Password: "x"}, panel.ErrPathNotAllowed},
		{panel.FTPAccount{Username: "alice_a", Home: "/public_html/index.html", Password: "x"}, ""},
		{panel.FTPAccount{Username: "alice_a", Home: "/a\x00b", Password: "x"}, panel.ErrInvalid},
	} {
		_, err := w.SetFTPAccount(t.Context(), "1", c.f)
		if err == nil || panel.KindOf(err) != c.kind && c.kind != "" {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
	if list, err := w.FTPAccounts(t.Context(), "1"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat("/etc/new"); err == nil {
		t.Error("a directory was made elsewhere")
	}
}

func TestTheMachinesOwnCertificate(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		other := c.Certificate
		c.Certificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "ftp.test" {
				return nil, errors.New("nobody has it")
			}
			return other(hello)
		}
	})
	shown := func(name string) string {
		r := w.raw()
		r.protect(&tls.Config{ServerName: name, InsecureSkipVerify: true})
		return r.conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := shown("other.test")
	if named := shown("ftp.test"); named != "1" || first == "1" {
		t.Errorf("for its name %s, for another %s", named, first)
	}
	cfg := w.cfg
	w.must(w.Close())
	w.open(cfg)
	if again := shown(""); again != first {
		t.Error("each start has another certificate")
	}
}

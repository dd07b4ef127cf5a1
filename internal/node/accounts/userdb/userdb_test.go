package userdb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts/userdb"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// etc is a user database of its own, like that of a fresh Debian.
func etc(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"passwd":  "root:x:0:0:root:/root:/bin/bash\nmail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n",
		"shadow":  "root:*:20000:0:99999:7:::\nmail:*:20000:0:99999:7:::\n",
		"group":   "root:x:0:\nmail:x:8:someone\nonlygroup:x:3000:\n",
		"gshadow": "root:*::\nmail:*::someone\nonlygroup:!::\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640))
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return string(data)
}

func alice() userdb.User {
	return userdb.User{Name: "alice", ID: 2000, Home: "/srv/alice", Shell: "/bin/bash"}
}

func TestUserIsSetAndRemovedAndNothingElseIsTouched(t *testing.T) {
	dir := etc(t)
	before := map[string]string{}
	for _, name := range []string{"passwd", "shadow", "group", "gshadow"} {
		before[name] = read(t, dir, name)
	}
	db := userdb.Open(dir)
	ctx := t.Context()
	must(t, db.Set(ctx, alice()))
	for name, line := range map[string]string{
		"passwd": "alice:x:2000:2000::/srv/alice:/bin/bash\n", "shadow": "alice:*:::::::\n", "group": "alice:x:2000:\n", "gshadow": "alice:!::\n",
	} {
		if got := read(t, dir, name); got != before[name]+line {
			t.Errorf("%s:\n%s", name, got)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	stamp := read(t, dir, "passwd") + modified(t, dir)
	must(t, db.Set(ctx, alice()))
	if read(t, dir, "passwd")+modified(t, dir) != stamp {
		t.Error("written though nothing differs")
	}

	locked := alice()
	locked.Locked, locked.Shell = true, "/usr/sbin/nologin"
	must(t, db.Set(ctx, locked))
	if got := read(t, dir, "shadow"); !strings.Contains(got, "alice:!*::::::1:\n") || strings.Count(got, "alice:") != 1 {
		t.Errorf("shadow:\n%s", got)
	}
	if out, err := exec.CommandContext(ctx, "pwck", "-r", "-q", filepath.Join(dir, "passwd"), filepath.Join(dir, "shadow")).CombinedOutput(); strings.Contains(string(out), "invalid") {
		t.Errorf("pwck: %v: %s", err, out)
	}
	must(t, db.Remove(ctx, "alice", 2000))
	must(t, db.Remove(ctx, "alice", 2000))
	for name, want := range before {
		if got := read(t, dir, name); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func modified(t *testing.T, dir string) string {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "passwd"))
	must(t, err)
	return info.ModTime().String()
}

func TestNamesAndNumbersOfOthersAreRefused(t *testing.T) {
	dir := etc(t)
	db := userdb.Open(dir)
	ctx := t.Context()
	must(t, db.Set(ctx, alice()))
	for _, change := range []func(*userdb.User){
		func(u *userdb.User) { u.Name = "mail" },
		func(u *userdb.User) { u.Name = "bob" },           // alice's number
		func(u *userdb.User) { u.ID = 2001 },              // alice's name
		func(u *userdb.User) { u.Name = "onlygroup" },     // a group's name
		func(u *userdb.User) { u.Name, u.ID = "b", 3000 }, // a group's number
	} {
		u := alice()
		change(&u)
		if err := db.Set(ctx, u); !errors.Is(err, userdb.ErrTaken) {
			t.Errorf("%+v: %v", u, err)
		}
	}
	before := read(t, dir, "passwd")
	must(t, db.Remove(ctx, "mail", 2001))
	must(t, db.Remove(ctx, "bob", 2000))
	if read(t, dir, "passwd") != before || !strings.Contains(read(t, dir, "shadow"), "mail:") {
		t.Error("a user was removed who is another")
	}
	for _, bad := range []userdb.User{
		{Name: "a:b", ID: 2000, Home: "/", Shell: "/"},
		{Name: "a\nb", ID: 2000, Home: "/", Shell: "/"},
		{Name: "a", ID: 0, Home: "/", Shell: "/"},
		{Name: "a", ID: 2000, Home: "/a:b", Shell: "/"},
		{Name: "a", ID: 2000, Home: "/", Shell: "/bin/sh\nroot2:x:0:0::/:"},
		{Name: "-a", ID: 2000, Home: "/", Shell: "/"},
	} {
		if err := db.Set(ctx, bad); err == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
	for name, want := range map[string]bool{"alice": true, "mail": true, "onlygroup": true, "bob": false} {
		if has, err := db.Has(name); err != nil || has != want {
			t.Errorf("Has(%s) = %v, %v", name, has, err)
		}
	}
	if free, err := db.Free(3000); err != nil || free {
		t.Errorf("Free(3000) = %v, %v", free, err)
	}
}

func TestManyUsersAtOnce(t *testing.T) {
	dir := etc(t)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			db := userdb.Open(dir) // as several processes would
			u := alice()
			u.Name, u.ID = fmt.Sprint("u", i), 4000+i
			if err := db.Set(context.Background(), u); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := db.Remove(context.Background(), u.Name, u.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"passwd", "shadow", "group", "gshadow"} {
		if got := strings.Count(read(t, dir, name), "\nu"); got != 50 {
			t.Errorf("%s has %d users", name, got)
		}
	}
}

// Whoever holds the lock of lckpwdf(3), as useradd and passwd do, is waited for.
func TestOthersWhoEditAreWaitedFor(t *testing.T) {
	dir := etc(t)
	f, err := os.OpenFile(filepath.Join(dir, ".pwd.lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	done := make(chan error, 1)
	go func() { done <- userdb.Open(dir).Set(context.Background(), alice()) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, f.Close())
	must(t, <-done)
}

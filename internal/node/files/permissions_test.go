package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

var usual = panel.Permissions{Files: 0o644, Directories: 0o755, Recursive: true}

func modeOf(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	return info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

func TestPermissionsFollowNoLink(t *testing.T) {
	d, home := newHome(t)
	site := filepath.Join(home, "public_html")
	must(t, os.MkdirAll(filepath.Join(home, "private/deep"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, "private/key"), nil, 0o600))
	secret := filepath.Join(filepath.Dir(home), "secret")
	for link, target := range map[string]string{"out": "../../secret", "in": "../private/key", "dir": "../private", "loop": "loop"} {
		must(t, os.Symlink(target, filepath.Join(site, link)))
	}
	for _, path := range []string{
		"/public_html/out", "/public_html/in", "/public_html/dir", "/public_html/loop", "/public_html/dir/key", "/public_html/dir/deep",
		"/public_html/loop/x",
	} {
		if _, err := d.SetPermissions(t.Context(), ref, path, usual); !errors.Is(err, panel.ErrPathNotAllowed) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := d.SetPermissions(t.Context(), ref, "/public_html", usual)
	must(t, err)
	for name, want := range map[string]fs.FileMode{
		secret: 0o600, filepath.Join(home, "private"): 0o700, filepath.Join(home, "private/key"): 0o600, filepath.Join(home, "private/deep"): 0o700,
	} {
		if got := modeOf(t, name); got != want {
			t.Errorf("%s has the mode %o", name, got)
		}
	}
}

func TestPermissionsOfWhatIsNoFileStay(t *testing.T) {
	d, home := newHome(t)
	pipe := filepath.Join(home, "public_html/pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := d.SetPermissions(t.Context(), ref, "/public_html/pipe", usual); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("a pipe: %v", err)
	}
	_, err := d.SetPermissions(t.Context(), ref, "/public_html", usual)
	must(t, err)
	if got := modeOf(t, pipe); got != 0o600 {
		t.Errorf("the pipe has the mode %o", got)
	}
}

// What a program of the customer's has set as whom it runs goes when the permissions are set.
func TestPermissionsTakeSpecialBitsAway(t *testing.T) {
	d, home := newHome(t)
	name := filepath.Join(home, "public_html/program")
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, os.Chmod(name, 0o644|fs.ModeSetuid|fs.ModeSetgid))
	_, err := d.SetPermissions(t.Context(), ref, "/public_html", usual)
	must(t, err)
	if got := modeOf(t, name); got != 0o644 {
		t.Errorf("the program has the mode %s", got)
	}
}

func TestPermissionsEndWithTheCaller(t *testing.T) {
	d, home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "public_html/a"), nil, 0o600))
	c, err := d.change(t.Context(), ref)
	must(t, err)
	defer c.close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.Context = gone
	if err := c.setPermissions("public_html", usual); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := modeOf(t, filepath.Join(home, "public_html/a")); got != 0o600 {
		t.Errorf("a file was changed for nobody: %o", got)
	}
}

func TestPermissionsReachTheDeepest(t *testing.T) {
	d, home := newHome(t)
	testkit.DeepTree(t, filepath.Join(home, "public_html"), 3000)
	testkit.FewDescriptors(t, 60)
	_, err := d.SetPermissions(t.Context(), ref, "/public_html", panel.Permissions{Files: 0o640, Directories: 0o750, Recursive: true})
	must(t, err)
}

// As a real user: what the owner has closed to itself is opened, whatever belongs to somebody else stays, and the rest is changed.
func TestPermissionsAreSetAsTheUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	const user, other = 79990, 79991
	d, home := newHome(t)
	must(t, os.Chmod(filepath.Dir(filepath.Dir(home)), 0o711))
	must(t, os.Chmod(filepath.Dir(home), 0o711))
	d.resolve = func(string) (Home, error) {
		return Home{Account: "alice", User: accounts.User{Name: "alice", UID: user, GID: user}, Dir: home, Limits: panel.Limits{DiskMB: 1, Inodes: 200}}, nil
	}
	site := filepath.Join(home, "public_html")
	for _, sub := range []string{"shut", "shut/in", "foreign", "z"} {
		must(t, os.Mkdir(filepath.Join(site, sub), 0o700))
	}
	for _, name := range []string{"shut/in/page", "foreign/file", "z/last", "theirs"} {
		must(t, os.WriteFile(filepath.Join(site, name), nil, 0o600))
	}
	must(t, filepath.WalkDir(home, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, user, user))
	}))
	for _, name := range []string{"foreign", "foreign/file", "theirs"} {
		must(t, os.Lchown(filepath.Join(site, name), other, other))
	}
	must(t, os.Link(filepath.Join(site, "theirs"), filepath.Join(site, "z/linked")))
	for _, name := range []string{"shut/in/page", "shut/in", "shut"} {
		must(t, os.Chmod(filepath.Join(site, name), 0))
	}
	for _, path := range []string{"/public_html/theirs", "/public_html/z/linked", "/public_html/foreign"} {
		if _, err := d.SetPermissions(t.Context(), ref, path, usual); !errors.Is(err, panel.ErrPathNotAllowed) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := d.SetPermissions(t.Context(), ref, "/public_html", usual); !errors.Is(err, panel.ErrPathNotAllowed) {
		t.Errorf("with what is another's: %v", err)
	}
	for name, want := range map[string]fs.FileMode{
		"shut": 0o755, "shut/in": 0o755, "shut/in/page": 0o644, "z": 0o755, "z/last": 0o644,
		"theirs": 0o600, "foreign": 0o700, "foreign/file": 0o600,
	} {
		if got := modeOf(t, filepath.Join(site, name)); got != want {
			t.Errorf("%s has the mode %o, want %o", name, got, want)
		}
	}
}

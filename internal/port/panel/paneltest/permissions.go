package paneltest

import (
	"io/fs"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func permissions(t *testing.T, p panel.Panel) {
	ctx, f := account(t, p)
	written := write(t, f, "/public_html/a/b/page.html", "page")
	write(t, f, "/public_html/a/c.txt", "c")
	write(t, f, "/public_html/d.txt", "d")
	mode := func(path, want string) {
		t.Helper()
		e, err := f.Stat(ctx, ref, path)
		must(t, err)
		equal(t, "mode of "+path, e.Mode, want)
	}
	e, err := f.SetPermissions(ctx, ref, "/public_html/a/b/page.html", panel.Permissions{Files: 0o600, Directories: 0o700, Recursive: true})
	must(t, err)
	equal(t, "mode", e.Mode, "0600")
	equal(t, "version", e.ETag, written.ETag) // the content is the same
	_, err = f.SetPermissions(ctx, ref, "/public_html/a", panel.Permissions{Files: 0o640, Directories: 0o750})
	must(t, err)
	mode("/public_html/a", "0750")
	mode("/public_html/a/b", "0755")
	mode("/public_html/a/c.txt", "0644")
	before, err := f.Stat(ctx, ref, "/public_html")
	must(t, err)
	_, err = f.SetPermissions(ctx, ref, "/public_html", panel.Permissions{Files: 0o640, Directories: 0o710, Recursive: true})
	must(t, err)
	mode("/public_html", before.Mode)
	mode("/public_html/a", "0710")
	mode("/public_html/a/b", "0710")
	mode("/public_html/a/b/page.html", "0640")
	mode("/public_html/a/c.txt", "0640")
	mode("/public_html/d.txt", "0640")

	for _, path := range []string{"/", "/public_html", "/logs", "/tmp"} {
		_, err = f.SetPermissions(ctx, ref, path, panel.Permissions{Files: 0o644, Directories: 0o755, Recursive: path != "/public_html"})
		refused(t, err, panel.ErrPathNotAllowed)
	}
	for _, modes := range [][2]fs.FileMode{
		{0o646, 0o755},
		{0o244, 0o755},
		{0o4755, 0o755},
		{0o2755, 0o755},
		{0o644 | fs.ModeSetuid, 0o755},
		{0o644, 0o757},
		{0o644, 0o655},
		{0o644, 0o355},
		{0o644, 0o1755},
		{0o644, 0o755 | fs.ModeSticky},
	} {
		_, err = f.SetPermissions(ctx, ref, "/public_html/a", panel.Permissions{Files: modes[0], Directories: modes[1], Recursive: true})
		refused(t, err, panel.ErrInvalid)
	}
	_, err = f.SetPermissions(ctx, ref, "/public_html/none", panel.Permissions{Files: 0o644, Directories: 0o755})
	refused(t, err, panel.ErrNotFound)
	mode("/public_html/a/c.txt", "0640")
}

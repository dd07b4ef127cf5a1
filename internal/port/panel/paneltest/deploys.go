package paneltest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// folderOf describes a folder of contents by path.
func folderOf(files map[string]string) (all []panel.DeployFile) {
	for path, content := range files {
		all = append(all, panel.DeployFile{Path: path, SHA256: sumOf(content)})
	}
	return all
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func deploys(t *testing.T, p panel.Panel) {
	d := capability[panel.Deploys](t, p)
	ctx, f := account(t, p)
	const dir = "/public_html"
	write(t, f, dir+"/index.html", "default page")
	write(t, f, dir+"/uploads/cat.jpg", "of a visitor")

	_, err := d.Rollback(ctx, ref, dir, 0)
	refused(t, err, panel.ErrNotFound)
	deploy := func(files map[string]string, remove bool, plan panel.DeployPlan, sent int) panel.Release {
		t.Helper()
		got, err := d.PlanDeploy(ctx, ref, dir, folderOf(files))
		must(t, err)
		equal(t, "contents to send", len(got.Missing), sent)
		missing := map[string]bool{}
		for _, sum := range got.Missing {
			missing[sum] = true
		}
		got.Missing = nil
		equal(t, "plan", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", plan))
		if sent > 0 {
			_, err := d.Deploy(ctx, ref, dir, folderOf(files), remove)
			refused(t, err, panel.ErrNotFound)
		}
		for _, content := range files {
			if missing[sumOf(content)] {
				must(t, d.PutContent(ctx, ref, sumOf(content), strings.NewReader(content)))
			}
		}
		r, err := d.Deploy(ctx, ref, dir, folderOf(files), remove)
		must(t, err)
		for path, content := range files {
			equal(t, path, read(t, f, dir+"/"+path), content)
		}
		return r
	}
	first := map[string]string{"index.html": "one", "css/a.css": "a", "css/b.css": "a", "old.html": "old"}
	r := deploy(first, false, panel.DeployPlan{Added: 3, Changed: 1}, 3)
	equal(t, "release", r.ID, int64(1))
	second := map[string]string{"index.html": "two", "css/a.css": "a", "css/b.css": "b"}
	r = deploy(second, false, panel.DeployPlan{Changed: 2, Unchanged: 1, Gone: 1, Release: 1}, 2)
	equal(t, "kept", r.Kept, 1)
	equal(t, "a file that is gone from the folder", read(t, f, dir+"/old.html"), "old")
	r = deploy(second, true, panel.DeployPlan{Unchanged: 3, Gone: 1, Release: 2}, 0)
	equal(t, "removed", r.Removed, 1)
	_, err = f.Stat(ctx, ref, dir+"/old.html")
	refused(t, err, panel.ErrNotFound)
	// A file that was moved is not sent again.
	third := map[string]string{"index.html": "two", "css/a.css": "a", "style/b.css": "b"}
	deploy(third, true, panel.DeployPlan{Added: 1, Unchanged: 2, Gone: 1, Release: 3}, 0)

	// What somebody else has changed is part of the way back, and what they have added is never touched.
	write(t, f, dir+"/index.html", "edited on the server")
	deploy(map[string]string{"index.html": "five", "css/a.css": "a"}, true, panel.DeployPlan{Changed: 1, Unchanged: 1, Gone: 1, Release: 4}, 1)
	back, err := d.Rollback(ctx, ref, dir, 0)
	must(t, err)
	equal(t, "goes back to", *back.Restores, int64(4))
	equal(t, "index.html", read(t, f, dir+"/index.html"), "edited on the server")
	equal(t, "style/b.css", read(t, f, dir+"/style/b.css"), "b")
	// Going back once more is the release before that one; a release can be named.
	back, err = d.Rollback(ctx, ref, dir, 0)
	must(t, err)
	equal(t, "goes back to", *back.Restores, int64(3))
	equal(t, "css/b.css", read(t, f, dir+"/css/b.css"), "b")
	equal(t, "a file whose content nobody has kept", read(t, f, dir+"/index.html"), "edited on the server")
	back, err = d.Rollback(ctx, ref, dir, 1)
	must(t, err)
	equal(t, "index.html", read(t, f, dir+"/index.html"), "one")
	equal(t, "old.html", read(t, f, dir+"/old.html"), "old")
	_, err = d.Rollback(ctx, ref, dir, 0)
	must(t, err)
	equal(t, "index.html", read(t, f, dir+"/index.html"), "default page")
	_, err = f.Stat(ctx, ref, dir+"/css/a.css")
	refused(t, err, panel.ErrNotFound)
	equal(t, "uploads", read(t, f, dir+"/uploads/cat.jpg"), "of a visitor")
	all, err := d.Releases(ctx, ref, dir)
	must(t, err)
	equal(t, "newest release", all[0].ID, back.ID+1)

	for path, kind := range map[string]panel.Kind{
		"../x": panel.ErrPathNotAllowed, "/x": panel.ErrInvalid, "a//b": panel.ErrInvalid, ".stead-deploys/x": panel.ErrPathNotAllowed, "uploads": panel.ErrExists,
	} {
		_, err := d.Deploy(ctx, ref, dir, folderOf(map[string]string{path: "x"}), false)
		refused(t, err, kind)
	}
	for _, to := range []string{"/", "/..", "/tmp", "/logs", "/.stead-deploys"} {
		_, err := d.Deploy(ctx, ref, to, nil, true)
		refused(t, err, panel.ErrPathNotAllowed)
	}
	refused(t, d.PutContent(ctx, ref, sumOf("x"), strings.NewReader("y")), panel.ErrInvalid)
	refused(t, d.PutContent(ctx, ref, "../x", strings.NewReader("y")), panel.ErrInvalid)
	_, err = d.Deploy(ctx, ref, dir, folderOf(map[string]string{"x": "x"}), false)
	refused(t, err, panel.ErrNotFound)
}

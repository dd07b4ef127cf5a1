package backups

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// s3Settings are those of a machine that keeps its backups in a bucket, and its own things beside own.
func s3Settings(s3 *testkit.S3, own string) (ResticConfig, error) {
	c := ResticConfig{Repository: "s3:" + s3.URL + "/node1", CredentialsFile: own + ".s3", KeyFile: own + ".key", Dir: own + ".own"}
	return c, os.WriteFile(c.CredentialsFile, []byte(testkit.S3Credentials), 0o600)
}

func TestBackupsAreKeptInS3(t *testing.T) {
	s3 := testkit.NewS3(t)
	w := newWorld(t, func(dir string) (Store, error) {
		c, err := s3Settings(s3, dir)
		if err == nil {
			err = os.Chmod(c.CredentialsFile, 0o644)
		}
		if err != nil {
			return nil, err
		}
		if _, err := NewRestic(c); err == nil {
			return nil, fmt.Errorf("keys that everybody can read were taken")
		}
		if err := os.Chmod(c.CredentialsFile, 0o600); err != nil {
			return nil, err
		}
		return NewRestic(c)
	})
	w.fill("1")
	before := w.tree("1")
	w.backUp("1", "b1", panel.PartFiles, panel.PartDNS)
	if len(s3.Objects()) == 0 {
		t.Error("the bucket is empty")
	}
	for name, content := range s3.Objects() {
		if !strings.HasPrefix(name, "node1/1/") || bytes.Contains(content, []byte("php echo")) {
			t.Errorf("object %s is elsewhere, or readable", name)
		}
	}
	list, err := w.ListBackups(t.Context(), "1")
	w.must(err)
	w.same("storage", "s3", list[0].Storage)
	w.must(os.RemoveAll(filepath.Join(w.homes["1"].Home, "public_html")))
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("files", before, w.tree("1"))

	// Out of reach is not damaged.
	s3.SetDown(true)
	r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("out of reach", panel.ErrUnreachable, r.Failure)
	s3.SetDown(false)
	for name, content := range s3.Objects() {
		if strings.Contains(name, "/data/") {
			content[len(content)/2] ^= 1
			s3.Put(name, content)
		}
	}
	w.must(os.RemoveAll(filepath.Join(w.dir, "store.own", "cache")))
	r = w.bringBack("1", panel.RestoreRequest{ID: "r3", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("damaged", panel.ErrInvalid, r.Failure)
	w.same("files", before, w.tree("1"))

	// The next backup is whole, in a repository of its own.
	w.backUp("1", "b2", panel.PartFiles)
	r = w.bringBack("1", panel.RestoreRequest{ID: "r4", Backup: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("conditions", map[string]panel.Condition{"b1": panel.Damaged, "b2": ""}, w.conditions())
	w.must(w.DeleteBackup(t.Context(), "1", "b2"))
	w.must(w.DeleteBackup(t.Context(), "1", "b1"))
	for name := range s3.Objects() {
		if strings.Contains(name, "/snapshots/") && !strings.HasPrefix(name, "node1/1/") {
			t.Errorf("%s is left", name)
		}
	}
}

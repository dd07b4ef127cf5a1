package backups

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestAPartHasNoLinks: a machine that is in other hands lends a dump with one, to what is another account's, and root reads it.
func TestAPartHasNoLinks(t *testing.T) {
	t.Parallel()
	others, dir := t.TempDir(), filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(filepath.Join(others, "access.log.1"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	w := tar.NewWriter(&stream)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeSymlink, Name: dataDir, Linkname: others, Mode: 0o777},
		{Typeflag: tar.TypeReg, Name: dataDir + "/own", Mode: 0o600},
		{Typeflag: tar.TypeSymlink, Name: dataDir + "/access.log.1", Linkname: filepath.Join(others, "access.log.1"), Mode: 0o777},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unpackPart(t.Context(), &stream, dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, dataDir))
	if err != nil || len(entries) != 1 || entries[0].Name() != "own" {
		t.Errorf("unpacked %v, %v", entries, err)
	}
}

package customer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// hashes are those of the files of a folder, from the last deployment of it. A file is read again unless its size, its times and its
// place on the disk are the same, so one that was replaced and given its former time is read, too.
type hashes struct {
	file  string
	begun time.Time
	known map[string]hashed
	fresh map[string]hashed // of files that are there now
}

type hashed struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Changed  int64  `json:"changed"`
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Sum      string `json:"sha256"`
}

// unsure is how young a file may not be to be remembered: one that is written again within the same tick of the file system's clock
// looks as before.
const unsure = 2 * time.Second

// openHashes reads what is remembered of a folder. A file that cannot be read is as good as none.
func openHashes(dir, folder string, now time.Time) (*hashes, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	name := sha256.Sum256([]byte(folder))
	h := &hashes{
		file: filepath.Join(dir, "hashes-"+hex.EncodeToString(name[:8])+".json"), begun: now,
		known: map[string]hashed{}, fresh: map[string]hashed{},
	}
	if content, err := os.ReadFile(h.file); err == nil && json.Unmarshal(content, &h.known) != nil {
		h.known = map[string]hashed{}
	}
	return h, nil
}

func describe(info fs.FileInfo) (hashed, bool) {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return hashed{}, false
	}
	return hashed{
		Size: info.Size(), Modified: info.ModTime().UnixNano(), Changed: of.Ctim.Nano(),
		Device: uint64(of.Dev), Inode: of.Ino, //nolint:unconvert // its type differs between architectures
	}, true
}

// Get implements deploy.Hashes.
func (h *hashes) Get(name string, info fs.FileInfo) (string, bool) {
	now, ok := describe(info)
	before, known := h.known[name]
	now.Sum = before.Sum
	if !ok || !known || now != before || len(now.Sum) != hex.EncodedLen(sha256.Size) {
		return "", false
	}
	h.fresh[name] = before
	return before.Sum, true
}

// Put implements deploy.Hashes.
func (h *hashes) Put(name string, info fs.FileInfo, sum string) {
	of, ok := describe(info)
	if !ok || time.Unix(0, max(of.Modified, of.Changed)).After(h.begun.Add(-unsure)) {
		return
	}
	of.Sum = sum
	h.fresh[name] = of
}

// save remembers the files that are there now. Failing that, the next deployment reads them all.
func (h *hashes) save() error {
	content, err := json.Marshal(h.fresh)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(h.file, content, 0o600)
}

// forget makes the next deployment read all files.
func (h *hashes) forget() { _ = os.Remove(h.file) }

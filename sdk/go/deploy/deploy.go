// Package deploy makes a site of a hosting service what a folder is. Only contents that the server has not are sent; then all
// files change together. The server knows what is there, so a deployment that broke off is simply done again.
package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	stead "stead.dev/stead/sdk/go"
)

// Options change a deployment.
type Options struct {
	Directory string // from the account's home; /public_html when it is empty
	Delete    bool   // remove what earlier releases brought and the folder has no more
	// Progress is told how many of the bytes that are missing have been sent. It may be nil.
	Progress func(sent, all int64)
}

// Result says what a deployment did.
type Result struct {
	Release *stead.FilesRelease
	Plan    *stead.FilesPlan
	Files   int
	Bytes   int64 // of the folder
	Sent    int64 // of the contents that the server did not have
}

// most bounds what is sent in one request.
const (
	mostContents = 500
	mostBytes    = 16 << 20
)

type file struct {
	name string
	size int64
}

// Folder deploys a folder. Links and other special files are left out, and so are .git and .DS_Store.
func Folder(ctx context.Context, c *stead.Client, service int64, folder string, options Options) (*Result, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	result := &Result{}
	var files []stead.FilesDeployFile
	bySum := map[string]file{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !entry.Type().IsRegular(), entry.Name() == ".DS_Store":
			return ctx.Err()
		}
		sum, size, err := hash(root, name)
		if err != nil {
			return err
		}
		files = append(files, stead.FilesDeployFile{Path: filepath.ToSlash(name), SHA256: sum})
		bySum[sum] = file{name, size}
		result.Files++
		result.Bytes += size
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("deploy: there are no files in %s", folder)
	}
	var directory *string
	if options.Directory != "" {
		directory = &options.Directory
	}
	result.Plan, err = c.Deploys.Plan(ctx, service, stead.FilesPlanBody{Directory: directory, Files: files})
	if err != nil {
		return nil, err
	}
	if result.Sent, err = send(ctx, c, service, root, result.Plan.Missing, bySum, options.Progress); err != nil {
		return nil, err
	}
	body := stead.FilesDeployBody{Directory: directory, Files: files}
	if options.Delete {
		body.Delete = &options.Delete
	}
	result.Release, err = c.Deploys.Create(ctx, service, body)
	return result, err
}

func hash(root *os.Root, name string) (sum string, size int64, err error) {
	f, err := root.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// send sends contents in requests of a bounded size.
func send(ctx context.Context, c *stead.Client, service int64, root *os.Root, missing []string, bySum map[string]file, progress func(sent, all int64)) (sent int64, err error) {
	var all int64
	for _, sum := range missing {
		if _, ok := bySum[sum]; !ok {
			return 0, fmt.Errorf("deploy: the server asks for %s, which is not in the folder", sum)
		}
		all += bySum[sum].size
	}
	for len(missing) > 0 {
		n, bytes := 0, int64(0)
		for n < len(missing) && n < mostContents && (n == 0 || bytes+bySum[missing[n]].size <= mostBytes) {
			bytes += bySum[missing[n]].size
			n++
		}
		var batch []stead.UploadFile
		for _, sum := range missing[:n] {
			batch = append(batch, stead.UploadFile{Name: sum, Content: &lazy{root: root, name: bySum[sum].name}})
		}
		if _, err := c.Deploys.Contents(ctx, service, batch...); err != nil {
			return sent, err
		}
		sent += bytes
		missing = slices.Delete(missing, 0, n)
		if progress != nil {
			progress(sent, all)
		}
	}
	return sent, nil
}

// lazy opens a file when it is read, and closes it at its end, so that few are open at a time.
type lazy struct {
	root *os.Root
	name string
	f    *os.File
}

func (l *lazy) Read(b []byte) (n int, err error) {
	if l.f == nil {
		if l.f, err = l.root.Open(l.name); err != nil {
			return 0, err
		}
	}
	n, err = l.f.Read(b)
	if err != nil {
		if closed := l.f.Close(); closed != nil && errors.Is(err, io.EOF) {
			err = closed
		}
	}
	return n, err
}

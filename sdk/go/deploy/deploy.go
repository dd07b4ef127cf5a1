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
	"net/http"
	"os"
	"sync"
	"time"

	stead "stead.dev/stead/sdk/go"
)

// Options change a deployment.
type Options struct {
	Directory string // from the account's home; /public_html when it is empty
	Delete    bool   // remove what earlier releases brought and the folder has no more
	DryRun    bool   // only compare: nothing is sent, and the result has no release
	// Skip leaves a file or a whole directory out. Names have slashes. It may be nil.
	Skip func(name string, directory bool) bool
	// Hashes remembers the hashes of files between deployments. Without it each file is read.
	Hashes Hashes
	// Planned is told what was found before anything is sent. It may be nil.
	Planned func(Result)
	// Progress is told how many of the bytes that are missing have been sent. It may be nil.
	Progress func(sent, all int64)
}

// Hashes remembers the SHA-256 of files, in lower-case hex. Names have slashes and begin at the folder. Get is only right when the
// file has not changed since Put: compare more of info than the size.
type Hashes interface {
	Get(name string, info fs.FileInfo) (sum string, ok bool)
	Put(name string, info fs.FileInfo, sum string)
}

// Result says what a deployment did.
type Result struct {
	Release *stead.FilesRelease
	Plan    *stead.FilesPlan
	Files   int
	Bytes   int64 // of the folder
	Sent    int64 // of the contents that the server did not have
	Special int   // links and other special files, which were left out
}

const (
	// most bounds what is sent in one request.
	mostContents = 500
	mostBytes    = 16 << 20
	// tries bounds how often one request is sent, firstPause how long to wait before the second try.
	tries      = 5
	firstPause = time.Second
)

type file struct {
	name string
	size int64
}

// Folder deploys a folder. Links and other special files are left out, and so are .git and .DS_Store, which Skip adds to.
func Folder(ctx context.Context, c *stead.Client, service int64, folder string, options Options) (*Result, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	result := &Result{}
	files, bySum, err := read(ctx, root, options, result)
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
	if options.Planned != nil {
		options.Planned(*result)
	}
	if options.DryRun {
		return result, nil
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

// read hashes the files of the folder and counts them in the result.
func read(ctx context.Context, root *os.Root, options Options, result *Result) (files []stead.FilesDeployFile, bySum map[string]file, err error) {
	bySum = map[string]file{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.Name() == ".git", entry.Name() == ".DS_Store", options.Skip != nil && options.Skip(name, entry.IsDir()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return ctx.Err()
		case !entry.Type().IsRegular():
			result.Special++
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum, known, size := "", false, info.Size()
		if options.Hashes != nil {
			sum, known = options.Hashes.Get(name, info)
		}
		if !known {
			if sum, size, err = hash(root, name); err != nil {
				return err
			}
			if options.Hashes != nil && size == info.Size() {
				options.Hashes.Put(name, info, sum)
			}
		}
		files = append(files, stead.FilesDeployFile{Path: name, SHA256: sum})
		bySum[sum] = file{name, size}
		result.Files++
		result.Bytes += size
		return ctx.Err()
	})
	return files, bySum, err
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

// send sends contents in requests of a bounded size. A request that fails is sent again: a content that the server has already is
// harmless.
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
		for try, pause := 1, firstPause; ; try, pause = try+1, 2*pause {
			if err = sendOnce(ctx, c, service, root, missing[:n], bySum, meter{sent, all, progress}); err == nil {
				break
			}
			var refused *stead.Error
			again := !errors.As(err, &refused) || refused.Status >= 500 || refused.Status == http.StatusTooManyRequests
			if !again || try == tries || ctx.Err() != nil {
				return sent, err
			}
			if refused != nil && refused.RetryAfter > pause {
				pause = min(refused.RetryAfter, time.Minute)
			}
			select {
			case <-ctx.Done():
				return sent, ctx.Err()
			case <-time.After(pause):
			}
		}
		sent += bytes
		missing = missing[n:]
	}
	return sent, nil
}

// meter tells how many bytes have been sent.
type meter struct {
	sent, all int64
	tell      func(sent, all int64)
}

func sendOnce(ctx context.Context, c *stead.Client, service int64, root *os.Root, sums []string, bySum map[string]file, m meter) error {
	var batch []stead.UploadFile
	var mu sync.Mutex
	over := false
	read := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		m.sent += int64(n)
		if m.tell != nil && !over {
			m.tell(min(m.sent, m.all), m.all)
		}
	}
	for _, sum := range sums {
		batch = append(batch, stead.UploadFile{Name: sum, Content: &lazy{root: root, name: bySum[sum].name, read: read}})
	}
	_, err := c.Deploys.Contents(ctx, service, batch...)
	mu.Lock()
	over = true // a request that was refused may be read on for a while
	mu.Unlock()
	return err
}

// lazy opens a file when it is read, and closes it at its end, so that few are open at a time.
type lazy struct {
	root *os.Root
	name string
	read func(n int)
	f    *os.File
}

func (l *lazy) Read(b []byte) (n int, err error) {
	if l.f == nil {
		if l.f, err = l.root.Open(l.name); err != nil {
			return 0, err
		}
	}
	n, err = l.f.Read(b)
	l.read(n)
	if err != nil {
		if closed := l.f.Close(); closed != nil && errors.Is(err, io.EOF) {
			err = closed
		}
	}
	return n, err
}

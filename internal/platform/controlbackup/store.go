package controlbackup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/secret"
)

// Place says where backups are kept.
type Place struct {
	// To is the whole path of a folder, or s3:https://host/bucket/prefix. Backups of one installation alone are there.
	To string
	// S3File is an AWS credentials file, S3Region the region where the service has regions.
	S3File, S3Region string
}

// store keeps files under names without slashes.
type store interface {
	put(ctx context.Context, name string, content *os.File, size int64) error
	get(ctx context.Context, name string) (io.ReadCloser, error)
	list(ctx context.Context) ([]string, error)
	remove(ctx context.Context, name string) error
}

// errNoFile says that a store has no file of a name.
var errNoFile = fs.ErrNotExist

// ErrNoPlace says that nobody said where backups are.
var ErrNoPlace = errors.New("say where backups are kept: a folder on another machine or disk, or s3:https://host/bucket/prefix " +
	"(stead backup --to, stead restore --from, or STEAD_CONTROL_BACKUP_TO)")

// openStore opens a place. A folder is made where there is none.
func openStore(p Place) (store, error) {
	address, s3 := strings.CutPrefix(p.To, "s3:")
	switch {
	case p.To == "":
		return nil, ErrNoPlace
	case s3:
		return openS3(address, p)
	}
	dir, err := filepath.Abs(p.To)
	if err != nil {
		return nil, err
	}
	return folder(dir), nil
}

type folder string

func (f folder) put(_ context.Context, name string, content *os.File, _ int64) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteStream(filepath.Join(string(f), name), 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}

func (f folder) get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}

func (f folder) list(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (f folder) remove(_ context.Context, name string) error {
	if err := os.Remove(filepath.Join(string(f), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type bucket struct {
	client       *minio.Client
	name, prefix string
}

func openS3(address string, p Place) (store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("s3:%s: want s3:https://host/bucket/prefix", address)
	}
	bucketName, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if bucketName == "" {
		return nil, fmt.Errorf("s3:%s names no bucket", address)
	}
	if p.S3File == "" {
		return nil, errors.New("STEAD_CONTROL_BACKUP_S3_FILE is not set: it names the AWS credentials file with the keys for the bucket")
	}
	if err := secret.CheckFile(p.S3File); err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewFileAWSCredentials(p.S3File, ""), Secure: u.Scheme == "https", Region: p.S3Region,
		BucketLookup: minio.BucketLookupPath, Transport: intx.Transport{Next: transport}, MaxRetries: 4,
	})
	if err != nil {
		return nil, err
	}
	return bucket{client, bucketName, prefix}, nil
}

func (b bucket) key(name string) string { return path.Join(b.prefix, name) }

func (b bucket) put(ctx context.Context, name string, content *os.File, size int64) error {
	// The length is known before, so a store without room refuses early; parts are sent one after the other.
	_, err := b.client.PutObject(ctx, b.name, b.key(name), content, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", NumThreads: 1, PartSize: 64 << 20,
	})
	return err
}

func (b bucket) get(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := o.Stat(); err != nil { // the first request
		_ = o.Close()
		if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
			return nil, fmt.Errorf("%s: %w", b.key(name), errNoFile)
		}
		return nil, err
	}
	return o, nil
}

func (b bucket) list(ctx context.Context) (names []string, _ error) {
	prefix := b.prefix
	if prefix != "" {
		prefix += "/"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, o.Err
		}
		if name := strings.TrimPrefix(o.Key, prefix); name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}

func (b bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{})
}

const maxSidecar = 64 << 10

// sidecar reads the sidecar of an archive.
func sidecar(ctx context.Context, s store, archive string) (c Sidecar, err error) {
	r, err := s.get(ctx, archive+sidecarSuffix)
	if err != nil {
		return c, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, maxSidecar))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(content, &c); err != nil {
		return c, fmt.Errorf("%s: %w", archive+sidecarSuffix, err)
	}
	if c.Archive != archive {
		return c, fmt.Errorf("%s is the sidecar of another archive: %q", archive+sidecarSuffix, c.Archive)
	}
	return c, nil
}

// contents lists the backups of a store, the newest first, and the archives without a sidecar.
func contents(ctx context.Context, s store) (backups []Sidecar, unfinished []string, err error) {
	names, err := s.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		archive, ok := strings.CutSuffix(name, archiveSuffix)
		if !ok || !nameForm.MatchString(archive) {
			continue
		}
		if !slices.Contains(names, archive+sidecarSuffix) {
			unfinished = append(unfinished, archive)
			continue
		}
		c, err := sidecar(ctx, s, archive)
		if err != nil {
			return nil, nil, err
		}
		backups = append(backups, c)
	}
	slices.SortFunc(backups, func(a, b Sidecar) int { return b.MadeAt.Compare(a.MadeAt) })
	return backups, unfinished, nil
}

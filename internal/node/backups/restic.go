package backups

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// ResticConfig locates the repositories.
type ResticConfig struct {
	Binary string // of restic; empty is "restic"
	// Repository is the folder or the address in S3 ("s3:https://s3.example.com/bucket/prefix") below which each
	// account has repositories of its own. The first is named by its ref; one that is damaged is followed by another.
	Repository string
	// CredentialsFile is an AWS credentials file with the keys for S3, readable by its owner only.
	CredentialsFile string
	Region          string // of S3; may be empty
	// KeyFile holds the secret from which the repositories' passwords are derived. It is created when missing. Without
	// it no backup can be read.
	KeyFile string
	// Dir is the store's own on this machine: restic's cache, and the locks against processes of a killed agent.
	Dir string
}

// Restic keeps the streams in restic repositories. restic gets its repository and password by the environment and an
// inherited pipe: neither is in a process list or on the disk.
type Restic struct {
	ResticConfig
	key []byte

	mu   sync.Mutex
	made map[repository]bool // those that are known to exist
}

// repository is one of an account's repositories.
type repository struct{ ref, name string }

var _ Store = (*Restic)(nil)

// ResticInstalled reports whether restic is installed.
func ResticInstalled() bool {
	_, err := exec.LookPath("restic")
	return err == nil
}

// NewRestic opens the store; it does not access the repositories yet.
func NewRestic(c ResticConfig) (*Restic, error) {
	if c.Binary == "" {
		c.Binary = "restic"
	}
	binary, err := exec.LookPath(c.Binary)
	if err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	c.Binary = binary
	s := &Restic{ResticConfig: c, made: map[repository]bool{}}
	if s.remote() {
		if err := secret.CheckFile(c.CredentialsFile); err != nil {
			return nil, fmt.Errorf("backups: credentials of S3: %w", err)
		}
	} else if err := os.MkdirAll(c.Repository, 0o700); err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	for _, sub := range []string{"cache", "locks", "beginning", "places", "read", lentDir} {
		if err := os.MkdirAll(filepath.Join(c.Dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("backups: %w", err)
		}
	}
	if err := s.mark(); err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	if s.key, err = readKey(c.KeyFile); err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	return s, nil
}

// readKey reads the secret, or creates it when there is none.
func readKey(file string) ([]byte, error) {
	text, err := secret.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text() + rand.Text() + "\n")
		err = atomicfile.Write(file, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	key := bytes.TrimSpace(text)
	if len(key) < 32 {
		return nil, fmt.Errorf("%s holds no key: 32 characters at least", file)
	}
	return key, nil
}

// Password is the password of an account's repository: with the key file an operator can read it by hand.
func (s *Restic) Password(ref string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("stead backups " + ref))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *Restic) remote() bool { return strings.HasPrefix(s.Repository, "s3:") }

// Name implements Store.
func (s *Restic) Name() string {
	if s.remote() {
		return "s3"
	}
	return "local"
}

// markName is a file in the folder of the repositories. Where it is missing, the disk is not mounted: that is no damage, and
// nothing is to be written there.
const markName = ".stead-backups"

// mark puts the mark into a folder that is used for the first time.
func (s *Restic) mark() error {
	if s.remote() {
		return nil
	}
	known := filepath.Join(s.Dir, "folder")
	if was, err := os.ReadFile(known); err == nil && string(was) == s.Repository {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.Write(filepath.Join(s.Repository, markName), nil, 0o600); err != nil {
		return err
	}
	return atomicfile.Write(known, []byte(s.Repository), 0o600)
}

// reachable returns panel.ErrUnreachable when the folder is not the one that was marked.
func (s *Restic) reachable() error {
	if s.remote() {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.Repository, markName)); err != nil {
		return fmt.Errorf("%w: the folder of the backups is not there; is its disk mounted? %w", panel.ErrUnreachable, err)
	}
	return nil
}

// repositories are those of an account: first the ones that were abandoned, at last the present one.
func (s *Restic) repositories(ref string) ([]repository, error) {
	text, err := os.ReadFile(s.own("places", ref)) //nolint:gosec // refs are checked names
	if errors.Is(err, fs.ErrNotExist) {
		return []repository{{ref, ref}}, nil
	}
	if err != nil {
		return nil, err
	}
	var all []repository
	for name := range strings.FieldsSeq(string(text)) {
		all = append(all, repository{ref, name})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("backups: %s names no repository", s.own("places", ref))
	}
	return all, nil
}

// present is the repository into which an account's backups go.
func (s *Restic) present(ref string) (repository, error) {
	all, err := s.repositories(ref)
	if err != nil {
		return repository{}, err
	}
	return all[len(all)-1], nil
}

// keepPlaces writes which repositories an account has.
func (s *Restic) keepPlaces(ref string, all []repository) error {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.name
	}
	return atomicfile.Write(s.own("places", ref), []byte(strings.Join(names, "\n")+"\n"), 0o600)
}

// another is a repository of the account that does not exist yet.
func another(ref string) repository {
	return repository{ref, ref + "-" + strings.ToLower(rand.Text()[:8])}
}

// handleOf names a snapshot of a repository; locate is its reverse.
func handleOf(r repository, snapshot string) string { return r.name + "/" + snapshot }

func locate(ref, handle string) (r repository, snapshot string) {
	name, snapshot, _ := strings.Cut(handle, "/")
	return repository{ref, name}, snapshot
}

// location is where a repository is.
func (s *Restic) location(r repository) string {
	return strings.TrimSuffix(s.Repository, "/") + "/" + r.name
}

func (s *Restic) own(kind, ref string) string { return filepath.Join(s.Dir, kind, ref) }

// command is restic on a repository; done frees its resources.
func (s *Restic) command(ctx context.Context, in repository, args ...string) (cmd *exec.Cmd, done func(), err error) {
	if err := s.reachable(); err != nil {
		return nil, nil, err
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	// A password fits into a pipe's buffer, so the write does not block.
	password, err := s.passwordOf(in)
	if err == nil {
		_, err = pw.WriteString(password)
	}
	if err = errors.Join(err, pw.Close()); err != nil {
		return nil, nil, errors.Join(err, pr.Close())
	}
	cmd = exec.CommandContext(ctx, s.Binary, args...) //nolint:gosec // the operator's restic; no argument is a customer's
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{pr}
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.Dir, "LANG=C.UTF-8", "GOMAXPROCS=2",
		"RESTIC_REPOSITORY=" + s.location(in), "RESTIC_PASSWORD_FILE=/proc/self/fd/3",
		"RESTIC_CACHE_DIR=" + filepath.Join(s.Dir, "cache"),
	}
	if s.remote() {
		cmd.Env = append(cmd.Env, "AWS_SHARED_CREDENTIALS_FILE="+s.CredentialsFile)
		if s.Region != "" {
			cmd.Env = append(cmd.Env, "AWS_DEFAULT_REGION="+s.Region)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, func() { _ = pr.Close() }, nil
}

// run runs restic to its end and returns its output.
func (s *Restic) run(ctx context.Context, in repository, stdin io.Reader, args ...string) ([]byte, error) {
	cmd, done, err := s.command(ctx, in, args...)
	if err != nil {
		return nil, err
	}
	defer done()
	if changing[args[0]] {
		lock, err := s.lock(ctx, in.ref)
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }() // nothing was written
		cmd.ExtraFiles = append(cmd.ExtraFiles, lock)
	}
	// restic takes the end of its input for the end of the content, also when the agent ends: so it is killed with the
	// agent. Pdeathsig refers to the starting thread, which must live as long.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out bytes.Buffer
	stderr := &lastWords{}
	cmd.Stdout, cmd.Stderr = &out, stderr
	if stdin != nil {
		// restic takes the end of its input for the end of the content: it must be killed before it sees the end of a
		// failed one.
		cmd.Stdin = &fatal{stdin, func() { _ = cmd.Cancel() }}
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f, ok := cmd.Stdin.(*fatal); ok && f.err() != nil {
			return nil, f.err()
		}
		return nil, stderr.explain(args[0], err)
	}
	return out.Bytes(), nil
}

// changing are the commands that write into a repository.
var changing = map[string]bool{"init": true, "backup": true, "forget": true, "unlock": true}

// lock waits until no restic writes into the account's repository, including one of a killed agent, which has inherited
// the lock.
func (s *Restic) lock(ctx context.Context, ref string) (*os.File, error) {
	f, err := os.OpenFile(s.own("locks", ref), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-tick.C:
		}
	}
}

// fatal kills the reading process before it returns a failure.
type fatal struct {
	io.Reader
	kill func()
}

func (f *fatal) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && err != io.EOF {
		f.kill()
		f.Reader = failed{err}
	}
	return n, err
}

func (f *fatal) err() error {
	if broken, ok := f.Reader.(failed); ok {
		return broken.error
	}
	return nil
}

type failed struct{ error }

func (f failed) Read([]byte) (int, error) { return 0, f.error }

// lastWords keeps the end of a program's error output.
type lastWords struct{ text []byte }

func (w *lastWords) Write(b []byte) (int, error) {
	const most = 4 << 10
	w.text = append(w.text, b...)
	w.text = w.text[max(0, len(w.text)-most):]
	return len(b), nil
}

// explain classifies restic's failure.
func (w *lastWords) explain(command string, err error) error {
	text := strings.TrimSpace(string(w.text))
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.ExitCode() < 0
	err = fmt.Errorf("restic %s: %w: %s", command, err, text)
	switch {
	case killed: // by the kernel, short of memory, or by an operator
		return fmt.Errorf("%w: %w", panel.ErrBusy, err)
	case strings.Contains(text, "already locked"):
		return fmt.Errorf("%w: %w", panel.ErrBusy, err)
	case strings.Contains(text, "no space left on device"), strings.Contains(text, "quota exceeded"):
		// The store's disk is full, not the customer's.
		return fmt.Errorf("%w: %w", panel.ErrBusy, err)
	case strings.Contains(text, "cannot allocate memory"), strings.Contains(text, "too many open files"):
		return fmt.Errorf("%w: %w", panel.ErrBusy, err)
	case strings.Contains(text, "stale file handle"), strings.Contains(text, "transport endpoint is not connected"),
		strings.Contains(text, "permission denied"):
		return fmt.Errorf("%w: %w", panel.ErrUnreachable, err)
	case strings.Contains(text, "dial tcp"), strings.Contains(text, "connection refused"), strings.Contains(text, "i/o timeout"),
		strings.Contains(text, "no such host"), strings.Contains(text, "Access Denied"):
		return fmt.Errorf("%w: %w", panel.ErrUnreachable, err)
	case strings.Contains(text, openingConfig), strings.Contains(text, "unable to open repository at"):
		if !absent(err) { // an unknown answer of the store tells nothing of the repository
			return fmt.Errorf("%w: %w", panel.ErrUnreachable, err)
		}
	}
	return err
}

func backupTag(id string) string { return "backup=" + id }

// Save implements Store: a snapshot of one file.
func (s *Restic) Save(ctx context.Context, ref, id string, part panel.BackupPart, r io.Reader) (string, error) {
	in, err := s.clear(ctx, ref)
	if err != nil {
		return "", err
	}
	snapshot, err := s.save(ctx, in, id, part, r)
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		// restic itself failed: perhaps it cannot go on with what is there.
		if worse := s.structure(ctx, in); errors.Is(worse, errDamaged) {
			err = worse
		}
	}
	if err != nil {
		return "", err
	}
	return handleOf(in, snapshot), nil
}

func (s *Restic) save(ctx context.Context, in repository, id string, part panel.BackupPart, r io.Reader) (snapshot string, err error) {
	if err := s.ensure(ctx, in); err != nil {
		return "", err
	}
	// A killed restic leaves a lock; this removes locks whose process has ended, and no others.
	if _, err := s.run(ctx, in, nil, "unlock"); err != nil {
		return "", err
	}
	out, err := s.run(ctx, in, r, "backup", "--json", "--quiet", "--host", in.ref, "--tag", backupTag(id), "--tag", "part="+string(part),
		"--stdin", "--stdin-filename", string(part)+".tar")
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(out) {
		var said struct {
			Type     string `json:"message_type"`
			Snapshot string `json:"snapshot_id"`
		}
		if json.Unmarshal(line, &said) == nil && said.Type == "summary" && said.Snapshot != "" {
			return said.Snapshot, nil
		}
	}
	return "", fmt.Errorf("restic backup named no snapshot: %s", out)
}

// Open implements Store.
func (s *Restic) Open(ctx context.Context, ref, _ string, part panel.BackupPart, handle string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	in, snapshot := locate(ref, handle)
	cmd, done, err := s.command(ctx, in, "dump", "--no-lock", "--no-cache", snapshot, "/"+string(part)+".tar")
	if err != nil {
		cancel()
		return nil, err
	}
	d := &dump{cmd: cmd, stop: func() { cancel(); done() }, ctx: ctx, store: s, in: in}
	cmd.Stderr = &d.words
	d.ReadCloser, err = cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// dump is a running restic that prints a stream.
type dump struct {
	io.ReadCloser // its output
	cmd           *exec.Cmd
	words         lastWords
	stop          func()
	ctx           context.Context
	store         *Restic
	in            repository
	ended         bool
	err           error
}

// Read returns the end of the stream only when restic succeeded.
func (d *dump) Read(b []byte) (int, error) {
	if d.ended {
		return 0, d.err
	}
	n, err := d.ReadCloser.Read(b)
	if err == nil {
		return n, nil
	}
	d.ended, d.err = true, err
	if waited := d.cmd.Wait(); waited != nil && d.ctx.Err() == nil {
		d.err = d.store.judge(d.ctx, d.in, d.words.explain("dump", waited))
	} else if d.ctx.Err() != nil {
		d.err = d.ctx.Err()
	}
	return n, d.err
}

func (d *dump) Close() error {
	d.stop()
	if !d.ended {
		d.ended, d.err = true, io.ErrClosedPipe
		_ = d.cmd.Wait() // it was just killed
	}
	return nil
}

// judge distinguishes a damaged repository from one that cannot be reached, or whose password is not ours.
func (s *Restic) judge(ctx context.Context, in repository, err error) error {
	var known panel.Kind
	var failed *exec.ExitError
	if errors.As(err, &known) || !errors.As(err, &failed) || ctx.Err() != nil {
		return err // restic did not judge what is stored
	}
	if strings.Contains(err.Error(), "wrong password or no key found") && s.keysWhole(in) {
		return fmt.Errorf("%w: is %s the file of old? %w", panel.ErrInternal, s.KeyFile, err)
	}
	if s.remote() {
		unread := s.opens(ctx, in)
		if ctx.Err() != nil || errors.As(unread, &known) {
			return unread
		}
	}
	return damaged(err)
}

// Delete implements Store. Single backups are taken out of the present repository only: an abandoned one goes as a whole, with
// the last backup that needs it.
func (s *Restic) Delete(ctx context.Context, ref, id string, rest []string) error {
	all, err := s.repositories(ref)
	if err != nil {
		return err
	}
	present := all[len(all)-1]
	kept := slices.DeleteFunc(slices.Clone(all), func(r repository) bool {
		return r != present && !slices.ContainsFunc(rest, func(handle string) bool {
			in, _ := locate(ref, handle)
			return in == r
		})
	})
	left := slices.Clone(all)
	for _, r := range all {
		if slices.Contains(kept, r) {
			continue
		}
		if err := s.drop(ctx, r); err != nil {
			return err
		}
		// A dropped one has lost its secret: it must not be dropped again when a later one fails.
		left = slices.DeleteFunc(left, func(o repository) bool { return o == r })
		if err := s.keepPlaces(ref, left); err != nil {
			return err
		}
	}
	if _, err = s.run(ctx, present, nil, "unlock"); err == nil {
		err = s.forget(ctx, present, "--tag", backupTag(id))
	}
	switch {
	case err == nil:
		return nil
	case absent(err): // the first backup failed before it was created
		return s.vacant(present, err, "snapshots")
	}
	return s.judge(ctx, present, err)
}

// forget removes the snapshots that match the filter, and data that only they need.
func (s *Restic) forget(ctx context.Context, in repository, filter ...string) error {
	out, err := s.run(ctx, in, nil, append([]string{"snapshots", "--json"}, filter...)...)
	if err != nil {
		return err
	}
	var found []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("restic snapshots: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	args := []string{"forget", "--prune", "--quiet"}
	for _, f := range found {
		args = append(args, f.ID)
	}
	_, err = s.run(ctx, in, nil, args...)
	return err
}

// Drop implements Store.
func (s *Restic) Drop(ctx context.Context, ref string) error {
	all, err := s.repositories(ref)
	if err != nil {
		return err
	}
	for i, r := range all {
		gone := s.drop(ctx, r)
		if errors.Is(gone, panel.ErrInternal) && i < len(all)-1 {
			continue // what is abandoned may have lost its key
		}
		err = errors.Join(err, gone)
	}
	if err != nil {
		return err // the places name what is left
	}
	for _, kind := range []string{"beginning", "places", "locks"} {
		if gone := os.Remove(s.own(kind, ref)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// drop removes a repository. restic itself can remove what is in a repository, not the repository: in S3 its configuration and
// its key stay, which say nothing of a customer. What is damaged there stays altogether, for an operator.
func (s *Restic) drop(ctx context.Context, in repository) error {
	s.mu.Lock()
	delete(s.made, in)
	s.mu.Unlock()
	if err := s.empty(ctx, in); err != nil {
		return err
	}
	if err := os.Remove(s.own("read", in.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The secret goes last: with it a drop that was interrupted can go on.
	return s.giveBack(in)
}

// empty removes what the store has of a repository.
func (s *Restic) empty(ctx context.Context, in repository) error {
	if !s.remote() {
		if err := s.reachable(); err != nil {
			return err
		}
		return os.RemoveAll(s.location(in)) //nolint:gosec // refs are checked names
	}
	err := s.forget(ctx, in)
	if err == nil || absent(err) {
		return nil
	}
	if err = s.judge(ctx, in, err); errors.Is(err, errDamaged) {
		return nil
	}
	return err
}

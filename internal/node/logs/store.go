package logs

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/port/panel"
)

// Policy defines when logs are rotated and how long they are kept.
type Policy struct {
	MaxBytes int64         // a larger log is rotated; zero is 16 MiB
	MaxAge   time.Duration // a log whose first line is older is rotated; zero is a day
	Keep     int           // number of rotated files; zero is 14
}

// Config configures a store.
type Config struct {
	Dir    string // of all logs
	Now    func() time.Time
	Log    *slog.Logger
	Policy Policy
}

// Store is the directory of all accounts' logs. It is safe for concurrent use.
type Store struct {
	cfg Config

	mu     sync.Mutex // serializes appending, rotating and removing
	reopen []func() error
}

// Open prepares the directory.
func Open(cfg Config) (*Store, error) {
	cfg.Policy = Policy{
		MaxBytes: cmp.Or(cfg.Policy.MaxBytes, 16<<20), MaxAge: cmp.Or(cfg.Policy.MaxAge, 24*time.Hour), Keep: cmp.Or(cfg.Policy.Keep, 14),
	}
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	if err := os.Chmod(cfg.Dir, 0o711); err != nil { //nolint:gosec // G302: passed by all, listed by nobody
		return nil, fmt.Errorf("logs: %w", err)
	}
	return &Store{cfg: cfg}, nil
}

// OnRotate registers f, to be called after logs were rotated, for a daemon that has them open.
func (s *Store) OnRotate(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reopen = append(s.reopen, f)
}

// Dir is the directory of an account's logs.
func (s *Store) Dir(account string) string { return filepath.Join(s.cfg.Dir, account) }

// File is the path of a log.
func (s *Store) File(account string, t panel.LogType) string {
	return filepath.Join(s.Dir(account), string(t)+".log")
}

// Size is the size of a log in bytes; 0 when it is not there.
func (s *Store) Size(account string, t panel.LogType) int64 {
	info, err := os.Lstat(s.File(account, t))
	if err != nil {
		return 0
	}
	return info.Size()
}

var accountForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Prepare creates an account's missing logs, owned by uid, who writes them, and readable by the group gid. Without root
// the process owns everything.
func (s *Store) Prepare(account string, uid, gid int, types ...panel.LogType) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(account, uid, gid, types...); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

func (s *Store) prepare(account string, uid, gid int, types ...panel.LogType) error {
	if !accountForm.MatchString(account) {
		return fmt.Errorf("%q is no account", account)
	}
	dir := s.Dir(account)
	if err := os.Mkdir(dir, 0o751); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := s.own(dir, info, 0, gid, 0o751); err != nil {
		return err
	}
	for _, t := range types {
		file := s.File(account, t)
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = s.create(file, uid, gid)
		} else if err == nil {
			err = s.own(file, info, uid, gid, 0o640)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// own sets owner and mode of a file of the store, where they differ. Root owns the directories, so nobody else can
// replace a file.
func (s *Store) own(file string, info fs.FileInfo, uid, gid int, mode fs.FileMode) error {
	if info.Mode()&fs.ModeSymlink != 0 || !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is no log", file)
	}
	if info.Mode().Perm() != mode {
		if err := os.Chmod(file, mode); err != nil {
			return err
		}
	}
	if have, haveGroup := owner(info); os.Geteuid() == 0 && (have != uid || haveGroup != gid) {
		return os.Lchown(file, uid, gid)
	}
	return nil
}

func (s *Store) create(file string, uid, gid int) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if os.Geteuid() == 0 {
		if err := f.Chown(uid, gid); err != nil {
			return err
		}
	}
	return f.Chmod(0o640)
}

// Append writes the agent's own lines about an account whose group is gid.
func (s *Store) Append(account string, gid int, t panel.LogType, lines ...panel.LogLine) error {
	var data []byte
	for _, line := range lines {
		line.Source, line.Cursor = t, ""
		b, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("logs: %w", err)
		}
		data = append(append(data, b...), '\n')
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.append(account, gid, t, data); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

func (s *Store) append(account string, gid int, t panel.LogType, data []byte) (err error) {
	if err := s.prepare(account, os.Geteuid(), gid, t); err != nil {
		return err
	}
	f, err := os.OpenFile(s.File(account, t), os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}

// Remove removes all logs of an account.
func (s *Store) Remove(account string) error {
	if !accountForm.MatchString(account) {
		return fmt.Errorf("logs: %q is no account", account)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.RemoveAll(s.Dir(account)); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

// volume is a file of a log: the present one has the largest number.
type volume struct {
	number int64
	path   string // of the present one, or of a rotated one, without ".gz"
	packed bool   // it is compressed
	most   int64  // bytes of it that are read
}

// mostOfPrograms bounds the bytes that are read of a program's log. Its account owns the file, and can make it sparse
// and huge: reading or compressing all of it would take days. The machine's own daemons write all other logs line by
// line.
const mostOfPrograms = 128 << 20

func mostOf(t panel.LogType) int64 {
	if t == panel.LogPHP {
		return mostOfPrograms
	}
	return math.MaxInt64
}

// volumes lists the files of a log, the oldest first; the last is the present one, which may not exist.
func (s *Store) volumes(account string, t panel.LogType) ([]volume, error) {
	entries, err := os.ReadDir(s.Dir(account))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []volume
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), string(t)+".log.")
		if !ok {
			continue
		}
		digits, packed := strings.CutSuffix(rest, ".gz")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 {
			continue
		}
		v := volume{n, s.File(account, t) + "." + digits, packed, mostOf(t)}
		// While one is compressed it exists twice; the plain one is complete.
		if i := slices.IndexFunc(all, func(o volume) bool { return o.number == n }); i >= 0 {
			all[i].packed = false
			continue
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b volume) int { return cmp.Compare(a.number, b.number) })
	last := int64(0)
	if len(all) > 0 {
		last = all[len(all)-1].number
	}
	return append(all, volume{number: last + 1, path: s.File(account, t), most: mostOf(t)}), nil
}

// Rotate rotates the due logs, and compresses the former ones. The next call compresses what is left when ctx ends.
func (s *Store) Rotate(ctx context.Context) error {
	accounts, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	var failed error
	rotated := false
	var former []volume
	for _, a := range accounts {
		for _, t := range panel.LogTypes() {
			if !a.IsDir() || !accountForm.MatchString(a.Name()) {
				continue
			}
			did, before, err := s.rotate(a.Name(), t)
			rotated = rotated || did
			former = append(former, before...)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, fmt.Errorf("logs: %s: %w", s.File(a.Name(), t), err))
			}
		}
	}
	if !rotated {
		return failed
	}
	s.mu.Lock()
	reopen := slices.Clone(s.reopen)
	s.mu.Unlock()
	for _, f := range reopen {
		failed = errors.Join(failed, f())
	}
	for _, v := range former {
		if err := s.pack(ctx, v); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("logs: %s: %w", v.path, err))
		}
	}
	return failed
}

// rotate renames a due log and removes superfluous ones. It returns the earlier ones that are not compressed yet.
func (s *Store) rotate(account string, t panel.LogType) (bool, []volume, error) {
	file := s.File(account, t)
	info, err := os.Lstat(file)
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return false, nil, err
	}
	if info.Size() < s.cfg.Policy.MaxBytes && !s.old(file, t) {
		return false, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.volumes(account, t)
	if err != nil {
		return false, nil, err
	}
	fresh, number := file+".new", all[len(all)-1].number
	if left, err := os.Lstat(fresh); err == nil {
		// A crash happened after the exchange: this is the former log.
		if left.Size() > 0 {
			if err := os.Rename(fresh, file+"."+strconv.FormatInt(number, 10)); err != nil {
				return false, nil, err
			}
			number++
		} else if err := os.Remove(fresh); err != nil {
			return false, nil, err
		}
	}
	uid, gid := owner(info)
	if err := s.create(fresh, uid, gid); err != nil {
		return false, nil, err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, file, unix.RENAME_EXCHANGE); err != nil {
		return false, nil, err
	}
	if err := os.Rename(fresh, file+"."+strconv.FormatInt(number, 10)); err != nil {
		return true, nil, err
	}
	former := all[:len(all)-1]
	for len(former) >= s.cfg.Policy.Keep {
		v := former[0]
		former = former[1:]
		for _, name := range []string{v.path, v.path + ".gz"} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return true, nil, err
			}
		}
	}
	return true, slices.DeleteFunc(former, func(v volume) bool { return v.packed }), nil
}

// old reports whether the first line of a log is old enough for rotation.
func (s *Store) old(file string, t panel.LogType) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	for line := range strings.Lines(string(head[:n])) {
		if parsed, ok := parse(t, strings.TrimSuffix(line, "\n")); ok {
			return s.cfg.Now().Sub(parsed.At) >= s.cfg.Policy.MaxAge
		}
	}
	return false
}

// pack compresses a rotated log; it removes the plain one when the compressed one is complete. Nobody waits for it: a
// log may be very large.
func (s *Store) pack(ctx context.Context, v volume) (err error) {
	path := v.path
	in, out, size, err := s.beginPack(path)
	if err != nil {
		return err
	}
	defer in.Close()
	gz := gzip.NewWriter(out)
	// The customer can append without end.
	_, err = io.Copy(gz, bounded(ctx, in, min(size, v.most)))
	if err = errors.Join(err, gz.Close()); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path+packing))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(path+packing, path+".gz"); err != nil {
		return err
	}
	return os.Remove(path)
}

// packing is the suffix of a file that is being compressed.
const packing = ".gz.tmp"

// beginPack opens a rotated log, and creates the file for its compressed form.
func (s *Store) beginPack(path string) (in, out *os.File, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = in.Close() // was read only
		}
	}()
	info, err := in.Stat()
	if err != nil {
		return nil, nil, 0, err
	}
	tmp := path + packing
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, 0, err
	}
	// The account's group can read it, like the plain one; nobody can write it: otherwise it could become one that
	// unpacks without end.
	_, gid := owner(info)
	if err := s.create(tmp, os.Geteuid(), gid); err != nil {
		return nil, nil, 0, err
	}
	out, err = os.OpenFile(tmp, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	return in, out, info.Size(), err
}

// owner returns the owner of a file.
func owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return os.Geteuid(), os.Getegid()
}

package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

var _ facility.Backuper = (*Driver)(nil)

// mostMoved bounds the bytes of each log that a copy has: the newest files, and the newest lines of the first file that is too large.
const mostMoved = 256 << 20

// BackupPart implements facility.Backuper. Only the copies of moves have this part.
func (*Driver) BackupPart() panel.BackupPart { return panel.PartLogs }

// DumpBackup implements facility.Backuper: one file per log file, named as if the present ones had been rotated.
func (d *Driver) DumpBackup(ctx context.Context, a accounts.Account, dir string) (items int64, err error) {
	all, err := d.store.openAll(a.Name)
	defer func() {
		for _, f := range all {
			_ = f.from.Close() // was read only
		}
	}()
	if err != nil {
		return 0, fmt.Errorf("logs: %w", err)
	}
	for _, f := range all {
		to := filepath.Join(dir, f.name)
		if err := copyFile(ctx, to, f); err != nil {
			return items, fmt.Errorf("logs: copy of %s: %w", f.name, err)
		}
		items++
	}
	return items, nil
}

// opened is a log file to copy.
type opened struct {
	name string
	from *os.File
	skip int64 // older bytes that are left out, with the rest of the line in which they end
	size int64 // of the file, with these
}

// openAll opens the files of all logs of an account, the newest of each log first, so that no rotation renames one of them
// before it is copied.
func (s *Store) openAll(account string) (files []opened, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range panel.LogTypes() {
		all, err := s.volumes(account, t)
		if err != nil {
			return files, err
		}
		budget := int64(mostMoved)
		for _, v := range slices.Backward(all) {
			f, packed, err := open(v)
			if errors.Is(err, fs.ErrNotExist) {
				continue // nothing was written yet
			}
			if err != nil {
				return files, err
			}
			info, err := f.Stat()
			if err != nil {
				return files, errors.Join(err, f.Close())
			}
			size := min(info.Size(), v.most)
			regular, skip := info.Mode().IsRegular() && size > 0, max(0, size-budget)
			if !regular || skip > 0 && (packed || budget == 0) {
				if err := f.Close(); err != nil {
					return files, err
				}
				if regular {
					break
				}
				continue
			}
			budget -= size - skip
			name := string(t) + ".log." + strconv.FormatInt(v.number, 10)
			if packed {
				name += ".gz"
			}
			files = append(files, opened{name: name, from: f, skip: skip, size: size})
		}
	}
	return files, nil
}

func copyFile(ctx context.Context, name string, f opened) (err error) {
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	from := bufio.NewReaderSize(attended{ctx, io.NewSectionReader(f.from, f.skip, f.size-f.skip)}, block)
	for broken := f.skip > 0; broken; {
		_, err := from.ReadSlice('\n')
		if broken = errors.Is(err, bufio.ErrBufferFull); err != nil && !broken && !errors.Is(err, io.EOF) {
			return err
		}
	}
	_, err = io.Copy(to, from)
	return err
}

// movedForm is the name of a file in a dump: log, number, and whether it is compressed.
var movedForm = regexp.MustCompile(`^([a-z]+)\.log\.([1-9][0-9]{0,17})(\.gz)?$`)

// LoadBackup implements facility.Backuper: the files of the dump take the place of the rotated ones, and the present logs
// follow them. It serves accounts that arrive from another machine, and keeps the numbers of the files, so that cursors
// hold. Lines of the dump are not counted as visits: what the other machine has counted is taken over.
func (d *Driver) LoadBackup(ctx context.Context, a accounts.Account, dir string, _ []string) error {
	if !a.Arriving {
		return fmt.Errorf("%w: logs: the account is open", panel.ErrBusy)
	}
	staged, err := d.store.stage(ctx, a.Name, a.User.GID, dir)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	d.counting.Lock()
	defer d.counting.Unlock()
	present, err := d.store.take(a.Name, staged)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	_, err = d.sent.Update(a.Name, func(t *traffic) error {
		t.Volume, t.Offset = present, d.store.Size(a.Name, panel.LogAccess)
		return nil
	})
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

// Of a dump, whatever the machine that made it says.
const mostFiles = 100 // of each log

// arriving follows the name of a file that is not in its place yet.
const arriving = ".arriving"

// stage copies the files of a dump beside those of an account, where nobody reads them, and returns their names.
func (s *Store) stage(ctx context.Context, account string, gid int, dir string) (names []string, err error) {
	if err := s.Prepare(account, 0, gid); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files, size := map[string]int{}, map[string]int64{}
	for _, e := range entries {
		parts := movedForm.FindStringSubmatch(e.Name())
		if parts == nil || !e.Type().IsRegular() || !slices.Contains(panel.LogTypes(), panel.LogType(parts[1])) {
			continue // of a later version
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		if files[parts[1]]++; files[parts[1]] > mostFiles {
			return nil, fmt.Errorf("%w: logs: too many files", panel.ErrInvalid)
		}
		if size[parts[1]] += info.Size(); size[parts[1]] > mostMoved {
			return nil, fmt.Errorf("%w: logs: too large", panel.ErrInvalid)
		}
		if err := s.place(ctx, filepath.Join(dir, e.Name()), filepath.Join(s.Dir(account), e.Name()+arriving), gid); err != nil {
			return nil, err
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// take puts staged files in the place of an account's rotated ones, and returns the number of the present access log.
func (s *Store) take(account string, staged []string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range panel.LogTypes() {
		all, err := s.volumes(account, t)
		if err != nil {
			return 0, err
		}
		for _, v := range all[:len(all)-1] {
			for _, name := range []string{v.path, v.path + ".gz", v.path + packing} {
				if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return 0, err
				}
			}
		}
	}
	for _, name := range staged {
		to := filepath.Join(s.Dir(account), name)
		if err := os.Rename(to+arriving, to); err != nil {
			return 0, err
		}
	}
	all, err := s.volumes(account, panel.LogAccess)
	if err != nil {
		return 0, err
	}
	return all[len(all)-1].number, nil
}

// place copies a file into the store. Nobody writes it any more, so root owns it.
func (s *Store) place(ctx context.Context, from, to string, gid int) (err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an attempt that ended
		return err
	}
	if err := s.create(to, os.Geteuid(), gid); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, bounded(ctx, in, mostMoved)); err != nil {
		return err
	}
	return out.Sync()
}

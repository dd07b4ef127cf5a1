package accounts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts/userdb"
	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// UsersConfig configures the driver with Linux users.
type UsersConfig struct {
	Dir string // absolute; it and all above it are root's and writable by nobody else
	Now func() time.Time
	Log *slog.Logger

	// Prefix stands before the account's name in the name of its user.
	Prefix string
	// UIDMin and UIDMax bound the numbers of users. A number is reused only after all others.
	UIDMin, UIDMax int
	// WebGroup is the group of the web server's workers.
	WebGroup string
	// Shell is the login shell of an account in good standing.
	Shell string
	// Etc is where the user database is; empty is /etc.
	Etc string
	// Shared are directories outside the home in which accounts may leave files; an account's files there are removed
	// when it ends. nil is /tmp, /var/tmp, /dev/shm and the directory for sessions of Debian's PHP.
	Shared []string

	// Limit sets the kernel's limits of the account's user, and Release removes them. nil: the kernel enforces none.
	Limit   func(rec Record) error
	Release func(rec Record) error
}

const noShell = "/usr/sbin/nologin"

// OpenUsers keeps a Linux user per account. It must run as root.
func OpenUsers(cfg UsersConfig) (*Store, error) {
	switch {
	case os.Geteuid() != 0:
		return nil, errors.New("accounts: users can be made by root only")
	case cfg.UIDMin < 1000 || cfg.UIDMax < cfg.UIDMin:
		return nil, fmt.Errorf("accounts: %d to %d is no range of users", cfg.UIDMin, cfg.UIDMax)
	case cfg.Prefix != "" && !prefixForm.MatchString(cfg.Prefix):
		return nil, fmt.Errorf("accounts: %q is no prefix of user names", cfg.Prefix)
	}
	web, err := user.LookupGroup(cfg.WebGroup)
	if err != nil {
		return nil, fmt.Errorf("accounts: the web server's group: %w", err)
	}
	u := &users{cfg: cfg}
	if u.web, err = strconv.Atoi(web.Gid); err != nil {
		return nil, fmt.Errorf("accounts: the web server's group: %w", err)
	}
	if u.cfg.Etc == "" {
		u.cfg.Etc = "/etc"
	}
	if u.cfg.Shared == nil {
		u.cfg.Shared = []string{"/tmp", "/var/tmp", "/dev/shm", "/var/lib/php/sessions"}
	}
	u.db = userdb.Open(u.cfg.Etc)
	return open(cfg.Dir, cfg.Now, cfg.Log, func(s *Store) (ground, error) {
		u.store = s
		return u, u.start()
	})
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`)

// longestUser is the longest name of a user: LOGIN_NAME_MAX of Linux tools.
const longestUser = 32

// reservedNames are the names of users that Debian's packages create, besides those on the machine.
var reservedNames = strings.Fields(`root admin administrator sudo adm operator nobody nogroup postmaster hostmaster webmaster abuse
	mysql mariadb postgres postfix postdrop dovecot dovenull vmail opendkim rspamd clamav sshd ftp ftpd proftpd vsftpd nginx apache www http
	php redis memcache memcached bind named unbound knot nsd pdns restic backup stead polkitd messagebus avahi docker`)

// users is the ground of accounts that have a Linux user.
type users struct {
	store *Store
	cfg   UsersConfig
	db    *userdb.DB
	web   int // number of the web server's group

	next  int // number of the next user; guarded by the store's mu, as reserve is called under it
	known int // lower numbers may be in use, according to the file
}

// ahead is how many numbers are reserved at a time, so that not every account costs a write.
const ahead = 64

func (u *users) counter() string { return filepath.Join(u.store.dir, "state", "next-uid") }

// start reads the number of the next user.
func (u *users) start() error {
	// sshd(8) and the isolation of accounts require this of all directories down to the jails.
	for _, dir := range []string{u.cfg.Dir, filepath.Join(u.cfg.Dir, "accounts")} {
		if err := os.Chown(dir, 0, 0); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // G302: passed by all, listed by nobody
			return err
		}
	}
	for _, dir := range []string{"state", "trash"} {
		if err := os.Chmod(filepath.Join(u.cfg.Dir, dir), 0o700); err != nil { //nolint:gosec // G302: a directory
			return err
		}
	}
	for dir := filepath.Dir(u.cfg.Dir); ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if st.Uid != 0 || st.Mode&0o022 != 0 || st.Mode&0o001 == 0 {
			return fmt.Errorf("%s must be root's, writable by nobody else and passable by all (0711), for accounts to be below it", dir)
		}
		if dir == "/" {
			break
		}
	}
	data, err := os.ReadFile(u.counter())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.next = u.cfg.UIDMin
	case err != nil:
		return err
	default:
		if u.next, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
			return fmt.Errorf("%s: %w", u.counter(), err)
		}
	}
	u.known = u.next
	return nil
}

func (u *users) home(rec Record) string { return filepath.Join(u.store.own(rec), "home") }

func (u *users) userName(name string) string { return u.cfg.Prefix + name }

func (u *users) taken(name string) (bool, error) {
	name = u.userName(name)
	if len(name) > longestUser {
		return false, fmt.Errorf("%w: user name %s is longer than %d letters", panel.ErrInvalid, name, longestUser)
	}
	if slices.Contains(reservedNames, name) {
		return true, nil
	}
	return u.db.Has(name)
}

// reserve gives the record a name and number on the machine.
func (u *users) reserve(rec *Record) error {
	for range u.cfg.UIDMax - u.cfg.UIDMin + 1 {
		id := u.next
		if id < u.cfg.UIDMin || id > u.cfg.UIDMax {
			id = u.cfg.UIDMin
			u.known = id
		}
		u.next = id + 1
		if u.next > u.known {
			u.known = u.next + ahead
			if err := atomicfile.Write(u.counter(), []byte(strconv.Itoa(u.known)+"\n"), 0o600); err != nil {
				return err
			}
		}
		free, err := u.db.Free(id)
		if err != nil {
			return err
		}
		if free && !u.given(id) {
			rec.User = User{Name: u.userName(rec.Name), UID: id, GID: id}
			return nil
		}
	}
	return fmt.Errorf("%w: all numbers of users are in use", panel.ErrLimit)
}

// given reports whether an account has the number, including incomplete ones.
func (u *users) given(id int) bool {
	for _, rec := range u.store.records {
		if rec.User.UID == id {
			return true
		}
	}
	return false
}

// build creates the user and the home. It opens the jail to others last.
func (u *users) build(ctx context.Context, rec Record) error {
	jail := u.store.own(rec)
	if err := u.store.discard(jail); err != nil {
		return err
	}
	if err := os.Mkdir(jail, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(u.home(rec), 0o700); err != nil {
		return err
	}
	if err := u.db.Set(ctx, u.entry(rec)); err != nil {
		if errors.Is(err, userdb.ErrTaken) {
			return fmt.Errorf("%w: %w", panel.ErrExists, err)
		}
		return err
	}
	if err := u.settleHome(rec); err != nil {
		return err
	}
	if err := u.limit(rec); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(u.home(rec)); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(jail); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(jail))
}

func (u *users) entry(rec Record) userdb.User {
	entry := userdb.User{Name: rec.User.Name, ID: rec.User.UID, Home: u.store.own(rec), Shell: u.cfg.Shell, Locked: rec.Suspended}
	if rec.Suspended {
		entry.Shell = noShell
	}
	return entry
}

func (u *users) limit(rec Record) error {
	if u.cfg.Limit == nil {
		return nil
	}
	return u.cfg.Limit(rec)
}

// briefly is how long a suspension waits for the end of an account's processes. A daemon that does not know of it yet,
// such as a PHP pool, restarts them as soon as they are killed.
const briefly = time.Second

// settle implements ground. The processes of a suspended account are ended; see clear.
func (u *users) settle(ctx context.Context, rec Record) error {
	if err := u.db.Set(ctx, u.entry(rec)); err != nil {
		return err
	}
	if err := u.settleHome(rec); err != nil {
		return err
	}
	if err := u.limit(rec); err != nil {
		return err
	}
	if !rec.Suspended {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	if err := killAll(ctx, rec.User.UID); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// clear implements ground.
func (u *users) clear(ctx context.Context, rec Record) error { return killAll(ctx, rec.User.UID) }

// settleHome sets owner and mode of the jail and the home, and creates the directories of Layout. The customer may
// change everything below the home at the same time, so it works on descriptors and follows no link.
func (u *users) settleHome(rec Record) error {
	uid, gid := rec.User.UID, rec.User.GID
	jail, err := openDir(unix.AT_FDCWD, u.store.own(rec))
	if err != nil {
		return err
	}
	defer closeDir(jail)
	home, err := openDir(jail, "home")
	if err != nil {
		return err
	}
	defer closeDir(home)
	if err := own(home, uid, u.web, 0o710); err != nil {
		return err
	}
	for _, l := range Layout {
		group := gid
		if l.Name == PublicHTML {
			group = u.web
		}
		err := unix.Mkdirat(home, l.Name, 0o700)
		if errors.Is(err, unix.EEXIST) && !rootsDir(home, l.Name) {
			continue // its mode is up to the customer
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		dir, err := openDir(home, l.Name)
		if err != nil {
			return err
		}
		err = own(dir, uid, group, l.Mode)
		closeDir(dir)
		if err != nil {
			return err
		}
	}
	return own(jail, 0, gid, 0o751)
}

// rootsDir reports whether a name in a home is a directory of root's: an agent was killed between creating it and
// giving it to the account, which could neither use nor remove it.
func rootsDir(home int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(home, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Uid == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

func closeDir(fd int) { _ = unix.Close(fd) } // nothing was written

// own gives an open directory its owner and mode.
func own(fd, uid, gid int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) != uid || int(st.Gid) != gid {
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return fmt.Errorf("chown: %w", err)
		}
		st.Mode = 0
	}
	if st.Mode&0o7777 != mode {
		if err := unix.Fchmod(fd, mode); err != nil {
			return fmt.Errorf("chmod: %w", err)
		}
	}
	return nil
}

// erase implements ground. The user is removed last: as long as anything of it may be there, its
// number and name are nobody else's.
func (u *users) erase(ctx context.Context, rec Record) error {
	if rec.User.UID < u.cfg.UIDMin || rec.User.UID > u.cfg.UIDMax {
		return fmt.Errorf("%w: user %d of %s is none of this machine's accounts", panel.ErrInternal, rec.User.UID, rec.Ref)
	}
	locked := u.entry(rec)
	locked.Shell, locked.Locked = noShell, true
	if err := u.db.Set(ctx, locked); err != nil && !errors.Is(err, userdb.ErrTaken) {
		return err
	} else if errors.Is(err, userdb.ErrTaken) {
		// The account never got the name: remove nothing else under it.
		return u.store.discard(u.store.own(rec))
	}
	if err := killAll(ctx, rec.User.UID); err != nil {
		return err
	}
	if err := u.clearShared(rec); err != nil {
		return err
	}
	if err := removeIPC(rec.User.UID); err != nil {
		return err
	}
	if err := u.store.discard(u.store.own(rec)); err != nil {
		return err
	}
	if u.cfg.Release != nil {
		if err := u.cfg.Release(rec); err != nil {
			return err
		}
	}
	return u.db.Remove(ctx, rec.User.Name, rec.User.UID)
}

// clearShared removes the account's files in shared directories.
func (u *users) clearShared(rec Record) error {
	for _, spool := range []string{"/var/spool/cron/crontabs/", "/var/mail/"} {
		if err := os.Remove(spool + rec.User.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range u.cfg.Shared {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = removeOwned(root, rec.User.UID)
		if err = errors.Join(err, root.Close()); err != nil {
			return err
		}
	}
	return nil
}

// removeOwned removes what uid owns below root, as deep as an entry has its whole name: what others have nested deeper, to keep a
// deletion busy, is not searched. Directories at the top that others may not enter are left out.
func removeOwned(root *os.Root, uid int) error {
	return tree.Walk(root, func(e *tree.Entry) (enter bool, err error) {
		switch atTop := !strings.Contains(e.Name, "/"); {
		case !e.Whole:
			return false, nil
		case e.Name == ".":
			return true, nil
		case int(e.Stat.Uid) == uid:
			return false, ignoreGone(tree.Remove(root, e.Name, nil))
		default:
			return !atTop || e.Stat.Mode&0o001 != 0, nil
		}
	})
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

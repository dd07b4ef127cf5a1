package mail

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

// added is one AddMail.
type added struct {
	ctx  context.Context
	a    accounts.Account
	root *os.Root // the Maildir
	room int64    // bytes that the mailbox may grow by; below zero: no bound
	dirs map[string]map[string]bool
	done panel.AddedMail
}

// AddMail implements panel.Mail. Everything is written as the account's user, whose quota the kernel counts, through a handle of the
// Maildir.
func (d *Driver) AddMail(ctx context.Context, ref, address string, maildir io.Reader) (panel.AddedMail, error) {
	done, err := d.addMail(ctx, ref, address, maildir)
	return done, panel.Wrap("mail.add", ref, err)
}

func (b book) mailboxOf(ref, address string) (accounts.Account, state, panel.Mailbox, error) {
	a, err := b.accounts(ref)
	if err != nil {
		return a, state{}, panel.Mailbox{}, err
	}
	if a.Suspended {
		return a, state{}, panel.Mailbox{}, panel.ErrSuspended
	}
	if address, _, _, err = panel.MailAddress(address); err != nil {
		return a, state{}, panel.Mailbox{}, err
	}
	s := b.store.Get(a.Name)
	i := s.find(address)
	if i < 0 {
		return a, s, panel.Mailbox{}, fmt.Errorf("%w: mailbox %s", panel.ErrNotFound, address)
	}
	return a, s, s.Boxes[i], nil
}

func (d *Driver) addMail(ctx context.Context, ref, address string, maildir io.Reader) (panel.AddedMail, error) {
	a, s, m, err := d.mailboxOf(ref, address)
	if err != nil {
		return panel.AddedMail{}, err
	}
	used, err := d.measure(ctx, a.Name, s)
	if err != nil {
		return panel.AddedMail{}, err
	}
	w := added{ctx: ctx, a: a, room: -1, dirs: map[string]map[string]bool{}}
	if m.QuotaMB > 0 {
		w.room = max(0, m.QuotaMB<<20-used[m.Address].bytes)
	}
	if err := d.directory(a.Name, s); err != nil {
		return panel.AddedMail{}, err
	}
	account, err := os.OpenRoot(filepath.Join(d.cfg.Store, a.Name))
	if err != nil {
		return panel.AddedMail{}, err
	}
	defer func() { _ = account.Close() }() // each file was synced
	box := path.Join(boxPath(m.Address), "Maildir")
	if err := identity.Do(a, func() error { return account.MkdirAll(box, 0o700) }); err != nil {
		return panel.AddedMail{}, err
	}
	if w.root, err = account.OpenRoot(box); err != nil {
		return panel.AddedMail{}, err
	}
	defer func() { _ = w.root.Close() }() // likewise
	err = w.all(maildir)
	return w.done, err
}

// all adds the entries of a tar.
func (w *added) all(maildir io.Reader) error {
	t := tar.NewReader(maildir)
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			var known panel.Kind
			if errors.As(err, &known) || !errors.Is(err, tar.ErrHeader) {
				return err
			}
			return fmt.Errorf("%w: %w", panel.ErrInvalid, err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		folder, dir, name, ok := placeOf(h.Name)
		if !ok || h.Typeflag != tar.TypeReg {
			w.done.Skipped++
			continue
		}
		if err := identity.Do(w.a, func() error { return w.one(folder, dir, name, h, t) }); err != nil {
			return err
		}
	}
}

var (
	folderForm  = regexp.MustCompile(`^\.[A-Za-z0-9 _&+,~!@#$%^()=';{}\[\]-][ -.0-~]{0,199}$`)
	messageForm = regexp.MustCompile(`^([A-Za-z0-9_+@%=-][A-Za-z0-9_.+@%=-]{0,150})((?:,[A-Z]=[0-9]{1,18}){0,4})(:2,[A-Za-z]{0,40})?$`)
)

// ofFolder are files of a folder beside its messages: which uids they have, and the names of their flags.
var ofFolder = map[string]bool{"dovecot-uidlist": true, "dovecot-keywords": true, "subscriptions": true, "maildirfolder": true}

// placeOf says where an entry of a Maildir belongs; false: it is none.
func placeOf(entry string) (folder, dir, name string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(entry, "./"), "/")
	folder = "."
	if len(parts) > 1 && folderForm.MatchString(parts[0]) && !strings.Contains(parts[0], "..") {
		folder, parts = parts[0], parts[1:]
	}
	switch {
	case len(parts) == 1 && ofFolder[parts[0]]:
		return folder, "", parts[0], true
	case len(parts) == 2 && (parts[0] == "cur" || parts[0] == "new") && messageForm.MatchString(parts[1]):
		return folder, parts[0], parts[1], true
	default:
		return "", "", "", false
	}
}

// one adds a file, as the account's user.
func (w *added) one(folder, dir, name string, h *tar.Header, body io.Reader) error {
	there, err := w.folder(folder)
	if err != nil {
		return err
	}
	if dir == "" {
		return w.aside(path.Join(folder, name), h, body)
	}
	parts := messageForm.FindStringSubmatch(name)
	unique, sizes, flags := parts[1], parts[2], parts[3]
	if there[unique] {
		w.done.There++
		return nil
	}
	if dir == "new" {
		flags = ""
	} else if flags == "" {
		flags = ":2,"
	}
	if i := strings.Index(sizes, ",S="); i >= 0 { // Dovecot believes it
		said, _, _ := strings.Cut(sizes[i+len(",S="):], ",")
		if said != strconv.FormatInt(h.Size, 10) {
			sizes = ""
		}
	}
	if w.room >= 0 && h.Size > w.room {
		return fmt.Errorf("%w: the quota of the mailbox is reached", panel.ErrDiskFull)
	}
	if err := w.write(path.Join(folder, dir, unique+sizes+flags), folder, h, body); err != nil {
		return err
	}
	there[unique] = true
	w.done.Messages++
	w.done.Bytes += h.Size
	if w.room >= 0 {
		w.room -= h.Size
	}
	return nil
}

// folder makes a folder, and lists its messages by the unique part of their names.
func (w *added) folder(folder string) (map[string]bool, error) {
	if there := w.dirs[folder]; there != nil {
		return there, nil
	}
	const mostFolders = 10_000
	if len(w.dirs) == mostFolders {
		return nil, fmt.Errorf("%w: more than %d folders", panel.ErrInvalid, mostFolders)
	}
	there := map[string]bool{}
	for _, dir := range []string{"cur", "new", "tmp"} {
		at := path.Join(folder, dir)
		if err := w.root.MkdirAll(at, 0o700); err != nil {
			return nil, err
		}
		if dir == "tmp" {
			continue
		}
		f, err := w.root.OpenFile(at, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return nil, err
		}
		names, err := f.Readdirnames(-1)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		for _, name := range names {
			unique, _, _ := strings.Cut(name, ":")
			unique, _, _ = strings.Cut(unique, ",")
			there[unique] = true
		}
	}
	w.dirs[folder] = there
	return there, nil
}

// aside adds a file beside the messages, unless there is one.
func (w *added) aside(name string, h *tar.Header, body io.Reader) error {
	const most = 64 << 20
	if _, err := w.root.Lstat(name); err == nil || h.Size > most {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.write(name, ".", h, body)
}

// write writes a file whole, by a name in tmp of its folder.
func (w *added) write(name, folder string, h *tar.Header, body io.Reader) error {
	tmp := path.Join(folder, "tmp", "stead-"+rand.Text())
	f, err := w.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	// Synced, so that a crash leaves no empty message that a second run takes for one that is there.
	if _, err = io.Copy(f, body); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = w.root.Chtimes(tmp, h.ModTime, h.ModTime)
	}
	if err == nil {
		err = w.root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(tmp))
	}
	return nil
}

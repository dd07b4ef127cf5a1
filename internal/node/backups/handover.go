package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

var _ panel.Handover = (*Driver)(nil)

// passport is a panel.Passport: the record of a backup, and the secrets of the places where its streams lie.
type passport struct {
	Task    task              `json:"task"`
	Secrets map[string]string `json:"secrets,omitempty"`
}

func (t task) handles() []string {
	var all []string
	for _, p := range t.Parts {
		all = append(all, p.Handle)
	}
	return all
}

// BackupPassport implements panel.Handover.
func (d *Driver) BackupPassport(_ context.Context, ref, id string) (panel.Passport, error) {
	t, err := d.ofComplete(ref, id)
	of := passport{Task: t}
	if err == nil {
		of.Secrets, err = d.cfg.Store.Lend(ref, t.handles())
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(of)
	}
	return data, panel.Wrap("handover.passport", ref, err)
}

// AdoptBackup implements panel.Handover.
func (d *Driver) AdoptBackup(ctx context.Context, ref string, data panel.Passport) error {
	return panel.Wrap("handover.adopt", ref, d.adopt(ctx, ref, data))
}

// mostPassport is far more than any passport, in bytes.
const mostPassport = 1 << 20

func (d *Driver) adopt(ctx context.Context, ref string, data panel.Passport) error {
	if len(data) > mostPassport {
		return fmt.Errorf("%w: a passport of %d bytes", panel.ErrInvalid, len(data))
	}
	var of passport
	if err := json.Unmarshal(data, &of); err != nil {
		return fmt.Errorf("%w: passport: %w", panel.ErrInvalid, err)
	}
	t := of.Task
	if err := checkAdopted(ref, t); err != nil {
		return err
	}
	if _, err := d.task(ref, t.ID); !errors.Is(err, panel.ErrNotFound) {
		return err
	}
	if err := d.cfg.Store.Borrow(ref, t.handles(), of.Secrets); err != nil {
		return err
	}
	parts := t.Parts
	if a, err := d.cfg.Accounts(ref); err == nil && a.Arriving && t.find(panel.PartLogs) != nil {
		parts = nil // the last copy of a move: customers wait, and the restore reads it whole before it changes anything
	}
	for _, p := range parts {
		if err := d.reachable(ctx, t, p); err != nil {
			return fmt.Errorf("%s: %w", p.Part, err)
		}
	}
	if err := os.MkdirAll(d.dir(ref), 0o700); err != nil {
		return err
	}
	return d.write(t)
}

// checkAdopted judges the record of another machine, which may be in the hands of somebody else: what it names becomes
// names of files and arguments of programs here.
func checkAdopted(ref string, t task) error {
	if !nameForm.MatchString(ref) || t.Ref != ref || checkID(t.ID) != nil || !t.restorable() || len(t.Parts) == 0 {
		return fmt.Errorf("%w: no passport of a complete backup of the account", panel.ErrInvalid)
	}
	seen := map[panel.BackupPart]bool{}
	for _, p := range t.Parts {
		if !slices.Contains(knownParts, p.Part) || seen[p.Part] {
			return fmt.Errorf("%w: part %q", panel.ErrInvalid, p.Part)
		}
		seen[p.Part] = true
	}
	return nil
}

// reachable reads the beginning of a part. The rest is read by checks, and before a restore changes anything.
func (d *Driver) reachable(ctx context.Context, t task, p part) error {
	stream, err := d.cfg.Store.Open(ctx, t.Ref, t.ID, p.Part, p.Handle)
	if err == nil {
		_, err = io.ReadFull(stream, make([]byte, 1))
		_ = stream.Close() // read as far as it was wanted
	}
	if errors.Is(err, errDamaged) || errors.Is(err, io.EOF) {
		// Another machine's store looks like one from which a backup was lost.
		return fmt.Errorf("%w: the backup is not in this machine's store: %s", panel.ErrNotFound, err.Error())
	}
	return err
}

// KeepApart implements panel.Handover.
func (d *Driver) KeepApart(_ context.Context, ref string) error {
	err := checkID(ref)
	if err == nil {
		err = d.cfg.Store.Borrow(ref, nil, nil)
	}
	return panel.Wrap("handover.apart", ref, err)
}

// DisownBackups implements panel.Handover.
func (d *Driver) DisownBackups(_ context.Context, ref string) error {
	return panel.Wrap("handover.disown", ref, d.disown(ref))
}

func (d *Driver) disown(ref string) error {
	if err := checkID(ref); err != nil {
		return err
	}
	if _, err := d.cfg.Accounts(ref); !errors.Is(err, panel.ErrNotFound) {
		return errors.Join(err, fmt.Errorf("%w: the account is here", panel.ErrBusy))
	}
	d.interrupt(ref)
	if err := d.cfg.Store.Return(ref); err != nil {
		return err
	}
	if err := os.Remove(d.suspicion(ref)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(d.dir(ref))
}

// lentDir has the passwords of repositories of other machines, by the names of the repositories.
const lentDir = "lent"

// passwordOf is the password of a repository: of another machine's what it has lent, else this machine's own.
func (s *Restic) passwordOf(in repository) (string, error) {
	text, err := secret.ReadFile(s.own(lentDir, in.name))
	if errors.Is(err, fs.ErrNotExist) {
		return s.Password(in.ref), nil
	}
	return strings.TrimSpace(string(text)), err
}

// giveBack forgets the password of another machine's repository.
func (s *Restic) giveBack(in repository) error {
	err := os.Remove(s.own(lentDir, in.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Lend implements Store: the passwords of the repositories.
func (s *Restic) Lend(ref string, handles []string) (map[string]string, error) {
	lent := map[string]string{}
	for _, h := range handles {
		in, _ := locate(ref, h)
		password, err := s.passwordOf(in)
		if err != nil {
			return nil, err
		}
		lent[in.name] = password
	}
	return lent, nil
}

var (
	snapshotForm = regexp.MustCompile(`^[0-9a-f]{8,64}$`)
	passwordForm = regexp.MustCompile(`^[0-9a-f]{32,128}$`)
)

// Borrow implements Store. The repositories of the other machine come before the present one, as those that were abandoned:
// each goes with the last backup that needs it.
func (s *Restic) Borrow(ref string, handles []string, secrets map[string]string) error {
	var theirs []repository
	for _, h := range handles {
		in, snapshot := locate(ref, h)
		if (in.name != ref && !strings.HasPrefix(in.name, ref+"-")) || !nameForm.MatchString(in.name) ||
			!snapshotForm.MatchString(snapshot) || !passwordForm.MatchString(secrets[in.name]) {
			return fmt.Errorf("%w: handle %q", panel.ErrInvalid, h)
		}
		if !slices.Contains(theirs, in) {
			theirs = append(theirs, in)
		}
	}
	for _, in := range theirs {
		if own, err := s.passwordOf(in); err != nil || own == secrets[in.name] {
			if err != nil {
				return err
			}
			continue // it was this machine's before
		}
		if err := atomicfile.Write(s.own(lentDir, in.name), []byte(secrets[in.name]+"\n"), 0o600); err != nil {
			return err
		}
	}
	all, err := s.repositories(ref)
	if err != nil {
		return err
	}
	_, placed := os.Stat(s.own("places", ref))
	present := all[len(all)-1]
	if placed != nil && !errors.Is(placed, fs.ErrNotExist) {
		return placed
	}
	if placed != nil || slices.Contains(theirs, present) {
		// What has the usual name may be the other machine's.
		all, present = slices.Delete(all, len(all)-1, len(all)), another(ref)
	} else {
		all = all[:len(all)-1]
	}
	for _, in := range theirs {
		if !slices.Contains(all, in) {
			all = append(all, in)
		}
	}
	return s.keepPlaces(ref, append(all, present))
}

// Return implements Store.
func (s *Restic) Return(ref string) error {
	all, err := s.repositories(ref)
	if err != nil {
		return err
	}
	for _, in := range all {
		s.mu.Lock()
		delete(s.made, in)
		s.mu.Unlock()
		if err := os.Remove(s.own("read", in.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.giveBack(in); err != nil {
			return err
		}
	}
	if err := os.Remove(s.own("places", ref)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// The daemons read an account's data in two places: files of its own, and its rows in the databases. The change of an
// account writes its files; passes write the rows, and each pass takes all changes that arrived during the former one.

// pass is one pass over the changed accounts.
type pass struct {
	accounts []string
	done     chan struct{}
	err      error
}

// verifyEvery is how long the databases are assumed to be as written.
const verifyEvery = time.Minute

// publishAccount makes the daemons follow an account's record, and corrects its files.
func (d *Driver) publishAccount(ctx context.Context, account string) error {
	defer d.publishing.Lock(account)()
	s := d.store.Get(account)
	former := d.filesOf(account)
	files, err := d.putFiles(ctx, account, s)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if err := d.publishRows(ctx, account); err != nil {
		return err
	}
	for _, file := range former {
		if slices.Contains(files, file) || d.takenOver(account, file) {
			continue
		}
		if err := remove(file); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(files) == 0 {
		delete(d.files, account)
	} else {
		d.files[account] = files
	}
	return nil
}

func (d *Driver) filesOf(account string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[account]
}

// takenOver reports whether another account now has the mailbox of a reply or of a login that was the account's.
func (d *Driver) takenOver(account, file string) bool {
	var address string
	var ok bool
	switch filepath.Dir(file) {
	case d.replies():
		address, ok = replyOf(filepath.Base(file))
	case d.cfg.loginsDir():
		address, ok = loginOf(filepath.Base(file))
	}
	if !ok {
		return false
	}
	d.routes.mu.RLock()
	defer d.routes.mu.RUnlock()
	return slices.ContainsFunc(d.routes.mailboxes[address], func(o owned) bool { return o.account != account })
}

// publishRows updates the databases by the accounts' records.
func (d *Driver) publishRows(ctx context.Context, accounts ...string) error {
	d.mu.Lock()
	p := d.next
	first := p == nil
	if first {
		p = &pass{done: make(chan struct{})}
		d.next = p
	}
	p.accounts = append(p.accounts, accounts...)
	d.mu.Unlock()
	if !first {
		select {
		case <-p.done:
			return p.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	d.next = nil
	d.mu.Unlock()
	defer close(p.done)
	p.err = d.write(context.WithoutCancel(ctx), p.accounts) // others wait for it, too
	return p.err
}

// write is a pass. Dovecot's databases come first, so that Postfix never accepts mail for what Dovecot does not know
// yet.
func (d *Driver) write(ctx context.Context, accounts []string) error {
	now := d.cfg.Now()
	verify := !d.verified.Add(verifyEvery).After(now) || now.Before(d.verified)
	again := d.incomplete || verify && !d.intact()
	d.incomplete = true
	if !again {
		if err := d.writeChanges(ctx, accounts); err != nil {
			// Whatever is wrong with the databases, the records have their content.
			d.cfg.Log.Warn("the tables of mail are made anew", "error", err)
			again = true
		}
	}
	if again {
		if err := d.writeAll(ctx); err != nil {
			return fmt.Errorf("mail: tables: %w", err)
		}
	}
	d.incomplete = false
	if verify {
		d.verified = now
	}
	if !d.up() {
		clear(d.reload)
		return nil
	}
	if verify {
		if err := d.certify(); err != nil {
			return err
		}
	}
	return d.reloadDaemons(ctx)
}

// reloadDaemons makes the daemons read again what they do not look up each time.
func (d *Driver) reloadDaemons(ctx context.Context) error {
	unread := d.unread().Noted()
	if unread {
		d.reload[daemonDovecot], d.reload[daemonPostfix] = true, true
	}
	var err error
	for _, name := range []string{daemonRspamd, daemonDovecot, daemonPostfix} {
		if !d.reload[name] {
			continue
		}
		failed := d.cfg.Supervisor.Reload(ctx, name)
		if failed == nil {
			delete(d.reload, name)
		}
		err = errors.Join(err, failed)
	}
	if err == nil && unread {
		err = d.unread().Forget()
	}
	return err
}

// intact reports whether nobody has changed what passes write.
func (d *Driver) intact() bool {
	return d.dovecot.intact() && d.postfix.intact()
}

// writeChanges writes the consequences of changed accounts.
func (d *Driver) writeChanges(ctx context.Context, accounts []string) error {
	var changed, domains []string
	slices.Sort(accounts)
	for _, account := range slices.Compact(accounts) {
		former, s := d.routes.states[account], d.store.Get(account)
		if s.empty() {
			s = state{}
		}
		if reflect.DeepEqual(former, s) {
			continue
		}
		changed = append(changed, account)
		domains = slices.Concat(domains, former.Domains, s.Domains)
		d.routes.set(account, s)
	}
	if len(changed) == 0 {
		return nil
	}
	affected := slices.Concat(changed, d.routes.dependants(domains))
	slices.Sort(affected)
	return d.put(ctx, slices.Compact(affected))
}

// open writes the differences between the databases and the records, when an agent starts.
func (d *Driver) open(ctx context.Context) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.incomplete = true
	if err := errors.Join(d.dovecot.open(ctx), d.postfix.open(ctx)); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.cfg.Log.Warn("the tables of mail are made anew", "error", err)
		}
		if err := d.writeAll(ctx); err != nil {
			return fmt.Errorf("mail: tables: %w", err)
		}
		d.incomplete, d.verified = false, d.cfg.Now()
		return nil
	}
	d.index()
	known := map[string]bool{}
	for _, all := range []map[string]digest{d.dovecot.digests, d.postfix.digests} {
		for account := range all {
			known[account] = true
		}
	}
	for account := range d.routes.states {
		known[account] = true
	}
	err := d.put(ctx, slices.Collect(maps.Keys(known)))
	delete(d.reload, daemonPostfix) // unknown former domains do not mean that Postfix must reload
	if err != nil {
		return fmt.Errorf("mail: tables: %w", err)
	}
	d.incomplete, d.verified = false, d.cfg.Now()
	return nil
}

// index rebuilds the index of all records.
func (d *Driver) index() {
	all := d.store.All()
	for account := range d.routes.states {
		if _, ok := all[account]; !ok {
			d.routes.set(account, state{})
		}
	}
	for account, s := range all {
		d.routes.set(account, s)
	}
}

// writeAll creates the databases again.
func (d *Driver) writeAll(ctx context.Context) error {
	d.index()
	dovecot, postfix := map[string][]row{}, map[string][]row{}
	clear(d.domains)
	for account := range d.routes.states {
		dovecot[account], postfix[account] = d.renderAccount(account)
	}
	// Processes that have the former files open read the new ones after a reload.
	if err := d.unread().Note(); err != nil {
		return err
	}
	if err := d.dovecot.create(ctx, dovecot); err != nil {
		return err
	}
	return d.postfix.create(ctx, postfix)
}

// renderAccount makes an account's rows, and records their other consequences.
func (d *Driver) renderAccount(account string) (dovecot, postfix []row) {
	r := d.cfg.render(d.routes, account, d.routes.states[account])
	led := digestOf(slices.DeleteFunc(slices.Clone(r.postfix), func(r row) bool {
		return r.values[0] != tableDomains && r.values[0] != tableElsewhere && r.values[0] != tableTransports
	}))
	if led != d.domains[account] {
		// Postfix caches lookups for half a minute; until then it would refuse mail for a new domain.
		d.reload[daemonPostfix] = true
	}
	if d.domains[account] = led; led == (digest{}) {
		delete(d.domains, account)
	}
	return r.dovecot, r.postfix
}

// put writes the changed rows of accounts.
func (d *Driver) put(ctx context.Context, accounts []string) error {
	dovecot, postfix := map[string][]row{}, map[string][]row{}
	for _, account := range accounts {
		dovecot[account], postfix[account] = d.renderAccount(account)
	}
	if err := d.dovecot.replace(ctx, dovecot); err != nil {
		return err
	}
	return d.postfix.replace(ctx, postfix)
}

// keyFile is the file of a key. Another key of the domain has another file.
func (d *Driver) keyFile(domain string, k key) string {
	return filepath.Join(d.cfg.keysDir(), domain+"."+k.Selector)
}

func (d *Driver) submits() string { return filepath.Join(d.cfg.Dir, "submit") }
func (d *Driver) replies() string { return filepath.Join(d.cfg.Dir, "replies") }

// Extensions of the files of a reply: the script, and its compiled form.
const script, compiled = ".sieve", ".svbin"

// replyOf returns the mailbox of a reply's file.
func replyOf(name string) (address string, ok bool) {
	if address, ok = strings.CutSuffix(name, script); ok {
		return address, true
	}
	return strings.CutSuffix(name, compiled)
}

// putFiles writes the changed files of an account, and returns all files that it should have.
func (d *Driver) putFiles(ctx context.Context, account string, s state) (files []string, err error) {
	for _, domain := range s.mailDomains() {
		k, ok := s.Keys[domain]
		if !ok {
			continue
		}
		file := d.keyFile(domain, k)
		files = append(files, file)
		_, failed := replace(file, []byte(k.Private), 0o640, 0, d.ids.rspamdGID)
		err = errors.Join(err, failed)
	}
	logins, failed := s.logins(account)
	err = errors.Join(err, failed)
	for name, content := range logins {
		file := filepath.Join(d.cfg.loginsDir(), stateName(name))
		files = append(files, file)
		_, failed := replace(file, content, 0o640, 0, d.ids.rspamdGID)
		err = errors.Join(err, failed)
	}
	if l, ok := d.cfg.submit(account, s); ok {
		file := filepath.Join(d.submits(), strconv.Itoa(s.UID))
		files = append(files, file)
		content, failed := l.file()
		if failed == nil {
			_, failed = replace(file, content, 0o640, 0, s.GID)
		}
		err = errors.Join(err, failed)
	}
	if len(s.Boxes) > 0 {
		err = errors.Join(err, d.directory(account, s))
	}
	for address, r := range s.replies() {
		file := filepath.Join(d.replies(), address)
		files = append(files, file+script, file+compiled)
		err = errors.Join(err, d.putReply(ctx, file, r))
	}
	return files, err
}

// putReply writes a changed script, compiled by Sieve's own compiler, which also checks it.
func (d *Driver) putReply(ctx context.Context, file string, r reply) error {
	old, err := os.ReadFile(file + script)
	_, missing := os.Stat(file + compiled)
	if err == nil && missing == nil && string(old) == r.script {
		return nil
	}
	if err := atomicfile.WriteOwned(file+".new"+script, []byte(r.script), 0o640, 0, r.gid); err != nil {
		return err
	}
	compile := func(script string) error {
		return run(ctx, nil, "/usr/bin/sievec", "-c", d.conf("dovecot.conf"), script)
	}
	if err := compile(file + ".new" + script); err != nil {
		return errors.Join(err, os.Remove(file+".new"+script))
	}
	// The compiled form is used only when it is newer than the script, in seconds, and contains the script's name; so
	// it is compiled again in its place.
	made := d.cfg.Now().Add(-time.Minute)
	err = os.Chtimes(file+".new"+script, made, made)
	if err == nil {
		err = os.Rename(file+".new"+script, file+script)
	}
	if err == nil {
		err = compile(file + script)
	}
	if err == nil {
		err = os.Chown(file+compiled, 0, r.gid)
	}
	if err == nil {
		err = os.Chmod(file+compiled, 0o640) //nolint:gosec // the account reads it by its group
	}
	if err == nil {
		err = remove(file + ".new" + compiled)
	}
	return err
}

// openFiles writes the files of all accounts when an agent starts. A failure of one account does not delay others: it
// is tried again when the account is applied.
func (d *Driver) openFiles(ctx context.Context) {
	for account, s := range d.store.All() {
		files, err := d.putFiles(ctx, account, s)
		if err != nil {
			d.cfg.Log.Error("an account's files of mail cannot be written", "account", account, "error", err)
		}
		d.mu.Lock()
		d.files[account] = files
		d.mu.Unlock()
	}
}

// sweep removes files that belong to no account, and the tables of a former version, when an agent starts.
func (d *Driver) sweep() error {
	wanted := map[string]bool{}
	for _, path := range []string{d.dovecot.path, d.postfix.path} {
		wanted[path], wanted[path+"-journal"] = true, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, files := range d.files {
		for _, file := range files {
			wanted[file] = true
		}
	}
	for _, dir := range []string{d.cfg.keysDir(), d.cfg.loginsDir(), d.submits(), d.replies(), filepath.Dir(d.dovecot.path)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if file := filepath.Join(dir, e.Name()); !wanted[file] {
				if err := os.Remove(file); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

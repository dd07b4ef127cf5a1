package php

import (
	"cmp"
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
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/keylock"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// Logs locates the logs of accounts; see package logs.
type Logs interface {
	File(account string, t panel.LogType) string
	Prepare(account string, uid, gid int, types ...panel.LogType) error
}

// Config configures the driver.
type Config struct {
	Dir        string // of PHP's own files; absolute, of plain letters, short: sockets are below it
	State      string // where the records are
	Logs       Logs
	Supervisor daemon.Supervisor
	Now        func() time.Time
	Log        *slog.Logger
	WebUser    string // who opens the sockets; empty is www-data
	Programs   string // where php-fpm8.2 and the like are; empty is /usr/sbin
	Commands   string // where php8.2 and the like are; empty is /usr/bin
	Pause      time.Duration
	// Sendmail is the command, with arguments, by which an account's programs send mail. Where the machine has no mail it is
	// nil, and PHP's mail() fails.
	Sendmail func(a accounts.Account) string
}

// settings is the stored record of an account.
type settings struct {
	panel.PHPSettings
	// Served is the version that the web server used last: its pool stays until another one serves.
	Served string `json:"served,omitempty"`
	// Master is the number of the master that has its pool, of any version; zero before the first.
	Master int `json:"master,omitempty"`
}

// Driver is the facility.
type Driver struct {
	cfg      Config
	lookup   facility.Lookup
	records  *record.Store[settings]
	versions []*version // the oldest first
	webGID   int
	changing keylock.Locks

	perMaster int
	placing   sync.Mutex
	placed    map[int]int // accounts by master

	// apply has all facilities and the web server serve the account again; see Follow.
	apply func(ctx context.Context, ref string) error
}

var (
	_ panel.PHP            = (*Driver)(nil)
	_ facility.Facility    = (*Driver)(nil)
	_ facility.Starter     = (*Driver)(nil)
	_ facility.Stopper     = (*Driver)(nil)
	_ facility.Interpreter = (*Driver)(nil)
)

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// socketMost is the longest path of a socket (unix(7)).
const socketMost = 107

// Open makes the driver for the installed versions. None is an error: see Installed.
func Open(cfg Config, lookup facility.Lookup) (*Driver, error) {
	cfg.WebUser, cfg.Programs = cmp.Or(cfg.WebUser, "www-data"), cmp.Or(cfg.Programs, "/usr/sbin")
	cfg.Commands = cmp.Or(cfg.Commands, "/usr/bin")
	cfg.Pause = cmp.Or(cfg.Pause, time.Second)
	if !plainPath.MatchString(cfg.Dir) {
		return nil, fmt.Errorf("php: %q cannot be a directory of PHP's", cfg.Dir)
	}
	d := &Driver{cfg: cfg, lookup: lookup, perMaster: perMaster, placed: map[int]int{}}
	names, err := installed(cfg.Programs)
	if err != nil {
		return nil, fmt.Errorf("php: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("php: no php-fpm is installed in %s", cfg.Programs)
	}
	for _, name := range names {
		d.versions = append(d.versions, &version{
			driver: d, name: name, program: filepath.Join(cfg.Programs, "php-fpm"+name), dir: filepath.Join(cfg.Dir, name),
		})
	}
	if d.records, err = record.Open[settings](filepath.Join(cfg.State, "php")); err != nil {
		return nil, fmt.Errorf("php: %w", err)
	}
	for _, s := range d.records.All() {
		d.placed[s.Master]++
	}
	group, err := user.LookupGroup(cfg.WebUser)
	if err == nil {
		d.webGID, err = strconv.Atoi(group.Gid)
	}
	if err != nil {
		return nil, fmt.Errorf("php: %w", err)
	}
	return d, nil
}

// Installed reports whether any PHP is installed.
func Installed() bool {
	names, err := installed("/usr/sbin")
	return err == nil && len(names) > 0
}

// Follow registers apply, to be called when an account's socket changes.
func (d *Driver) Follow(apply func(ctx context.Context, ref string) error) { d.apply = apply }

// Capability implements facility.Facility.
func (d *Driver) Capability() panel.Capability { return panel.CapPHP }

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) error {
	run := filepath.Join(d.cfg.Dir, "run")
	if err := os.MkdirAll(run, 0o710); err != nil {
		return err
	}
	// Only the web server's workers can reach the sockets.
	err := os.Chown(run, 0, d.webGID)
	for _, dir := range []string{d.cfg.Dir, run} {
		err = errors.Join(err, os.Chmod(dir, map[bool]fs.FileMode{true: 0o710, false: 0o711}[dir == run]))
	}
	if err != nil {
		return err
	}
	for _, v := range d.versions {
		if err := v.prepare(ctx); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		belongs := func(account string, number int) bool { return d.records.Get(account).Master == number }
		if err := v.resume(ctx, belongs); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	// A crash may have come between serving another version and removing the former pool.
	for name, s := range d.records.All() {
		if s.Served != "" {
			if _, err := d.records.Update(name, func(s *settings) error { s.Served = ""; return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(ctx context.Context) error {
	var err error
	for _, v := range d.versions {
		numbers, failed := v.numbers()
		err = errors.Join(err, failed)
		for _, n := range numbers {
			err = errors.Join(err, d.cfg.Supervisor.Stop(ctx, v.daemonName(n)))
		}
	}
	return err
}

// PHPVersions implements panel.Interpreters.
func (d *Driver) PHPVersions() []string {
	names := make([]string, len(d.versions))
	for i, v := range d.versions {
		names[i] = v.name
	}
	return names
}

// usual is the default version: the newest.
func (d *Driver) usual() *version { return d.versions[len(d.versions)-1] }

// version returns an account's version. For one that is no longer installed it is the next newer one.
func (d *Driver) version(name string) *version {
	if name == "" {
		return d.usual()
	}
	for _, v := range d.versions {
		if panel.ComparePHPVersions(v.name, name) >= 0 {
			return v
		}
	}
	return d.usual()
}

// effective returns the settings without what the version does not have.
func (v *version) effective(s panel.PHPSettings) panel.PHPSettings {
	s.Extensions = slices.DeleteFunc(slices.Clone(s.Extensions), func(name string) bool { return !slices.Contains(v.optional, name) })
	return s
}

// Apply implements facility.Facility.
func (d *Driver) Apply(ctx context.Context, a accounts.Account) error {
	s, err := d.place(a.Name)
	if err != nil {
		return err
	}
	if err := d.cfg.Logs.Prepare(a.Name, a.User.UID, a.User.GID, panel.LogPHP); err != nil {
		return err
	}
	wanted := d.version(s.Version)
	if len(wanted.socket(a.Name)) > socketMost {
		return fmt.Errorf("%w: the path of the socket of %s is too long", panel.ErrInternal, a.Name)
	}
	for _, v := range d.versions {
		var err error
		if !a.Suspended && (v == wanted || v.name == s.Served) {
			err = v.set(ctx, a.Name, s.Master, v.pool(a, v.effective(s.PHPSettings)))
		} else {
			err = v.remove(ctx, a.Name, s.Master)
		}
		if err != nil {
			return fmt.Errorf("PHP %s: %w", v.name, err)
		}
	}
	return nil
}

// place returns the record of an account with its master: the first one with room when it is placed, and the same
// afterwards.
func (d *Driver) place(name string) (settings, error) {
	d.placing.Lock()
	defer d.placing.Unlock()
	if s := d.records.Get(name); s.Master != 0 {
		return s, nil
	}
	number := 1
	for d.placed[number] >= d.perMaster {
		number++
	}
	s, err := d.records.Update(name, func(s *settings) error { s.Master = number; return nil })
	if err == nil {
		d.placed[number]++
	}
	return s, err
}

// forget removes the record of an account and releases its place.
func (d *Driver) forget(name string) error {
	d.placing.Lock()
	defer d.placing.Unlock()
	number := d.records.Get(name).Master
	if err := d.records.Delete(name); err != nil {
		return err
	}
	if number != 0 {
		d.placed[number]--
	}
	return nil
}

// Remove implements facility.Facility.
func (d *Driver) Remove(ctx context.Context, a accounts.Account) error {
	number := d.records.Get(a.Name).Master
	for _, v := range d.versions {
		if err := v.remove(ctx, a.Name, number); err != nil {
			return err
		}
		if err := os.Remove(v.socket(a.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.forget(a.Name)
}

// Socket implements facility.Interpreter.
func (d *Driver) Socket(a accounts.Account) string {
	if a.Suspended {
		return ""
	}
	return d.version(d.records.Get(a.Name).Version).socket(a.Name)
}

// PHPSettings implements panel.PHP.
func (d *Driver) PHPSettings(_ context.Context, ref string) (panel.PHPState, error) {
	a, err := d.lookup(ref)
	if err != nil {
		return panel.PHPState{}, panel.Wrap("php.get", ref, err)
	}
	return d.state(d.records.Get(a.Name).PHPSettings), nil
}

func (d *Driver) state(s panel.PHPSettings) panel.PHPState {
	v := d.version(s.Version)
	s = v.effective(s)
	s.Version = v.name
	state := panel.PHPState{PHPSettings: s, Choice: map[string][]panel.PHPExtension{}}
	for _, other := range d.versions {
		state.Versions = append(state.Versions, other.name)
		state.Choice[other.name] = other.choice(s.Extensions)
	}
	return state
}

// SetPHPSettings implements panel.PHP.
func (d *Driver) SetPHPSettings(ctx context.Context, ref string, s panel.PHPSettings) (panel.PHPState, error) {
	state, err := d.set(ctx, ref, s)
	return state, panel.Wrap("php.set", ref, err)
}

func (d *Driver) set(ctx context.Context, ref string, s panel.PHPSettings) (panel.PHPState, error) {
	defer d.changing.Lock(ref)()
	a, err := d.lookup(ref)
	if err == nil && a.Suspended {
		err = fmt.Errorf("%w: account %s", panel.ErrSuspended, ref)
	}
	if err == nil {
		s, err = s.Canonical()
	}
	if err != nil {
		return panel.PHPState{}, err
	}
	v := d.usual()
	if s.Version != "" {
		if v = d.version(s.Version); v.name != s.Version {
			return panel.PHPState{}, fmt.Errorf("%w: PHP %s is not installed", panel.ErrUnsupported, s.Version)
		}
	}
	for _, name := range s.Extensions {
		if !slices.Contains(v.optional, name) {
			return panel.PHPState{}, fmt.Errorf("%w: extension %q of PHP %s cannot be switched on", panel.ErrInvalid, name, v.name)
		}
	}
	before := d.records.Get(a.Name)
	former := d.version(before.Version)
	_, err = d.records.Update(a.Name, func(now *settings) error {
		now.PHPSettings, now.Served = s, ""
		if former != v {
			now.Served = former.name
		}
		return nil
	})
	if err != nil {
		return panel.PHPState{}, err
	}
	if err := d.serve(ctx, a); err != nil {
		// Restore the former settings: the customer is told of a failure, so the change must not happen later.
		_, back := d.records.Update(a.Name, func(now *settings) error {
			now.PHPSettings, now.Served = before.PHPSettings, before.Served
			return nil
		})
		return panel.PHPState{}, errors.Join(err, back)
	}
	if former == v {
		return d.state(s), nil
	}
	if _, err := d.records.Update(a.Name, func(now *settings) error { now.Served = ""; return nil }); err != nil {
		return panel.PHPState{}, err
	}
	return d.state(s), d.Apply(ctx, a)
}

// serve has the account served with its present settings.
func (d *Driver) serve(ctx context.Context, a accounts.Account) error {
	if d.apply != nil {
		return d.apply(ctx, a.Ref)
	}
	return d.Apply(ctx, a)
}

// Reloads counts the reloads of masters.
func (d *Driver) Reloads() int {
	n := 0
	for _, v := range d.versions {
		v.mu.Lock()
		for _, m := range v.masters {
			m.mu.Lock()
			n += m.reloads
			m.mu.Unlock()
		}
		v.mu.Unlock()
	}
	return n
}

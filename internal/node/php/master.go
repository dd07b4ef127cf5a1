package php

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/port/panel"
)

// perMaster is the number of accounts of a master. A master reads all its pools again when one changes, about two
// milliseconds each; a further master takes about ten megabytes.
const perMaster = 20

// base is the pool that a master needs when no account has one; it answers which configuration the master has. No
// account has that name.
const base = "_stead"

// master is a PHP-FPM with the pools of some accounts.
type master struct {
	version *version
	number  int // from 1
	dir     string
	files   *daemon.Files

	mu         sync.Mutex
	generation int64
	reloads    int
}

// daemonName is the master's name for the supervisor.
func (v *version) daemonName(number int) string { return fmt.Sprintf("php%s-fpm-%d", v.name, number) }

func (m *master) daemonName() string { return m.version.daemonName(m.number) }

func (m *master) file(names ...string) string {
	return filepath.Join(append([]string{m.dir}, names...)...)
}

// control is the socket of the base pool.
func (m *master) control() string { return m.version.socket(fmt.Sprintf("%s-%d", base, m.number)) }

// numbers are the masters with a directory, in no order.
func (v *version) numbers() ([]int, error) {
	entries, err := os.ReadDir(v.file("masters"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all, nil
}

// startsAtOnce bounds the masters that are started or adopted at a time. Each may wait for running requests, for
// graceful: one after the other, those of a full machine would block the agent for minutes.
const startsAtOnce = 16

// resume starts the masters that have pools, and ends those without. belongs reports whether an account's pool is in
// the right one. One that does not start does not prevent the others.
func (v *version) resume(ctx context.Context, belongs func(account string, number int) bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	numbers, err := v.numbers()
	if err != nil {
		return err
	}
	all, failed := make([]*master, len(numbers)), make([]error, len(numbers))
	atonce.Each(len(numbers), startsAtOnce, func(i int) {
		all[i], failed[i] = v.resumeOne(ctx, numbers[i], belongs)
	})
	v.masters = map[int]*master{}
	for _, m := range all {
		if m != nil {
			v.masters[m.number] = m
		}
	}
	return errors.Join(failed...)
}

// resumeOne returns the running master of a number; nil when it has no pools.
func (v *version) resumeOne(ctx context.Context, number int, belongs func(account string, number int) bool) (*master, error) {
	m, err := v.open(number)
	if err != nil {
		return nil, err
	}
	names, err := m.files.Names()
	if err != nil {
		return nil, err
	}
	pools := 0
	for _, name := range names {
		if belongs(strings.TrimSuffix(name, ".conf"), number) {
			pools++
		} else if err := os.Remove(m.file("pools", name)); err != nil { // otherwise two masters would use one socket
			return nil, err
		}
	}
	if pools == 0 {
		return nil, v.driver.cfg.Supervisor.Stop(ctx, m.daemonName())
	}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// running returns the master of a number; nil when none runs, which means that no account has a pool in it.
func (v *version) running(number int) (*master, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.masters == nil {
		return nil, fmt.Errorf("%w: PHP %s has not started", panel.ErrUnreachable, v.name)
	}
	return v.masters[number], nil
}

// ensure returns the master of a number, and starts it if needed.
func (v *version) ensure(ctx context.Context, number int) (*master, error) {
	if m, err := v.running(number); m != nil || err != nil {
		return m, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if m := v.masters[number]; m != nil { // started meanwhile
		return m, nil
	}
	m, err := v.open(number)
	if err == nil {
		err = m.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	v.masters[number] = m
	return m, nil
}

// set creates or changes an account's pool in a master.
func (v *version) set(ctx context.Context, account string, number int, pool []byte) error {
	m, err := v.ensure(ctx, number)
	if err != nil {
		return err
	}
	return m.files.Apply(ctx, map[string][]byte{account + ".conf": pool})
}

// remove removes an account's pool, if it has one.
func (v *version) remove(ctx context.Context, account string, number int) error {
	m, err := v.running(number)
	if m == nil || err != nil {
		return err
	}
	return m.files.Apply(ctx, map[string][]byte{account + ".conf": nil})
}

// open prepares the directory of a master.
func (v *version) open(number int) (*master, error) {
	m := &master{version: v, number: number, dir: v.file("masters", strconv.Itoa(number)), generation: v.driver.cfg.Now().UnixNano()}
	for _, dir := range []string{v.file("masters"), m.dir} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return nil, err
		}
	}
	web := v.driver.cfg.WebUser
	conf := fmt.Sprintf(masterConf, m.dir, m.dir, base, web, web, m.control(), web, web, m.dir, m.dir)
	if err := atomicfile.Write(m.file("php-fpm.conf"), []byte(conf), 0o644); err != nil {
		return nil, err
	}
	if err := m.writeGeneration(); err != nil {
		return nil, err
	}
	var err error
	m.files, err = daemon.OpenFiles(daemon.FilesConfig{
		Dir: m.file("pools"), Mode: 0o600, Pause: v.driver.cfg.Pause, Log: v.driver.cfg.Log, Check: m.check, Reload: m.load,
	})
	return m, err
}

// start starts the master with the present files.
func (m *master) start(ctx context.Context) error {
	s := m.version.driver.cfg.Supervisor
	adopted := s.PID(m.daemonName()) != 0
	err := s.Ensure(ctx, daemon.Spec{
		Name:    m.daemonName(),
		Command: []string{m.version.program, "--nodaemonize", "--fpm-config", m.file("php-fpm.conf"), "-c", m.version.file("php.ini")},
		Env:     m.version.environment(), HideProcesses: true, Confine: true, PIDFile: m.file("fpm.pid"),
		Reload: syscall.SIGUSR2, Stop: syscall.SIGQUIT, StopTimeout: 2 * graceful,
		Ready: func(ctx context.Context) error {
			_, err := m.serving(ctx)
			return err
		},
	})
	if err != nil || !adopted {
		return err
	}
	return m.files.Reload(ctx)
}

// check runs PHP-FPM's own check of the present files.
func (m *master) check(ctx context.Context, _ []string) error {
	_, err := m.version.run(ctx, "--test", "--fpm-config", m.file("php-fpm.conf"))
	return err
}

// load makes the master read its configuration again, and returns when it serves with it.
func (m *master) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*graceful)
	defer cancel()
	m.mu.Lock()
	m.generation++
	m.reloads++
	want := m.generation
	err := m.writeGeneration()
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if err := m.version.driver.cfg.Supervisor.Reload(ctx, m.daemonName()); err != nil {
		return err
	}
	for {
		now, err := m.serving(ctx)
		if err == nil && now == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not take over its configuration: %w", m.daemonName(), ctx.Err()), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (m *master) writeGeneration() error {
	return atomicfile.Write(m.file("generation.conf"), fmt.Appendf(nil, "ping.path = /ping\nping.response = %d\n", m.generation), 0o644)
}

// serving asks the master which configuration it has.
func (m *master) serving(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*graceful)
	defer cancel()
	out, err := ask(ctx, m.control(), map[string]string{"SCRIPT_NAME": "/ping", "SCRIPT_FILENAME": "/ping", "REQUEST_METHOD": "GET", "QUERY_STRING": ""})
	if err != nil {
		return 0, err
	}
	_, body, _ := bytes.Cut(out, []byte("\r\n\r\n"))
	return strconv.ParseInt(string(bytes.TrimSpace(body)), 10, 64)
}

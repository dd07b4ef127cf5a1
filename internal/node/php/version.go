package php

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// always are the extensions that the masters load for everybody when they are installed, in the order of their
// dependences.
var always = []string{
	"mysqlnd", "pdo", "calendar", "ctype", "curl", "dom", "exif", "fileinfo", "gd", "gettext", "iconv", "igbinary", "intl", "mbstring",
	"mysqli", "pdo_mysql", "pgsql", "pdo_pgsql", "phar", "posix", "simplexml", "sqlite3", "pdo_sqlite", "tokenizer", "xml", "xmlreader",
	"xmlwriter", "xsl", "zip", "bcmath", "gmp", "soap",
}

// never are those that no program gets: FFI can call any code of the process, which holds its pool's socket and the
// cache that all pools share; the others are debuggers and cannot be loaded by a pool.
var never = []string{"ffi", "opcache", "xdebug", "pcov", "dl_test", "zend_test"}

// version is an installed PHP.
type version struct {
	driver  *Driver
	name    string // "8.2"
	program string
	dir     string

	builtIn  []string // names of extensions that every program has
	loaded   []string // those of them that the master loads from a file
	optional []string // those that a pool can load

	mu      sync.Mutex      // held while a master starts
	masters map[int]*master // the running ones; nil before resume
}

var programName = regexp.MustCompile(`^php-fpm([0-9]+\.[0-9]+)$`)

// installed finds the versions in a directory of programs.
func installed(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if match := programName.FindStringSubmatch(e.Name()); match != nil {
			names = append(names, match[1])
		}
	}
	slices.SortFunc(names, panel.ComparePHPVersions)
	return names, nil
}

// Newest is the program of the newest PHP-FPM in a directory.
func Newest(dir string) (program string, err error) {
	names, err := installed(dir)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no php-fpm is installed in %s", dir)
	}
	if err != nil {
		return "", fmt.Errorf("php: %w", err)
	}
	return filepath.Join(dir, "php-fpm"+names[len(names)-1]), nil
}

func (v *version) file(names ...string) string {
	return filepath.Join(append([]string{v.dir}, names...)...)
}

// socket is the socket of an account's pool.
func (v *version) socket(account string) string {
	return filepath.Join(v.driver.cfg.Dir, "run", account+"-"+v.name+".sock")
}

// run runs the program with the machine's configuration instead of Debian's.
func (v *version) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, v.program, append([]string{"-c", v.file("php.ini")}, args...)...) //nolint:gosec // G204: the machine's own
	cmd.Env, cmd.Dir = v.environment(), "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(v.program), err, bytes.TrimSpace(out))
	}
	return string(out), err
}

func (v *version) environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "TZ=UTC", "LANG=C.UTF-8", "PHP_INI_SCAN_DIR=" + v.file("ini.d")}
}

// prepare writes the common files and finds the available extensions.
func (v *version) prepare(ctx context.Context) error {
	for _, dir := range []string{v.dir, v.file("ini.d")} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(v.file("php.ini"), []byte(phpINI), 0o644); err != nil {
		return err
	}
	return v.findExtensions(ctx)
}

// findExtensions asks PHP for its extensions, and tries the optional ones.
func (v *version) findExtensions(ctx context.Context) error {
	if err := os.RemoveAll(v.file("ini.d")); err != nil {
		return err
	}
	if err := os.Mkdir(v.file("ini.d"), 0o755); err != nil {
		return err
	}
	dir, err := ExtensionDir(ctx, v.program)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var shared []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".so"); ok {
			shared = append(shared, name)
		}
	}
	ini := ""
	v.loaded = nil
	for _, name := range always {
		if slices.Contains(shared, name) {
			ini += "extension=" + name + "\n"
			v.loaded = append(v.loaded, name)
		}
	}
	if slices.Contains(shared, "opcache") { // before 8.5; since then it is always there
		ini = "zend_extension=opcache\n" + ini
	}
	if err := atomicfile.Write(v.file("ini.d", "10-always.ini"), []byte(ini), 0o644); err != nil {
		return err
	}
	out, err := v.run(ctx, "-m")
	if err != nil {
		return err
	}
	if strings.Contains(out, "Warning") {
		return fmt.Errorf("PHP %s does not load its extensions: %s", v.name, out)
	}
	v.builtIn, v.optional = nil, nil
	for line := range strings.Lines(out) {
		name := strings.ToLower(strings.TrimSpace(line))
		if name == "" || strings.HasPrefix(name, "[") || name == "cgi-fcgi" {
			continue
		}
		if name == "zend opcache" {
			name = "opcache"
		}
		v.builtIn = append(v.builtIn, name)
	}
	slices.Sort(v.builtIn)
	v.builtIn = slices.Compact(v.builtIn)
	for _, name := range shared {
		if slices.Contains(never, name) || slices.Contains(v.builtIn, name) || slices.Contains(v.loaded, name) {
			continue
		}
		if out, err := v.run(ctx, "-d", "extension="+name, "-m"); err == nil && !strings.Contains(out, "Warning") && !strings.Contains(out, "Error") {
			v.optional = append(v.optional, name)
		}
	}
	return nil
}

// ExtensionDir is the directory of the extensions of a PHP-FPM.
func ExtensionDir(ctx context.Context, program string) (string, error) {
	cmd := exec.CommandContext(ctx, program, "-n", "-i")
	cmd.Env, cmd.Dir = []string{"LANG=C.UTF-8"}, "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, bytes.TrimSpace(out))
	}
	match := extensionDir.FindSubmatch(out)
	if match == nil {
		return "", errors.New("PHP does not say where its extensions are")
	}
	return string(match[1]), nil
}

var extensionDir = regexp.MustCompile(`(?m)^extension_dir => (\S+)`)

// choice returns the version's extensions, with those in enabled switched on.
func (v *version) choice(enabled []string) []panel.PHPExtension {
	var all []panel.PHPExtension
	for _, name := range v.builtIn {
		all = append(all, panel.PHPExtension{Name: name, State: panel.PHPBuiltIn})
	}
	for _, name := range v.optional {
		state := panel.PHPDisabled
		if slices.Contains(enabled, name) {
			state = panel.PHPEnabled
		}
		all = append(all, panel.PHPExtension{Name: name, State: state})
	}
	slices.SortFunc(all, func(a, b panel.PHPExtension) int { return strings.Compare(a.Name, b.Name) })
	return all
}

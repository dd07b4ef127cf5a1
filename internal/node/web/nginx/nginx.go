package nginx

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Name is the daemon's name for the supervisor.
const Name = "nginx"

// Program is nginx as Debian installs it.
const Program = "/usr/sbin/nginx"

// Logs locates the logs of accounts; see package logs.
type Logs interface {
	// File is the path of a log.
	File(account string, t panel.LogType) string
	// Prepare creates an account's missing logs, owned by uid and readable by gid.
	Prepare(account string, uid, gid int, types ...panel.LogType) error
}

// Config configures the server.
type Config struct {
	Dir        string // of nginx's own files; absolute, of plain letters
	ACME       string // directory with the answers to challenges, one file each, named by its token
	Logs       Logs
	Supervisor daemon.Supervisor
	Now        func() time.Time
	Log        *slog.Logger

	// MailSettings is the socket of what answers mail programs that ask for their settings; empty is none. MailNames are the
	// names below a domain with mailboxes at which they ask.
	MailSettings string
	MailNames    func(domain string) []string

	// Adminer is the socket of what opens databases in browsers, at addresses of the machine's own; empty is none.
	Adminer string
	// OwnName is the machine's own name when it has a certificate, which OwnCertificate reads: chain and key in PEM.
	OwnName        string
	OwnCertificate func() (chain, key []byte, ok bool)

	HTTP  []string // addresses to listen on: "192.0.2.1:80", "[2001:db8::1]:80"
	HTTPS []string // likewise; empty disables HTTPS

	User      string        // of the workers; empty is www-data, or the process's own without root
	Workers   int           // zero is one per processor
	MaxUpload string        // in nginx's syntax; empty is 512m
	Interval  time.Duration // minimum between two reloads; zero is a second
	Program   string        // empty is Program
}

func (c Config) workers() int { return cmp.Or(c.Workers, runtime.NumCPU()) }

const (
	connections = 8192
	openFiles   = 131072
)

// Server implements web.Server by nginx.
type Server struct {
	cfg     Config
	uid     int // of the workers
	gid     int
	version version
	files   *daemon.Files

	mu         sync.Mutex
	sites      map[string][]web.Site // by account, the arguments of Apply
	hosts      map[string]string     // every name, to its account
	servers    map[string]string     // every first name of a server block, which names its certificate, to its account
	concerned  map[string][]string   // accounts whose names have a "www." that an account has, or had
	generation int64
	reloads    int
}

var (
	_ web.Server   = (*Server)(nil)
	_ web.Expecter = (*Server)(nil)
)

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// Open prepares the directory, starts nginx or adopts a running one, and has it load the present files.
func Open(ctx context.Context, cfg Config) (_ *Server, err error) {
	cfg.Program = cmp.Or(cfg.Program, Program)
	cfg.MaxUpload = cmp.Or(cfg.MaxUpload, "512m")
	for _, path := range append([]string{cfg.Dir, cfg.ACME}, socketsOf(cfg)...) {
		if !plainPath.MatchString(path) {
			return nil, fmt.Errorf("nginx: %q cannot be a directory of nginx's", path)
		}
	}
	s := &Server{
		cfg: cfg, uid: os.Getuid(), gid: os.Getgid(), generation: cfg.Now().UnixNano(),
		sites: map[string][]web.Site{}, hosts: map[string]string{}, servers: map[string]string{}, concerned: map[string][]string{},
	}
	if err := s.findUser(); err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	if len(cfg.HTTPS) == 0 {
		s.cfg.OwnName = ""
	}
	if s.cfg.OwnName != "" {
		s.servers[s.cfg.OwnName] = noName // no account has it
	}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	s.files, err = daemon.OpenFiles(daemon.FilesConfig{
		Dir: s.file("conf"), Mode: 0o600, Pause: cmp.Or(cfg.Interval, time.Second), Log: cfg.Log, Check: s.check, Reload: s.load,
	})
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	return s, nil
}

// socketsOf are the sockets of a configuration.
func socketsOf(cfg Config) []string {
	return slices.DeleteFunc([]string{cfg.MailSettings, cfg.Adminer}, func(socket string) bool { return socket == "" })
}

// findUser finds the user of the workers.
func (s *Server) findUser() error {
	if s.uid != 0 {
		s.cfg.User = "" // nginx could not switch to it
		return nil
	}
	s.cfg.User = cmp.Or(s.cfg.User, "www-data")
	u, err := user.Lookup(s.cfg.User)
	if err != nil {
		return err
	}
	if s.uid, err = strconv.Atoi(u.Uid); err == nil {
		s.gid, err = strconv.Atoi(u.Gid)
	}
	return err
}

// prepare writes the common files.
func (s *Server) prepare(ctx context.Context) error {
	for _, dir := range []string{s.cfg.Dir, s.file("tmp"), s.file("pages"), s.cfg.ACME} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // G302: passed by all, listed by nobody
			return err
		}
	}
	var err error
	if s.version, err = versionOf(ctx, s.cfg.Program); err != nil {
		return err
	}
	for name, page := range map[string]struct {
		status int
		text   string
	}{
		"no_site": {404, "node.no_site"}, ".suspended": {503, "node.suspended"}, ".moving": {503, "node.moving"}, "403": {403, "node.forbidden"},
		"404": {404, "node.not_found"}, "405": {405, "node.not_allowed"}, "413": {413, "node.too_large"},
		"500": {500, "node.failed"}, "502": {502, "node.failed"}, "503": {503, "node.failed"}, "504": {504, "node.failed"},
	} {
		body, err := web.Page(page.status, page.text)
		if err == nil {
			err = atomicfile.Write(s.file("pages", name+".html"), body, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if err := s.linkChallenges(); err != nil {
		return err
	}
	if err := s.prepareCertificates(); err != nil {
		return err
	}
	if err := s.writeGeneration(); err != nil {
		return err
	}
	main, err := s.renderMain(s.file("conf", "sites", "*.conf"))
	if err != nil {
		return err
	}
	if err := closeLog(s.file("error.log")); err != nil {
		return err
	}
	if err := s.forgetMoved(); err != nil {
		return err
	}
	return atomicfile.Write(s.file("nginx.conf"), main, 0o600)
}

// forgetMoved removes the files of sites that listen on other addresses than those of this configuration: the machine has got
// others, and nginx would not start with one that it cannot have. The node applies every site again.
func (s *Server) forgetMoved() error {
	files, err := filepath.Glob(s.file("conf", "sites", "*.conf"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ";"))
			if len(words) < 2 || words[0] != "listen" || slices.Contains(s.cfg.HTTP, words[1]) || slices.Contains(s.cfg.HTTPS, words[1]) {
				continue
			}
			if err := os.Remove(file); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// linkChallenges makes the answers to challenges available at the paths at which they are requested.
func (s *Server) linkChallenges() error {
	link := s.file("challenges", ".well-known", "acme-challenge")
	if err := os.MkdirAll(filepath.Dir(link), 0o711); err != nil {
		return err
	}
	for _, dir := range []string{s.file("challenges"), filepath.Dir(link)} {
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // G302: passed by all, listed by nobody
			return err
		}
	}
	if to, err := os.Readlink(link); err == nil && to == s.cfg.ACME {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(s.cfg.ACME, link)
}

// closeLog creates the log of what concerns no account, or restricts it: nginx would create one that everybody on the
// machine can read, with the addresses of visitors.
func closeLog(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func (s *Server) file(names ...string) string {
	return filepath.Join(append([]string{s.cfg.Dir}, names...)...)
}

// start runs nginx with the present files.
func (s *Server) start(ctx context.Context) error {
	adopted := s.cfg.Supervisor.PID(Name) != 0
	err := s.cfg.Supervisor.Ensure(ctx, daemon.Spec{
		Name:    Name,
		Command: []string{s.cfg.Program, "-p", s.cfg.Dir + "/", "-c", s.file("nginx.conf"), "-e", s.file("error.log"), "-g", "daemon off;"},
		Env:     []string{"TZ=UTC"}, // for the times in its logs
		Dir:     s.cfg.Dir, Stale: []string{s.file("status.sock")},
		Reload: syscall.SIGHUP, Stop: syscall.SIGQUIT, StopTimeout: 30 * time.Second,
		Ready: func(ctx context.Context) error {
			_, err := s.serving(ctx)
			return err
		},
	})
	if err != nil {
		return err
	}
	if now, err := s.serving(ctx); err != nil || adopted || now != s.generation {
		return errors.Join(err, s.load(ctx))
	}
	return nil
}

// check runs nginx's own check of the changed sites only: what one site says does not depend on others, and reading a
// thousand of them would double the time of a reload. load finds out whether nginx accepts all of them together.
func (s *Server) check(ctx context.Context, changed []string) error {
	var sites []string
	for _, name := range changed {
		file := s.file("conf", name)
		if _, err := os.Lstat(file); err == nil && filepath.Ext(name) == ".conf" {
			sites = append(sites, file)
		}
	}
	if len(sites) == 0 {
		return nil
	}
	main, err := s.renderMain(sites...)
	if err != nil {
		return err
	}
	file := s.file("check.conf")
	if err := os.WriteFile(file, main, 0o600); err != nil {
		return err
	}
	return errors.Join(s.judge(ctx, file), os.Remove(file))
}

// judge runs nginx's check of a configuration.
func (s *Server) judge(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, s.cfg.Program, "-t", "-q", "-p", s.cfg.Dir+"/", "-c", file, "-e", "stderr") //nolint:gosec // G204: the machine's own
	cmd.Dir, cmd.Env = s.cfg.Dir, []string{"TZ=UTC"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nginx refuses its configuration: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

const (
	// patience bounds the time of a reload.
	patience = 30 * time.Second
	// suspicion is the time after which nginx is asked whether it refuses the whole configuration. nginx reports that
	// to nobody when it is told to reload: it continues with the former one.
	suspicion = 2 * time.Second
)

// load makes nginx reload its configuration. It returns when new workers serve it and none of the former ones accepts
// connections any more.
func (s *Server) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.mu.Lock()
	s.generation++
	s.reloads++
	want := s.generation
	err := s.writeGeneration()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	suspicious := time.After(suspicion)
	former := workers(s.cfg.Supervisor.PID(Name))
	if err := s.cfg.Supervisor.Reload(ctx, Name); err != nil {
		return err
	}
	for {
		now, err := s.serving(ctx)
		if err == nil && now == want && !slices.ContainsFunc(former, accepts) {
			return nil
		}
		select {
		case <-suspicious:
			if err := s.judge(ctx, s.file("nginx.conf")); err != nil {
				return err
			}
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("nginx did not take over its configuration: %w", ctx.Err()), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// writeGeneration writes the configuration's number, which nginx answers on its socket.
func (s *Server) writeGeneration() error {
	return atomicfile.Write(s.file("generation.conf"), fmt.Appendf(nil, "return 200 \"%d\";\n", s.generation), 0o600)
}

// serving asks nginx for the number of the configuration that it serves.
func (s *Server) serving(ctx context.Context) (int64, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.file("status.sock"))
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://stead.invalid/generation", nil)
	if err != nil {
		return 0, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(body), 10, 64)
}

// workers are the children of a process.
func workers(pid int) []int {
	if pid == 0 {
		return nil
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var all []int
	for field := range strings.FieldsSeq(string(data)) {
		if child, err := strconv.Atoi(field); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// accepts reports whether a worker still accepts connections: an ending one says so in its title.
func accepts(pid int) bool {
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(title) > 0 && !bytes.Contains(title, []byte("shutting down"))
}

// Reloads counts the reloads of nginx.
func (s *Server) Reloads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reloads
}

// Apply implements web.Server.
func (s *Server) Apply(ctx context.Context, account string, sites []web.Site) error {
	for _, site := range sites {
		if err := s.cfg.Logs.Prepare(account, s.uid, site.GID, panel.LogAccess, panel.LogError); err != nil {
			return fmt.Errorf("nginx: %w", err)
		}
	}
	released := s.note(account, sites)
	if err := s.certify(account, sites); err != nil {
		return fmt.Errorf("nginx: %w", err)
	}
	for {
		files, err := s.render(account)
		if err == nil {
			err = s.files.Apply(ctx, files)
		}
		if err != nil {
			return fmt.Errorf("nginx: %w", err)
		}
		// Another account may have taken or released a name meanwhile, and its later change may have been applied
		// before this one.
		again, err := s.render(account)
		if err != nil {
			return err
		}
		if maps.EqualFunc(files, again, bytes.Equal) {
			break
		}
	}
	if !released && len(sites) > 0 {
		return nil
	}
	return s.sweepCertificates()
}

// Expect implements web.Expecter.
func (s *Server) Expect(account string, sites []web.Site) { s.note(account, sites) }

// note stores the sites of an account. It reports whether the account has released the name of a certificate.
func (s *Server) note(account string, sites []web.Site) (released bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Accounts whose "www." names the account takes or releases are rendered again with it, until it is applied again.
	concerned := s.concerned[account]
	concern := func(host string) {
		if bare, ok := strings.CutPrefix(host, "www."); ok && s.hosts[bare] != "" && s.hosts[bare] != account {
			concerned = append(concerned, s.hosts[bare])
		}
	}
	former := s.sites[account]
	for _, site := range former {
		for _, name := range serverNames(site) {
			if s.servers[name] == account {
				delete(s.servers, name)
			}
		}
		for _, host := range append([]string{site.Domain}, site.Aliases...) {
			if s.hosts[host] == account {
				delete(s.hosts, host)
			}
			concern(host)
		}
	}
	delete(s.sites, account)
	if len(sites) > 0 {
		s.sites[account] = slices.Clone(sites)
	}
	for _, site := range sites {
		for _, name := range serverNames(site) {
			s.servers[name] = account
		}
		for _, host := range append([]string{site.Domain}, site.Aliases...) {
			s.hosts[host] = account
			concern(host)
		}
	}
	slices.Sort(concerned)
	if concerned = slices.Compact(concerned); len(concerned) > 0 {
		s.concerned[account] = concerned
	}
	return slices.ContainsFunc(former, func(site web.Site) bool {
		return slices.ContainsFunc(serverNames(site), func(name string) bool { return s.servers[name] == "" })
	})
}

// render makes the files for an account's present sites: its own, and those of the accounts concerned; a nil file is to
// be removed.
func (s *Server) render(account string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := func(host string) bool { return s.hosts[host] != "" }
	files := map[string][]byte{}
	for _, name := range append([]string{account}, s.concerned[account]...) {
		files[siteFile(name)], files[proofFile(name)] = nil, nil
		if len(s.sites[name]) == 0 {
			continue
		}
		var err error
		if files[siteFile(name)], err = s.account(name, s.sites[name], own); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(s.sites[name], func(site web.Site) bool { return site.Forward != nil && site.Forward.Proof != "" }); i >= 0 {
			files[proofFile(name)] = []byte(s.sites[name][i].Forward.Proof)
		}
	}
	return files, nil
}

// siteFile is the file of an account below conf.
func siteFile(account string) string { return "sites/" + account + ".conf" }

// proofFile is the file with the certificate of the machine to which an account has moved.
func proofFile(account string) string { return "sites/" + account + ".proof" }

// Reopen makes nginx reopen its logs after they were renamed.
func (s *Server) Reopen() error {
	pid := s.cfg.Supervisor.PID(Name)
	if pid == 0 {
		return nil
	}
	return syscall.Kill(pid, syscall.SIGUSR1)
}

// Close implements web.Server; nginx goes on.
func (s *Server) Close() error { return nil }

// Stop ends nginx, for machines that are given up and for tests.
func (s *Server) Stop(ctx context.Context) error { return s.cfg.Supervisor.Stop(ctx, Name) }

// version is the version of nginx.
type version [3]int

func (v version) less(o version) bool { return slices.Compare(v[:], o[:]) < 0 }

var versionForm = regexp.MustCompile(`nginx/(\d+)\.(\d+)\.(\d+)`)

func versionOf(ctx context.Context, program string) (v version, err error) {
	out, err := exec.CommandContext(ctx, program, "-v").CombinedOutput()
	if err != nil {
		return v, err
	}
	match := versionForm.FindSubmatch(out)
	if match == nil {
		return v, fmt.Errorf("%q is no version", out)
	}
	for i := range v {
		if v[i], err = strconv.Atoi(string(match[i+1])); err != nil {
			return v, err
		}
	}
	return v, nil
}

package php

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// graceful is how long a reload waits for running requests.
const graceful = 10 * time.Second

// disabled are functions that no program of a visitor's may call. Programs run as the account's user, so
// what they could do with these is bounded by that; disabled they make a hole in a program less useful
// to who finds it. Functions of the cache tell of all accounts, or work on what all share.
const disabled = "exec,passthru,shell_exec,system,proc_open,popen,pcntl_exec,dl,posix_kill,posix_mkfifo,posix_setuid,posix_setgid," +
	"posix_setpgid,posix_setsid,symlink,link,opcache_get_status,opcache_get_configuration,opcache_reset,opcache_invalidate," +
	"opcache_compile_file,opcache_is_script_cached"

// phpINI applies to every program, and the customer cannot change it by any means.
const phpINI = `; Written by Stead; changes are lost.
[PHP]
engine = On
expose_php = Off
enable_dl = Off
disable_functions = ` + disabled + `
cgi.fix_pathinfo = 0
allow_url_include = Off
html_errors = Off
implicit_flush = Off
register_argc_argv = Off
variables_order = "GPCS"
request_order = "GP"
default_charset = "UTF-8"
realpath_cache_size = 4096k
realpath_cache_ttl = 120
assert.active = Off
zend.exception_ignore_args = On
auto_globals_jit = On
mail.add_x_header = On
session.use_strict_mode = 1
session.cookie_httponly = 1
session.cookie_samesite = Lax
session.gc_probability = 1
session.gc_divisor = 1000
ffi.enable = false

opcache.enable = 1
opcache.enable_cli = 0
opcache.memory_consumption = 256
opcache.interned_strings_buffer = 32
opcache.max_accelerated_files = 65407
opcache.validate_timestamps = 1
opcache.revalidate_freq = 2
opcache.revalidate_path = 1
opcache.use_cwd = 1
opcache.validate_permission = 1
opcache.validate_root = 1
opcache.restrict_api = /nowhere
opcache.file_cache =
opcache.jit = off
opcache.protect_memory = 0
`

// masterConf has these arguments: the directory twice, the base pool, the web server's user twice, the socket, the user
// twice and the directory twice.
const masterConf = `; Written by Stead; changes are lost.
[global]
pid = %s/fpm.pid
error_log = %s/fpm.log
log_level = notice
daemonize = no
; Never: by workers that it ends itself, an account could have the pools of all others of the master restarted again and again.
emergency_restart_threshold = 0
process_control_timeout = 10s
rlimit_core = 0

[%s]
user = %s
group = %s
listen = %s
listen.owner = %s
listen.group = %s
listen.mode = 0600
pm = static
pm.max_children = 1
include = %s/generation.conf

include = %s/pools/*.conf
`

// pool is the configuration of an account's pool. The machine generates every value in it: the account's name and home,
// and options in canonical form.
func (v *version) pool(a accounts.Account, s panel.PHPSettings) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	tmp := filepath.Join(a.Home, "tmp")
	most := memoryLimit(a.Limits, s)
	line("; Written by Stead; changes are lost.")
	line("[%s]", a.Name)
	if a.User.UID != 0 {
		// By number: a name would be looked up among all users of the machine, for every pool at every reload, and a
		// missing one would prevent the master's start.
		line("user = %d", a.User.UID)
		line("group = %d", a.User.GID)
		line("env[USER] = %s", a.User.Name)
	} else {
		line("user = %s", v.driver.cfg.WebUser)
		line("group = %s", v.driver.cfg.WebUser)
	}
	line("listen = %s", v.socket(a.Name))
	line("listen.owner = %s", v.driver.cfg.WebUser)
	line("listen.group = %s", v.driver.cfg.WebUser)
	line("listen.mode = 0600")
	line("listen.backlog = 511")
	line("pm = ondemand")
	line("pm.max_children = %d", children(a.Limits, most))
	line("pm.process_idle_timeout = 15s")
	line("pm.max_requests = 1000")
	line("request_terminate_timeout = %ss", s.Option("max_execution_time"))
	line("request_terminate_timeout_track_finished = yes")
	line("rlimit_core = 0")
	line("security.limit_extensions = .php")
	line("clear_env = yes")
	line("chdir = %s", a.Home)
	line("env[HOME] = %s", a.Home)
	line("env[TMPDIR] = %s", tmp)
	line("env[PATH] = /usr/local/bin:/usr/bin:/bin")
	// The slash excludes directories whose names begin with the account's.
	line("php_admin_value[open_basedir] = %s/:/usr/share/php/", a.Home)
	line("php_admin_value[sys_temp_dir] = %s", tmp)
	line("php_admin_value[upload_tmp_dir] = %s", tmp)
	line("php_admin_value[session.save_path] = %s", tmp)
	line("php_admin_value[error_log] = %s", v.driver.cfg.Logs.File(a.Name, panel.LogPHP))
	line("php_admin_value[log_errors_max_len] = 8192")
	// Without this PHP would hand mail to a program of the machine's own, which nobody empties, and answer true.
	sendmail := "/bin/false"
	if v.driver.cfg.Sendmail != nil {
		sendmail = v.driver.cfg.Sendmail(a)
	}
	line("php_admin_value[sendmail_path] = \"%s\"", sendmail)
	for _, o := range panel.PHPOptions() {
		value := s.Option(o.Name)
		switch o.Name {
		case "memory_limit":
			line("php_admin_value[memory_limit] = %dM", most)
			continue
		case "error_reporting":
			value = reporting[value]
		}
		line("php_value[%s] = %s", o.Name, value)
	}
	for _, name := range s.Extensions {
		line("php_admin_value[extension] = %s", name)
	}
	return []byte(b.String())
}

// reporting are the sums of PHP's error levels.
var reporting = map[string]string{
	"production": "22527", // E_ALL & ~E_DEPRECATED & ~E_STRICT
	"all":        "32767",
	"errors":     "4437", // E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR
	"none":       "0",
}

// memoryLimit is the memory of one program: the customer's setting, but not more than all of the account's programs
// together.
func memoryLimit(l panel.Limits, s panel.PHPSettings) int64 {
	o, _ := panel.FindPHPOption("memory_limit")
	most := o.Mebibytes(s.Option("memory_limit"))
	if l.MemoryMB > 0 {
		most = min(most, max(int64(l.MemoryMB), o.Min))
	}
	return most
}

const (
	childrenUsual = 10
	childrenMost  = 200
	// programMB is the usual memory of a program, which is far below its limit.
	programMB = 64
)

// children is the number of an account's concurrent programs. It divides the memory by their usual use: the kernel
// enforces the account's own limit.
func children(l panel.Limits, memoryMB int64) int {
	n := childrenUsual
	if l.Processes > 0 {
		n = min(l.Processes, childrenMost)
	}
	if l.MemoryMB > 0 {
		n = min(n, l.MemoryMB/int(min(memoryMB, programMB)))
	}
	return max(n, 1)
}

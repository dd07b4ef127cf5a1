package daemon

import (
	"slices"
	"strings"
)

// ownTemporary are the directories that a confined daemon has for itself, as systemd's TemporaryFileSystem takes them. What
// daemons of customers' programs put there would be outside of every quota, and other accounts could read it.
var ownTemporary = []string{temporary("/tmp"), temporary("/var/tmp"), temporary("/dev/shm")}

const temporaryOptions = "mode=0755,size=16m,nosuid,nodev,noexec"

func temporary(dir string) string { return dir + ":" + temporaryOptions }

// ownTemporaryMounts is a script that mounts them. It fails where one cannot be mounted: the daemon is not to run then.
func ownTemporaryMounts() string {
	var script strings.Builder
	for _, t := range ownTemporary {
		dir, options, _ := strings.Cut(t, ":")
		script.WriteString("if [ -d " + dir + " ]; then mount -t tmpfs -o " + options + " tmpfs " + dir + " || exit 1; fi; ")
	}
	return script.String()
}

// words is the command with what confines it. Both programs replace themselves by the next, so the daemon's first process is
// the one that was started.
func (s Spec) words() []string {
	if !s.Confine {
		return s.Command
	}
	return slices.Concat([]string{"/usr/bin/setpriv", "--no-new-privs", "/usr/bin/env", "--ignore-signal=XFSZ"}, s.Command)
}

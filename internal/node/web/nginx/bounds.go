package nginx

import "golang.org/x/sys/unix"

// bounds are how many files a worker opens and how many connections it has: as many as nginx can be given. Where the
// machine's bound is lower, who has CAP_SYS_RESOURCE may go beyond it; root in a container often has not, and nginx would
// say so in an alert at every start of a worker, and run out of files before it runs out of connections.
func bounds(most uint64, beyond bool) (files, connected int) {
	files = openFiles
	if most < openFiles && !beyond {
		files = int(most)
	}
	return files, min(connections, files/2)
}

// ownBounds are the bounds of this process's children.
func ownBounds() (files, connected int) {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return openFiles, connections
	}
	var may [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &may[0])
	return bounds(now.Max, err == nil && may[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0)
}

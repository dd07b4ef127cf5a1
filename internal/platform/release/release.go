// Package release says which release this program is: its version, and the commit that it was built from.
//
// A release is built with -ldflags "-X stead.dev/stead/internal/platform/release.version=v1.2.3 -X ….commit=… -X ….date=…".
// Any other build says what the Go command noted of the repository.
package release

import (
	"runtime"
	"runtime/debug"
)

// Set by the linker.
var version, commit, date string

// Info describes this program.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // of the source; empty where the build did not know it
	Date    string `json:"date"`   // of the commit, RFC 3339; empty likewise
	// Modified says that the source differed from the commit.
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // such as linux/amd64
}

// unknown is the version of a build from a source of which nothing is known.
const unknown = "dev"

// Read returns what this program knows of itself.
func Read() Info {
	build, _ := debug.ReadBuildInfo() // nil without
	return read(build)
}

func read(build *debug.BuildInfo) Info {
	i := Info{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build == nil {
		build = &debug.BuildInfo{}
	}
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision" && i.Commit == "":
			i.Commit = s.Value
		case s.Key == "vcs.time" && i.Date == "":
			i.Date = s.Value
		case s.Key == "vcs.modified" && commit == "":
			i.Modified = s.Value == "true"
		}
	}
	const short = 12
	switch main := build.Main.Version; {
	case i.Version != "":
	case main != "" && main != "(devel)":
		i.Version = main
	case len(i.Commit) >= short:
		i.Version = unknown + "-" + i.Commit[:short]
	default:
		i.Version = unknown
	}
	return i
}

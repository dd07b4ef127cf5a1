package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// changeKind is what a change does.
type changeKind string

const (
	create  changeKind = "create"
	edit    changeKind = "edit"
	replace changeKind = "replace"
	move    changeKind = "move"
	remove  changeKind = "delete" // into the trash
	mkdir   changeKind = "mkdir"
	rmdir   changeKind = "rmdir"   // of an empty directory; only an undo does it
	unpack  changeKind = "extract" // of an archive, to a place beside the site
	php     changeKind = "php"     // of the settings of PHP
)

// writes tells that a change writes a content that the journal has: of a file, or the settings of PHP.
func (k changeKind) writes() bool { return k == create || k == edit || k == replace || k == php }

// renames tells that a change gives a path another name.
func (k changeKind) renames() bool { return k == move || k == remove }

// changeStatus is what became of a change.
type changeStatus string

const (
	prepared changeStatus = "prepared" // in the journal, perhaps made
	applied  changeStatus = "applied"
	failed   changeStatus = "failed"   // not made: the hosting server refused it, or a change before it was not made
	conflict changeStatus = "conflict" // not made: something else is there
	undone   changeStatus = "undone"
)

// What is at a path is told by a hash: that of a file's content, or one of these.
const (
	nothing   = ""
	directory = "directory"
	other     = "other" // a link, or what is no file at all; the agent never touches it
)

// hashOf names a content.
func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// change is a row of ai_changes.
type change struct {
	id, accountID, serviceID, runID int64
	callID, undoOf                  *int64
	kind                            changeKind
	path, toPath                    string
	before, after                   string // hashes
	diff                            string
	bytes                           int64
	status                          changeStatus
	createdAt                       time.Time
	settledAt                       *time.Time
}

// verdict is how a change stands to what is found.
type verdict int

const (
	made     verdict = iota // it was made already
	possible                // it can be made
	clash                   // something else is there
)

// judge compares a change with what is at its path and, of a renaming, at toPath.
func (c change) judge(at, to string) verdict {
	switch {
	case c.kind == unpack:
		switch {
		case to == directory:
			return made
		case at == c.before && at != nothing && to == nothing:
			return possible
		}
	case c.kind.renames():
		switch {
		case at == nothing && to == c.after:
			return made
		case at == c.before && at != nothing && to == nothing:
			return possible
		}
	case at == c.after:
		return made
	case at == c.before:
		return possible
	}
	return clash
}

// inverse is the change that takes a change back. The trash of what it deletes is named when it is written.
func (c change) inverse() change {
	i := change{accountID: c.accountID, serviceID: c.serviceID, undoOf: &c.id, path: c.path, before: c.after, after: c.before, diff: ""}
	switch c.kind {
	case create:
		i.kind, i.after = remove, c.after
	case edit, replace:
		i.kind = replace
	case php:
		i.kind = php
	case move, remove:
		if inside(c.path, trash) { // it came from there: it goes to a place of its own, and stays as long as others
			i.kind, i.path, i.before, i.after = remove, c.toPath, c.after, c.after
			break
		}
		i.kind, i.path, i.toPath, i.before, i.after = move, c.toPath, c.path, c.after, c.after
	case mkdir:
		i.kind = rmdir
	case rmdir:
		i.kind = mkdir
	}
	return i
}

// obstacle is why a change cannot be undone.
type obstacle struct {
	change   change
	path     string
	expected string // hashes
	found    string
	later    *int64 // the run that changed the path later, if one did
}

// planUndo returns the changes that undo others, the newest first, and what stands in the way. found tells what is at
// each path now; changes of later runs explain what they left. A change that was not made needs no undoing.
func planUndo(changes []change, found map[string]string, later []change) (inverses []change, obstacles []obstacle) {
	now := map[string]string{}
	for p, hash := range found {
		now[p] = hash
	}
	for _, c := range slices.Backward(changes) {
		if c.kind == unpack || c.status == prepared && c.judge(now[c.path], now[c.toPath]) == possible {
			continue // what was unpacked lies beside the site
		}
		i := c.inverse()
		at, to := now[i.path], now[i.toPath]
		if i.kind == remove {
			to = nothing // in the trash each has a place of its own
		}
		if at != i.before || i.kind.renames() && to != nothing {
			o := obstacle{change: c, path: i.path, expected: i.before, found: at}
			if at == i.before {
				o.path, o.expected, o.found = i.toPath, nothing, to
			}
			for _, l := range later {
				if l.id > c.id && l.runID != c.runID && (l.path == o.path || l.toPath == o.path) {
					o.later = &l.runID
				}
			}
			obstacles = append(obstacles, o)
			continue
		}
		if i.kind.renames() {
			now[i.path], now[i.toPath] = nothing, i.after
		} else {
			now[i.path] = i.after
		}
		inverses = append(inverses, i)
	}
	return inverses, obstacles
}

// pathsOf are all paths that changes and their undoing touch.
func pathsOf(changes []change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.path)
		if c.toPath != "" {
			all = append(all, c.toPath)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

const (
	maxPath = 4096 // bytes, as in Linux
	maxName = 255
)

// staging marks temporary names of changes. CleanPath refuses them and no listing shows them, so a customer can neither
// see nor disturb a change in progress.
const staging = ".stead-"

// tmpDir is the directory of every home in which changes are prepared.
const tmpDir = "tmp"

// publicHTML is the document root of the primary domain.
const publicHTML = accounts.PublicHTML

// CleanPath converts a customer's path to a name for an os.Root. The home is "/"; a path without a leading slash begins
// there too. Paths that climb above the home, even when they return, are ErrPathNotAllowed; a backslash is an ordinary
// character.
func CleanPath(p string) (string, error) {
	if len(p) > maxPath || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("%w: malformed path", panel.ErrInvalid)
	}
	var names []string
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "" || name == ".":
		case name == "..":
			if len(names) == 0 {
				return "", fmt.Errorf("%w: %q", panel.ErrPathNotAllowed, p)
			}
			names = names[:len(names)-1]
		case len(name) > maxName:
			return "", fmt.Errorf("%w: name longer than %d bytes", panel.ErrInvalid, maxName)
		case strings.HasPrefix(name, staging):
			return "", fmt.Errorf("%w: %q", panel.ErrPathNotAllowed, p)
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ".", nil
	}
	return strings.Join(names, "/"), nil
}

// Protected names may not be moved, replaced or removed: hosting needs them.
var protected = map[string]bool{".": true, publicHTML: true, "logs": true, tmpDir: true}

// cleanTarget is CleanPath for a path that is to be moved, replaced or removed.
func cleanTarget(p string) (string, error) {
	name, err := CleanPath(p)
	if err == nil && protected[name] {
		err = fmt.Errorf("%w: %q is needed", panel.ErrPathNotAllowed, p)
	}
	return name, err
}

// within reports whether name is dir or below it.
func within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// publicPath is the path that customers see.
func publicPath(name string) string {
	if name == "." {
		return "/"
	}
	return "/" + name
}

// follow resolves a name whose last element may be a symbolic link, so that writing to a link writes to its target. A
// link that leads out is refused, by its text here and by os.Root when the name is used.
func follow(root *os.Root, name string) (string, error) {
	for range 16 {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil // using the name tells whether that is right
		}
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			return name, err
		}
		target, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(target, "/") {
			return "", fmt.Errorf("%w: absolute link", panel.ErrPathNotAllowed)
		}
		if name, err = CleanPath(path.Dir(name) + "/" + target); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: too many links", panel.ErrPathNotAllowed)
}

// errEscapes is the error of os.Root for a path that leads out of it. The standard library does not export it, so it is
// provoked once.
var errEscapes = sync.OnceValue(func() error {
	root, err := os.OpenRoot("/")
	if err != nil {
		return panel.ErrPathNotAllowed
	}
	defer root.Close()
	_, err = root.Lstat("..")
	var pathErr *os.PathError
	if !errors.As(err, &pathErr) {
		return panel.ErrPathNotAllowed
	}
	return pathErr.Err
})

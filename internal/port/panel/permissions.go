package panel

import "io/fs"

// Permissions are the modes that files and directories get.
type Permissions struct {
	Files       fs.FileMode
	Directories fs.FileMode
	Recursive   bool // also what is in the directory at the path
}

// Fit reports whether hosting allows the modes: only the owner and its group may write, no bit changes as whom a program runs,
// and the owner keeps what it needs to read files and to open directories.
func (p Permissions) Fit() bool {
	return allowed(p.Files, 0o400) && allowed(p.Directories, 0o500)
}

func allowed(mode, owner fs.FileMode) bool { return mode&^0o775 == 0 && mode&owner == owner }

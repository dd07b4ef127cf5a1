package files

import (
	"context"
	"io/fs"
	"regexp"
	"strconv"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

type chmodIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Path          string `json:"path" minLength:"1"`
		Mode          string `json:"mode" doc:"Permissions in octal, as 644; with recursive, of files."`
		Recursive     bool   `json:"recursive,omitempty" doc:"Also what is in the directory at path."`
		DirectoryMode string `json:"directory_mode,omitempty" doc:"With recursive, of directories; mode with execution wherever it has reading when it is left out."`
	}
}

func (s *Service) chmod(ctx context.Context, p auth.Principal, in *chmodIn) (*entryWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	permissions, err := permissionsOf(in.Body.Mode, in.Body.DirectoryMode, in.Body.Recursive)
	if err != nil {
		return nil, err
	}
	e, err := files.Stat(ctx, ref, in.Body.Path)
	if err != nil {
		return nil, refusal(err, "path")
	}
	switch {
	case e.Type == panel.TypeSymlink:
		return nil, fault.Invalid("path", "file_mode_link")
	case e.Type == panel.TypeFile: // nothing is in it
		permissions.Directories, permissions.Recursive = directoryMode(permissions.Files), false
	case !permissions.Recursive:
		if permissions.Directories&0o500 != 0o500 {
			return nil, fault.Invalid("mode", "file_mode_owner")
		}
	}
	return blame("path").answer(files.SetPermissions(ctx, ref, in.Body.Path, permissions))
}

// permissionsOf reads the modes of a request. Without recursive, the one mode is for whatever is at the path.
func permissionsOf(mode, directories string, recursive bool) (p panel.Permissions, err error) {
	p.Recursive = recursive
	if p.Files, err = parseMode("mode", mode); err != nil {
		return p, err
	}
	switch {
	case directories != "" && !recursive:
		return p, fault.Invalid("directory_mode", "file_mode_recursive")
	case directories != "":
		if p.Directories, err = parseMode("directory_mode", directories); err != nil {
			return p, err
		}
		if p.Directories&0o100 == 0 {
			return p, fault.Invalid("directory_mode", "file_mode_owner")
		}
	case recursive:
		p.Directories = directoryMode(p.Files)
	default:
		p.Directories = p.Files
	}
	return p, nil
}

// directoryMode is the mode of a directory whose files have mode: who may read them may open it.
func directoryMode(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

var octal = regexp.MustCompile(`^[0-7]{3,4}$`)

// parseMode reads the mode in a member of a request.
func parseMode(member, text string) (fs.FileMode, error) {
	if !octal.MatchString(text) {
		return 0, fault.Invalid(member, "file_mode")
	}
	bits, err := strconv.ParseUint(text, 8, 32)
	if err != nil {
		return 0, fault.Invalid(member, "file_mode")
	}
	mode := fs.FileMode(bits)
	switch {
	case mode&^0o775 != 0:
		return 0, fault.Invalid(member, "file_mode_unsafe")
	case mode&0o400 == 0:
		return 0, fault.Invalid(member, "file_mode_owner")
	}
	return mode, nil
}

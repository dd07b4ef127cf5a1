package files

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Any of them may call; the specification gives the AI agent's scopes the project's files.
var (
	readers = []string{auth.ScopeServicesRead, auth.ScopeAIRead}
	writers = []string{auth.ScopeServicesWrite, auth.ScopeAIWrite}
)

// What works on whole trees and archives may take longer than other operations: as long as an
// account of many gigabytes needs, on a disk that others use too.
const (
	treeTime   = 15 * time.Minute
	searchTime = 2 * time.Minute // it reads no more than so much
)

const base = "/api/v1/services/{service}/files"

// Operations are the twelve operations of "Files" (specification, table of sections; contract,
// section 22), and those of deployments.
func (s *Service) Operations() []api.Route {
	return append(s.deployOperations(),
		api.Operation[listIn, page.List[entryWire]]{
			ID: "files.list", Method: http.MethodGet, Path: base, Section: api.Files,
			Auth: api.Token, Scopes: readers, Summary: "List a directory",
			Description: "Directories come first, each group by name. Symbolic links are listed and never followed.",
			Errors:      common, Handle: s.list,
		},
		api.Operation[readIn, contentWire]{
			ID: "files.read", Method: http.MethodGet, Path: base + "/content", Section: api.Files,
			Auth: api.Token, Scopes: readers, Summary: "Read a file, or some of its lines",
			Description: "Text comes as utf-8, anything else whole as base64. At most 2 MiB; a longer text is cut and says `truncated`.",
			Errors:      and(common, ErrFileNotText, ErrFileTooLarge), Handle: s.read,
		},
		api.Operation[writeIn, entryWire]{
			ID: "files.write", External: true, Method: http.MethodPut, Path: base + "/content", Section: api.Files,
			Example: `{"path": "/public_html/index.html", "content": "<h1>Hello</h1>\n"}`,
			Auth:    api.Token, Scopes: writers, Summary: "Write a file whole",
			Description: "With `etag` or the header If-Match, only when that version is still there; with `If-None-Match: *`, only a new file. Missing directories are made. At most 2 MiB; use an upload for more.",
			MaxBody:     maxWriteBody, AllowNUL: true,
			Errors: and(write, ErrETagMismatch, ErrFileTooLarge, fault.AlreadyExists), Handle: s.write,
		},
		api.Operation[mkdirIn, entryWire]{
			ID: "files.mkdir", External: true, Method: http.MethodPost, Path: base + "/directories", Section: api.Files, Status: http.StatusCreated,
			Example: `{"path": "/public_html/images"}`,
			Auth:    api.Token, Scopes: writers, Summary: "Make a directory",
			Description: "Missing parents are made. A directory that is there already is answered as it is.",
			Errors:      and(write, fault.AlreadyExists), Handle: s.mkdir,
		},
		api.Operation[moveIn, entryWire]{
			ID: "files.move", External: true, Method: http.MethodPost, Path: base + "/move", Section: api.Files,
			Description: "What exists at `to` is refused unless `overwrite` is set. Within one service it is one step: readers see the old" +
				" name or the new one.",
			Example: `{"from": "/public_html/index.html", "to": "/public_html/start.html"}`,
			Auth:    api.Token, Scopes: writers, Summary: "Move or rename", Timeout: treeTime,
			Errors: and(write, fault.AlreadyExists), Handle: s.move,
		},
		api.Operation[moveIn, entryWire]{
			ID: "files.copy", External: true, Method: http.MethodPost, Path: base + "/copy", Section: api.Files, Status: http.StatusCreated,
			Description: "Copies as the account's user, so what it cannot read is refused. What exists at `to` is refused unless " +
				"`overwrite` is set. The copy counts for the disk limit.",
			Example: `{"from": "/public_html/index.html", "to": "/public_html/index.old.html"}`,
			Auth:    api.Token, Scopes: writers, Summary: "Copy a file or a directory", Timeout: treeTime,
			Errors: and(write, fault.AlreadyExists), Handle: s.copy,
		},
		api.Operation[chmodIn, entryWire]{
			ID: "files.chmod", External: true, Method: http.MethodPost, Path: base + "/permissions", Section: api.Files,
			Description: "`mode` is octal, as in 644. With `recursive` it is for files, and directories get `directory_mode`; what is in " +
				"the directory at `path` is changed too. Symbolic links are not followed. The owner keeps reading, and opening " +
				"directories; writing by everybody and the bits beyond 777 are refused. /public_html keeps its own permissions.",
			Example: `{"path": "/public_html/index.html", "mode": "640"}`,
			Auth:    api.Token, Scopes: writers, Summary: "Change permissions", Timeout: treeTime,
			Errors: common, Handle: s.chmod,
		},
		api.Operation[removeIn, api.Empty]{
			ID: "files.delete", External: true, Method: http.MethodDelete, Path: base, Section: api.Files,
			Description: "A directory goes with all that is in it, and it cannot be undone: make a backup before.",
			Auth:        api.Token, Scopes: writers, Summary: "Delete a file or a directory", Timeout: treeTime,
			Errors: and(common, fault.InUse), Handle: s.remove,
		},
		api.Operation[uploadIn, uploadedWire]{
			ID: "files.upload", External: true, Method: http.MethodPost, Path: base + "/upload", Section: api.Files, Status: http.StatusCreated,
			Auth: api.Token, Scopes: writers, Summary: "Upload files of any size",
			Description: "multipart/form-data: `path`, the directory, as a query parameter or as a field before the files; " +
				"`overwrite`, likewise; one or more parts `file`. A field holds for the files after it. Files are stored in the order they come, each whole or not at all. " +
				"A refusal has the number of those that were stored before it as `stored`.",
			Accepts: []string{"multipart/form-data"},
			Errors: and(write, fault.AlreadyExists, fault.InvalidRequest, fault.UnsupportedMediaType,
				fault.PayloadTooLarge, fault.Validation),
			Stream: s.upload,
		},
		api.Operation[downloadIn, api.Empty]{
			ID: "files.download", Method: http.MethodGet, Path: base + "/download", Section: api.Files,
			Auth: api.Token, Scopes: readers, Summary: "Download a file, or a directory as a zip file",
			Description:  "A file has an ETag and can be fetched in ranges.",
			ContentTypes: []string{"application/octet-stream", zipType},
			Errors:       and(common, ErrRange), Stream: s.download,
		},
		api.Operation[searchIn, foundWire]{
			ID: "files.search", Method: http.MethodGet, Path: base + "/search", Section: api.Files,
			Auth: api.Token, Scopes: readers, Summary: "Find files by name or by content", Timeout: searchTime,
			Description: "A name matches when it contains `q`, or matches it as a pattern when `q` has * ? or [. Case is ignored. " +
				"`meta.truncated` says that there may be more than was found. An account may search contents twice at a time; more are `panel_busy`.",
			Errors: common, Handle: s.search,
		},
		api.Operation[archiveIn, archiveWire]{
			ID: "files.archive", External: true, Method: http.MethodPost, Path: base + "/archive", Section: api.Files,
			Example: `{"operation": "create", "paths": ["/public_html"], "target": "/site.zip"}`,
			Status:  http.StatusCreated, Auth: api.Token, Scopes: writers, Summary: "Create an archive, or extract one", Timeout: treeTime,
			Description: "Formats: .zip and .tar.gz. create packs `paths` into the new file `target`; extract unpacks the one archive " +
				"of `paths` into the directory `target`, by default the archive's own. An archive that could do harm writes nothing.",
			Errors: and(write, fault.AlreadyExists), Handle: s.archive,
		},
	)
}

type listIn struct {
	Service int64  `path:"service" doc:"Id of the service"`
	Path    string `query:"path" default:"/" doc:"Directory, from the account's home."`
	page.Params
}

func (s *Service) list(ctx context.Context, p auth.Principal, in *listIn) (*page.List[entryWire], error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	l, err := files.List(ctx, ref, in.Path, in.Offset(), in.Limit())
	if err != nil {
		return nil, refusal(err, "path")
	}
	return page.Map(in.Params, l.Total, l.Entries, wireEntry), nil
}

type mkdirIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Path string `json:"path" minLength:"1"`
	}
}

func (s *Service) mkdir(ctx context.Context, p auth.Principal, in *mkdirIn) (*entryWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	return blame("path").answer(files.Mkdir(ctx, ref, in.Body.Path))
}

type moveIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		From      string `json:"from" minLength:"1"`
		To        string `json:"to" minLength:"1" doc:"The new path, not the directory to put it into."`
		Overwrite bool   `json:"overwrite,omitempty" doc:"Replace what is there."`
	}
}

func (s *Service) move(ctx context.Context, p auth.Principal, in *moveIn) (*entryWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	return blame("to").answer(files.Move(ctx, ref, in.Body.From, in.Body.To, in.Body.Overwrite))
}

func (s *Service) copy(ctx context.Context, p auth.Principal, in *moveIn) (*entryWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	return blame("to").answer(files.Copy(ctx, ref, in.Body.From, in.Body.To, in.Body.Overwrite))
}

type removeIn struct {
	Service   int64  `path:"service" doc:"Id of the service"`
	Path      string `query:"path" required:"true" minLength:"1" doc:"Path from the account's home, such as /public_html/index.html"`
	Recursive bool   `query:"recursive" doc:"Delete a directory with all that is in it."`
}

func (s *Service) remove(ctx context.Context, p auth.Principal, in *removeIn) (*api.Empty, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	return nil, refusal(files.Remove(ctx, ref, in.Path, in.Recursive), "path")
}

type searchIn struct {
	Service int64  `path:"service" doc:"Id of the service"`
	Q       string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"Text to look for; case does not matter"`
	In      string `query:"in" enum:"name,content" default:"name" doc:"Whether to look into names or contents"`
	Path    string `query:"path" default:"/" doc:"Directory to search, with all below it."`
	page.Params
}

func (s *Service) search(ctx context.Context, p auth.Principal, in *searchIn) (*foundWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	if in.In == "content" {
		searches, key := &s.searches, p.AccountID
		if p.OnlyService != 0 {
			searches, key = &s.clients, p.OnlyService
		}
		end, ok := searches.Acquire(key)
		if !ok {
			return nil, fault.PanelBusy.Wrapf("files: %d searches of content at a time", mostSearches)
		}
		defer end()
	}
	found, err := files.Search(ctx, ref, panel.Query{
		Path: in.Path, Text: in.Q, InContent: in.In == "content", MaxResults: maxFinds,
	})
	if err != nil {
		return nil, refusal(err, "q")
	}
	from := min(in.Offset(), len(found.Matches))
	to := min(from+in.Limit(), len(found.Matches))
	out := &foundWire{
		Data: []matchWire{},
		Meta: foundMeta{Meta: page.MetaOf(in.Params, len(found.Matches)), Truncated: found.Truncated},
	}
	for _, m := range found.Matches[from:to] {
		out.Data = append(out.Data, wireMatch(m))
	}
	return out, nil
}

type archiveIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Operation string   `json:"operation" enum:"create,extract"`
		Paths     []string `json:"paths" minItems:"1" maxItems:"1000"`
		Target    string   `json:"target,omitempty"`
		Overwrite bool     `json:"overwrite,omitempty" doc:"Extracting: replace files that are there."`
	}
}

func (s *Service) archive(ctx context.Context, p auth.Principal, in *archiveIn) (*archiveWire, error) {
	archives, ref, err := open[panel.Archives](ctx, s, panel.CapArchives, p, in.Service)
	if err != nil {
		return nil, err
	}
	if in.Body.Operation == "extract" {
		return extract(ctx, archives, ref, in)
	}
	lower := strings.ToLower(in.Body.Target)
	if !strings.HasSuffix(lower, ".zip") && !strings.HasSuffix(lower, ".tar.gz") && !strings.HasSuffix(lower, ".tgz") {
		return nil, fault.Invalid("target", "file_archive_name")
	}
	e, err := archives.CreateArchive(ctx, ref, in.Body.Paths, in.Body.Target)
	if err != nil {
		return nil, refusal(err, "target")
	}
	created := wireEntry(e)
	return &archiveWire{Operation: in.Body.Operation, Entry: &created}, nil
}

func extract(ctx context.Context, archives panel.Archives, ref string, in *archiveIn) (*archiveWire, error) {
	if len(in.Body.Paths) != 1 {
		return nil, fault.Invalid("paths", "file_one_archive")
	}
	target := in.Body.Target
	if target == "" {
		// Only the last name is taken off; what remains is judged by the panel as it is.
		target, _ = path.Split(in.Body.Paths[0])
	}
	done, err := archives.Extract(ctx, ref, in.Body.Paths[0], target, in.Body.Overwrite)
	if err != nil {
		return nil, refusalOf(err, "paths", "file_archive")
	}
	return &archiveWire{
		Operation: in.Body.Operation,
		Extracted: &extractedWire{Files: done.Files, Directories: done.Directories, Bytes: done.Bytes},
	}, nil
}

package files

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

const (
	deploysBase = "/api/v1/services/{service}/deploys"

	maxFolder   = 8 << 20 // of a body that names the files of a folder, in bytes
	maxContents = 1000    // in one request
	firstRoot   = "/public_html"
)

// deployOperations bring a folder to a directory: the folder's files are compared, contents that are missing are sent, and
// then all files change together.
func (s *Service) deployOperations() []api.Route {
	return []api.Route{
		api.Operation[planIn, planWire]{
			ID: "deploys.plan", External: true, Method: http.MethodPost, Path: deploysBase + "/plan", Section: api.Files,
			Auth: api.Token, Scopes: writers, Summary: "Compare a folder with a site", Timeout: treeTime, MaxBody: maxFolder,
			Description: "Says which files of the folder are new or changed, and the hashes of the contents that have to be sent. Nothing changes.",
			Example:     `{"files": [{"path": "index.html", "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}]}`,
			Errors:      and(write, fault.AlreadyExists), Handle: s.planDeploy,
		},
		api.Operation[contentsIn, contentsWire]{
			ID: "deploys.contents", External: true, Method: http.MethodPost, Path: deploysBase + "/contents", Section: api.Files,
			Auth: api.Token, Scopes: writers, Summary: "Send the contents of a deployment",
			Description: "multipart/form-data: one or more parts `file`, whose file names are the SHA-256 of what they contain in lower-case hex. " +
				"A content is kept for a day until a deployment uses it; to send it again is harmless.",
			Accepts: []string{"multipart/form-data"},
			Errors: and(write, fault.InvalidRequest, fault.UnsupportedMediaType,
				fault.PayloadTooLarge, fault.Validation),
			Stream: s.contents,
		},
		api.Operation[deployIn, releaseWire]{
			ID: "deploys.create", External: true, Method: http.MethodPost, Path: deploysBase, Section: api.Files, Status: http.StatusCreated,
			Auth: api.Token, Scopes: writers, Summary: "Deploy a folder", Timeout: treeTime, MaxBody: maxFolder,
			Description: "Makes the files of the site those of the folder, all together once every content is there; each file is replaced whole, " +
				"pages last. Other files of the site stay. `delete` removes what an earlier release brought, nobody has changed since, and the " +
				"folder has no more. A content that was not sent is 404.",
			Example: `{"files": [{"path": "index.html", "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}], "delete": true}`,
			Errors:  and(write, fault.AlreadyExists), Handle: s.deploy,
		},
		api.Operation[rollbackIn, releaseWire]{
			ID: "deploys.rollback", External: true, Method: http.MethodPost, Path: deploysBase + "/rollback", Section: api.Files, Status: http.StatusCreated,
			Auth: api.Token, Scopes: writers, Summary: "Bring back the files of an earlier release", Timeout: treeTime,
			Description: "Without `release` the one before the last. Only files that releases changed since then are touched. It is a release of its own.",
			Example:     `{"release": 26}`, Errors: write, Handle: s.rollback,
		},
		api.Operation[releasesIn, page.List[releaseWire]]{
			ID: "deploys.list", Method: http.MethodGet, Path: deploysBase, Section: api.Files,
			Auth: api.Token, Scopes: readers, Summary: "List the releases of a site",
			Description: "The last release comes first. The last ten can be brought back.",
			Errors:      common, Handle: s.releases,
		},
	}
}

type deployFile struct {
	Path   string `json:"path" minLength:"1" maxLength:"4096" doc:"From the folder, with slashes"`
	SHA256 string `json:"sha256" minLength:"64" maxLength:"64" doc:"Of the content, in lower-case hex"`
}

func portFiles(files []deployFile) []panel.DeployFile {
	all := make([]panel.DeployFile, len(files))
	for i, f := range files {
		all[i] = panel.DeployFile{Path: f.Path, SHA256: f.SHA256}
	}
	return all
}

// directory is the directory that is deployed to, by default the one of the service's first site.
func directory(d string) string {
	if d == "" {
		return firstRoot
	}
	return d
}

type planIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Directory string       `json:"directory,omitempty" maxLength:"4096" doc:"From the account's home; /public_html when it is left out"`
		Files     []deployFile `json:"files" maxItems:"20000" doc:"All files of the folder"`
	}
}

type planWire struct {
	Added     int      `json:"added"`
	Changed   int      `json:"changed"`
	Unchanged int      `json:"unchanged"`
	Gone      int      `json:"gone" doc:"Files that the last release had, and the folder has not"`
	Missing   []string `json:"missing" doc:"SHA-256 of the contents that have to be sent"`
	Release   *int64   `json:"release" doc:"The last release; null before the first"`
}

func (s *Service) planDeploy(ctx context.Context, p auth.Principal, in *planIn) (*planWire, error) {
	deploys, ref, err := open[panel.Deploys](ctx, s, panel.CapDeploys, p, in.Service)
	if err != nil {
		return nil, err
	}
	plan, err := deploys.PlanDeploy(ctx, ref, directory(in.Body.Directory), portFiles(in.Body.Files))
	if err != nil {
		return nil, refusal(err, "files")
	}
	w := &planWire{Added: plan.Added, Changed: plan.Changed, Unchanged: plan.Unchanged, Gone: plan.Gone, Missing: plan.Missing}
	if w.Missing == nil {
		w.Missing = []string{}
	}
	if plan.Release > 0 {
		w.Release = &plan.Release
	}
	return w, nil
}

type contentsIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
}

type contentsWire struct {
	Received int `json:"received"`
}

// contents passes the parts of the form on to the panel while they arrive.
func (s *Service) contents(ctx context.Context, p auth.Principal, in *contentsIn, w http.ResponseWriter, r *http.Request) error {
	deploys, ref, err := open[panel.Deploys](ctx, s, panel.CapDeploys, p, in.Service)
	if err != nil {
		return err
	}
	form, err := s.openForm(w, r)
	if err != nil {
		return err
	}
	var done contentsWire
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.broken(err)
		}
		if part.FormName() != "file" {
			return api.Unknown(part.FormName(), "file")
		}
		if done.Received == maxContents {
			return fault.InvalidData("file", "max_items", map[string]any{"Value": strconv.Itoa(maxContents)})
		}
		src := &source{Reader: part}
		if err := deploys.PutContent(ctx, ref, part.FileName(), src); err != nil {
			if src.err != nil {
				return s.broken(src.err)
			}
			return refusalOf(err, "file", "file_content_hash")
		}
		done.Received++
	}
	if done.Received == 0 {
		return fault.Invalid("file", "required")
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(done)
}

type deployIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Directory string       `json:"directory,omitempty" maxLength:"4096" doc:"From the account's home; /public_html when it is left out"`
		Files     []deployFile `json:"files" maxItems:"20000" doc:"All files of the folder"`
		Delete    bool         `json:"delete,omitempty" doc:"Remove what earlier releases brought and the folder has no more"`
	}
}

type releaseWire struct {
	ID        int64     `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	Files     int       `json:"files"`
	Added     int       `json:"added"`
	Changed   int       `json:"changed"`
	Unchanged int       `json:"unchanged"`
	Removed   int       `json:"removed"`
	Kept      int       `json:"kept" doc:"Files of earlier releases that the folder has not, and that stay"`
	Restores  *int64    `json:"restores" doc:"The release whose files it brought back, 0 for what was there before the first; null for a deployment"`
}

func wireRelease(r panel.Release) releaseWire {
	return releaseWire{
		ID: r.ID, CreatedAt: r.CreatedAt, Files: r.Files, Added: r.Added, Changed: r.Changed, Unchanged: r.Unchanged,
		Removed: r.Removed, Kept: r.Kept, Restores: r.Restores,
	}
}

func (s *Service) deploy(ctx context.Context, p auth.Principal, in *deployIn) (*releaseWire, error) {
	deploys, ref, err := open[panel.Deploys](ctx, s, panel.CapDeploys, p, in.Service)
	if err != nil {
		return nil, err
	}
	r, err := deploys.Deploy(ctx, ref, directory(in.Body.Directory), portFiles(in.Body.Files), in.Body.Delete)
	if err != nil {
		return nil, refusal(err, "files")
	}
	w := wireRelease(r)
	return &w, nil
}

type rollbackIn struct {
	Service int64 `path:"service" doc:"Id of the service"`
	Body    struct {
		Directory string `json:"directory,omitempty" maxLength:"4096" doc:"From the account's home; /public_html when it is left out"`
		Release   int64  `json:"release,omitempty" minimum:"1" doc:"The one before the last when it is left out"`
	}
}

func (s *Service) rollback(ctx context.Context, p auth.Principal, in *rollbackIn) (*releaseWire, error) {
	deploys, ref, err := open[panel.Deploys](ctx, s, panel.CapDeploys, p, in.Service)
	if err != nil {
		return nil, err
	}
	r, err := deploys.Rollback(ctx, ref, directory(in.Body.Directory), in.Body.Release)
	if err != nil {
		return nil, refusal(err, "release")
	}
	w := wireRelease(r)
	return &w, nil
}

type releasesIn struct {
	Service   int64  `path:"service" doc:"Id of the service"`
	Directory string `query:"directory" default:"/public_html" doc:"From the account's home."`
	page.Params
}

func (s *Service) releases(ctx context.Context, p auth.Principal, in *releasesIn) (*page.List[releaseWire], error) {
	deploys, ref, err := open[panel.Deploys](ctx, s, panel.CapDeploys, p, in.Service)
	if err != nil {
		return nil, err
	}
	all, err := deploys.Releases(ctx, ref, directory(in.Directory))
	if err != nil {
		return nil, refusal(err, "directory")
	}
	from := min(in.Offset(), len(all))
	return page.Map(in.Params, len(all), all[from:min(from+in.Limit(), len(all))], wireRelease), nil
}

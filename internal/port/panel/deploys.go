package panel

import (
	"context"
	"io"
	"time"
)

// DeployFile is a file of a folder that is deployed.
type DeployFile struct {
	Path   string // from the folder, without a leading slash
	SHA256 string // of its content, in lower-case hex
}

// DeployPlan compares a folder with what a directory has.
type DeployPlan struct {
	Added, Changed, Unchanged int
	Gone                      int      // files that the last release had, and the folder has not
	Missing                   []string // hashes of the contents that have to be sent
	Release                   int64    // the last one; 0 before the first
}

// Release is what one deployment, or one way back, has made of a directory.
type Release struct {
	ID                                 int64
	CreatedAt                          time.Time
	Files                              int
	Added, Changed, Unchanged, Removed int
	Kept                               int    // files of earlier releases that are not in the folder and stay
	Restores                           *int64 // the release whose files it brought back, 0 for what was there before the first; nil for a deployment
}

// Deploys brings a folder to a directory of an account: contents first, named by their hashes, and then all changes
// together. The directory itself is the state, so a client remembers nothing, and a deployment that broke off is
// continued by doing it again. Common to all methods is what is common to those of [Files].
type Deploys interface {
	// PlanDeploy compares, and changes nothing.
	PlanDeploy(ctx context.Context, ref, dir string, files []DeployFile) (DeployPlan, error)
	// PutContent keeps a content for a deployment that follows within a day. ErrInvalid: it has another hash.
	PutContent(ctx context.Context, ref, sum string, src io.Reader) error
	// Deploy makes the files of dir those of the folder. Whatever else is there stays; with remove, what an earlier release
	// brought and nobody has changed since is removed where the folder has it no more. ErrNotFound: a content was not sent.
	// ErrBusy: another deployment of the account is in progress.
	Deploy(ctx context.Context, ref, dir string, files []DeployFile, remove bool) (Release, error)
	// Rollback brings back the files of an earlier release: to, or with 0 the one before the last. Files that no release
	// changed since are not touched, nor those whose earlier content somebody else has replaced: nobody has kept it. ErrNotFound:
	// there is no such release.
	Rollback(ctx context.Context, ref, dir string, to int64) (Release, error)
	// Releases lists what Rollback can bring back, and the last one, which is first.
	Releases(ctx context.Context, ref, dir string) ([]Release, error)
}

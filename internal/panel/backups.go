package panel

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// CapBackups is the capability Backups.
const CapBackups Capability = "backups"

// BackupPart is one of the things that an account's backup consists of.
type BackupPart string

// The parts (resources, section 22). Files are the account's home without what is of the moment: logs
// and tmp. DNS and cron are rows of the platform, which a backup holds as documents.
const (
	PartFiles     BackupPart = "files"
	PartDatabases BackupPart = "databases"
	PartMail      BackupPart = "mail"
	PartDNS       BackupPart = "dns"
	PartCron      BackupPart = "cron"
)

// BackupParts are all parts in the order in which they are shown, saved and restored.
var BackupParts = []BackupPart{PartFiles, PartDatabases, PartMail, PartDNS, PartCron}

// BackupRequest asks for a backup.
type BackupRequest struct {
	// ID is the platform's own, at most 64 of [A-Za-z0-9._-], unique within the account.
	ID    string
	Parts []BackupPart
	// Documents are what the platform itself knows of a part, opaque to the panel. A part that the
	// panel has nothing of is its document.
	Documents map[BackupPart]json.RawMessage
}

// RestoreRequest asks for parts of a backup to be put back.
type RestoreRequest struct {
	ID     string // of the restore, the platform's own
	Backup string
	Parts  []BackupPart
	// Items restrict what is restored: paths of files and directories, names of databases, addresses
	// of mailboxes. Without items all of the parts is.
	Items []string
	// Target is a directory in the home that the files are put into, beside what is there. Without it
	// they take the place of what is there: afterwards the files are those of the backup, and what
	// came since is gone.
	Target string
}

// CheckRequest asks whether a backup can be read back, every byte of it.
type CheckRequest struct {
	ID     string // of the check, the platform's own
	Backup string
}

// TaskStatus is how far work on a backup is.
type TaskStatus string

// The states of a task. One that is running goes on, or begins anew, when the panel was interrupted.
const (
	TaskRunning   TaskStatus = "running"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
)

// BackupTask is work on a backup. A failed backup has nothing that could be restored. A restore or
// check that failed as ErrInvalid found the backup damaged, and changed nothing.
type BackupTask struct {
	ID         string
	Status     TaskStatus
	Failure    Kind // of a failed one
	Parts      []BackupPartState
	StartedAt  time.Time
	FinishedAt time.Time // zero while it runs
}

// BackupPartState is one part of a backup or a restore.
type BackupPartState struct {
	Part   BackupPart
	Status TaskStatus
	Bytes  int64 // of the content
	Count  int64 // files and directories, databases, mailboxes; of a document 1
	// Unreadable counts files that the account's own user may not read: the backup has their names
	// only, and a restore leaves them as they are.
	Unreadable int64
}

// Backup is a backup that can be restored.
type Backup struct {
	ID        string
	Parts     []BackupPartState
	Bytes     int64
	Storage   string // "local", "s3"
	CreatedAt time.Time
}

// Backups keeps copies of accounts. The work runs on the panel: the Start methods answer at once, and
// BackupTask tells how far it is; a Start that is repeated answers the task that is there. An account
// has one task running at a time (ErrBusy for another). Backups outlast their account: all methods
// but StartBackup and StartRestore answer for an account that was deleted, as long as it has backups;
// no other account gets the ref.
type Backups interface {
	// StartBackup makes a backup of an account, suspended or not. ErrInvalid: no part, or one twice.
	StartBackup(ctx context.Context, ref string, in BackupRequest) (BackupTask, error)
	// StartRestore puts parts of a backup back. The backup is read whole before anything is changed.
	// ErrNotFound: no such backup. ErrInvalid: the backup does not have the part. ErrSuspended: the
	// account is. ErrPathNotAllowed: a path leads out of the home or to what is not a customer's.
	StartRestore(ctx context.Context, ref string, in RestoreRequest) (BackupTask, error)
	StartBackupCheck(ctx context.Context, ref string, in CheckRequest) (BackupTask, error)
	// BackupTask answers a task by its id: of the backup itself, of a restore, of a check. Those of
	// restores and checks are forgotten some time after they ended.
	BackupTask(ctx context.Context, ref, id string) (BackupTask, error)
	// ListBackups lists those that are complete, the oldest first.
	ListBackups(ctx context.Context, ref string) ([]Backup, error)
	// BackupDocuments reads the documents of a complete backup. ErrInvalid: it is damaged.
	BackupDocuments(ctx context.Context, ref, id string) (map[BackupPart]json.RawMessage, error)
	// OpenBackup streams a complete backup as a tar.gz with a directory for each part. A backup that
	// turns out to be damaged ends the stream with an error.
	OpenBackup(ctx context.Context, ref, id string) (io.ReadCloser, error)
	// DeleteBackup removes a backup, complete or not, for good. One that is not there is no error. A
	// running task of the account is ErrBusy, unless it is the making of this backup, which ends.
	DeleteBackup(ctx context.Context, ref, id string) error
}

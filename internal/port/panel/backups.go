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

// The parts (resources, section 22). Files are the account's home without temporary content: logs and tmp. DNS and cron
// are rows of the platform, which a backup stores as documents.
const (
	PartFiles     BackupPart = "files"
	PartDatabases BackupPart = "databases"
	PartMail      BackupPart = "mail"
	PartDNS       BackupPart = "dns"
	PartCron      BackupPart = "cron"
	// PartLogs is what a move takes along and no backup has: the machine's logs of the account. With it the files include
	// temporary content, such as the sessions of visitors. Only panels with CapMovedLogs accept it.
	PartLogs BackupPart = "logs"
)

// CapMovedLogs is the capability of making, adopting and restoring copies with PartLogs. It has no interface of its own.
const CapMovedLogs Capability = "backups/logs"

// BackupParts are all parts of backups in the order in which they are shown, saved and restored.
var BackupParts = []BackupPart{PartFiles, PartDatabases, PartMail, PartDNS, PartCron}

// BackupRequest asks for a backup.
type BackupRequest struct {
	// ID is the platform's own, at most 64 of [A-Za-z0-9._-], unique within the account.
	ID    string
	Parts []BackupPart
	// Documents are the platform's own data of each part, opaque to the panel. A part without content on the panel
	// consists of its document.
	Documents map[BackupPart]json.RawMessage
}

// RestoreRequest asks to restore parts of a backup.
type RestoreRequest struct {
	ID     string // of the restore, the platform's own
	Backup string
	Parts  []BackupPart
	// Items restrict the restore: paths of files and directories, names of databases, addresses of mailboxes. Without
	// items the whole parts are restored.
	Items []string
	// Target is a directory in the home into which files are restored, in addition to existing files. Without it the
	// restore replaces the files: afterwards they are those of the backup, and newer ones are removed.
	Target string
}

// CheckRequest asks to verify that every byte of a backup can be read.
type CheckRequest struct {
	ID     string // of the check, the platform's own
	Backup string
	// Thorough also reads back data that the backup does not need and that was not read for three weeks. What is found there
	// shows in the Condition of backups.
	Thorough bool
}

// TaskStatus is the progress of work on a backup.
type TaskStatus string

// The states of a task. A running one continues, or starts again, after the panel was interrupted.
const (
	TaskRunning   TaskStatus = "running"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
)

// BackupTask is work on a backup. A failed backup has nothing to restore. A restore or check that failed as ErrInvalid
// found the backup damaged, and changed nothing.
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
	// Unreadable counts files that the account's own user may not read: the backup has only their names, and a restore
	// leaves them unchanged.
	Unreadable int64
}

// Backup is a complete backup.
type Backup struct {
	ID        string
	Parts     []BackupPartState
	Bytes     int64
	Storage   string // "local", "s3"
	CreatedAt time.Time
	Condition Condition
}

// Condition says whether a complete backup can be restored.
type Condition string

// The conditions of backups. A suspected one shares its store with one that is damaged, and is being read.
const (
	Sound     Condition = ""
	Suspected Condition = "suspected"
	Damaged   Condition = "damaged"
)

// Backups keeps copies of accounts. The work runs on the panel: the Start methods answer at once, and
// BackupTask tells how far it is; a Start that is repeated answers the task that is there. An account
// has one task running at a time (ErrBusy for another). Backups outlast their account: all methods
// but StartBackup and StartRestore answer for an account that was deleted, as long as it has backups;
// no other account gets the ref.
type Backups interface {
	// StartBackup starts a backup of an account, suspended or not. ErrInvalid: no part, or a duplicate.
	StartBackup(ctx context.Context, ref string, in BackupRequest) (BackupTask, error)
	// StartRestore puts parts of a backup back. The backup is read whole before anything is changed.
	// ErrNotFound: no such backup. ErrInvalid: the backup does not have the part. ErrSuspended: the
	// account is. ErrPathNotAllowed: a path leads out of the home or to what is not a customer's.
	StartRestore(ctx context.Context, ref string, in RestoreRequest) (BackupTask, error)
	StartBackupCheck(ctx context.Context, ref string, in CheckRequest) (BackupTask, error)
	// BackupTask returns a task by its id: of the backup itself, of a restore, of a check. Tasks of restores and checks
	// are deleted some time after they ended.
	BackupTask(ctx context.Context, ref, id string) (BackupTask, error)
	// ListBackups lists the complete backups, the oldest first.
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

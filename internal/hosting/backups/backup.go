package backups

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Kind says why a backup was made.
type Kind string

// The kinds of resources, section 22.
const (
	Auto      Kind = "auto"
	Manual    Kind = "manual"
	PreChange Kind = "pre_change"
)

// Status is where a backup, or a part of it, is.
type Status string

// The states of resources, section 22.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Restoring Status = "restoring"
	Deleted   Status = "deleted" // the panel is about to forget it
)

// How long backups are retained after they were made.
const (
	Kept             = 30 * 24 * time.Hour
	KeptBeforeChange = 7 * 24 * time.Hour
	KeptFinal        = 30 * 24 * time.Hour // of a service that ended, unless its Terms say something else
	keptFailed       = 7 * 24 * time.Hour
)

// Automatic backups are made every day, and the newest backup is read whole every
// week.
const (
	backupEvery = 24 * time.Hour
	checkEvery  = 7 * 24 * time.Hour
)

// backup is a row of the table backups.
type backup struct {
	site.Owned
	kind                  Kind
	final                 bool
	status                Status
	parts                 []part
	size                  int64 // bytes
	storage, note         string
	errorKey              *string
	createdAt             time.Time
	finishedAt, expiresAt *time.Time

	last *restore // the newest restore of it; read by list and getOwn

	passport []byte // sealed; written by setEnded, read by passportOf
}

// part is one part of a backup.
type part struct {
	Part   panel.BackupPart `json:"part"`
	Status Status           `json:"status"`
	Bytes  int64            `json:"bytes"`
	Count  int64            `json:"count"`
}

// name is the backup on the panel.
func (b backup) name() string { return "b" + strconv.FormatInt(b.ID, 10) }

func (b backup) partNames() []panel.BackupPart {
	names := make([]panel.BackupPart, len(b.parts))
	for i, p := range b.parts {
		names[i] = p.Part
	}
	return names
}

// downloadable tells whether the archive can be had.
func (b backup) downloadable() bool { return b.status == Completed || b.status == Restoring }

// keep is how long a backup is retained after it was made. For final ones see Service.keptFinal.
func (b backup) keep() time.Duration {
	if b.kind == PreChange {
		return KeptBeforeChange
	}
	return Kept
}

// usable says why the backup cannot be restored or downloaded, or nil.
func (b backup) usable() error {
	switch b.status {
	case Completed:
		return nil
	case Queued, Running, Restoring:
		return fault.JobRunning.New()
	case Deleted:
		return fault.NotFound.New()
	default:
		return ErrNotRestorable.New()
	}
}

func queuedParts(names []panel.BackupPart) []part {
	parts := make([]part, len(names))
	for i, name := range names {
		parts[i] = part{Part: name, Status: Queued}
	}
	return parts
}

// partsOf are the parts as the panel tells of them.
func partsOf(states []panel.BackupPartState) (parts []part, size int64) {
	parts = make([]part, len(states))
	for i, st := range states {
		parts[i] = part{Part: st.Part, Status: Status(st.Status), Bytes: st.Bytes, Count: st.Count}
		size += st.Bytes
	}
	return parts, size
}

// selectParts returns the wanted parts in the order of panel.BackupParts, each once; all when none is named.
func selectParts(wanted []panel.BackupPart, all []panel.BackupPart) ([]panel.BackupPart, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	var names []panel.BackupPart
	for _, p := range panel.BackupParts {
		if !slices.Contains(wanted, p) {
			continue
		}
		if !slices.Contains(all, p) {
			return nil, fault.Invalid("parts", "backup_part")
		}
		names = append(names, p)
	}
	return names, nil
}

// step is where a restore is.
type step string

// The steps of a restore.
const (
	waiting   step = "queued"    // for the backup before it
	verifying step = "verifying" // the panel reads the backup
	importing step = "importing" // the sections take their rows back
	restoring step = "restoring" // the panel puts the rest back
	done      step = "completed"
	broken    step = "failed"
)

// restore is a row of the table backups_restores.
type restore struct {
	site.Owned
	backupID    int64
	preBackupID *int64
	parts       []panel.BackupPart
	items       []string
	target      string
	status      step
	errorKey    *string
	createdAt   time.Time
	finishedAt  *time.Time
}

// name is the restore on the panel, checkName the reading before it.
func (r restore) name() string      { return "r" + strconv.FormatInt(r.ID, 10) }
func (r restore) checkName() string { return "v" + strconv.FormatInt(r.ID, 10) }

// revivesService tells that the restore belongs to a service that had ended and comes back.
func (r restore) revivesService() bool { return r.preBackupID == nil }

func (r restore) ended() bool { return r.status == done || r.status == broken }

// wish is what a restore was asked for.
type wish struct {
	parts  []panel.BackupPart
	items  []string
	target string
}

// parse judges a wish for a backup.
func (w wish) parse(b backup) (wish, error) {
	if w.target != "" && len(w.parts) == 0 {
		w.parts = []panel.BackupPart{panel.PartFiles}
	}
	var err error
	if w.parts, err = selectParts(w.parts, b.partNames()); err != nil {
		return w, err
	}
	files := len(w.parts) == 1 && w.parts[0] == panel.PartFiles
	if w.target != "" && !files {
		return w, fault.Invalid("target", "backup_target")
	}
	if len(w.items) > 0 && (len(w.parts) != 1 || !slices.Contains([]panel.BackupPart{panel.PartFiles, panel.PartDatabases, panel.PartMail}, w.parts[0])) {
		return w, fault.Invalid("items", "backup_items")
	}
	for _, name := range append(slices.Clone(w.items), w.target) {
		if strings.ContainsFunc(name, unicode.IsControl) || files && leavesStart(name) {
			return w, fault.PathNotAllowed.New()
		}
	}
	return w, nil
}

// leavesStart tells whether a path leads out of the directory where it starts.
func leavesStart(name string) bool {
	return slices.Contains(strings.Split(name, "/"), "..")
}

// nextAt is when a periodic task of a service is next due. Each service has its own offset in the interval, so that not all
// are due at once.
func nextAt(now time.Time, serviceID int64, every time.Duration) time.Time {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "backup %d", serviceID)                                                 // a hash takes everything
	at := now.Truncate(every).Add(time.Duration(h.Sum64() % uint64(every)).Truncate(time.Second)) //nolint:gosec // below every
	if !at.After(now) {
		at = at.Add(every)
	}
	return at
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
}

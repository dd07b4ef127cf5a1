package backups

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// backupWire is a backup (resources, section 22).
type backupWire struct {
	ID           int64        `json:"id"`
	Kind         Kind         `json:"kind" enum:"auto,manual,pre_change" doc:"pre_change: made before a restore, or when the service ended"`
	Status       Status       `json:"status" enum:"queued,running,completed,failed,restoring,deleted"`
	Parts        []partWire   `json:"parts"`
	SizeMB       int64        `json:"size_mb" doc:"Of the content, in mebibytes, rounded up"`
	Storage      *string      `json:"storage" doc:"local or s3; null until it is complete"`
	Note         *string      `json:"note"`
	ExpiresAt    *time.Time   `json:"expires_at" doc:"When it is deleted"`
	CreatedAt    time.Time    `json:"created_at"`
	FinishedAt   *time.Time   `json:"finished_at"`
	ErrorKey     *string      `json:"error_key" doc:"Why it failed: an error key; backup_not_restorable when it turned out to be damaged"`
	Downloadable bool         `json:"downloadable"`
	Restore      *restoreWire `json:"restore" doc:"The newest restore of this backup; null when there was none"`
}

type partWire struct {
	Part   panel.BackupPart `json:"part" enum:"files,databases,mail,dns,cron"`
	Status Status           `json:"status" enum:"queued,running,completed,failed"`
	SizeMB int64            `json:"size_mb"`
	Count  int64            `json:"count" doc:"Files and directories, databases, mailboxes"`
}

type restoreWire struct {
	Status     step               `json:"status" enum:"queued,verifying,importing,restoring,completed,failed"`
	Parts      []panel.BackupPart `json:"parts"`
	ErrorKey   *string            `json:"error_key" doc:"Why it failed: an error key"`
	CreatedAt  time.Time          `json:"created_at"`
	FinishedAt *time.Time         `json:"finished_at"`
}

func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

func partWires(parts []part) []partWire {
	wires := make([]partWire, len(parts))
	for i, p := range parts {
		wires[i] = partWire{p.Part, p.Status, mebibytes(p.Bytes), p.Count}
	}
	return wires
}

func wire(b backup) backupWire {
	w := backupWire{
		ID: b.ID, Kind: b.kind, Status: b.status, Parts: partWires(b.parts), SizeMB: mebibytes(b.size), Storage: db.OrNull(b.storage),
		Note: db.OrNull(b.note), ExpiresAt: b.expiresAt, CreatedAt: b.createdAt, FinishedAt: b.finishedAt, ErrorKey: b.errorKey,
		Downloadable: b.downloadable(),
	}
	if r := b.last; r != nil {
		w.Restore = &restoreWire{r.status, r.parts, r.errorKey, r.createdAt, r.finishedAt}
	}
	return w
}

// eventWire is a backup in the data of its events.
type eventWire struct {
	ID        int64      `json:"id"`
	ServiceID int64      `json:"service_id"`
	Kind      Kind       `json:"kind"`
	Status    Status     `json:"status"`
	Parts     []partWire `json:"parts"`
	SizeMB    int64      `json:"size_mb"`
	ErrorKey  *string    `json:"error_key"`
}

func eventOf(b backup, errorKey *string) eventWire {
	return eventWire{
		ID: b.ID, ServiceID: b.ServiceID, Kind: b.kind, Status: b.status, Parts: partWires(b.parts), SizeMB: mebibytes(b.size), ErrorKey: errorKey,
	}
}

type createIn struct {
	site.ServiceIn
	Body struct {
		Parts []panel.BackupPart `json:"parts,omitempty" maxItems:"5" enum:"files,databases,mail,dns,cron" doc:"All when it is left out"`
		Note  string             `json:"note,omitempty" maxLength:"200"`
	}
}

type backupIn struct {
	site.ServiceIn
	Backup int64 `path:"backup" minimum:"1" doc:"Id of the backup"`
}

type restoreIn struct {
	backupIn
	Body struct {
		Parts  []panel.BackupPart `json:"parts,omitempty" maxItems:"5" enum:"files,databases,mail,dns,cron" doc:"All of the backup when it is left out"`
		Items  []string           `json:"items,omitempty" maxItems:"100" doc:"With one part: paths of files and directories, names of databases, addresses of mailboxes; all when it is left out"`
		Target string             `json:"target,omitempty" maxLength:"512" doc:"With files: a directory to put them into beside what is there, instead of in its place" example:"/restored"`
	}
}

const (
	base  = "/api/v1/services/{service}/backups"
	named = base + "/{backup}"
)

// Operations are this section's part of the specification's section "Service
// management"; resources, section 22.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, section "Service management": backups.
		site.Read(api.Operation[site.ListIn, page.List[backupWire]]{
			ID: "backups.list", Path: base, Summary: "List the backups of a service, the newest first",
			Description: "Backups of every part with their state and size in MB. `completed` means that it was read back and can be restored.",
			Handle:      site.HandleList(s.list, wire),
		}),
		site.Create(api.Operation[createIn, backupWire]{
			ID: "backups.create", Path: base, Summary: "Make a backup of a service",
			Example:     `{"parts": ["files", "databases"], "note": "before the update"}`,
			Description: "The answer is `queued`. One backup or restore of a service is under way at a time (`job_running`).",
			Errors:      []*fault.Def{fault.LimitReached, fault.JobRunning},
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*backupWire, error) {
				b, err := s.create(ctx, p.AccountID, in.Service, in.Body.Parts, in.Body.Note)
				return site.Reply(wire, b, err)
			},
		}),
		site.Write(http.MethodPost, api.Operation[restoreIn, backupWire]{
			ID: "backups.restore", Path: named + "/restore", Summary: "Restore a backup, or parts of it",
			Example: `{"parts": ["files"], "items": ["/public_html/index.html"]}`,
			Description: "A backup of what is there now is made first (`pre_change`). Then the backup is read whole; one that is " +
				"damaged is refused before anything is touched (`restore.error_key` is `backup_not_restorable`). Restored parts are " +
				"exactly as they were: what came since is gone, but for logs and temporary files. The answer is `restoring`; `restore` " +
				"says how far it is.",
			Errors: []*fault.Def{ErrNotRestorable, fault.PathNotAllowed, fault.JobRunning},
			Handle: func(ctx context.Context, p auth.Principal, in *restoreIn) (*backupWire, error) {
				w := wish{parts: in.Body.Parts, items: in.Body.Items, target: in.Body.Target}
				b, err := s.restore(ctx, p.AccountID, in.Service, in.Backup, w)
				return site.Reply(wire, b, err)
			},
		}),
		site.Read(api.Operation[backupIn, api.Empty]{
			ID: "backups.download", Path: named + "/download", Summary: "Download a backup as a tar.gz archive",
			Description: "The archive has a directory for each part. Passwords are not in it.",
			Errors: []*fault.Def{
				fault.NotFound, ErrNotRestorable, fault.JobRunning, fault.UnsupportedOperation, fault.PanelUnreachable, fault.PanelBusy,
			},
			ContentTypes: []string{archiveType},
			Stream:       s.download,
		}),
	}
}

const archiveType = "application/gzip"

// download streams the archive. What is wrong with a backup often shows at its very
// beginning, so that is waited for before anything is promised.
func (s *Service) download(ctx context.Context, p auth.Principal, in *backupIn, w http.ResponseWriter, _ *http.Request) (err error) {
	stream, err := s.open(ctx, p.AccountID, in.Service, in.Backup)
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, panel.ErrInvalid) {
			err = errors.Join(err, s.reviewSoon(context.WithoutCancel(ctx), p.AccountID, in.Service))
		}
	}()
	defer func() { _ = stream.Close() }() // ends the packing
	archive := bufio.NewReaderSize(stream, 64<<10)
	if _, err := archive.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return refusal(err)
	}
	h := w.Header()
	h.Set("Content-Type", archiveType)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="backup-%d-%d.tar.gz"`, in.Service, in.Backup))
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if _, err := io.Copy(w, archive); err != nil {
		return fmt.Errorf("download of a backup: %w", err)
	}
	return nil
}

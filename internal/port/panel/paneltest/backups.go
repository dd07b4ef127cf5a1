package paneltest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// ended waits for a task of backups.
func ended(t *testing.T, b panel.Backups, ref, id string) panel.BackupTask {
	t.Helper()
	var task panel.BackupTask
	testkit.Eventually(t, time.Minute, func() bool {
		var err error
		task, err = b.BackupTask(t.Context(), ref, id)
		must(t, err)
		return task.Status != panel.TaskRunning
	}, "task "+id+" has ended")
	return task
}

// completed waits for a task and wants it to have succeeded.
func completed(t *testing.T, b panel.Backups, ref, id string) panel.BackupTask {
	t.Helper()
	task := ended(t, b, ref, id)
	if task.Status != panel.TaskCompleted {
		t.Fatalf("task %s: %+v", id, task)
	}
	return task
}

// unbusy calls start until no other task of the account is in its way.
func unbusy(t *testing.T, start func() (panel.BackupTask, error)) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() bool {
		_, err := start()
		if !errors.Is(err, panel.ErrBusy) {
			must(t, err)
		}
		return err == nil
	}, "no other task is running")
}

var filesAndRecords = panel.BackupRequest{
	ID: "b1", Parts: []panel.BackupPart{panel.PartFiles, panel.PartDNS},
	Documents: map[panel.BackupPart]json.RawMessage{panel.PartDNS: json.RawMessage(`{"records":[1,2]}`)},
}

func backUpAndRestore(t *testing.T, p panel.Panel) {
	b, f := capability[panel.Backups](t, p), capability[panel.Files](t, p)
	ctx := t.Context()
	create(t, p, spec)
	const page = "/public_html/index.html"
	_, err := f.Write(ctx, ref, page, []byte("before"), panel.WriteOptions{})
	must(t, err)
	unbusy(t, func() (panel.BackupTask, error) { return b.StartBackup(ctx, ref, filesAndRecords) })
	made := completed(t, b, ref, "b1")
	again, err := b.StartBackup(ctx, ref, filesAndRecords)
	must(t, err)
	equal(t, "time of a backup that is asked for again", again.FinishedAt, made.FinishedAt)
	if len(made.Parts) != 2 || made.Parts[0].Bytes != 6 || made.Parts[1].Count != 1 {
		t.Errorf("parts: %+v", made.Parts)
	}
	list, err := b.ListBackups(ctx, ref)
	must(t, err)
	if len(list) != 1 || list[0].ID != "b1" || list[0].Storage == "" || list[0].CreatedAt.IsZero() {
		t.Errorf("list: %+v", list)
	}
	docs, err := b.BackupDocuments(ctx, ref, "b1")
	must(t, err)
	equal(t, "document", string(docs[panel.PartDNS]), `{"records":[1,2]}`)

	_, err = f.Write(ctx, ref, page, []byte("after, and longer"), panel.WriteOptions{})
	must(t, err)
	_, err = f.Write(ctx, ref, "/public_html/new.html", []byte("new"), panel.WriteOptions{})
	must(t, err)
	unbusy(t, func() (panel.BackupTask, error) {
		return b.StartBackupCheck(ctx, ref, panel.CheckRequest{ID: "c1", Backup: "b1"})
	})
	completed(t, b, ref, "c1")
	unbusy(t, func() (panel.BackupTask, error) {
		return b.StartRestore(ctx, ref, panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	})
	completed(t, b, ref, "r1")
	read, err := f.Read(ctx, ref, page, panel.ReadOptions{})
	must(t, err)
	equal(t, "page", string(read.Data), "before")
	_, err = f.Stat(ctx, ref, "/public_html/new.html")
	refused(t, err, panel.ErrNotFound)

	equal(t, "page in the archive", archived(t, b, ref, "b1")["files/public_html/index.html"], "before")
	unbusy(t, func() (panel.BackupTask, error) { return panel.BackupTask{}, b.DeleteBackup(ctx, ref, "b1") })
	must(t, b.DeleteBackup(ctx, ref, "b1"))
	_, err = b.OpenBackup(ctx, ref, "b1")
	refused(t, err, panel.ErrNotFound)
}

// archived reads the archive of a backup.
func archived(t *testing.T, b panel.Backups, ref, id string) map[string]string {
	t.Helper()
	stream, err := b.OpenBackup(t.Context(), ref, id)
	must(t, err)
	defer stream.Close()
	gz, err := gzip.NewReader(stream)
	must(t, err)
	found := map[string]string{}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		found[h.Name] = string(content)
	}
}

func backupsRefuse(t *testing.T, p panel.Panel) {
	b := capability[panel.Backups](t, p)
	ctx := t.Context()
	create(t, p, spec)
	create(t, p, panel.AccountSpec{Ref: "2", Username: "bob", PrimaryDomain: "bob.example"})
	for _, in := range []panel.BackupRequest{
		{ID: "b1"},
		{ID: "../b1", Parts: []panel.BackupPart{panel.PartFiles}},
		{ID: "b1", Parts: []panel.BackupPart{panel.PartFiles, panel.PartFiles}},
		{ID: "b1", Parts: []panel.BackupPart{"everything"}},
	} {
		_, err := b.StartBackup(ctx, ref, in)
		refused(t, err, panel.ErrInvalid)
	}
	_, err := b.BackupTask(ctx, ref, "b1")
	refused(t, err, panel.ErrNotFound)
	unbusy(t, func() (panel.BackupTask, error) { return b.StartBackup(ctx, ref, filesAndRecords) })
	completed(t, b, ref, "b1")

	files := []panel.BackupPart{panel.PartFiles}
	restore := func(ref string, in panel.RestoreRequest) error {
		in.ID = "r1"
		_, err := b.StartRestore(ctx, ref, in)
		return err
	}
	refused(t, restore("2", panel.RestoreRequest{Backup: "b1", Parts: files}), panel.ErrNotFound)
	refused(t, restore(ref, panel.RestoreRequest{Backup: "b2", Parts: files}), panel.ErrNotFound)
	refused(t, restore(ref, panel.RestoreRequest{Backup: "b1", Parts: []panel.BackupPart{panel.PartMail}}), panel.ErrInvalid)
	refused(t, restore(ref, panel.RestoreRequest{Backup: "b1", Parts: files, Target: "/../x"}), panel.ErrPathNotAllowed)
	_, err = b.OpenBackup(ctx, "2", "b1")
	refused(t, err, panel.ErrNotFound)
	_, err = b.BackupDocuments(ctx, "2", "b1")
	refused(t, err, panel.ErrNotFound)
	must(t, b.DeleteBackup(ctx, "2", "b1")) // it has none of that name, and bothers nobody else's
	list, err := b.ListBackups(ctx, ref)
	must(t, err)
	equal(t, "backups", len(list), 1)

	accounts := capability[panel.Accounts](t, p)
	must(t, accounts.SuspendAccount(ctx, ref))
	refused(t, restore(ref, panel.RestoreRequest{Backup: "b1", Parts: files}), panel.ErrSuspended)
	unbusy(t, func() (panel.BackupTask, error) {
		return b.StartBackup(ctx, ref, panel.BackupRequest{ID: "b2", Parts: files})
	})
	completed(t, b, ref, "b2")
}

func backupsOutlastTheirAccount(t *testing.T, p panel.Panel) {
	b, a, f := capability[panel.Backups](t, p), capability[panel.Accounts](t, p), capability[panel.Files](t, p)
	ctx := t.Context()
	create(t, p, spec)
	_, err := f.Write(ctx, ref, "/public_html/index.html", []byte("kept"), panel.WriteOptions{})
	must(t, err)
	unbusy(t, func() (panel.BackupTask, error) { return b.StartBackup(ctx, ref, filesAndRecords) })
	completed(t, b, ref, "b1")
	must(t, a.DeleteAccount(ctx, ref))
	list, err := b.ListBackups(ctx, ref)
	must(t, err)
	equal(t, "backups of an account that ended", len(list), 1)
	equal(t, "page", archived(t, b, ref, "b1")["files/public_html/index.html"], "kept")
	unbusy(t, func() (panel.BackupTask, error) {
		return b.StartBackupCheck(ctx, ref, panel.CheckRequest{ID: "c1", Backup: "b1", Thorough: true})
	})
	completed(t, b, ref, "c1")

	create(t, p, spec)
	unbusy(t, func() (panel.BackupTask, error) {
		return b.StartRestore(ctx, ref, panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	})
	completed(t, b, ref, "r1")
	read, err := f.Read(ctx, ref, "/public_html/index.html", panel.ReadOptions{})
	must(t, err)
	equal(t, "page", string(read.Data), "kept")

	must(t, a.DeleteAccount(ctx, ref))
	unbusy(t, func() (panel.BackupTask, error) { return panel.BackupTask{}, b.DeleteBackup(ctx, ref, "b1") })
	_, err = b.ListBackups(ctx, ref)
	refused(t, err, panel.ErrNotFound)
}

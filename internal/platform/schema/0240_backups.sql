-- +goose Up

-- Backups of services (resources, section 22). A row that is deleted goes when its panel no longer has the backup.
CREATE TABLE backups (
    id          {{id}},
    account_id  BIGINT  NOT NULL,            -- the owner's account
    service_id  BIGINT  NOT NULL,            -- the service
    -- auto: by the day; manual: asked for; pre_change: before a restore
    kind        TEXT    NOT NULL CHECK (kind IN ('auto', 'manual', 'pre_change')),
    -- whether it was made when its service ended, and is what the service can come back from
    final       BOOLEAN NOT NULL DEFAULT FALSE,
    -- how far it is; restoring: it is being read; deleted: its panel is to forget it
    status      TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'restoring', 'deleted')),
    parts       TEXT    NOT NULL,            -- JSON list: the state of each part
    size_bytes  BIGINT  NOT NULL DEFAULT 0,  -- what it holds
    storage     TEXT    NOT NULL DEFAULT '', -- where it lies, local or s3; empty until it is complete
    note        TEXT    NOT NULL DEFAULT '', -- its owner's remark
    error_key   TEXT,                        -- why it failed; NULL when it did not
    created_at  BIGINT  NOT NULL,            -- when it was asked for
    finished_at BIGINT,                      -- when it was complete or had failed; NULL before that
    expires_at  BIGINT,                      -- when it is deleted by itself; NULL before it is finished
    -- what another machine needs to restore it, encrypted; NULL where its panel hands nothing over
    passport    {{bytes}},
    CONSTRAINT backups_finished CHECK ((status IN ('queued', 'running')) = (finished_at IS NULL)),
    CONSTRAINT backups_expire CHECK (finished_at IS NULL OR expires_at IS NOT NULL),
    CONSTRAINT backups_failure CHECK (status <> 'failed' OR error_key IS NOT NULL)
);
CREATE INDEX backups_service ON backups (service_id, id);
CREATE UNIQUE INDEX backups_running ON backups (service_id) WHERE status IN ('queued', 'running');
CREATE INDEX backups_expiry ON backups (expires_at) WHERE status IN ('completed', 'failed');
-- Backups that are to go and are still on their panels.
CREATE INDEX backups_deleted ON backups (id) WHERE status = 'deleted';

-- Restores.
CREATE TABLE backups_restores (
    id            {{id}},
    account_id    BIGINT NOT NULL, -- the owner's account
    service_id    BIGINT NOT NULL, -- the service
    backup_id     BIGINT NOT NULL REFERENCES backups (id) ON DELETE CASCADE, -- the backup that is restored
    -- the backup that is made first, of what is going to be replaced; NULL for a service that comes back and has
    -- nothing to replace
    pre_backup_id BIGINT,
    parts         TEXT   NOT NULL, -- JSON list of the parts that are restored
    -- JSON list of single files, databases or mailboxes; empty for all of the part
    items         TEXT   NOT NULL DEFAULT '[]',
    -- of files: a directory to put them into; empty: in place of what is there
    target        TEXT   NOT NULL DEFAULT '',
    -- how far it is
    status        TEXT   NOT NULL CHECK (status IN ('queued', 'verifying', 'importing', 'restoring', 'completed',
        'failed')),
    error_key     TEXT,            -- why it failed; NULL when it did not
    created_at    BIGINT NOT NULL, -- when it was asked for
    finished_at   BIGINT,          -- when it was complete or had failed; NULL before that
    CONSTRAINT backups_restores_finished CHECK ((status IN ('completed', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT backups_restores_failure CHECK ((status = 'failed') = (error_key IS NOT NULL))
);
CREATE INDEX backups_restores_backup ON backups_restores (backup_id, id);
-- The newest restore of each backup of a service, which lists show.
CREATE INDEX backups_restores_service ON backups_restores (service_id, backup_id, id);
CREATE UNIQUE INDEX backups_restores_running ON backups_restores (service_id)
    WHERE status NOT IN ('completed', 'failed');

-- When services are backed up automatically.
CREATE TABLE backups_schedules (
    service_id BIGINT NOT NULL PRIMARY KEY, -- the service
    account_id BIGINT NOT NULL,             -- the owner's account
    due_at     BIGINT NOT NULL,             -- when the next automatic backup is due
    check_at   BIGINT NOT NULL              -- when the newest backup is next read to see that it is whole
);
CREATE INDEX backups_schedules_due ON backups_schedules (due_at);
CREATE INDEX backups_schedules_check ON backups_schedules (check_at);

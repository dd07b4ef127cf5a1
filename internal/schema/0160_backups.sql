-- +goose Up

-- Backups of services (resources, section 22). parts is a JSON array of each
-- part's state. A final one was made when its service ended, and is what the
-- service can be restored from. A row that is deleted goes when its panel no
-- longer has the backup.
CREATE TABLE backups (
    id          {{id}},
    account_id  BIGINT  NOT NULL,
    service_id  BIGINT  NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('auto', 'manual', 'pre_change')),
    final       BOOLEAN NOT NULL DEFAULT FALSE,
    status      TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'restoring', 'deleted')),
    parts       TEXT    NOT NULL,
    size_bytes  BIGINT  NOT NULL DEFAULT 0,
    storage     TEXT    NOT NULL DEFAULT '',
    note        TEXT    NOT NULL DEFAULT '',
    error_key   TEXT,
    created_at  BIGINT  NOT NULL,
    finished_at BIGINT,
    expires_at  BIGINT,
    CONSTRAINT backups_finished CHECK ((status IN ('queued', 'running')) = (finished_at IS NULL)),
    CONSTRAINT backups_expire CHECK (finished_at IS NULL OR expires_at IS NOT NULL),
    CONSTRAINT backups_failure CHECK (status <> 'failed' OR error_key IS NOT NULL)
);
CREATE INDEX backups_service ON backups (service_id, id);
CREATE UNIQUE INDEX backups_running ON backups (service_id) WHERE status IN ('queued', 'running');
CREATE INDEX backups_expiry ON backups (expires_at) WHERE status IN ('completed', 'failed');

-- Restores. pre_backup_id is the backup that is made first, of what is going to
-- be replaced; a service that comes back has nothing to replace.
CREATE TABLE backups_restores (
    id            {{id}},
    account_id    BIGINT NOT NULL,
    service_id    BIGINT NOT NULL,
    backup_id     BIGINT NOT NULL REFERENCES backups (id) ON DELETE CASCADE,
    pre_backup_id BIGINT,
    parts         TEXT   NOT NULL,
    items         TEXT   NOT NULL DEFAULT '[]',
    target        TEXT   NOT NULL DEFAULT '',
    status        TEXT   NOT NULL CHECK (status IN ('queued', 'verifying', 'importing', 'restoring', 'completed', 'failed')),
    error_key     TEXT,
    created_at    BIGINT NOT NULL,
    finished_at   BIGINT,
    CONSTRAINT backups_restores_finished CHECK ((status IN ('completed', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT backups_restores_failure CHECK ((status = 'failed') = (error_key IS NOT NULL))
);
CREATE INDEX backups_restores_backup ON backups_restores (backup_id, id);
CREATE UNIQUE INDEX backups_restores_running ON backups_restores (service_id) WHERE status NOT IN ('completed', 'failed');

-- When the next automatic backup of a service, and the next check of its newest
-- one, are due.
CREATE TABLE backups_schedules (
    service_id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    check_at   BIGINT NOT NULL
);
CREATE INDEX backups_schedules_due ON backups_schedules (due_at);
CREATE INDEX backups_schedules_check ON backups_schedules (check_at);

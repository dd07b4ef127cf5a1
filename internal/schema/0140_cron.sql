-- +goose Up

-- Cron jobs of hosting services (resources, section 20). A row is what should be; status says how far
-- the panel has followed, and revision which version of the row it has followed. Runs are the panel's
-- to tell.
CREATE TABLE cron_jobs (
    id              {{id}},
    account_id      BIGINT  NOT NULL,
    service_id      BIGINT  NOT NULL,
    expression      TEXT    NOT NULL,
    timezone        TEXT    NOT NULL,
    command         TEXT    NOT NULL,
    enabled         BOOLEAN NOT NULL,
    overlap         TEXT    NOT NULL CHECK (overlap IN ('skip', 'allow')),
    timeout_seconds INTEGER NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key     TEXT,
    revision        BIGINT  NOT NULL DEFAULT 1,
    created_at      BIGINT  NOT NULL,
    CONSTRAINT cron_jobs_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE INDEX cron_jobs_service ON cron_jobs (service_id, id);

-- +goose Up

-- Cron jobs of hosting services (resources, section 20). A row is what should be; status says how far the panel has
-- followed. Runs are the panel's to tell.
CREATE TABLE cron_jobs (
    id              {{id}},
    account_id      BIGINT  NOT NULL,           -- the owner's account
    service_id      BIGINT  NOT NULL,           -- the service that runs it
    expression      TEXT    NOT NULL,           -- when it runs, as crontab has it
    timezone        TEXT    NOT NULL,           -- in which time zone the expression is read
    command         TEXT    NOT NULL,           -- what is run, by the account's shell
    enabled         BOOLEAN NOT NULL,           -- whether it runs
    -- what happens when it is due while it still runs
    overlap         TEXT    NOT NULL CHECK (overlap IN ('skip', 'allow')),
    timeout_seconds INTEGER NOT NULL,           -- after how long a run is ended
    -- how far the panel has followed the row
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key     TEXT,                       -- why the panel refused it; NULL unless it failed
    revision        BIGINT  NOT NULL DEFAULT 1, -- version of the row; a job that followed an older one marks nothing
    created_at      BIGINT  NOT NULL,           -- when it was asked for
    CONSTRAINT cron_jobs_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE INDEX cron_jobs_service ON cron_jobs (service_id, id);

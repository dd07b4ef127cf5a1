-- +goose Up

-- Security scans of web sites (resources, section 10).
CREATE TABLE scans (
    id          {{id}},
    account_id  BIGINT  NOT NULL, -- whose scan it is
    service_id  BIGINT,           -- the service that serves the site; NULL for a site elsewhere
    url         TEXT    NOT NULL, -- the site
    status      TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'failed')), -- how far it is
    weekly      BOOLEAN NOT NULL, -- whether it was made by itself
    score       INTEGER CHECK (score BETWEEN 0 AND 100), -- NULL unless it is completed
    grade       TEXT,             -- the score as a letter; NULL unless it is completed
    findings    TEXT    NOT NULL DEFAULT '[]', -- JSON list: result, severity and evidence of each check
    open_count  INTEGER NOT NULL DEFAULT 0,    -- how many of the findings are to mend
    error_key   TEXT,             -- why it failed; NULL unless it did
    started_at  BIGINT  NOT NULL, -- when it began
    lease_until BIGINT  NOT NULL, -- a scan that is still running then was killed
    finished_at BIGINT,           -- when it was completed or had failed; NULL while it runs
    CONSTRAINT scans_finished CHECK ((status = 'running') = (finished_at IS NULL)),
    CONSTRAINT scans_scored CHECK ((status = 'completed') = (score IS NOT NULL) AND (score IS NULL) = (grade IS NULL)),
    CONSTRAINT scans_failure CHECK ((status = 'failed') = (error_key IS NOT NULL))
);
CREATE INDEX scans_account ON scans (account_id, id);
CREATE INDEX scans_service ON scans (service_id, status, id);
CREATE INDEX scans_age ON scans (started_at);
-- An account has one scan at a time.
CREATE UNIQUE INDEX scans_running ON scans (account_id) WHERE status = 'running';
CREATE INDEX scans_lease ON scans (lease_until) WHERE status = 'running';

-- Services that are scanned every week.
CREATE TABLE scans_services (
    service_id BIGINT PRIMARY KEY, -- the service
    account_id BIGINT NOT NULL,    -- its owner's account
    next_at    BIGINT NOT NULL     -- when it is scanned next
);
CREATE INDEX scans_services_next ON scans_services (next_at);
CREATE INDEX scans_services_account ON scans_services (account_id);

-- +goose Up

-- How the PHP programs of services are to run (resources, section 22; section "Service management"), for services of
-- which something was set. A row is what should be; status says how far the panel has followed.
CREATE TABLE php_settings (
    service_id  BIGINT NOT NULL PRIMARY KEY,  -- the service
    account_id  BIGINT NOT NULL,              -- the owner's account
    version     TEXT   NOT NULL DEFAULT '',   -- such as 8.3; empty: the panel's own choice
    options     TEXT   NOT NULL DEFAULT '{}', -- JSON object of the options that were set
    extensions  TEXT   NOT NULL DEFAULT '[]', -- JSON list of the extensions that were chosen
    -- how far the panel has followed the row
    status      TEXT   NOT NULL CHECK (status IN ('pending', 'active', 'failed')),
    failure_key TEXT,                         -- why the panel refused it; NULL unless it failed
    revision    BIGINT NOT NULL DEFAULT 1,    -- version of the row; a job that followed an older one marks nothing
    updated_at  BIGINT NOT NULL,              -- when it last changed
    CONSTRAINT php_settings_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);

-- What panels were seen to offer, so that a change can be judged without asking them.
CREATE TABLE php_panels (
    panel      TEXT   NOT NULL PRIMARY KEY, -- the panel's name, as in services
    versions   TEXT   NOT NULL,             -- JSON list of the versions that it offers
    extensions TEXT   NOT NULL,             -- JSON object: the extensions of each version that was seen
    seen_at    BIGINT NOT NULL              -- when the panel was asked
);

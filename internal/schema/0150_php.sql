-- +goose Up

-- How the PHP programs of services are to run (resources, section 22; section "Service management"). A row
-- is what should be, for a service of which something was set; status says how far the panel has followed.
CREATE TABLE php_settings (
    service_id  BIGINT NOT NULL PRIMARY KEY,
    account_id  BIGINT NOT NULL,
    version     TEXT   NOT NULL DEFAULT '', -- empty: the panel's own choice
    options     TEXT   NOT NULL DEFAULT '{}',
    extensions  TEXT   NOT NULL DEFAULT '[]',
    status      TEXT   NOT NULL CHECK (status IN ('pending', 'active', 'failed')),
    failure_key TEXT,
    revision    BIGINT NOT NULL DEFAULT 1,
    updated_at  BIGINT NOT NULL,
    CONSTRAINT php_settings_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);

-- What panels were seen to offer, so that a change can be judged without asking them: versions, and the
-- extensions of each version that was seen.
CREATE TABLE php_panels (
    panel      TEXT   NOT NULL PRIMARY KEY,
    versions   TEXT   NOT NULL,
    extensions TEXT   NOT NULL,
    seen_at    BIGINT NOT NULL
);

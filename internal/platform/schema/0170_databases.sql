-- +goose Up

-- Databases of hosting services (resources, section 17). A row is what should be; status says how far the panel has
-- followed. Their passwords are in credentials.
CREATE TABLE databases (
    id           {{id}},
    account_id   BIGINT NOT NULL,           -- the owner's account
    service_id   BIGINT NOT NULL,           -- the service that has it
    name         TEXT   NOT NULL,           -- as on the panel
    engine       TEXT   NOT NULL CHECK (engine IN ('mysql', 'mariadb', 'postgresql')), -- which database server
    charset      TEXT   NOT NULL,           -- character set
    -- how far the panel has followed the row
    status       TEXT   NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key  TEXT,                      -- why the panel refused it; NULL unless it failed
    revision     BIGINT NOT NULL DEFAULT 1, -- version of the row; a job that followed an older one marks nothing
    created_at   BIGINT NOT NULL,           -- when it was asked for
    activated_at BIGINT,                    -- when the panel first had it; NULL before that
    CONSTRAINT databases_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX databases_name ON databases (service_id, name);
CREATE INDEX databases_service ON databases (service_id, id);

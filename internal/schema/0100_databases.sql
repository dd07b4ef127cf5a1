-- +goose Up

-- Databases of hosting services (resources, section 17). A row is what should be; status says how far
-- the panel has followed, and revision which version of the row it has followed. The name is that on
-- the panel. Passwords are elsewhere.
CREATE TABLE databases (
    id           {{id}},
    account_id   BIGINT  NOT NULL,
    service_id   BIGINT  NOT NULL,
    name         TEXT    NOT NULL,
    engine       TEXT    NOT NULL CHECK (engine IN ('mysql', 'mariadb', 'postgresql')),
    charset      TEXT    NOT NULL,
    status       TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key  TEXT,
    revision     BIGINT  NOT NULL DEFAULT 1,
    created_at   BIGINT  NOT NULL,
    activated_at BIGINT,
    CONSTRAINT databases_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX databases_name ON databases (service_id, name);
CREATE INDEX databases_service ON databases (service_id, id);

-- +goose Up

-- Passwords that the server makes for what a service has: database users, FTP accounts. Whose they are
-- tells (kind, subject_id), a row of the section that asked for them.
CREATE TABLE credentials (
    id          {{id}},
    account_id  BIGINT NOT NULL,
    service_id  BIGINT NOT NULL,
    kind        TEXT   NOT NULL CHECK (kind IN ('database', 'ftp', 'server')),
    subject_id  BIGINT NOT NULL,
    label       TEXT   NOT NULL,   -- what people know the subject by: a user's name
    sealed      {{bytes}} NOT NULL,  -- the password; bound to this row and its version
    version     TEXT   NOT NULL,   -- another with each password
    made_at     BIGINT NOT NULL,
    revealed_at BIGINT,            -- when it was shown, once, to its owner
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX credentials_subject ON credentials (kind, subject_id);
CREATE INDEX credentials_service ON credentials (service_id, id);

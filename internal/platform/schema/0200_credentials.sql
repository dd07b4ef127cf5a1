-- +goose Up

-- Passwords that the server makes for what a service has: database users, FTP accounts.
CREATE TABLE credentials (
    id          {{id}},
    account_id  BIGINT    NOT NULL, -- the owner's account
    service_id  BIGINT    NOT NULL, -- the service
    kind        TEXT      NOT NULL CHECK (kind IN ('database', 'ftp', 'server')), -- whose password it is
    subject_id  BIGINT    NOT NULL, -- id of the row of the section that asked for it
    label       TEXT      NOT NULL, -- what people know the subject by: a user's name
    sealed      {{bytes}} NOT NULL, -- the password, encrypted; bound to this row and its version
    version     TEXT      NOT NULL, -- another with each password, and never one that was before
    made_at     BIGINT    NOT NULL, -- when this password was made
    revealed_at BIGINT,             -- when it was shown, once, to its owner; NULL before that
    created_at  BIGINT    NOT NULL  -- when the first password was made
);
CREATE UNIQUE INDEX credentials_subject ON credentials (kind, subject_id);
CREATE INDEX credentials_service ON credentials (service_id, id);

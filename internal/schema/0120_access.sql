-- +goose Up

-- FTP accounts of services (resources, section 18). A row is what should be; status says how far the panel
-- has followed, and revision which version of the row it has followed. Passwords are in credentials.
CREATE TABLE access_ftp_accounts (
    id            {{id}},
    account_id    BIGINT  NOT NULL,
    service_id    BIGINT  NOT NULL,
    username      TEXT    NOT NULL,   -- as it signs in
    home          TEXT    NOT NULL,   -- path in the service's home
    quota_mb      BIGINT  NOT NULL,   -- 0: none of its own
    readonly      BOOLEAN NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key   TEXT,
    revision      BIGINT  NOT NULL DEFAULT 1,
    host          TEXT    NOT NULL DEFAULT '', -- what follows the panel told
    port          BIGINT  NOT NULL DEFAULT 0,
    used_mb       BIGINT  NOT NULL DEFAULT 0,
    last_login_at BIGINT,
    created_at    BIGINT  NOT NULL,
    CONSTRAINT access_ftp_accounts_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX access_ftp_accounts_username ON access_ftp_accounts (service_id, username);
CREATE INDEX access_ftp_accounts_service ON access_ftp_accounts (service_id, id);

-- SSH of services: one row for each that has been looked at. The keys of a service follow with it.
CREATE TABLE access_shells (
    service_id  BIGINT PRIMARY KEY,
    account_id  BIGINT  NOT NULL,
    enabled     BOOLEAN NOT NULL DEFAULT FALSE,
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed')),
    failure_key TEXT,
    revision    BIGINT  NOT NULL DEFAULT 1, -- rises with each change of the keys, too
    host        TEXT    NOT NULL DEFAULT '', -- what follows the panel told
    port        BIGINT  NOT NULL DEFAULT 0,
    username    TEXT    NOT NULL DEFAULT '',
    fingerprint TEXT    NOT NULL DEFAULT '',
    CONSTRAINT access_shells_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);

-- Keys that open a service by SSH (resources, section 22).
CREATE TABLE access_ssh_keys (
    id           {{id}},
    account_id   BIGINT NOT NULL,
    service_id   BIGINT NOT NULL,
    name         TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    public_key   TEXT   NOT NULL, -- type and base64, no more
    fingerprint  TEXT   NOT NULL, -- SHA256
    last_used_at BIGINT,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX access_ssh_keys_fingerprint ON access_ssh_keys (service_id, fingerprint);
CREATE INDEX access_ssh_keys_service ON access_ssh_keys (service_id, id);

-- Tickets that open a terminal in the browser, once and within seconds. The browser holds the ticket.
CREATE TABLE access_tickets (
    hash       {{bytes}} PRIMARY KEY,
    account_id BIGINT NOT NULL,
    service_id BIGINT NOT NULL,
    holder     BIGINT NOT NULL, -- the browser's session
    expires_at BIGINT NOT NULL
);
CREATE INDEX access_tickets_expiry ON access_tickets (expires_at);

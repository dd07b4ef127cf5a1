-- +goose Up

-- FTP accounts of services (resources, section 18). A row is what should be; status says how far the panel has
-- followed. Their passwords are in credentials.
CREATE TABLE access_ftp_accounts (
    id            {{id}},
    account_id    BIGINT  NOT NULL,            -- the owner's account
    service_id    BIGINT  NOT NULL,            -- the service that it opens
    username      TEXT    NOT NULL,            -- the name for signing in
    home          TEXT    NOT NULL,            -- path in the service's home that it sees
    quota_mb      BIGINT  NOT NULL,            -- how much it may hold, in MiB; 0: no limit of its own
    readonly      BOOLEAN NOT NULL,            -- whether it may read alone
    -- how far the panel has followed the row
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key   TEXT,                        -- why the panel refused it; NULL unless it failed
    revision      BIGINT  NOT NULL DEFAULT 1,  -- version of the row; a job that followed an older one marks nothing
    host          TEXT    NOT NULL DEFAULT '', -- the host for signing in, as the panel reported
    port          BIGINT  NOT NULL DEFAULT 0,  -- the port for signing in, as the panel reported
    used_mb       BIGINT  NOT NULL DEFAULT 0,  -- the space that it uses, in MiB, as the panel reported
    last_login_at BIGINT,                      -- the last sign-in, as the panel reported; NULL before the first one
    created_at    BIGINT  NOT NULL,            -- when it was asked for
    CONSTRAINT access_ftp_accounts_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX access_ftp_accounts_username ON access_ftp_accounts (service_id, username);
CREATE INDEX access_ftp_accounts_service ON access_ftp_accounts (service_id, id);

-- SSH of services: one row for each that has been looked at. The keys of a service follow with it.
CREATE TABLE access_shells (
    service_id  BIGINT  PRIMARY KEY,            -- the service
    account_id  BIGINT  NOT NULL,               -- the owner's account
    enabled     BOOLEAN NOT NULL DEFAULT FALSE, -- whether the service has a shell
    -- how far the panel has followed shell and keys
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed')),
    failure_key TEXT,                           -- why the panel refused; NULL unless it failed
    revision    BIGINT  NOT NULL DEFAULT 1,     -- version of the row; rises with each change of the keys, too
    host        TEXT    NOT NULL DEFAULT '',    -- the host for signing in, as the panel reported
    port        BIGINT  NOT NULL DEFAULT 0,     -- the port for signing in, as the panel reported
    username    TEXT    NOT NULL DEFAULT '',    -- the user for signing in, as the panel reported
    fingerprint TEXT    NOT NULL DEFAULT '',    -- fingerprint of the machine's host key, as the panel reported
    CONSTRAINT access_shells_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);

-- Keys that open a service by SSH (resources, section 22).
CREATE TABLE access_ssh_keys (
    id           {{id}},
    account_id   BIGINT NOT NULL, -- the owner's account
    service_id   BIGINT NOT NULL, -- the service that it opens
    name         TEXT   NOT NULL, -- what its owner calls it
    type         TEXT   NOT NULL, -- kind of key, such as ssh-ed25519
    public_key   TEXT   NOT NULL, -- type and base64, no more
    fingerprint  TEXT   NOT NULL, -- SHA256
    last_used_at BIGINT,          -- the last sign-in with it, as the panel reported; NULL before the first one
    created_at   BIGINT NOT NULL  -- when it was added
);
CREATE UNIQUE INDEX access_ssh_keys_fingerprint ON access_ssh_keys (service_id, fingerprint);
CREATE INDEX access_ssh_keys_service ON access_ssh_keys (service_id, id);

-- Tickets that open a terminal in the browser, once and within seconds.
CREATE TABLE access_tickets (
    hash       {{bytes}} PRIMARY KEY, -- hash of the ticket, which the browser holds
    account_id BIGINT    NOT NULL,    -- the owner's account
    service_id BIGINT    NOT NULL,    -- the service whose terminal it opens
    holder     BIGINT    NOT NULL,    -- the browser's session (account_sessions); no other may use it
    expires_at BIGINT    NOT NULL     -- when it stops working
);
CREATE INDEX access_tickets_expiry ON access_tickets (expires_at);

-- +goose Up

-- Mailboxes of hosting services (resources, section 16). A row is what should be; status says how far the panel has
-- followed, and revision which version of the row. The password is kept only as the mail server's hash of it. used_bytes,
-- messages and last_login_at are the mail server's counters as of measured_at; full is whether the quota was reached then.
CREATE TABLE mail_boxes (
    id            {{id}},
    account_id    BIGINT  NOT NULL,
    service_id    BIGINT  NOT NULL,
    address       TEXT    NOT NULL,
    domain        TEXT    NOT NULL,
    password_hash TEXT    NOT NULL,
    quota_mb      BIGINT  NOT NULL CHECK (quota_mb > 0),
    aliases       TEXT    NOT NULL,
    forward_to    TEXT    NOT NULL,
    keep_copy     BOOLEAN NOT NULL,
    catch_all     BOOLEAN NOT NULL,
    reply_enabled BOOLEAN NOT NULL,
    reply_subject TEXT    NOT NULL,
    reply_body    TEXT    NOT NULL,
    reply_from    BIGINT,
    reply_until   BIGINT,
    imap          BOOLEAN NOT NULL,
    pop3          BOOLEAN NOT NULL,
    smtp_out      BOOLEAN NOT NULL,
    send_limit    BIGINT  NOT NULL CHECK (send_limit > 0),
    suspended     BOOLEAN NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key   TEXT,
    revision      BIGINT  NOT NULL DEFAULT 1,
    told_suspended BOOLEAN NOT NULL DEFAULT FALSE,
    used_bytes    BIGINT  NOT NULL DEFAULT 0,
    messages      BIGINT  NOT NULL DEFAULT 0,
    last_login_at BIGINT,
    measured_at   BIGINT,
    is_full       BOOLEAN NOT NULL DEFAULT FALSE,
    created_at    BIGINT  NOT NULL,
    activated_at  BIGINT,
    CONSTRAINT mail_boxes_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX mail_boxes_address ON mail_boxes (service_id, address);

-- Where the mail of a service is reached, as its panel says, and when its mailboxes are measured next.
CREATE TABLE mail_services (
    service_id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL,
    server     TEXT   NOT NULL,
    due_at     BIGINT NOT NULL
);
CREATE INDEX mail_services_due ON mail_services (due_at);

-- Domains with mailboxes, the key that signs what they send, and what the DNS said of them when it was last asked.
CREATE TABLE mail_domains (
    id         {{id}},
    account_id BIGINT NOT NULL,
    service_id BIGINT NOT NULL,
    name       TEXT   NOT NULL,
    selector   TEXT   NOT NULL,
    public_key TEXT   NOT NULL,
    found      TEXT   NOT NULL DEFAULT '{}',
    checked_at BIGINT,
    due_at     BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX mail_domains_name ON mail_domains (service_id, name);
CREATE INDEX mail_domains_due ON mail_domains (due_at);

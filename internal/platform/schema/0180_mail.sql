-- +goose Up

-- Mailboxes of hosting services (resources, section 16). A row is what should be; status says how far the panel has
-- followed.
CREATE TABLE mail_boxes (
    id             {{id}},
    account_id     BIGINT  NOT NULL,                        -- the owner's account
    service_id     BIGINT  NOT NULL,                        -- the service that has it
    address        TEXT    NOT NULL,                        -- the mailbox's address
    domain         TEXT    NOT NULL,                        -- the part of the address after the @
    password_hash  TEXT    NOT NULL, -- the mail server's hash; the password itself is not stored
    quota_mb       BIGINT  NOT NULL CHECK (quota_mb > 0),   -- how much mail it may hold, in MiB
    aliases        TEXT    NOT NULL,                        -- JSON list of further addresses of the mailbox
    forward_to     TEXT    NOT NULL,                        -- JSON list of addresses that mail is forwarded to
    keep_copy      BOOLEAN NOT NULL,                        -- whether forwarded mail is also stored here
    catch_all      BOOLEAN NOT NULL, -- whether it gets mail to addresses of its domain that do not exist
    reply_enabled  BOOLEAN NOT NULL,                        -- whether senders get an automatic answer
    reply_subject  TEXT    NOT NULL,                        -- subject of the answer
    reply_body     TEXT    NOT NULL,                        -- text of the answer
    reply_from     BIGINT,                                  -- when answers begin; NULL: at once
    reply_until    BIGINT,                                  -- when answers end; NULL: never
    imap           BOOLEAN NOT NULL,                        -- whether it can be read by IMAP
    pop3           BOOLEAN NOT NULL,                        -- whether it can be read by POP3
    smtp_out       BOOLEAN NOT NULL,                        -- whether it may send mail
    send_limit     BIGINT  NOT NULL CHECK (send_limit > 0), -- how many mails it may send in an hour
    spam_threshold BIGINT  NOT NULL, -- score from which on mail goes to Junk; 0: the mail server's usual one, -1: none does
    suspended      BOOLEAN NOT NULL,                        -- whether it is suspended: nobody signs in to it
    told_suspended BOOLEAN NOT NULL DEFAULT FALSE,          -- whether its last event reported it as suspended
    -- how far the panel has followed the row
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key    TEXT,                                    -- why the panel refused it; NULL unless it failed
    revision       BIGINT  NOT NULL DEFAULT 1, -- version of the row; a job that followed an older one marks nothing
    used_bytes     BIGINT  NOT NULL DEFAULT 0,              -- size of its mail as of measured_at
    messages       BIGINT  NOT NULL DEFAULT 0,              -- number of its mails as of measured_at
    last_login_at  BIGINT, -- the last sign-in as of measured_at; NULL before the first one
    is_full        BOOLEAN NOT NULL DEFAULT FALSE,          -- whether the quota was reached as of measured_at
    measured_at    BIGINT,                                  -- when the mail server counted; NULL before that
    created_at     BIGINT  NOT NULL,                        -- when it was asked for
    activated_at   BIGINT,                                  -- when the panel first had it; NULL before that
    CONSTRAINT mail_boxes_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE UNIQUE INDEX mail_boxes_address ON mail_boxes (service_id, address);

-- Domains with mailboxes.
CREATE TABLE mail_domains (
    id         {{id}},
    account_id BIGINT NOT NULL,              -- the owner's account
    service_id BIGINT NOT NULL,              -- the service that has the mailboxes
    name       TEXT   NOT NULL,              -- in ASCII form
    selector   TEXT   NOT NULL,              -- DKIM selector of the key that signs what the domain sends
    public_key TEXT   NOT NULL,              -- public half of that key
    former_selector TEXT NOT NULL DEFAULT '', -- selector of the key before; empty where there was none
    former_key   TEXT NOT NULL DEFAULT '',    -- public half of that key
    former_until BIGINT,                      -- until when that key is published, for mail that is on its way; NULL where there was none
    found      TEXT   NOT NULL DEFAULT '{}', -- JSON object: the answers of the DNS for the domain at the last look-up
    checked_at BIGINT,                       -- when that was; NULL before that
    due_at     BIGINT NOT NULL,              -- when the DNS is asked next
    created_at BIGINT NOT NULL               -- when the domain got its first mailbox
);
CREATE UNIQUE INDEX mail_domains_name ON mail_domains (service_id, name);
CREATE INDEX mail_domains_due ON mail_domains (due_at);

-- Services with mailboxes.
CREATE TABLE mail_services (
    service_id BIGINT NOT NULL PRIMARY KEY, -- the service
    account_id BIGINT NOT NULL,             -- the owner's account
    server     TEXT   NOT NULL,             -- name of the mail server, as the panel says
    due_at     BIGINT NOT NULL              -- when its mailboxes are measured next
);
CREATE INDEX mail_services_due ON mail_services (due_at);

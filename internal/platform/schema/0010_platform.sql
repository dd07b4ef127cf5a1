-- +goose Up

-- Answers of operations that move money, kept for 24 hours under the client's Idempotency-Key. A row is written in the
-- transaction of its effect.
CREATE TABLE idempotency_answers (
    principal   TEXT      NOT NULL, -- the caller: account and application, or a reseller's key
    operation   TEXT      NOT NULL, -- method and path of the request
    key         TEXT      NOT NULL, -- the client's Idempotency-Key
    fingerprint {{bytes}} NOT NULL, -- hash of the request; another request with the same key is refused
    status      INTEGER   NOT NULL, -- HTTP status of the answer
    body        {{bytes}} NOT NULL, -- body of the answer, as it was sent
    created_at  BIGINT    NOT NULL, -- when the request was answered
    expires_at  BIGINT    NOT NULL, -- when the key may be used anew
    PRIMARY KEY (principal, operation, key)
);
CREATE INDEX idempotency_answers_expiry ON idempotency_answers (expires_at);

-- Requests counted for each throttle key and window, when several replicas share the work. A lost row only forgives
-- requests.
CREATE {{unlogged}} TABLE throttle_windows (
    key     TEXT      NOT NULL PRIMARY KEY, -- policy and caller
    slots   {{bytes}} NOT NULL,             -- the requests that count, by the moment at which they leave the window
    ends_at BIGINT    NOT NULL              -- when the last of them leaves it
);
CREATE INDEX throttle_windows_end ON throttle_windows (ends_at);

-- Events: what happened, written in the transaction of the change and handed to the subscribers by the relay of a process.
CREATE TABLE outbox_events (
    id         {{id}},
    uid        TEXT    NOT NULL UNIQUE, -- public id of the event, evt_…
    type       TEXT    NOT NULL,        -- kind of event, such as order.paid
    account_id BIGINT  NOT NULL,        -- the account that the event concerns
    subject    TEXT    NOT NULL,        -- kind of thing that changed, such as service
    subject_id BIGINT  NOT NULL,        -- id of the thing that changed
    sequence   BIGINT  NOT NULL,        -- number of the event among those of its subject, from 1
    data       TEXT    NOT NULL,        -- JSON object: the thing after the change
    previous   TEXT,                    -- JSON object: the former values of the members that changed; NULL when there are none
    fan_out    BOOLEAN NOT NULL,        -- whether somebody subscribes to the type
    fanned_at  BIGINT,                  -- when it was delivered to the subscribers; NULL before that
    failures   INTEGER NOT NULL DEFAULT 0, -- how often a subscriber has failed to take it
    retry_at   BIGINT,                  -- when it is delivered again after a failure; NULL before the first
    created_at BIGINT  NOT NULL,        -- when it happened; for a sandbox with a test clock, in the sandbox's time
    UNIQUE (subject, subject_id, sequence)
);
CREATE INDEX outbox_events_account ON outbox_events (account_id, id);
CREATE INDEX outbox_events_waiting ON outbox_events (id) WHERE fan_out AND fanned_at IS NULL;
CREATE INDEX outbox_events_created ON outbox_events (created_at);

-- The last sequence number given to the events of a subject.
CREATE TABLE outbox_sequences (
    subject    TEXT   NOT NULL, -- kind of thing, as in outbox_events
    subject_id BIGINT NOT NULL, -- id of the thing
    last       BIGINT NOT NULL, -- the number of its newest event
    PRIMARY KEY (subject, subject_id)
);

-- News that every replica must hear within a second. Each replica reads the rows that are new to it.
CREATE TABLE signal_messages (
    id         {{id}},
    topic      TEXT   NOT NULL, -- what the message is about; readers choose by it
    payload    TEXT   NOT NULL, -- the message, in the form of its topic
    created_at BIGINT NOT NULL  -- when it was sent; old rows are deleted
);
CREATE INDEX signal_messages_created ON signal_messages (created_at);

-- The processes that share the database, by the database's own clock: what a dead one was at is taken over.
CREATE TABLE replicas (
    id        TEXT   NOT NULL PRIMARY KEY, -- of a process, which no other ever has
    joined_at BIGINT NOT NULL,             -- when it started
    seen_at   BIGINT NOT NULL,             -- when it last said that it lives
    version   TEXT   NOT NULL              -- of its program
);

-- Sections of the platform that the operator has switched off or on again. A section without a row is on.
CREATE TABLE section_switches (
    section    TEXT    NOT NULL PRIMARY KEY, -- name of the section
    enabled    BOOLEAN NOT NULL,             -- whether its operations are answered
    changed_at BIGINT  NOT NULL              -- when the operator last switched it
);

-- One sealed value, by which a start notices that its key is not that of the database.
CREATE TABLE keycheck_probe (
    id         BIGINT    NOT NULL PRIMARY KEY, -- 1
    sealed     {{bytes}} NOT NULL,             -- the value, encrypted
    created_at BIGINT    NOT NULL              -- when the database was first used with a key
);

-- Backups of the control plane that were read back from their store. The archives lie there; this says when.
CREATE TABLE controlbackup_archives (
    archive   TEXT   NOT NULL PRIMARY KEY, -- name of the archive, without suffix
    bytes     BIGINT NOT NULL,             -- its size
    made_at   BIGINT NOT NULL,             -- the moment of what is in it
    good_at   BIGINT NOT NULL,             -- when it was read back from the store
    proven_at BIGINT                       -- when it was last restored into a scratch database
);

-- A database that was restored from a backup, until an operator releases it: no jobs, no webhooks, no charges meanwhile.
CREATE TABLE hold_restored (
    id          BIGINT NOT NULL PRIMARY KEY, -- 1
    archive     TEXT   NOT NULL,             -- what it was restored from
    made_at     BIGINT NOT NULL,             -- the moment of what is in the database
    restored_at BIGINT NOT NULL              -- when it was restored
);

-- What each migration came with, so that an older program can say which release fits the database.
CREATE TABLE schema_releases (
    migration BIGINT NOT NULL PRIMARY KEY, -- the newest migration of a release
    release   TEXT   NOT NULL              -- the first release that had it
);

-- +goose Up

-- Answers of money-moving operations, kept 24 hours under the client's
-- Idempotency-Key. A row is written in the transaction of the effect.
CREATE TABLE idempotency_answers (
    principal   TEXT    NOT NULL,
    operation   TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint {{bytes}} NOT NULL,
    status      INTEGER NOT NULL,
    body        {{bytes}} NOT NULL,
    created_at  BIGINT  NOT NULL,
    expires_at  BIGINT  NOT NULL,
    PRIMARY KEY (principal, operation, key)
);
CREATE INDEX idempotency_answers_expiry ON idempotency_answers (expires_at);

-- Requests counted per throttle key and window, when several replicas share
-- the work. A lost row only forgives requests.
CREATE {{unlogged}} TABLE throttle_windows (
    key        TEXT    NOT NULL PRIMARY KEY,
    started_at BIGINT  NOT NULL,
    ends_at    BIGINT  NOT NULL,
    used       INTEGER NOT NULL
);
CREATE INDEX throttle_windows_end ON throttle_windows (ends_at);

-- What happened, written with the change and fanned out by a job.
CREATE TABLE outbox_events (
    id          {{id}},
    uid         TEXT   NOT NULL UNIQUE,
    type        TEXT   NOT NULL,
    account_id  BIGINT NOT NULL,
    subject     TEXT   NOT NULL,
    subject_id  BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    data        TEXT   NOT NULL,
    previous    TEXT,
    fan_out     BOOLEAN NOT NULL,
    fanned_at   BIGINT,
    created_at  BIGINT NOT NULL,
    UNIQUE (subject, subject_id, sequence)
);
CREATE INDEX outbox_events_account ON outbox_events (account_id, id);
CREATE INDEX outbox_events_created ON outbox_events (created_at);

-- The last sequence number given to a subject's events.
CREATE TABLE outbox_sequences (
    subject    TEXT   NOT NULL,
    subject_id BIGINT NOT NULL,
    last       BIGINT NOT NULL,
    PRIMARY KEY (subject, subject_id)
);

-- News that every replica must hear within a second.
CREATE TABLE signal_messages (
    id         {{id}},
    topic      TEXT   NOT NULL,
    payload    TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX signal_messages_created ON signal_messages (created_at);

-- Sections of the platform that the operator has switched off.
CREATE TABLE section_switches (
    section    TEXT    NOT NULL PRIMARY KEY,
    enabled    BOOLEAN NOT NULL,
    changed_at BIGINT  NOT NULL
);

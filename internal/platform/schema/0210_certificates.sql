-- +goose Up

-- Certificates of hosted domains (resources, section 19): each row is a certificate that is wanted and, once there is
-- one, the certificate that is in use.
CREATE TABLE certificates (
    id              {{id}},
    account_id      BIGINT  NOT NULL,               -- the owner's account
    service_id      BIGINT  NOT NULL,               -- the service whose domains it is for
    -- acme: ordered by us; custom: brought by the customer
    kind            TEXT    NOT NULL CHECK (kind IN ('acme', 'custom')),
    -- JSON list, sorted: what the certificate is for; of a custom one, the names that it holds for
    names           TEXT    NOT NULL,
    -- how the names are proved: a file of the site or a record of the zone
    challenge       TEXT    NOT NULL CHECK (challenge IN ('http', 'dns')),
    automatic       BOOLEAN NOT NULL DEFAULT FALSE, -- whether nobody asked for it
    auto_renew      BOOLEAN NOT NULL,               -- whether it is renewed by itself
    hsts            BOOLEAN NOT NULL DEFAULT FALSE, -- whether sites tell browsers to insist on HTTPS
    chosen_at       BIGINT  NOT NULL, -- when it was last asked for: of two for one domain the newer is used
    revision        BIGINT  NOT NULL DEFAULT 1, -- version of the row; a job that followed an older one marks nothing
    -- how far the panel has followed
    status          TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key     TEXT,                           -- why the panel refused it; NULL unless it failed
    -- PEM of the certificate in use and its issuers; empty while there is none
    chain           TEXT    NOT NULL DEFAULT '',
    secret          {{bytes}},                      -- its private key, encrypted; NULL while there is none
    sans            TEXT    NOT NULL DEFAULT '[]',  -- JSON list of the names in it
    issuer          TEXT    NOT NULL DEFAULT '',    -- who issued it
    fingerprint     TEXT    NOT NULL DEFAULT '',    -- SHA256 of it
    issued_at       BIGINT,                         -- begin of its validity; NULL while there is none
    expires_at      BIGINT,                         -- end of its validity; NULL while there is none
    renew_at        BIGINT,                         -- when its successor is ordered; NULL while there is none
    ask_at          BIGINT,                         -- when the authority is asked again when to renew (RFC 9773)
    -- how far the next order is: idle: nothing to do before renew_at; wanted: ordered at due_at; ordering: under way
    phase           TEXT    NOT NULL CHECK (phase IN ('idle', 'wanted', 'ordering')),
    order_url       TEXT    NOT NULL DEFAULT '', -- the order's address at the authority; empty while none is under way
    order_names     TEXT    NOT NULL DEFAULT '[]',  -- JSON list of the order's names
    order_secret    {{bytes}}, -- private key of the certificate to come, encrypted; NULL while none is under way
    failures        INTEGER NOT NULL DEFAULT 0,     -- orders in a row that failed; each puts the next one off
    last_attempt_at BIGINT,                         -- the last order; NULL before the first one
    last_error_key  TEXT,                           -- why the last order failed; NULL when it went
    last_reason     TEXT,                           -- what was found wrong with a name, when that was the cause
    last_error      TEXT    NOT NULL DEFAULT '',    -- the authority's words
    warned_days     INTEGER, -- the fewest days before its end of which the owner was notified; NULL before the first notice
    due_at          BIGINT  NOT NULL,               -- when a job looks at the row again
    busy_until      BIGINT  NOT NULL DEFAULT 0,     -- keeps other jobs off while one works on the row
    queued_until    BIGINT  NOT NULL DEFAULT 0,     -- keeps another job from being queued for the row
    created_at      BIGINT  NOT NULL                -- when it was first asked for
);
CREATE UNIQUE INDEX certificates_names ON certificates (service_id, names) WHERE kind = 'acme';
CREATE INDEX certificates_service ON certificates (service_id, id);
CREATE INDEX certificates_due ON certificates (due_at);

-- The platform's accounts at authorities (ACME).
CREATE TABLE certificates_authorities (
    id           {{id}},
    directory    TEXT      NOT NULL,            -- address of the authority's directory
    secret       {{bytes}} NOT NULL,            -- private key of the account, encrypted
    location     TEXT      NOT NULL DEFAULT '', -- the account's address at the authority; empty until it is registered
    -- when the authority takes orders again, after it said that there were too many; NULL otherwise
    paused_until BIGINT,
    created_at   BIGINT    NOT NULL             -- when the key was made
);
CREATE UNIQUE INDEX certificates_authorities_directory ON certificates_authorities (directory);

-- Orders that came to an end, by name, to stay below the limits of authorities.
CREATE TABLE certificates_attempts (
    id         {{id}},
    service_id BIGINT  NOT NULL, -- the service that it was for
    name       TEXT    NOT NULL, -- one of the order's names
    issued     BOOLEAN NOT NULL, -- whether a certificate came of it
    at         BIGINT  NOT NULL  -- when it ended
);
CREATE INDEX certificates_attempts_name ON certificates_attempts (name, at);
CREATE INDEX certificates_attempts_at ON certificates_attempts (at);

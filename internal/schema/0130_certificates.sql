-- +goose Up

-- Certificates of hosted domains (resources, section 19). names are what the certificate is for, sorted; of an own
-- certificate those that it holds for. chosen_at is when it was last asked for: of two for one domain the newer is
-- used. chain to expires_at are of the certificate in use, empty while there is none; secret is its key, sealed.
-- installed is how far the panel has followed. phase is how far an order is (idle, wanted, ordering); order_url,
-- order_names and order_secret are of the order that is under way. due_at is when a job looks again, busy_until
-- keeps others off while it does, queued_until keeps another job from being made for it.
CREATE TABLE certificates (
    id              {{id}},
    account_id      BIGINT  NOT NULL,
    service_id      BIGINT  NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('acme', 'custom')),
    names           TEXT    NOT NULL,
    challenge       TEXT    NOT NULL CHECK (challenge IN ('http', 'dns')),
    automatic       BOOLEAN NOT NULL DEFAULT FALSE,
    auto_renew      BOOLEAN NOT NULL,
    hsts            BOOLEAN NOT NULL DEFAULT FALSE,
    chosen_at       BIGINT  NOT NULL,
    revision        BIGINT  NOT NULL DEFAULT 1,
    installed       TEXT    NOT NULL DEFAULT 'pending' CHECK (installed IN ('pending', 'active', 'failed', 'removing')),
    installed_key   TEXT,
    chain           TEXT    NOT NULL DEFAULT '',
    secret          {{bytes}},
    sans            TEXT    NOT NULL DEFAULT '[]',
    issuer          TEXT    NOT NULL DEFAULT '',
    fingerprint     TEXT    NOT NULL DEFAULT '',
    issued_at       BIGINT,
    expires_at      BIGINT,
    phase           TEXT    NOT NULL CHECK (phase IN ('idle', 'wanted', 'ordering')),
    order_url       TEXT    NOT NULL DEFAULT '',
    order_names     TEXT    NOT NULL DEFAULT '[]',
    order_secret    {{bytes}},
    failures        INTEGER NOT NULL DEFAULT 0,
    last_attempt_at BIGINT,
    last_error_key  TEXT,
    last_reason     TEXT,
    last_error      TEXT    NOT NULL DEFAULT '',
    due_at          BIGINT  NOT NULL,
    renew_at        BIGINT,
    ask_at          BIGINT,
    busy_until      BIGINT  NOT NULL DEFAULT 0,
    queued_until    BIGINT  NOT NULL DEFAULT 0,
    warned_days     INTEGER,
    created_at      BIGINT  NOT NULL
);
CREATE UNIQUE INDEX certificates_names ON certificates (service_id, names) WHERE kind = 'acme';
CREATE INDEX certificates_service ON certificates (service_id, id);
CREATE INDEX certificates_due ON certificates (due_at);

-- Our accounts at authorities, by the address of their directory. paused_until is when the authority takes orders
-- again after it said that there were too many.
CREATE TABLE certificates_authorities (
    id           {{id}},
    directory    TEXT   NOT NULL,
    secret       {{bytes}} NOT NULL,
    location     TEXT   NOT NULL DEFAULT '',
    paused_until BIGINT,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX certificates_authorities_directory ON certificates_authorities (directory);

-- Orders that came to an end, by name, to stay below the limits of authorities.
CREATE TABLE certificates_attempts (
    id         {{id}},
    service_id BIGINT  NOT NULL,
    name       TEXT    NOT NULL,
    issued     BOOLEAN NOT NULL,
    at         BIGINT  NOT NULL
);
CREATE INDEX certificates_attempts_name ON certificates_attempts (name, at);
CREATE INDEX certificates_attempts_at ON certificates_attempts (at);

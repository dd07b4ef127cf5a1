-- +goose Up

-- Addresses that resellers are told at (resources, section 23). events is a JSON list of
-- types, or ["*"]. secret and previous_secret are sealed; the previous one signs too until
-- previous_expires_at. lease is held by the one worker that delivers to the endpoint, until
-- lease_until; not_before is how long the endpoint is left alone after failures.
CREATE TABLE webhooks_endpoints (
    id                   {{id}},
    account_id           BIGINT  NOT NULL,
    url                  TEXT    NOT NULL,
    description          TEXT    NOT NULL,
    events               TEXT    NOT NULL,
    status               TEXT    NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
    disabled_reason      TEXT,
    secret               {{bytes}} NOT NULL,
    previous_secret      {{bytes}},
    previous_expires_at  BIGINT,
    consecutive_failures INTEGER NOT NULL,
    failing_since        BIGINT,
    last_success_at      BIGINT,
    last_failure_at      BIGINT,
    not_before           BIGINT,
    lease                TEXT,
    lease_until          BIGINT,
    created_at           BIGINT  NOT NULL
);
CREATE INDEX webhooks_endpoints_account ON webhooks_endpoints (account_id, id);

-- What happened to resellers, as they are told of it: body is what is signed and sent, the
-- same bytes each time. delivered says that each endpoint that it was sent to has it.
CREATE TABLE webhooks_events (
    id         {{id}},
    uid        TEXT    NOT NULL UNIQUE,
    account_id BIGINT  NOT NULL,
    type       TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    subject_id BIGINT  NOT NULL,
    sequence   BIGINT  NOT NULL,
    client_ref TEXT,
    body       TEXT    NOT NULL,
    delivered  BOOLEAN NOT NULL,
    created_at BIGINT  NOT NULL
);
CREATE INDEX webhooks_events_account ON webhooks_events (account_id, id);
CREATE INDEX webhooks_events_type ON webhooks_events (account_id, type, id);
CREATE INDEX webhooks_events_client ON webhooks_events (account_id, client_ref, id);
CREATE INDEX webhooks_events_created ON webhooks_events (created_at);

-- Attempts to tell an endpoint of an event: those that were made, and the next one, which
-- is pending or being sent. There is one of the latter at most.
CREATE TABLE webhooks_deliveries (
    id               {{id}},
    event_id         BIGINT  NOT NULL REFERENCES webhooks_events (id) ON DELETE CASCADE,
    endpoint_id      BIGINT  NOT NULL REFERENCES webhooks_endpoints (id) ON DELETE CASCADE,
    subject          TEXT    NOT NULL,
    subject_id       BIGINT  NOT NULL,
    sequence         BIGINT  NOT NULL,
    attempt          INTEGER NOT NULL,
    origin        TEXT    NOT NULL CHECK (origin IN ('scheduled', 'manual')),
    status           TEXT    NOT NULL CHECK (status IN ('pending', 'sending', 'success', 'retry', 'failed', 'discarded')),
    http_status      INTEGER,
    duration_ms      BIGINT,
    response_excerpt TEXT,
    error_key        TEXT,
    next_attempt_at  BIGINT,
    created_at       BIGINT  NOT NULL
);
CREATE UNIQUE INDEX webhooks_deliveries_open ON webhooks_deliveries (endpoint_id, event_id) WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_due ON webhooks_deliveries (endpoint_id, next_attempt_at, id) WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_order ON webhooks_deliveries (endpoint_id, subject, subject_id, sequence) WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_event ON webhooks_deliveries (event_id, id);
CREATE INDEX webhooks_deliveries_endpoint ON webhooks_deliveries (endpoint_id, id);

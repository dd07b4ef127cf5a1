-- +goose Up

-- Endpoints: addresses to which events of resellers are delivered (resources, section 23).
CREATE TABLE webhooks_endpoints (
    id                   {{id}},
    account_id           BIGINT    NOT NULL, -- the reseller's account, or its sandbox
    url                  TEXT      NOT NULL, -- where events are sent
    description          TEXT      NOT NULL, -- the reseller's remark
    events               TEXT      NOT NULL, -- JSON list of the types that are sent; ["*"] is all
    -- paused by the reseller, or disabled by us
    status               TEXT      NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
    -- gone: it answered 410; failing: it did nothing but fail for days; NULL while it is not disabled
    disabled_reason      TEXT,
    secret               {{bytes}} NOT NULL, -- what signs deliveries, encrypted
    -- the secret before it, encrypted, which signs too until previous_expires_at; NULL without one
    previous_secret      {{bytes}},
    previous_expires_at  BIGINT,             -- when the previous secret stops signing; NULL without one
    consecutive_failures INTEGER   NOT NULL, -- failed attempts since the last success
    failing_since        BIGINT,             -- the first of them; NULL when there is none
    last_success_at      BIGINT,             -- the last delivery that arrived; NULL before that
    last_failure_at      BIGINT,             -- the last attempt that failed; NULL before that
    not_before           BIGINT, -- until when the endpoint is left alone after failures; NULL when it is not
    lease                TEXT,               -- the one worker that delivers to the endpoint; NULL when none does
    lease_until          BIGINT,             -- when the lease is over; NULL without one
    created_at           BIGINT    NOT NULL  -- when it was added
);
CREATE INDEX webhooks_endpoints_account ON webhooks_endpoints (account_id, id);
-- The sweep reads the endpoints that get deliveries, and not those that were disabled over the years.
CREATE INDEX webhooks_endpoints_active ON webhooks_endpoints (status, id) WHERE status = 'active';

-- Events of resellers, in the form in which they are delivered.
CREATE TABLE webhooks_events (
    id         {{id}},
    uid        TEXT    NOT NULL UNIQUE, -- public id of the event, as in outbox_events
    account_id BIGINT  NOT NULL,        -- the reseller's account, or its sandbox
    type       TEXT    NOT NULL,        -- kind of event, such as service.suspended
    subject    TEXT    NOT NULL,        -- kind of thing that changed
    subject_id BIGINT  NOT NULL,        -- id of the thing that changed
    sequence   BIGINT  NOT NULL,        -- number of the event among those of its subject
    client_ref TEXT,                    -- the reseller's tag of that thing; NULL without one
    body       TEXT    NOT NULL,        -- JSON that is signed and sent, the same bytes each time
    delivered  BOOLEAN NOT NULL,        -- whether each endpoint that it was sent to has it
    created_at BIGINT  NOT NULL         -- when it happened
);
CREATE INDEX webhooks_events_account ON webhooks_events (account_id, id);
CREATE INDEX webhooks_events_type ON webhooks_events (account_id, type, id);
CREATE INDEX webhooks_events_client ON webhooks_events (account_id, client_ref, id);
CREATE INDEX webhooks_events_created ON webhooks_events (created_at);

-- Deliveries: attempts to tell an endpoint of an event, those that were made and the next one. There is one of the
-- latter at most.
CREATE TABLE webhooks_deliveries (
    id               {{id}},
    event_id         BIGINT  NOT NULL REFERENCES webhooks_events (id) ON DELETE CASCADE, -- the event
    endpoint_id      BIGINT  NOT NULL REFERENCES webhooks_endpoints (id) ON DELETE CASCADE, -- the endpoint
    subject          TEXT    NOT NULL, -- as in webhooks_events
    subject_id       BIGINT  NOT NULL, -- as in webhooks_events
    sequence         BIGINT  NOT NULL, -- as in webhooks_events
    attempt          INTEGER NOT NULL, -- which attempt it is, from 1
    -- scheduled: by itself; manual: the reseller asked for it
    origin           TEXT    NOT NULL CHECK (origin IN ('scheduled', 'manual')),
    -- pending and sending are the next attempt; retry: it failed and another follows; failed: it was the last;
    -- discarded: dropped when the endpoint was disabled
    status           TEXT    NOT NULL CHECK (status IN ('pending', 'sending', 'success', 'retry', 'failed',
        'discarded')),
    http_status      INTEGER,          -- HTTP status of the endpoint's answer; NULL without one
    duration_ms      BIGINT,           -- how long the attempt took, in milliseconds; NULL before it
    response_excerpt TEXT,             -- the beginning of the answer, at most 1 KiB; NULL without one
    error_key        TEXT,             -- why it failed; NULL when it did not
    next_attempt_at  BIGINT,           -- when the attempt is due; NULL once it was made
    created_at       BIGINT  NOT NULL  -- when it was scheduled
);
CREATE UNIQUE INDEX webhooks_deliveries_open ON webhooks_deliveries (endpoint_id, event_id)
    WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_due ON webhooks_deliveries (endpoint_id, next_attempt_at, id)
    WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_order ON webhooks_deliveries (endpoint_id, subject, subject_id, sequence)
    WHERE status IN ('pending', 'sending');
CREATE INDEX webhooks_deliveries_event ON webhooks_deliveries (event_id, id);
CREATE INDEX webhooks_deliveries_endpoint ON webhooks_deliveries (endpoint_id, id);

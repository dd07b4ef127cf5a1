-- +goose Up

-- Monitors (resources, section 8): what is checked, and what is known about it.
CREATE TABLE monitors (
    id                    {{id}},
    account_id            BIGINT    NOT NULL,        -- the account that it belongs to
    service_id            BIGINT,                    -- the service that it is about; NULL when it is about none
    -- whether the service has it by itself: it is free, and its owner cannot change or delete it
    built_in              BOOLEAN   NOT NULL,
    shard                 INTEGER   NOT NULL,        -- the part of all monitors that it is in, which a replica leases
    name                  TEXT      NOT NULL,        -- what its owner calls it
    type                  TEXT      NOT NULL,        -- kind of check, such as http
    settings              TEXT      NOT NULL,        -- JSON object: what is checked, how often, and what is expected
    headers               {{bytes}},                 -- headers that are sent, encrypted; NULL without any
    paused                BOOLEAN   NOT NULL,        -- whether it is not checked
    -- why it is paused: owner, or plan: the account's plans allow fewer; NULL while it is not
    pause_reason          TEXT      CHECK (pause_reason IN ('owner', 'plan')),
    -- what is known
    status                TEXT      NOT NULL CHECK (status IN ('pending', 'up', 'degraded', 'down', 'maintenance',
        'paused')),
    memory                TEXT      NOT NULL,        -- JSON object: what the state machine remembers between checks
    error_key             TEXT,                      -- why the last check failed; NULL when it did not
    last_checked_at       BIGINT,                    -- the last check; NULL before the first one
    last_status_change_at BIGINT,                    -- the last change of status; NULL before the first one
    last_response_ms      BIGINT,                    -- response time of the last check; NULL without one
    last_beat_at          BIGINT,                    -- the last call of a heartbeat; NULL before the first one
    certificate           TEXT,                      -- JSON object: the certificate that was seen last; NULL without one
    domain_expires_at     BIGINT,                    -- when the registration of its domain ends; NULL when not known
    badge_token           TEXT      NOT NULL UNIQUE, -- name of its badge, which anybody may see
    push_hash             {{bytes}} UNIQUE,          -- hash of the token that a heartbeat calls with; NULL for others
    push_token            {{bytes}},                 -- that token, encrypted; NULL for others
    created_at            BIGINT    NOT NULL         -- when it was made
);
CREATE INDEX monitors_account ON monitors (account_id, id);
CREATE INDEX monitors_shard ON monitors (shard, id);
CREATE INDEX monitors_service ON monitors (service_id, id) WHERE service_id IS NOT NULL;
CREATE UNIQUE INDEX monitors_built_in ON monitors (service_id) WHERE built_in;

-- Which replica checks which part of the monitors.
CREATE TABLE monitors_shards (
    shard INTEGER PRIMARY KEY, -- the part
    owner TEXT    NOT NULL,    -- the replica that leases it; empty when none does
    epoch BIGINT  NOT NULL,    -- counts the leases: results of an older one are dropped
    until BIGINT  NOT NULL     -- end of the lease
);

-- Accounts that have made monitors. A row is locked while one is counted and made, so that requests at the same time do not pass
-- the limit of the plans together.
CREATE TABLE monitors_accounts (
    account_id BIGINT PRIMARY KEY -- the account
);

-- The replicas that check, so that they share the parts evenly.
CREATE TABLE monitors_replicas (
    owner TEXT   PRIMARY KEY, -- random name of the process
    until BIGINT NOT NULL,      -- when it is taken for dead
    -- of the monitors that it has checked of late and other regions check too, how many failed, and how many they are
    failing INTEGER NOT NULL,
    checked INTEGER NOT NULL  -- see failing
);

-- Places from which nodes check monitors. The control plane is a region without a row, with id 0.
CREATE TABLE monitors_regions (
    id      {{id}},
    name    TEXT    NOT NULL UNIQUE, -- what it is called
    node_id BIGINT  NOT NULL,        -- the node that checks for it
    seen_at BIGINT  NOT NULL,        -- the last word of that node
    failing INTEGER NOT NULL,        -- how many monitors failed of those that it has checked of late, as it says
    checked INTEGER NOT NULL         -- how many these are
);

-- Single checks, kept for seven days. Rows are deleted in the order of their ids.
CREATE TABLE monitors_checks (
    id           {{id}},
    monitor_id   BIGINT  NOT NULL, -- the monitor
    region       BIGINT  NOT NULL, -- where it was checked from: id in monitors_regions, or 0 for the control plane
    scheduled_at BIGINT  NOT NULL, -- when it was due, which makes a result count once
    checked_at   BIGINT  NOT NULL, -- when it ended
    ok           BOOLEAN NOT NULL, -- whether it was as expected
    http_status  INTEGER,          -- HTTP status of the answer; NULL without one
    response_ms  BIGINT,           -- how long it took, in milliseconds; NULL when nobody could look
    dns_ms       BIGINT,           -- time of the lookup of the name; NULL without one
    connect_ms   BIGINT,           -- time of connecting; NULL without one
    tls_ms       BIGINT,           -- time of the handshake; NULL without one
    ttfb_ms      BIGINT,           -- time to the first byte of the answer; NULL without one
    error_key    TEXT,             -- why it failed; NULL when it did not
    error        TEXT              -- more about that, in English; NULL when there is nothing more
);
CREATE UNIQUE INDEX monitors_checks_once ON monitors_checks (monitor_id, scheduled_at, region);

-- What hours come to, kept for 35 days. Times are in milliseconds.
CREATE TABLE monitors_hours (
    monitor_id     BIGINT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE, -- the monitor
    region         BIGINT NOT NULL, -- the region whose checks these are; 0 is the verdict of all of them
    start          BIGINT NOT NULL, -- begin of the hour
    checks         BIGINT NOT NULL, -- number of checks
    failures       BIGINT NOT NULL, -- number of those that failed
    up_ms          BIGINT NOT NULL, -- time in which it was up
    degraded_ms    BIGINT NOT NULL, -- time in which it was degraded
    down_ms        BIGINT NOT NULL, -- time in which it was down
    maintenance_ms BIGINT NOT NULL, -- time of maintenance
    unknown_ms     BIGINT NOT NULL, -- time in which nobody looked
    responses      BIGINT NOT NULL, -- number of checks with a response time
    response_sum   BIGINT NOT NULL, -- sum of their response times
    response_min   BIGINT NOT NULL, -- the shortest of them; 0 without any
    response_max   BIGINT NOT NULL, -- the longest of them
    PRIMARY KEY (monitor_id, region, start)
);
CREATE INDEX monitors_hours_start ON monitors_hours (start);

-- What days in UTC come to, which are kept.
CREATE TABLE monitors_days (
    monitor_id     BIGINT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE, -- the monitor
    region         BIGINT NOT NULL, -- as in monitors_hours
    start          BIGINT NOT NULL, -- begin of the day
    checks         BIGINT NOT NULL, -- as in monitors_hours
    failures       BIGINT NOT NULL, -- as in monitors_hours
    up_ms          BIGINT NOT NULL, -- as in monitors_hours
    degraded_ms    BIGINT NOT NULL, -- as in monitors_hours
    down_ms        BIGINT NOT NULL, -- as in monitors_hours
    maintenance_ms BIGINT NOT NULL, -- as in monitors_hours
    unknown_ms     BIGINT NOT NULL, -- as in monitors_hours
    responses      BIGINT NOT NULL, -- as in monitors_hours
    response_sum   BIGINT NOT NULL, -- as in monitors_hours
    response_min   BIGINT NOT NULL, -- as in monitors_hours
    response_max   BIGINT NOT NULL, -- as in monitors_hours
    PRIMARY KEY (monitor_id, region, start)
);

-- Outages: from the first check that failed to the first that did not.
CREATE TABLE monitors_outages (
    id              {{id}},
    monitor_id      BIGINT  NOT NULL REFERENCES monitors (id) ON DELETE CASCADE, -- the monitor
    started_at      BIGINT  NOT NULL, -- the first failure
    ended_at        BIGINT,           -- the first success after it; NULL while it goes on
    cause           TEXT    NOT NULL, -- error key of the first failure
    regions         TEXT    NOT NULL, -- JSON list of the regions that saw it
    confirmed_by    INTEGER NOT NULL  -- how many of them agreed when it was certain
);
CREATE INDEX monitors_outages_monitor ON monitors_outages (monitor_id, started_at);
CREATE UNIQUE INDEX monitors_outages_open ON monitors_outages (monitor_id) WHERE ended_at IS NULL;

-- Alert channels: where an account is told of its monitors.
CREATE TABLE monitors_channels (
    id              {{id}},
    account_id      BIGINT    NOT NULL, -- the account
    -- how it is told
    type            TEXT      NOT NULL CHECK (type IN ('email', 'webhook', 'telegram', 'slack', 'discord', 'push')),
    name            TEXT      NOT NULL, -- what its owner calls it
    -- JSON object with the address, and what is needed to use it, encrypted
    target          {{bytes}} NOT NULL,
    hint            TEXT      NOT NULL, -- the address, masked
    -- which alerts it gets
    events          TEXT      NOT NULL CHECK (events IN ('up_down', 'down', 'up')),
    delay_s         INTEGER   NOT NULL, -- how long something must be down before it is told of
    reminder_s      INTEGER   NOT NULL, -- how often it is reminded of an outage; 0 is never
    verified_at     BIGINT,             -- when its owner has proved to read it; NULL before that
    code_hash       {{bytes}},          -- hash of the code that proves it; NULL when there is none
    code_expires_at BIGINT,             -- when the code stops working; NULL without one
    code_attempts   INTEGER   NOT NULL, -- how often a wrong code was given
    not_before      BIGINT,             -- until when it is left alone after a failure; NULL when it is not
    lease           TEXT,               -- the one worker that sends to it; NULL when none does
    lease_until     BIGINT,             -- end of that lease; NULL without one
    last_error_key  TEXT,               -- why the last alert did not arrive; NULL when it did
    created_at      BIGINT    NOT NULL  -- when it was added
);
CREATE INDEX monitors_channels_account ON monitors_channels (account_id, id);

-- Alerts, written with the change that they tell of and sent afterwards, in order.
CREATE TABLE monitors_alerts (
    id         {{id}},
    channel_id BIGINT  NOT NULL REFERENCES monitors_channels (id) ON DELETE CASCADE, -- where it is sent
    monitor_id BIGINT  NOT NULL, -- the monitor
    outage_id  BIGINT  NOT NULL, -- the outage that it is about; 0 when it is about none
    kind       TEXT    NOT NULL, -- down, up, reminder, flapping, settled, ssl or domain
    n          BIGINT  NOT NULL, -- tells alerts of one kind apart
    data       TEXT    NOT NULL, -- JSON object: the monitor as it was
    not_before BIGINT  NOT NULL, -- when it may be sent
    attempts   INTEGER NOT NULL, -- how often it was tried
    state      TEXT    NOT NULL CHECK (state IN ('pending', 'sent', 'failed', 'cancelled')), -- how far it is
    created_at BIGINT  NOT NULL, -- when it was written
    UNIQUE (monitor_id, outage_id, channel_id, kind, n)
);
CREATE INDEX monitors_alerts_due ON monitors_alerts (channel_id, not_before, id) WHERE state = 'pending';
CREATE INDEX monitors_alerts_waiting ON monitors_alerts (not_before) WHERE state = 'pending';
CREATE INDEX monitors_alerts_created ON monitors_alerts (created_at);

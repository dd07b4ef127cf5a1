-- +goose Up

-- The authority that certifies control plane and nodes; one row.
CREATE TABLE nodes_authority (
    id          BIGINT    PRIMARY KEY CHECK (id = 1), -- always 1
    certificate TEXT      NOT NULL,                   -- PEM of the authority's certificate
    key         {{bytes}} NOT NULL,                   -- its private key, encrypted
    created_at  BIGINT    NOT NULL                    -- when it was made
);

-- Hosting machines. Some columns are what a machine reports about itself, others what an operator has set.
CREATE TABLE nodes_nodes (
    id                  {{id}},
    name                TEXT   NOT NULL,              -- what the operator calls it
    location            TEXT   NOT NULL,              -- its location, as the operator names it
    labels              TEXT   NOT NULL DEFAULT '{}',  -- JSON object: its labels, as the operator sets them
    -- what monitors call its place, as the operator names it; empty for the location, or else the name
    region              TEXT   NOT NULL DEFAULT '',
    checks              BOOLEAN NOT NULL DEFAULT TRUE, -- whether it makes checks of monitors
    -- joining: its token was not used yet; draining: it gets no new services
    state               TEXT   NOT NULL CHECK (state IN ('joining', 'active', 'draining', 'removed')),
    maintenance         BOOLEAN NOT NULL DEFAULT FALSE, -- whether operators work at it: it gets no new services and nobody is alarmed
    -- how many accounts the operator allows; 0 for no bound
    max_accounts        BIGINT NOT NULL DEFAULT 0 CHECK (max_accounts >= 0),
    -- how much of its disk may be sold, in percent; 150 is half as much again as there is
    disk_percent        BIGINT NOT NULL DEFAULT 100 CHECK (disk_percent > 0),
    placed_accounts     BIGINT NOT NULL DEFAULT 0 CHECK (placed_accounts >= 0), -- number of its placements
    -- sum of the disk of its placements, in MiB
    placed_disk_mb      BIGINT NOT NULL DEFAULT 0 CHECK (placed_disk_mb >= 0),
    token_hash          {{bytes}},                    -- hash of the token that it joins with; NULL once it was used
    token_expires_at    BIGINT,                       -- when the token stops working; NULL without one
    -- the address at which the control plane calls it, as it reports; empty before it joined
    address             TEXT   NOT NULL DEFAULT '',
    version             TEXT   NOT NULL DEFAULT '',   -- of its program, as it reports
    capabilities        TEXT   NOT NULL DEFAULT '[]', -- JSON list of what it can do, as it reports
    disk_mb             BIGINT NOT NULL DEFAULT 0,    -- size of its disk in MiB, as it reports
    disk_free_mb        BIGINT NOT NULL DEFAULT 0,    -- free disk in MiB, as it reports
    memory_mb           BIGINT NOT NULL DEFAULT 0,    -- size of its memory in MiB, as it reports
    memory_free_mb      BIGINT NOT NULL DEFAULT 0,    -- free memory in MiB, as it reports
    cpus                BIGINT NOT NULL DEFAULT 0,    -- number of its processors, as it reports
    load_percent        BIGINT NOT NULL DEFAULT 0,    -- load of its processors in percent, as it reports
    accounts            BIGINT NOT NULL DEFAULT 0,    -- number of accounts on it, as it reports
    mail_queue          BIGINT,                       -- messages that wait there, as it reports; NULL where it has no mail
    certificate_ends_at BIGINT,                       -- end of its certificate; NULL before it joined
    created_at          BIGINT NOT NULL,              -- when the operator added it
    joined_at           BIGINT,                       -- when it joined; NULL before that
    last_seen_at        BIGINT,                       -- its last report; NULL before the first one
    CONSTRAINT nodes_nodes_joining CHECK (state <> 'joining'
        OR (token_hash IS NOT NULL AND token_expires_at IS NOT NULL)),
    CONSTRAINT nodes_nodes_joined CHECK (state NOT IN ('active', 'draining')
        OR (address <> '' AND joined_at IS NOT NULL))
);
CREATE UNIQUE INDEX nodes_nodes_name ON nodes_nodes (name) WHERE state <> 'removed';
CREATE UNIQUE INDEX nodes_nodes_token ON nodes_nodes (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX nodes_nodes_state ON nodes_nodes (state, id);

-- What the panels that are no machines of their own can do: the one of the control plane's machine, and others' panels.
CREATE TABLE nodes_panels (
    name         TEXT   PRIMARY KEY, -- of the panel, as the services on it name it
    capabilities TEXT   NOT NULL,    -- JSON list of what it can do, as the process said that opened it last
    told_at      BIGINT NOT NULL     -- when it did
);

-- Placements: which node a service was placed on.
CREATE TABLE nodes_placements (
    service_id BIGINT PRIMARY KEY,                          -- the service
    node_id    BIGINT NOT NULL REFERENCES nodes_nodes (id), -- the node
    disk_mb    BIGINT NOT NULL CHECK (disk_mb >= 0),        -- how much of the node's disk the service may take, in MiB
    created_at BIGINT NOT NULL                              -- when it was placed
);
CREATE INDEX nodes_placements_node ON nodes_placements (node_id, service_id);

-- +goose Up

-- The authority that certifies control plane and nodes; one row. key is sealed.
CREATE TABLE nodes_authority (
    id          BIGINT    PRIMARY KEY CHECK (id = 1),
    certificate TEXT      NOT NULL,
    key         {{bytes}} NOT NULL,
    created_at  BIGINT    NOT NULL
);

-- Hosting machines of their own. What a machine reports about itself stands
-- beside what an operator says of it. placed_* are the sums of its placements.
CREATE TABLE nodes_nodes (
    id               {{id}},
    name             TEXT      NOT NULL,
    location         TEXT      NOT NULL,
    state            TEXT      NOT NULL CHECK (state IN ('joining', 'active', 'draining', 'removed')),
    max_accounts     BIGINT    NOT NULL DEFAULT 0 CHECK (max_accounts >= 0),
    disk_percent     BIGINT    NOT NULL DEFAULT 100 CHECK (disk_percent > 0),
    placed_accounts  BIGINT    NOT NULL DEFAULT 0 CHECK (placed_accounts >= 0),
    placed_disk_mb   BIGINT    NOT NULL DEFAULT 0 CHECK (placed_disk_mb >= 0),
    token_hash       {{bytes}},
    token_expires_at BIGINT,
    address          TEXT      NOT NULL DEFAULT '',
    version          TEXT      NOT NULL DEFAULT '',
    capabilities     TEXT      NOT NULL DEFAULT '[]',
    disk_mb          BIGINT    NOT NULL DEFAULT 0,
    disk_free_mb     BIGINT    NOT NULL DEFAULT 0,
    memory_mb        BIGINT    NOT NULL DEFAULT 0,
    memory_free_mb   BIGINT    NOT NULL DEFAULT 0,
    cpus             BIGINT    NOT NULL DEFAULT 0,
    load_percent     BIGINT    NOT NULL DEFAULT 0,
    accounts         BIGINT    NOT NULL DEFAULT 0,
    certificate_ends_at BIGINT,
    created_at       BIGINT    NOT NULL,
    joined_at        BIGINT,
    last_seen_at     BIGINT,
    CONSTRAINT nodes_nodes_joining CHECK (state <> 'joining' OR (token_hash IS NOT NULL AND token_expires_at IS NOT NULL)),
    CONSTRAINT nodes_nodes_joined CHECK (state NOT IN ('active', 'draining') OR (address <> '' AND joined_at IS NOT NULL))
);
CREATE UNIQUE INDEX nodes_nodes_name ON nodes_nodes (name) WHERE state <> 'removed';
CREATE UNIQUE INDEX nodes_nodes_token ON nodes_nodes (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX nodes_nodes_state ON nodes_nodes (state, id);

-- Which node a service was placed on, and how much of it the service may take.
CREATE TABLE nodes_placements (
    service_id BIGINT PRIMARY KEY,
    node_id    BIGINT NOT NULL REFERENCES nodes_nodes (id),
    disk_mb    BIGINT NOT NULL CHECK (disk_mb >= 0),
    created_at BIGINT NOT NULL
);
CREATE INDEX nodes_placements_node ON nodes_placements (node_id, service_id);

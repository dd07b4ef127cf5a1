-- +goose Up

-- Zones of hosting services (resources, section 21).
CREATE TABLE dns_zones (
    id          {{id}},
    account_id  BIGINT NOT NULL,            -- the owner's account
    service_id  BIGINT NOT NULL,            -- the service that the zone is of
    name        TEXT   NOT NULL,            -- in ASCII form, without the last dot
    serial      BIGINT NOT NULL CHECK (serial BETWEEN 0 AND 4294967295), -- of its SOA record
    -- the name servers that the system's records were made of; empty until they were made
    settled_for TEXT   NOT NULL DEFAULT '',
    -- whether name servers answer for it: not before it is known to be its owner's
    published   BOOLEAN NOT NULL DEFAULT FALSE,
    ipv4        TEXT   NOT NULL DEFAULT '', -- the IPv4 address that they were made of
    ipv6        TEXT   NOT NULL DEFAULT '', -- the IPv6 address that they were made of
    -- whether the system's records are served with a short TTL, because the service is about to move to another machine
    lowered     BOOLEAN NOT NULL DEFAULT FALSE,
    created_at  BIGINT NOT NULL,            -- when the zone was made
    updated_at  BIGINT NOT NULL             -- when its records last changed
);
CREATE UNIQUE INDEX dns_zones_name ON dns_zones (name);
CREATE INDEX dns_zones_service ON dns_zones (service_id);
CREATE INDEX dns_zones_settled ON dns_zones (settled_for);

-- Records of zones.
CREATE TABLE dns_records (
    id         {{id}},
    zone_id    BIGINT  NOT NULL REFERENCES dns_zones (id) ON DELETE CASCADE, -- the zone
    account_id BIGINT  NOT NULL,                             -- the owner's account
    name       TEXT    NOT NULL,                             -- relative to the zone; @ is the zone itself
    -- ALIAS is our own: the addresses of another name
    type       TEXT    NOT NULL CHECK (type IN ('A', 'AAAA', 'ALIAS', 'CAA', 'CNAME', 'DS', 'MX', 'NS', 'PTR', 'SRV',
        'SSHFP', 'TLSA', 'TXT')),
    value      TEXT    NOT NULL,                             -- data of the record, without the fields that have columns
    ttl        INTEGER NOT NULL CHECK (ttl BETWEEN 60 AND 86400), -- in seconds
    priority   INTEGER CHECK (priority BETWEEN 0 AND 65535), -- of MX and SRV
    weight     INTEGER CHECK (weight BETWEEN 0 AND 65535),   -- of SRV
    port       INTEGER CHECK (port BETWEEN 0 AND 65535),     -- of SRV
    flags      INTEGER CHECK (flags BETWEEN 0 AND 255),      -- of CAA
    tag        TEXT,                                         -- of CAA
    disabled   BOOLEAN NOT NULL DEFAULT FALSE,               -- whether it is left out of what is served
    -- whether the platform made it: name servers, the service's addresses, sets of other sections
    system     BOOLEAN NOT NULL DEFAULT FALSE,
    -- whose set it is of (dns_sets); empty for the customer's, the name servers and the service's addresses
    owner      TEXT    NOT NULL DEFAULT '',
    resolved   TEXT    NOT NULL DEFAULT '[]',                -- of ALIAS: JSON list of the addresses that were found
    resolve_at BIGINT, -- of ALIAS: when they are looked up again; NULL for all other types
    created_at BIGINT  NOT NULL,                             -- when it was made
    updated_at BIGINT  NOT NULL,                             -- when it last changed
    CONSTRAINT dns_records_alias CHECK ((type = 'ALIAS') = (resolve_at IS NOT NULL))
);
CREATE INDEX dns_records_zone ON dns_records (zone_id, name, type, id);
CREATE INDEX dns_records_alias_due ON dns_records (resolve_at) WHERE resolve_at IS NOT NULL;

-- What a zone was before a change.
CREATE TABLE dns_snapshots (
    id         {{id}},
    zone_id    BIGINT NOT NULL REFERENCES dns_zones (id) ON DELETE CASCADE, -- the zone
    serial     BIGINT NOT NULL, -- its serial at that time
    cause      TEXT   NOT NULL CHECK (cause IN ('create', 'update', 'delete', 'import', 'system')), -- what changed it
    records    TEXT   NOT NULL, -- JSON list of its records before the change
    created_at BIGINT NOT NULL  -- when it was changed
);
CREATE INDEX dns_snapshots_zone ON dns_snapshots (zone_id, id);

-- Records that other sections of the platform want in the zones of a service: one set for each owner.
CREATE TABLE dns_sets (
    id         {{id}},
    account_id BIGINT NOT NULL, -- the owner's account
    service_id BIGINT NOT NULL, -- the service
    owner      TEXT   NOT NULL, -- the section that wants them, and what for
    records    TEXT   NOT NULL, -- JSON list of records with absolute names
    updated_at BIGINT NOT NULL  -- when the set last changed
);
CREATE UNIQUE INDEX dns_sets_owner ON dns_sets (service_id, owner);

-- The catalog zone that secondaries follow (RFC 9432); one row.
CREATE TABLE dns_catalog (
    id     INTEGER PRIMARY KEY CHECK (id = 1), -- always 1
    serial BIGINT  NOT NULL CHECK (serial BETWEEN 0 AND 4294967295) -- of its SOA record; grows when zones come and go
);
INSERT INTO dns_catalog (id, serial) VALUES (1, 1);

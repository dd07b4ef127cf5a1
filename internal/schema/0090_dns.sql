-- +goose Up

-- Zones of hosting services (resources, section 21). settled_for are the name
-- servers, ipv4 and ipv6 the addresses that the system's records were made of.
CREATE TABLE dns_zones (
    id          {{id}},
    account_id  BIGINT NOT NULL,
    service_id  BIGINT NOT NULL,
    name        TEXT   NOT NULL,
    serial      BIGINT NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
    settled_for TEXT   NOT NULL DEFAULT '',
    ipv4        TEXT   NOT NULL DEFAULT '',
    ipv6        TEXT   NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX dns_zones_name ON dns_zones (name);
CREATE INDEX dns_zones_service ON dns_zones (service_id);
CREATE INDEX dns_zones_settled ON dns_zones (settled_for);

-- name is relative to the zone, @ its own. resolved are the addresses of an
-- ALIAS, and resolve_at is when they are looked up again.
CREATE TABLE dns_records (
    id         {{id}},
    zone_id    BIGINT  NOT NULL REFERENCES dns_zones (id) ON DELETE CASCADE,
    account_id BIGINT  NOT NULL,
    name       TEXT    NOT NULL,
    type       TEXT    NOT NULL CHECK (type IN ('A', 'AAAA', 'ALIAS', 'CAA', 'CNAME', 'DS', 'MX', 'NS', 'PTR', 'SRV',
                   'SSHFP', 'TLSA', 'TXT')),
    value      TEXT    NOT NULL,
    ttl        INTEGER NOT NULL CHECK (ttl BETWEEN 60 AND 86400),
    priority   INTEGER CHECK (priority BETWEEN 0 AND 65535),
    weight     INTEGER CHECK (weight BETWEEN 0 AND 65535),
    port       INTEGER CHECK (port BETWEEN 0 AND 65535),
    flags      INTEGER CHECK (flags BETWEEN 0 AND 255),
    tag        TEXT,
    disabled   BOOLEAN NOT NULL DEFAULT FALSE,
    system     BOOLEAN NOT NULL DEFAULT FALSE,
    resolved   TEXT    NOT NULL DEFAULT '[]',
    resolve_at BIGINT,
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL,
    CONSTRAINT dns_records_alias CHECK ((type = 'ALIAS') = (resolve_at IS NOT NULL))
);
CREATE INDEX dns_records_zone ON dns_records (zone_id, name, type, id);
CREATE INDEX dns_records_alias_due ON dns_records (resolve_at) WHERE resolve_at IS NOT NULL;

-- What a zone was before a change.
CREATE TABLE dns_snapshots (
    id         {{id}},
    zone_id    BIGINT NOT NULL REFERENCES dns_zones (id) ON DELETE CASCADE,
    serial     BIGINT NOT NULL,
    cause      TEXT   NOT NULL CHECK (cause IN ('create', 'update', 'delete', 'import', 'system')),
    records    TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX dns_snapshots_zone ON dns_snapshots (zone_id, id);

-- The serial of the catalog zone, which grows when zones come and go.
CREATE TABLE dns_catalog (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    serial BIGINT NOT NULL CHECK (serial BETWEEN 0 AND 4294967295)
);
INSERT INTO dns_catalog (id, serial) VALUES (1, 1);

-- The zones of services that were there before; the job that settles zones makes
-- their records.
INSERT INTO dns_zones (account_id, service_id, name, serial, created_at, updated_at)
    SELECT account_id, id, domain, created_at / 1000000, created_at, created_at FROM services
    WHERE domain IS NOT NULL AND status IN ('active', 'past_due', 'suspended');

-- +goose Up

-- What staff say is disturbed.
CREATE TABLE status_incidents (
    id          {{id}},
    title       TEXT   NOT NULL, -- JSON object: language to text
    impact      TEXT   NOT NULL CHECK (impact IN ('none', 'minor', 'major', 'critical')), -- how far its components are disturbed
    status      TEXT   NOT NULL CHECK (status IN ('investigating', 'identified', 'monitoring', 'resolved')), -- how far the staff have come
    components  TEXT   NOT NULL, -- JSON list of keys of components; an empty one means all
    started_at  BIGINT NOT NULL, -- when it was opened
    resolved_at BIGINT           -- when it was resolved; NULL: it goes on
);
CREATE INDEX status_incidents_resolved ON status_incidents (resolved_at, id);

-- What staff say about an incident, one after the other.
CREATE TABLE status_updates (
    id          {{id}},
    incident_id BIGINT NOT NULL REFERENCES status_incidents (id), -- the incident
    status      TEXT   NOT NULL CHECK (status IN ('investigating', 'identified', 'monitoring', 'resolved')), -- what the incident became
    body        TEXT   NOT NULL, -- JSON object: language to text
    created_at  BIGINT NOT NULL  -- when it was said
);
CREATE INDEX status_updates_incident ON status_updates (incident_id, id);

-- Maintenance that was announced.
CREATE TABLE status_maintenance (
    id           {{id}},
    title        TEXT   NOT NULL, -- JSON object: language to text
    components   TEXT   NOT NULL, -- JSON list of keys of components; an empty one means all
    starts_at    BIGINT NOT NULL, -- when it begins
    ends_at      BIGINT NOT NULL, -- when it is over
    cancelled_at BIGINT,          -- when it was called off; NULL: it was not
    created_at   BIGINT NOT NULL, -- when it was announced
    CHECK (ends_at > starts_at)
);
CREATE INDEX status_maintenance_ends ON status_maintenance (ends_at, id);

-- The worst that was seen of a component on a day.
CREATE TABLE status_days (
    day       BIGINT  NOT NULL, -- the beginning of the day in UTC
    component TEXT    NOT NULL, -- key of the component
    level     INTEGER NOT NULL CHECK (level BETWEEN 0 AND 4), -- 0 operational, 1 maintenance, 2 degraded, 3 partial outage, 4 major outage
    PRIMARY KEY (day, component)
);

-- Who gets mails about incidents and maintenance. A row goes when its owner unsubscribes.
CREATE TABLE status_subscribers (
    id           {{id}},
    email        TEXT      NOT NULL UNIQUE, -- the address, normalised
    language     TEXT      NOT NULL, -- of the mails
    token_hash   {{bytes}} NOT NULL UNIQUE, -- SHA-256 of the token in the links of the mails
    token_sealed {{bytes}} NOT NULL, -- the token, sealed
    created_at   BIGINT    NOT NULL, -- when it was first asked for
    asked_at     BIGINT    NOT NULL, -- when it was last asked for
    confirmed_at BIGINT              -- when its owner confirmed it; NULL: no mail but the one that asks
);

-- What subscribers are told, while it is being told.
CREATE TABLE status_notices (
    id             {{id}},
    update_id      BIGINT REFERENCES status_updates (id),     -- what was said about an incident
    maintenance_id BIGINT REFERENCES status_maintenance (id), -- maintenance that was announced or called off
    cancelled      BOOLEAN NOT NULL, -- the maintenance was called off
    reached        BIGINT  NOT NULL, -- jobs exist for the mails to all subscribers up to this id
    created_at     BIGINT  NOT NULL  -- when it happened
);
CREATE INDEX status_notices_created ON status_notices (created_at);

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

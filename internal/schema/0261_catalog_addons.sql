-- +goose Up

-- Extras that are attached to services (resources, section 9), known by their key. As with plans, what the
-- operator's file no longer names is taken off sale and stays: services have it. details are the prices of
-- one for each period, the limits that one raises, how many a service may have, and whether an operator
-- makes it.
CREATE TABLE catalog_addons (
    id          {{id}},
    key         TEXT    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    details     TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    available   BOOLEAN NOT NULL
);
CREATE INDEX catalog_addons_position ON catalog_addons (position, id);

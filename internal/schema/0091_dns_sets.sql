-- +goose Up

-- Records that other sections of the platform want in the zones of a service: one set for each owner, its records as
-- a JSON list with absolute names.
CREATE TABLE dns_sets (
    id         {{id}},
    account_id BIGINT NOT NULL,
    service_id BIGINT NOT NULL,
    owner      TEXT   NOT NULL,
    records    TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX dns_sets_owner ON dns_sets (service_id, owner);

-- owner is whose set a record is of; empty for the customer's, the name servers and the service's addresses.
ALTER TABLE dns_records ADD COLUMN owner TEXT NOT NULL DEFAULT '';

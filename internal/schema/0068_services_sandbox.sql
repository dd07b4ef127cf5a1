-- +goose Up

-- A name is served once in each world: a sandbox's services are nobody's real ones.
ALTER TABLE services ADD COLUMN sandbox BOOLEAN NOT NULL DEFAULT FALSE;
DROP INDEX services_live_domain;
CREATE UNIQUE INDEX services_live_domain ON services (domain, sandbox)
    WHERE status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating');

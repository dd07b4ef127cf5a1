-- +goose Up

-- What resellers note of services: their own tag is client_ref, metadata is a JSON object of
-- strings. A service is suspended by its owner while owner_suspended_at is suspended_at; only
-- that suspension is for the owner to lift. suspend_note is what it was suspended for.
ALTER TABLE services ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE services ADD COLUMN owner_suspended_at BIGINT;
ALTER TABLE services ADD COLUMN suspend_note TEXT NOT NULL DEFAULT '';
CREATE INDEX services_account_client ON services (account_id, client_ref, id);
CREATE INDEX services_account_plan ON services (account_id, plan_id, id);

-- +goose Up

-- Why the renewal of a service did not go when it was last tried, and when that was; NULL where it
-- went, by whomever it was renewed since.
ALTER TABLE services ADD COLUMN renewal_failure TEXT;
ALTER TABLE services ADD COLUMN renewal_failed_at BIGINT;
UPDATE services SET
    renewal_failure = (SELECT p.failure_key FROM services_steps p WHERE p.service_id = services.id AND p.did = 'renew' ORDER BY p.id DESC LIMIT 1),
    renewal_failed_at = (SELECT p.at FROM services_steps p WHERE p.service_id = services.id AND p.did = 'renew' ORDER BY p.id DESC LIMIT 1)
    WHERE status IN ('active', 'past_due', 'suspended');
UPDATE services SET renewal_failed_at = NULL WHERE renewal_failure IS NULL;
-- A renewal since then by its owner was no step.
UPDATE services SET renewal_failure = NULL, renewal_failed_at = NULL
    WHERE renewal_failed_at IS NOT NULL AND status = 'active' AND expires_at - renewal_failed_at > 10 * 86400000000;
CREATE INDEX services_renewal_failed ON services (renewal_failed_at) WHERE renewal_failure IS NOT NULL;

-- When the renewal of a service is tried, whoever has it.
CREATE INDEX services_attempts ON services (next_renewal_attempt_at) WHERE next_renewal_attempt_at IS NOT NULL;

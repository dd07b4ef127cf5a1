-- +goose Up

-- When the next step in a service's life is due (renewal, reminder, suspension, end); NULL where
-- there is none. reminded and warned are the fewest days before expiry and before the end of which
-- the owner was told. A step's result is kept in services_steps.
ALTER TABLE services ADD COLUMN step_at BIGINT;
ALTER TABLE services ADD COLUMN reminded INTEGER;
ALTER TABLE services ADD COLUMN warned INTEGER;
CREATE INDEX services_step ON services (step_at) WHERE step_at IS NOT NULL;
CREATE INDEX services_renewals_due ON services (account_id, next_renewal_attempt_at) WHERE next_renewal_attempt_at IS NOT NULL;
UPDATE services SET next_renewal_attempt_at = expires_at - 259200000000
    WHERE auto_renew AND status IN ('active', 'past_due', 'suspended');
UPDATE services SET step_at = 0 WHERE status IN ('active', 'past_due', 'suspended');

CREATE TABLE services_steps (
    id         {{id}},
    service_id BIGINT NOT NULL REFERENCES services (id),
    did        TEXT   NOT NULL CHECK (did IN ('renew', 'remind', 'expire', 'suspend', 'wait', 'warn', 'terminate')),
    failure_key TEXT,
    days       INTEGER,
    at         BIGINT NOT NULL
);
CREATE INDEX services_steps_service ON services_steps (service_id, id);

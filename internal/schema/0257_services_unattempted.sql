-- +goose Up

-- What the view of the health of renewals looks for: services that are in the middle of their life and
-- will never be looked at again, and those whose time has run out unnoticed.
CREATE INDEX services_forgotten ON services (id) WHERE step_at IS NULL AND status IN ('active', 'past_due', 'suspended');
CREATE INDEX services_active_expiry ON services (expires_at) WHERE status = 'active';

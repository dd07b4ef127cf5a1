-- +goose Up

-- What was paid for which time of a service. The part of it that is still to come
-- is what a change of tariff counts against the new plan's price.
CREATE TABLE services_periods (
    id         {{id}},
    service_id BIGINT NOT NULL REFERENCES services (id),
    starts_at  BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL,
    amount     BIGINT NOT NULL CHECK (amount >= 0),
    CONSTRAINT services_periods_time CHECK (ends_at > starts_at)
);
CREATE INDEX services_periods_service ON services_periods (service_id, ends_at);
CREATE INDEX services_pending_plan_due ON services (pending_plan_at) WHERE pending_plan_at IS NOT NULL;

-- What the first period cost, without the setup; it begins when the service is provisioned.
ALTER TABLE services ADD COLUMN first_price BIGINT NOT NULL DEFAULT 0;
UPDATE services SET first_price = COALESCE(
    (SELECT i.unit_price - i.discount FROM orders_items i WHERE i.service_id = services.id AND i.kind = 'new'), 0);

-- The first periods of the services that there are.
INSERT INTO services_periods (service_id, starts_at, ends_at, amount)
    SELECT id, provisioned_at, expires_at, first_price FROM services
    WHERE provisioned_at IS NOT NULL AND expires_at > provisioned_at;

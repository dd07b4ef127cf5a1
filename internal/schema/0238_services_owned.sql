-- +goose Up

-- A service whose owner has ordered its end ends with its paid time while ends_at_expiry. A service
-- that comes back for money bears the order that is held for it, and what of its price is the plan's, until the
-- panel has its account.
ALTER TABLE services ADD COLUMN ends_at_expiry BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE services ADD COLUMN restore_order_id BIGINT;
ALTER TABLE services ADD COLUMN restore_price BIGINT NOT NULL DEFAULT 0;

-- What happened to services, as long as they are known. previous_status is the state that was left by it.
CREATE TABLE services_history (
    id              {{id}},
    service_id      BIGINT NOT NULL REFERENCES services (id),
    type            TEXT   NOT NULL,
    status          TEXT   NOT NULL,
    previous_status TEXT,
    suspend_reason  TEXT,
    error_key       TEXT,
    days            INTEGER,
    created_at      BIGINT NOT NULL
);
CREATE INDEX services_history_service ON services_history (service_id, id);


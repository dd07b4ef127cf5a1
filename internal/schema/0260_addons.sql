-- +goose Up

-- What services have beside their plan (resources, section 9). unit_price is what one costs for the service's
-- period, as it was sold; raises are the limits that one raises, an object of numbers. manual ones are made by
-- an operator. with_service are those that ended with their service and come back with it.
CREATE TABLE addons (
    id            {{id}},
    account_id    BIGINT  NOT NULL,
    service_id    BIGINT  NOT NULL,
    order_id      BIGINT  NOT NULL UNIQUE,
    key           TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    quantity      INTEGER NOT NULL CHECK (quantity > 0),
    unit_price    BIGINT  NOT NULL CHECK (unit_price >= 0),
    period_months INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120),
    raises        TEXT    NOT NULL,
    manual        BOOLEAN NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'cancelling', 'cancelled', 'failed')),
    value         TEXT    NOT NULL DEFAULT '',
    failure_key   TEXT,
    with_service  BOOLEAN NOT NULL DEFAULT FALSE,
    paid_until    BIGINT  NOT NULL,
    created_at    BIGINT  NOT NULL,
    activated_at  BIGINT,
    cancelled_at  BIGINT,
    CONSTRAINT addons_failed CHECK ((status = 'failed') = (failure_key IS NOT NULL)),
    CONSTRAINT addons_cancelled CHECK ((status IN ('cancelling', 'cancelled')) = (cancelled_at IS NOT NULL)),
    CONSTRAINT addons_ended CHECK (NOT with_service OR status = 'cancelled')
);
CREATE INDEX addons_service ON addons (service_id, id);
CREATE INDEX addons_ending ON addons (paid_until) WHERE status = 'cancelling';
CREATE INDEX addons_ending_of ON addons (account_id, paid_until) WHERE status = 'cancelling';
CREATE INDEX addons_pending ON addons (id) WHERE status = 'pending';

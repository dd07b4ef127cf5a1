-- +goose Up

-- Add-ons: what services have beyond their plan (resources, section 9).
CREATE TABLE addons (
    id            {{id}},
    account_id    BIGINT  NOT NULL,                      -- the owner's account
    service_id    BIGINT  NOT NULL,                      -- the service that has it
    order_id      BIGINT  NOT NULL UNIQUE,               -- the order that bought it
    key           TEXT    NOT NULL,                      -- what it is (catalog_addons)
    name          TEXT    NOT NULL,                      -- its name in the buyer's language
    quantity      INTEGER NOT NULL CHECK (quantity > 0), -- how many
    -- the price of one unit for the service's period at the time of sale, in US cents
    unit_price    BIGINT  NOT NULL CHECK (unit_price >= 0),
    period_months INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120), -- the service's period when it was sold
    raises        TEXT    NOT NULL,                      -- JSON object of numbers: the limits that one raises
    manual        BOOLEAN NOT NULL,                      -- whether an operator makes it
    -- pending: an operator is to make it; cancelling: it stays until its paid time is over
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'cancelling', 'cancelled', 'failed')),
    value         TEXT    NOT NULL DEFAULT '', -- what the operator noted of it, such as an address; empty without
    failure_key   TEXT,                                  -- why it could not be made; NULL otherwise
    with_service  BOOLEAN NOT NULL DEFAULT FALSE,        -- whether it ended with its service, and comes back with it
    paid_until    BIGINT  NOT NULL,                      -- when its paid time is over
    created_at    BIGINT  NOT NULL,                      -- when it was ordered
    activated_at  BIGINT,                                -- when it was there; NULL before that
    cancelled_at  BIGINT,                                -- when it was cancelled; NULL when it was not
    CONSTRAINT addons_failed CHECK ((status = 'failed') = (failure_key IS NOT NULL)),
    CONSTRAINT addons_cancelled CHECK ((status IN ('cancelling', 'cancelled')) = (cancelled_at IS NOT NULL)),
    CONSTRAINT addons_ended CHECK (NOT with_service OR status = 'cancelled')
);
CREATE INDEX addons_service ON addons (service_id, id);
CREATE INDEX addons_ending ON addons (paid_until) WHERE status = 'cancelling';
CREATE INDEX addons_ending_of ON addons (account_id, paid_until) WHERE status = 'cancelling';
CREATE INDEX addons_pending ON addons (id) WHERE status = 'pending';

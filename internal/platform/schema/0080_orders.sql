-- +goose Up

-- Orders (resources, section 2). Amounts are what was agreed when the order was made; prices of the catalogue may
-- change meanwhile. The number that customers see is made of the year and the id.
CREATE TABLE orders (
    id                   {{id}},
    account_id           BIGINT  NOT NULL,                  -- the buyer's account
    -- what is bought
    kind                 TEXT    NOT NULL CHECK (kind IN ('new', 'renewal', 'tariff_change', 'addon',
        'domain_register', 'domain_transfer', 'domain_renew', 'domain_restore')),
    -- pending waits for the payment; processing: the money is set aside while the order is carried out; failed: the
    -- money is back
    status               TEXT    NOT NULL CHECK (status IN ('pending', 'paid', 'processing', 'completed', 'failed',
        'refunded', 'cancelled', 'expired')),
    subtotal             BIGINT  NOT NULL CHECK (subtotal >= 0), -- sum of the items before discount, in US cents
    discount             BIGINT  NOT NULL CHECK (discount >= 0), -- what was taken off, in US cents
    tax                  BIGINT  NOT NULL CHECK (tax >= 0), -- tax added to the prices, in US cents
    tax_included         BIGINT  NOT NULL DEFAULT 0,        -- tax that the prices contain, in US cents
    total                BIGINT  NOT NULL CHECK (total >= 0), -- what is paid, in US cents
    coupon_code          TEXT,                              -- the coupon; NULL without one
    -- what of the discount is the coupon's, in US cents
    coupon_discount      BIGINT  NOT NULL DEFAULT 0 CHECK (coupon_discount >= 0),
    refunded             BIGINT  NOT NULL DEFAULT 0, -- what was given back after the order was completed, in US cents
    failure_key          TEXT,                              -- why the order failed or was refunded; NULL otherwise
    invoice_id           BIGINT,                            -- the invoice issued at the payment; NULL without one
    client_ref           TEXT, -- the tag that a reseller gave when the order was made; NULL without one
    idempotency_key_used BOOLEAN NOT NULL,                  -- whether the order was made with an Idempotency-Key
    expires_at           BIGINT  NOT NULL,                  -- when it can no longer be paid
    created_at           BIGINT  NOT NULL,                  -- when it was made
    paid_at              BIGINT,                            -- when it was paid; NULL before that
    completed_at         BIGINT,                            -- when what was bought was there; NULL before that
    cancelled_at         BIGINT,                            -- when it was cancelled; NULL when it was not
    CONSTRAINT orders_total CHECK (total = subtotal - discount + tax),
    CONSTRAINT orders_paid CHECK ((status IN ('pending', 'cancelled', 'expired')) = (paid_at IS NULL)),
    CONSTRAINT orders_completed CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
    CONSTRAINT orders_cancelled CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CONSTRAINT orders_failed CHECK ((status IN ('failed', 'refunded')) = (failure_key IS NOT NULL))
);
CREATE INDEX orders_account ON orders (account_id, id);
CREATE INDEX orders_account_status ON orders (account_id, status, id);
CREATE INDEX orders_account_client ON orders (account_id, client_ref, id);
CREATE INDEX orders_unpaid ON orders (expires_at) WHERE status = 'pending';

-- What an order is made of. total is unit_price times quantity, plus setup, less discount, plus tax.
CREATE TABLE orders_items (
    id            {{id}},
    order_id      BIGINT  NOT NULL REFERENCES orders (id),  -- the order
    kind          TEXT    NOT NULL,                         -- what is bought, as orders.kind
    -- follows the order's
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'refunded')),
    title         TEXT    NOT NULL,                         -- what it is, in the buyer's language
    plan_id       BIGINT, -- the plan that is bought (catalog_plans); NULL for other things
    domain        TEXT,                                     -- the domain name that it is about; NULL without one
    quantity      INTEGER NOT NULL CHECK (quantity > 0),    -- how many
    period_months INTEGER,                                  -- how long is paid for; NULL where there is no period
    unit_price    BIGINT  NOT NULL CHECK (unit_price >= 0), -- of one, in US cents
    setup         BIGINT  NOT NULL CHECK (setup >= 0),      -- paid once, in US cents
    discount      BIGINT  NOT NULL CHECK (discount >= 0),   -- in US cents
    tax           BIGINT  NOT NULL CHECK (tax >= 0),        -- tax added to the price, in US cents
    tax_included  BIGINT  NOT NULL DEFAULT 0,               -- tax that the price contains, in US cents
    total         BIGINT  NOT NULL CHECK (total >= 0),      -- in US cents
    service_id    BIGINT,                                   -- the service that is made or changed; NULL without one
    domain_id     BIGINT -- the registration that is made or changed; NULL without one
);
CREATE INDEX orders_items_order ON orders_items (order_id, id);

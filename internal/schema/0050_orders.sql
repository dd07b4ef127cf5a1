-- +goose Up

-- Orders (resources, section 2). Amounts are what was agreed on when the order
-- was made; prices of the catalogue may change meanwhile. The number that
-- customers see is made of the year and the id.
CREATE TABLE orders (
    id                   {{id}},
    account_id           BIGINT  NOT NULL,
    kind                 TEXT    NOT NULL CHECK (kind IN ('new', 'renewal', 'tariff_change', 'addon', 'domain_register',
                             'domain_transfer', 'domain_renew', 'domain_restore')),
    status               TEXT    NOT NULL CHECK (status IN ('pending', 'paid', 'processing', 'completed', 'failed',
                             'refunded', 'cancelled', 'expired')),
    subtotal             BIGINT  NOT NULL CHECK (subtotal >= 0),
    discount             BIGINT  NOT NULL CHECK (discount >= 0),
    tax                  BIGINT  NOT NULL CHECK (tax >= 0),
    total                BIGINT  NOT NULL CHECK (total >= 0),
    failure_key          TEXT,
    idempotency_key_used BOOLEAN NOT NULL,
    expires_at           BIGINT  NOT NULL,
    created_at           BIGINT  NOT NULL,
    paid_at              BIGINT,
    completed_at         BIGINT,
    cancelled_at         BIGINT,
    CONSTRAINT orders_total CHECK (total = subtotal - discount + tax),
    CONSTRAINT orders_paid CHECK ((status IN ('pending', 'cancelled', 'expired')) = (paid_at IS NULL)),
    CONSTRAINT orders_completed CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
    CONSTRAINT orders_cancelled CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CONSTRAINT orders_failed CHECK ((status IN ('failed', 'refunded')) = (failure_key IS NOT NULL))
);
CREATE INDEX orders_account ON orders (account_id, id);
CREATE INDEX orders_account_status ON orders (account_id, status, id);
CREATE INDEX orders_unpaid ON orders (expires_at) WHERE status = 'pending';

-- What an order is made of. title is in the buyer's language; total is unit_price
-- times quantity, plus setup, less discount, plus tax.
CREATE TABLE orders_items (
    id            {{id}},
    order_id      BIGINT  NOT NULL REFERENCES orders (id),
    kind          TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'refunded')),
    title         TEXT    NOT NULL,
    plan_id       BIGINT,
    domain        TEXT,
    quantity      INTEGER NOT NULL CHECK (quantity > 0),
    period_months INTEGER,
    unit_price    BIGINT  NOT NULL CHECK (unit_price >= 0),
    setup         BIGINT  NOT NULL CHECK (setup >= 0),
    discount      BIGINT  NOT NULL CHECK (discount >= 0),
    tax           BIGINT  NOT NULL CHECK (tax >= 0),
    total         BIGINT  NOT NULL CHECK (total >= 0),
    service_id    BIGINT,
    domain_id     BIGINT
);
CREATE INDEX orders_items_order ON orders_items (order_id, id);

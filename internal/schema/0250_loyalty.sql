-- +goose Up

-- The code by which a customer refers others.
CREATE TABLE loyalty_codes (
    account_id BIGINT PRIMARY KEY,
    code       TEXT   NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- Customers who came by somebody's code; the first order that they paid and kept makes it a
-- conversion.
CREATE TABLE loyalty_referrals (
    referred_id  BIGINT PRIMARY KEY,
    referrer_id  BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    order_id     BIGINT,
    converted_at BIGINT,
    CONSTRAINT loyalty_referrals_not_self CHECK (referred_id <> referrer_id),
    CONSTRAINT loyalty_referrals_converted CHECK ((order_id IS NULL) = (converted_at IS NULL))
);
CREATE INDEX loyalty_referrals_referrer ON loyalty_referrals (referrer_id);

-- What customers bought, as the events of their orders say. base is what counts, without
-- taxes: of an order that is not completed 0. What came back of paid is refunded.
CREATE TABLE loyalty_orders (
    order_id     BIGINT PRIMARY KEY,
    account_id   BIGINT NOT NULL,
    paid         BIGINT NOT NULL CHECK (paid >= 0),
    base         BIGINT NOT NULL CHECK (base BETWEEN 0 AND paid),
    refunded     BIGINT NOT NULL CHECK (refunded >= 0),
    completed_at BIGINT
);
CREATE INDEX loyalty_orders_account ON loyalty_orders (account_id, completed_at);

-- Money given for orders through the wallet's ledger: amount is what is left of it after
-- refunds, percent_bp what was promised when it was given.
CREATE TABLE loyalty_rewards (
    id         {{id}},
    account_id BIGINT  NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('referral', 'cashback')),
    order_id   BIGINT  NOT NULL,
    percent_bp INTEGER NOT NULL,
    given      BIGINT  NOT NULL,
    amount     BIGINT  NOT NULL CHECK (amount BETWEEN 0 AND given),
    created_at BIGINT  NOT NULL,
    UNIQUE (kind, order_id)
);
CREATE INDEX loyalty_rewards_account ON loyalty_rewards (account_id, kind);

INSERT INTO loyalty_orders (order_id, account_id, paid, base, refunded, completed_at)
SELECT id, account_id, total, total - tax, 0, completed_at FROM orders
WHERE status = 'completed' AND completed_at IS NOT NULL AND total >= tax;

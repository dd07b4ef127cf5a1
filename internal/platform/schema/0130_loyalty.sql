-- +goose Up

-- The codes by which customers refer others.
CREATE TABLE loyalty_codes (
    account_id BIGINT PRIMARY KEY,     -- the customer's account
    code       TEXT   NOT NULL UNIQUE, -- what the share link bears
    created_at BIGINT NOT NULL         -- when it was made
);

-- Customers who registered with another customer's code. Their first order that is paid and not refunded is the conversion.
CREATE TABLE loyalty_referrals (
    referred_id  BIGINT PRIMARY KEY, -- the account of the new customer
    referrer_id  BIGINT NOT NULL,    -- the account whose code it was
    created_at   BIGINT NOT NULL,    -- when the referred account was registered
    order_id     BIGINT,             -- the order that converted it; NULL before that
    converted_at BIGINT,             -- when that was; NULL before that
    CONSTRAINT loyalty_referrals_not_self CHECK (referred_id <> referrer_id),
    CONSTRAINT loyalty_referrals_converted CHECK ((order_id IS NULL) = (converted_at IS NULL))
);
CREATE INDEX loyalty_referrals_referrer ON loyalty_referrals (referrer_id);

-- What customers bought, as the events of their orders say.
CREATE TABLE loyalty_orders (
    order_id     BIGINT PRIMARY KEY,                    -- the order
    account_id   BIGINT NOT NULL,                       -- the buyer's account
    paid         BIGINT NOT NULL CHECK (paid >= 0),     -- what was paid, in US cents
    -- what counts of it, without taxes, in US cents; 0 until the order is completed
    base         BIGINT NOT NULL CHECK (base BETWEEN 0 AND paid),
    refunded     BIGINT NOT NULL CHECK (refunded >= 0), -- what came back of paid, in US cents
    completed_at BIGINT                                 -- when the order was completed; NULL before that
);
CREATE INDEX loyalty_orders_account ON loyalty_orders (account_id, completed_at);

-- Money given for orders through the wallet's ledger.
CREATE TABLE loyalty_rewards (
    id         {{id}},
    account_id BIGINT  NOT NULL, -- the account that got it
    -- referral: somebody else's order; cashback: one's own
    kind       TEXT    NOT NULL CHECK (kind IN ('referral', 'cashback')),
    order_id   BIGINT  NOT NULL, -- the order that it is for
    percent_bp INTEGER NOT NULL, -- what was promised when it was given, in hundredths of a percent
    given      BIGINT  NOT NULL, -- what was given, in US cents
    amount     BIGINT  NOT NULL CHECK (amount BETWEEN 0 AND given), -- what is left of it after refunds, in US cents
    created_at BIGINT  NOT NULL, -- when it was given
    UNIQUE (kind, order_id)
);
CREATE INDEX loyalty_rewards_account ON loyalty_rewards (account_id, kind);

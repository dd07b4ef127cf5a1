-- +goose Up

-- Codes that take something off an order. A coupon takes off either a percentage or an amount.
CREATE TABLE coupons (
    id          {{id}},
    code        TEXT    NOT NULL UNIQUE,       -- what the buyer enters
    -- what is taken off, in hundredths of a percent; NULL when it is an amount
    percent_bp  INTEGER CHECK (percent_bp BETWEEN 1 AND 10000),
    amount      BIGINT  CHECK (amount > 0),    -- what is taken off, in US cents; NULL when it is a percentage
    max_total   INTEGER CHECK (max_total > 0), -- how often the coupon may be redeemed; NULL for no bound
    max_each    INTEGER CHECK (max_each > 0),  -- how often one account may redeem it; NULL for no bound
    first_order BOOLEAN NOT NULL,              -- whether it is for an account's first order alone
    products    TEXT    NOT NULL, -- JSON list of the slugs of products and plans that it is for; an empty list is all
    min_months  INTEGER NOT NULL CHECK (min_months BETWEEN 1 AND 120), -- the shortest period that it is for
    starts_at   BIGINT,                        -- when it begins to be valid; NULL: at once
    ends_at     BIGINT,                        -- when it stops being valid; NULL: never
    note        TEXT    NOT NULL,              -- the operator's remark
    -- redemptions that were not undone. The lock of this row makes the bounds hold
    redeemed    INTEGER NOT NULL DEFAULT 0 CHECK (redeemed >= 0),
    created_at  BIGINT  NOT NULL,              -- when the operator made it
    disabled_at BIGINT,                        -- when the operator disabled it; NULL while it works
    CONSTRAINT coupons_kind CHECK ((percent_bp IS NULL) <> (amount IS NULL)),
    CONSTRAINT coupons_bound CHECK (max_total IS NULL OR redeemed <= max_total),
    CONSTRAINT coupons_time CHECK (starts_at IS NULL OR ends_at IS NULL OR ends_at > starts_at)
);

-- Which order redeemed which coupon.
CREATE TABLE coupons_redemptions (
    id          {{id}},
    coupon_id   BIGINT  NOT NULL REFERENCES coupons (id), -- the coupon
    account_id  BIGINT  NOT NULL,                         -- the buyer's account
    order_id    BIGINT  NOT NULL UNIQUE,                  -- the order that redeemed it
    amount      BIGINT  NOT NULL CHECK (amount >= 0),     -- what it took off, in US cents
    first_order BOOLEAN NOT NULL,                         -- whether the coupon is for first orders alone
    redeemed_at BIGINT  NOT NULL,                         -- when the order was made
    released_at BIGINT -- when it was undone, because the order failed or was refunded; NULL before that
);
CREATE INDEX coupons_redemptions_account ON coupons_redemptions (coupon_id, account_id) WHERE released_at IS NULL;
-- An account has one first order, whatever the coupons.
CREATE UNIQUE INDEX coupons_redemptions_first ON coupons_redemptions (account_id)
    WHERE first_order AND released_at IS NULL;

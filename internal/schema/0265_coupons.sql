-- +goose Up

-- Codes that take something off an order. percent_bp is in hundredths of a percent; amount in US cents. NULL bounds are
-- none. products are slugs of products and plans, as JSON; an empty list is all. redeemed counts the redemptions that
-- stand: the row's lock is what makes the bounds hold.
CREATE TABLE coupons (
    id           {{id}},
    code         TEXT    NOT NULL UNIQUE,
    percent_bp   INTEGER CHECK (percent_bp BETWEEN 1 AND 10000),
    amount       BIGINT  CHECK (amount > 0),
    max_total    INTEGER CHECK (max_total > 0),
    max_each     INTEGER CHECK (max_each > 0),
    first_order  BOOLEAN NOT NULL,
    products     TEXT    NOT NULL,
    min_months   INTEGER NOT NULL CHECK (min_months BETWEEN 1 AND 120),
    starts_at    BIGINT,
    ends_at      BIGINT,
    note         TEXT    NOT NULL,
    redeemed     INTEGER NOT NULL DEFAULT 0 CHECK (redeemed >= 0),
    created_at   BIGINT  NOT NULL,
    disabled_at  BIGINT,
    CONSTRAINT coupons_kind CHECK ((percent_bp IS NULL) <> (amount IS NULL)),
    CONSTRAINT coupons_bound CHECK (max_total IS NULL OR redeemed <= max_total),
    CONSTRAINT coupons_time CHECK (starts_at IS NULL OR ends_at IS NULL OR ends_at > starts_at)
);

-- Which order redeemed which coupon. released_at is when it was given back: the order failed or was refunded.
CREATE TABLE coupons_redemptions (
    id          {{id}},
    coupon_id   BIGINT  NOT NULL REFERENCES coupons (id),
    account_id  BIGINT  NOT NULL,
    order_id    BIGINT  NOT NULL UNIQUE,
    amount      BIGINT  NOT NULL CHECK (amount >= 0),
    first_order BOOLEAN NOT NULL,
    redeemed_at BIGINT  NOT NULL,
    released_at BIGINT
);
CREATE INDEX coupons_redemptions_account ON coupons_redemptions (coupon_id, account_id) WHERE released_at IS NULL;
-- A first order is one, whatever the coupons.
CREATE UNIQUE INDEX coupons_redemptions_first ON coupons_redemptions (account_id) WHERE first_order AND released_at IS NULL;

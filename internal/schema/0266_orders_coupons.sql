-- +goose Up

-- The coupon of an order, and what of its discount is the coupon's.
ALTER TABLE orders ADD COLUMN coupon_code TEXT;
ALTER TABLE orders ADD COLUMN coupon_discount BIGINT NOT NULL DEFAULT 0 CHECK (coupon_discount >= 0);

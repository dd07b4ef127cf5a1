-- +goose Up

-- The tax that prices contain, beside that which is added to them (tax); the invoice that was issued at the payment;
-- and what was given back of an order that was completed.
ALTER TABLE orders ADD COLUMN tax_included BIGINT NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN invoice_id BIGINT;
ALTER TABLE orders ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE orders_items ADD COLUMN tax_included BIGINT NOT NULL DEFAULT 0;

-- +goose Up

-- the order that paid the amount, off whose periods its refunds are taken; NULL: another system was paid, or the row is from before this column
ALTER TABLE services_periods ADD COLUMN order_id BIGINT;

-- +goose Up

-- The registry has taken an operation up and decides later. One that it then neither has nor waits for was refused, and
-- is not asked for again.
ALTER TABLE domains_operations ADD COLUMN taken_up BOOLEAN NOT NULL DEFAULT FALSE;

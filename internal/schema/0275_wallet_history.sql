-- +goose Up

-- The same as wallet_transactions_created.
DROP INDEX wallet_transactions_time;

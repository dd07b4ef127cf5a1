-- +goose NO TRANSACTION
-- +goose Up

-- The monitors that an account has made, which its plans bound, without those that its services have by themselves.
DROP INDEX {{online}} IF EXISTS monitors_own;
CREATE INDEX {{online}} monitors_own ON monitors (account_id, id) WHERE NOT built_in;

-- +goose Up

-- The account that a reseller's sandbox keys work on: everything of the sandbox is its, so no
-- query of one world finds a row of the other. Nobody signs in to it.
ALTER TABLE account_users ADD COLUMN sandbox_of BIGINT;
CREATE UNIQUE INDEX account_users_sandbox ON account_users (sandbox_of) WHERE sandbox_of IS NOT NULL;

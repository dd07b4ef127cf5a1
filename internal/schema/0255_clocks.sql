-- +goose Up

-- Clocks of sandboxes that were moved ahead of the real time. at is the sandbox's time, until the
-- real time has reached it; target is where it is being moved to, NULL when it stands.
-- waiting_since is the real time since which it stands still for work that is not done.
CREATE TABLE clocks_accounts (
    account_id    BIGINT PRIMARY KEY,
    at            BIGINT NOT NULL,
    target        BIGINT,
    waiting_since BIGINT,
    CONSTRAINT clocks_accounts_target CHECK (target IS NULL OR target >= at)
);
CREATE INDEX clocks_accounts_moving ON clocks_accounts (account_id) WHERE target IS NOT NULL;

-- What is due next in a sandbox.
CREATE INDEX services_sandbox_step ON services (account_id, step_at) WHERE sandbox AND step_at IS NOT NULL;

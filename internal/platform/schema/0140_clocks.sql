-- +goose Up

-- Test clocks: sandboxes whose time was moved ahead of the real time.
CREATE TABLE clocks_accounts (
    account_id    BIGINT PRIMARY KEY, -- the sandbox's account
    at            BIGINT NOT NULL,    -- the sandbox's time, until the real time has reached it
    target        BIGINT,             -- the time to which the clock is being moved; NULL when it stands still
    -- the real time since which the move waits for work that is not done; NULL when it does not wait
    waiting_since BIGINT,
    CONSTRAINT clocks_accounts_target CHECK (target IS NULL OR target >= at)
);
CREATE INDEX clocks_accounts_moving ON clocks_accounts (account_id) WHERE target IS NOT NULL;

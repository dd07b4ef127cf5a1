-- +goose Up

-- What customers have chosen for their wallets. low says that the balance is below the
-- threshold, and that its owner was told. A crossing of auto_threshold makes auto_state due;
-- the top-up that answers it makes it acted, until the balance is above again (armed).
CREATE TABLE wallet_settings (
    account_id            BIGINT PRIMARY KEY,
    low_balance_threshold BIGINT CHECK (low_balance_threshold > 0),
    low                   BOOLEAN NOT NULL,
    auto_enabled          BOOLEAN NOT NULL,
    auto_gateway          TEXT    NOT NULL DEFAULT '',
    auto_amount           BIGINT  NOT NULL DEFAULT 0,
    auto_threshold        BIGINT  NOT NULL DEFAULT 0,
    auto_max_per_day      BIGINT  NOT NULL DEFAULT 0,
    auto_language         TEXT    NOT NULL DEFAULT '',
    auto_state            TEXT    NOT NULL CHECK (auto_state IN ('armed', 'due', 'acted')),
    CONSTRAINT wallet_settings_auto CHECK (NOT auto_enabled OR
        (auto_gateway <> '' AND auto_threshold > 0 AND auto_amount >= auto_threshold AND auto_max_per_day >= auto_amount))
);
CREATE INDEX wallet_settings_due ON wallet_settings (account_id) WHERE auto_state = 'due';

-- watched, of a customer's account: somebody wants to know when the balance changes. It stands
-- beside the balance so that it is read with it, under its lock.
ALTER TABLE wallet_ledger_accounts ADD COLUMN watched BOOLEAN NOT NULL DEFAULT FALSE;

-- Means of payment that gateways keep for customers; reference is the gateway's name of it.
CREATE TABLE wallet_methods (
    account_id BIGINT NOT NULL,
    gateway    TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    label      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, gateway)
);

-- automatic: taken from a kept means of payment (method, the gateway's name of it), without the
-- customer. save_method: the customer has asked that the means of payment be kept.
ALTER TABLE wallet_topups ADD COLUMN automatic BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE wallet_topups ADD COLUMN method TEXT NOT NULL DEFAULT '';
ALTER TABLE wallet_topups ADD COLUMN save_method BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX wallet_topups_automatic ON wallet_topups (account_id, created_at) WHERE automatic;

-- The history of an account by time.
CREATE INDEX wallet_transactions_time ON wallet_transactions (account_id, created_at) WHERE type <> 'capture';

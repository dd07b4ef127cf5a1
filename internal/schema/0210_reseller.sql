-- +goose Up

-- Accounts that sell on (specification, "Reseller API"). sandbox_id is the account that
-- sandbox keys work on. discount_bp is what wholesale is below retail, in hundredths of a
-- percent.
CREATE TABLE reseller_accounts (
    account_id            BIGINT PRIMARY KEY,
    sandbox_id            BIGINT  NOT NULL UNIQUE,
    tier                  TEXT    NOT NULL,
    discount_bp           INTEGER NOT NULL CHECK (discount_bp BETWEEN 0 AND 10000),
    created_at            BIGINT  NOT NULL
);

-- What a reseller has chosen, of its account and of its sandbox apart.
CREATE TABLE reseller_settings (
    account_id            BIGINT PRIMARY KEY,
    low_balance_threshold BIGINT  CHECK (low_balance_threshold >= 0),
    auto_renew            BOOLEAN NOT NULL
);

-- API keys, shown once and kept as hashes. addresses are the networks that a key may be
-- used from, as JSON; an empty list is all.
CREATE TABLE reseller_keys (
    id           {{id}},
    account_id   BIGINT  NOT NULL REFERENCES reseller_accounts (account_id),
    hash         {{bytes}} NOT NULL UNIQUE,
    name         TEXT    NOT NULL,
    hint         TEXT    NOT NULL,
    sandbox      BOOLEAN NOT NULL,
    read_only    BOOLEAN NOT NULL,
    addresses    TEXT    NOT NULL,
    created_at   BIGINT  NOT NULL,
    last_used_at BIGINT,
    last_address TEXT,
    revoked_at   BIGINT
);
CREATE INDEX reseller_keys_account ON reseller_keys (account_id, id);

-- +goose Up

-- What was done with keys: requests that change something, noted before they are carried out. status
-- and error_key are what was answered; a request without a status was cut off. account_id is the
-- world's: the reseller's, or its sandbox's.
CREATE TABLE reseller_calls (
    id         {{id}},
    account_id BIGINT NOT NULL,
    key_id     BIGINT NOT NULL,
    operation  TEXT   NOT NULL,
    method     TEXT   NOT NULL,
    path       TEXT   NOT NULL,
    request_id TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    status     INTEGER,
    error_key  TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX reseller_calls_account ON reseller_calls (account_id, id);
CREATE INDEX reseller_calls_key ON reseller_calls (account_id, key_id, id);
CREATE INDEX reseller_calls_created ON reseller_calls (created_at);

-- Links that let a reseller's client, who has no account, into the pages of one service: token_hash is
-- of the link, which works once until expires_at, visit_hash of the cookie that it is exchanged for, which
-- works until visit_until.
CREATE TABLE reseller_links (
    id          {{id}},
    account_id  BIGINT NOT NULL,
    service_id  BIGINT NOT NULL,
    key_id      BIGINT NOT NULL,
    token_hash  {{bytes}} NOT NULL UNIQUE,
    expires_at  BIGINT NOT NULL,
    visit_hash  {{bytes}} UNIQUE,
    visit_until BIGINT,
    created_at  BIGINT NOT NULL,
    CONSTRAINT reseller_links_visit CHECK ((visit_hash IS NULL) = (visit_until IS NULL))
);
CREATE INDEX reseller_links_service ON reseller_links (service_id, id);
CREATE INDEX reseller_links_created ON reseller_links (created_at);

-- Sums of a month.
CREATE INDEX wallet_transactions_created ON wallet_transactions (account_id, created_at) WHERE type <> 'capture';

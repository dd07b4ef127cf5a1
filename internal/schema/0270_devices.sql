-- +goose Up

-- Devices that notifications are pushed to (resources, section 11). token is sealed; token_hash finds it again. A token
-- is one device's, and so one account's: that of who has registered it last.
CREATE TABLE devices (
    id           {{id}},
    account_id   BIGINT    NOT NULL,
    platform     TEXT      NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
    token_hash   {{bytes}} NOT NULL UNIQUE,
    token        {{bytes}} NOT NULL,
    name         TEXT      NOT NULL,
    locale       TEXT      NOT NULL,
    app_version  TEXT      NOT NULL,
    last_seen_at BIGINT    NOT NULL,
    created_at   BIGINT    NOT NULL
);
CREATE INDEX devices_account ON devices (account_id, last_seen_at);
CREATE INDEX devices_seen ON devices (last_seen_at);

-- The key pair that this server signs pushes to browsers with (VAPID, RFC 8292). Browsers subscribe with the public key,
-- so it is made once. private_key is sealed.
CREATE TABLE devices_keys (
    id          BIGINT    NOT NULL PRIMARY KEY CHECK (id = 1),
    public_key  TEXT      NOT NULL,
    private_key {{bytes}} NOT NULL,
    created_at  BIGINT    NOT NULL
);

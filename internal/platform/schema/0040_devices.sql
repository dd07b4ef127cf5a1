-- +goose Up

-- Phones and browsers that notifications are pushed to (resources, section 11). A token is one device's, and so one
-- account's: that of whoever registered it last.
CREATE TABLE devices (
    id             {{id}},
    account_id     BIGINT    NOT NULL,        -- the account whose notifications the device gets
    -- the application that registered the device, which is forgotten when that may no longer act for the account; 0
    -- when none is known
    application_id BIGINT    NOT NULL DEFAULT 0,
    platform       TEXT      NOT NULL CHECK (platform IN ('ios', 'android', 'web')), -- what kind of device it is
    token_hash     {{bytes}} NOT NULL UNIQUE, -- hash of the token, to find the row by it
    token          {{bytes}} NOT NULL,        -- the push service's token or subscription, encrypted
    name           TEXT      NOT NULL,        -- what its owner sees it as
    locale         TEXT      NOT NULL,        -- language of what is pushed
    app_version    TEXT      NOT NULL,        -- version of the application on the device
    -- when the device was last registered; devices that are not seen for long are forgotten
    last_seen_at   BIGINT    NOT NULL,
    created_at     BIGINT    NOT NULL         -- when it was first registered
);
CREATE INDEX devices_account ON devices (account_id, last_seen_at);
CREATE INDEX devices_seen ON devices (last_seen_at);
CREATE INDEX devices_application ON devices (application_id);

-- The key pair that this installation signs pushes to browsers with (VAPID, RFC 8292); one row. Browsers subscribe with
-- the public key, so it is made once.
CREATE TABLE devices_keys (
    id          BIGINT    NOT NULL PRIMARY KEY CHECK (id = 1), -- always 1
    public_key  TEXT      NOT NULL, -- what browsers subscribe with
    private_key {{bytes}} NOT NULL, -- what pushes are signed with, encrypted
    created_at  BIGINT    NOT NULL  -- when the pair was made
);

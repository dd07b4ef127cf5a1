-- +goose Up

-- Accounts that sell on (specification, "Reseller API").
CREATE TABLE reseller_accounts (
    account_id  BIGINT  PRIMARY KEY,     -- the reseller's account
    sandbox_id  BIGINT  NOT NULL UNIQUE, -- the account that its sandbox keys work on
    tier        TEXT    NOT NULL,        -- name of its wholesale tier
    -- what wholesale is below retail, in hundredths of a percent
    discount_bp INTEGER NOT NULL CHECK (discount_bp BETWEEN 0 AND 10000),
    created_at  BIGINT  NOT NULL         -- when it became a reseller
);

-- What resellers have chosen, of the account and of its sandbox apart.
CREATE TABLE reseller_settings (
    account_id    BIGINT  PRIMARY KEY, -- the reseller's account, or its sandbox
    auto_renew    BOOLEAN NOT NULL,    -- whether new services are renewed from the wallet, when their order does not say
    brand_name    TEXT    NOT NULL,    -- name of the company on the pages of its clients; empty when none was chosen
    brand_color   TEXT    NOT NULL,    -- colour there, #rrggbb; empty when none was chosen
    brand_support TEXT    NOT NULL,    -- mail address where its clients ask for help; empty when none was chosen
    brand_terms   TEXT    NOT NULL,    -- address of its terms of service; empty when none was given
    brand_privacy TEXT    NOT NULL,    -- address that says how it uses personal data; empty when none was given
    brand_imprint TEXT    NOT NULL     -- address that says who it is; empty when none was given
);

-- Pictures of resellers on the pages of their clients, of the account and of its sandbox apart.
CREATE TABLE reseller_pictures (
    account_id   BIGINT    NOT NULL, -- the reseller's account, or its sandbox
    kind         TEXT      NOT NULL CHECK (kind IN ('logo', 'icon')), -- logo: stands for the name; icon: in a browser's tab
    content_type TEXT      NOT NULL, -- its type, found out from the content
    hash         TEXT      NOT NULL, -- of the content, in its address
    content      {{bytes}} NOT NULL, -- the picture
    updated_at   BIGINT    NOT NULL, -- when it was uploaded
    PRIMARY KEY (account_id, kind)
);
CREATE INDEX reseller_pictures_hash ON reseller_pictures (hash);

-- API keys, shown once and kept as hashes.
CREATE TABLE reseller_keys (
    id           {{id}},
    account_id   BIGINT    NOT NULL REFERENCES reseller_accounts (account_id), -- the reseller's account
    hash         {{bytes}} NOT NULL UNIQUE, -- hash of the key
    name         TEXT      NOT NULL,        -- what the reseller calls it
    hint         TEXT      NOT NULL,        -- the end of the key
    sandbox      BOOLEAN   NOT NULL,        -- whether it works on the sandbox
    read_only    BOOLEAN   NOT NULL,        -- whether it may read alone
    addresses    TEXT      NOT NULL,        -- JSON list of the networks that it may be used from; an empty list is all
    created_at   BIGINT    NOT NULL,        -- when it was made
    last_used_at BIGINT,                    -- when it was last used; NULL before that
    last_address TEXT,                      -- IP address that it was last used from; NULL before that
    revoked_at   BIGINT                     -- when it was revoked; NULL while it works
);
CREATE INDEX reseller_keys_account ON reseller_keys (account_id, id);

-- What resellers did, with keys or in the panel: requests that change something, noted before they are carried out.
CREATE TABLE reseller_calls (
    id         {{id}},
    account_id BIGINT NOT NULL, -- the reseller's account, or its sandbox
    key_id     BIGINT,          -- the key; NULL when the reseller did it in the panel
    operation  TEXT   NOT NULL, -- the operation's id in the OpenAPI document
    method     TEXT   NOT NULL, -- HTTP method
    path       TEXT   NOT NULL, -- path of the request
    request_id TEXT   NOT NULL, -- id of the request, as in logs and answers
    address    TEXT   NOT NULL, -- IP address of the caller
    status     INTEGER,         -- HTTP status of the answer; NULL when the request was cut off
    error_key  TEXT,            -- key of the refusal; NULL when there was none
    created_at BIGINT NOT NULL  -- when the request came
);
CREATE INDEX reseller_calls_account ON reseller_calls (account_id, id);
CREATE INDEX reseller_calls_key ON reseller_calls (account_id, key_id, id);
CREATE INDEX reseller_calls_created ON reseller_calls (created_at);

-- Links that let a reseller's client, who has no account, into the pages of one service.
CREATE TABLE reseller_links (
    id          {{id}},
    account_id  BIGINT    NOT NULL,        -- the reseller's account, or its sandbox
    service_id  BIGINT    NOT NULL,        -- the service
    key_id      BIGINT,                    -- the key that made the link; null when the reseller made it in the panel
    token_hash  {{bytes}} NOT NULL UNIQUE, -- hash of the link's token, which works once
    expires_at  BIGINT    NOT NULL,        -- when the link stops working
    visit_hash  {{bytes}} UNIQUE,          -- hash of the cookie that the link was exchanged for; NULL before that
    visit_until BIGINT,                    -- when the cookie stops working; NULL before that
    created_at  BIGINT    NOT NULL,        -- when the link was made
    CONSTRAINT reseller_links_visit CHECK ((visit_hash IS NULL) = (visit_until IS NULL))
);
CREATE INDEX reseller_links_service ON reseller_links (service_id, id);
CREATE INDEX reseller_links_created ON reseller_links (created_at);

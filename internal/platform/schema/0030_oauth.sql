-- +goose Up

-- Applications that integrators registered, and Stead's own, which no customer owns. A deleted one stays until its
-- tokens have expired, so that these are answered as revoked.
CREATE TABLE oauth_applications (
    id            {{id}},
    client_id     TEXT    NOT NULL UNIQUE, -- public name in OAuth requests
    owner_id      BIGINT,                  -- the account that registered it; NULL for Stead's own
    name          TEXT    NOT NULL,        -- what people see when they are asked to consent
    type          TEXT    NOT NULL CHECK (type IN ('public', 'confidential')), -- confidential ones have a secret
    secret_hash   {{bytes}},               -- hash of the client secret; NULL for public ones
    redirect_uris TEXT    NOT NULL,        -- JSON list of the addresses that codes may be sent to
    scopes        TEXT    NOT NULL,        -- scopes that it may ask for, separated by spaces
    sandbox       BOOLEAN NOT NULL,        -- whether its tokens read everything and write nothing
    first_party   BOOLEAN NOT NULL,        -- whether it is Stead's own, which needs no consent
    disabled_at   BIGINT,                  -- when an operator disabled it; NULL while it works
    deleted_at    BIGINT,                  -- when its owner deleted it; NULL while it is there
    created_at    BIGINT  NOT NULL,        -- when it was registered
    updated_at    BIGINT  NOT NULL,        -- when it last changed
    CONSTRAINT oauth_secret_of_confidential CHECK ((type = 'confidential') = (secret_hash IS NOT NULL)),
    CONSTRAINT oauth_admin_is_first_party CHECK (first_party OR scopes NOT LIKE '%admin%')
);
CREATE INDEX oauth_applications_owner ON oauth_applications (owner_id, id) WHERE deleted_at IS NULL;
CREATE INDEX oauth_applications_deleted ON oauth_applications (deleted_at) WHERE deleted_at IS NOT NULL;

-- What an account has allowed an application: a connected application.
CREATE TABLE oauth_consents (
    account_id     BIGINT NOT NULL, -- the account that consented
    application_id BIGINT NOT NULL REFERENCES oauth_applications (id), -- the application that it allowed
    scopes         TEXT   NOT NULL, -- what it allowed, separated by spaces
    created_at     BIGINT NOT NULL, -- the first consent
    updated_at     BIGINT NOT NULL, -- the last consent
    PRIMARY KEY (account_id, application_id)
);
CREATE INDEX oauth_consents_application ON oauth_consents (application_id);

-- Grants: one authorization each, the family of all tokens that came of one code. Ending a grant ends them all.
CREATE TABLE oauth_grants (
    id             {{id}},
    account_id     BIGINT NOT NULL, -- the account that the tokens act for
    application_id BIGINT NOT NULL REFERENCES oauth_applications (id), -- the application that holds the tokens
    -- the browser's session in which one of Stead's own applications was authorized; the grant ends with it. NULL for
    -- other applications, whose grants a person sees and ends
    session_id     BIGINT,
    scopes         TEXT   NOT NULL, -- what was granted, separated by spaces
    created_at     BIGINT NOT NULL, -- when it was authorized
    expires_at     BIGINT NOT NULL, -- when the last of its tokens expires
    last_used_at   BIGINT,          -- when a token was last used, exact to about a minute; NULL before that
    ended_at       BIGINT,          -- when it was ended; NULL while it lasts
    -- why it was ended; NULL while it lasts
    end_reason     TEXT   CHECK (end_reason IN ('code_reused', 'refresh_reused', 'code_misused', 'revoked',
        'disconnected', 'application_deleted', 'account')),
    CONSTRAINT oauth_ended_for_a_reason CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX oauth_grants_account ON oauth_grants (account_id, application_id);
CREATE INDEX oauth_grants_application ON oauth_grants (application_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

-- Authorization codes; each is exchanged for tokens once.
CREATE TABLE oauth_codes (
    id           {{id}},
    hash         {{bytes}} NOT NULL UNIQUE, -- hash of the code
    grant_id     BIGINT    NOT NULL REFERENCES oauth_grants (id), -- the grant that the code belongs to
    redirect_uri TEXT      NOT NULL,        -- where the code was sent; the exchange must name it again
    challenge    TEXT,                      -- PKCE challenge (S256); NULL when none was given
    created_at   BIGINT    NOT NULL,        -- when the code was made
    expires_at   BIGINT    NOT NULL,        -- when it stops working
    used_at      BIGINT                     -- when it was exchanged; NULL before that
);
CREATE INDEX oauth_codes_grant ON oauth_codes (grant_id);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- Sign-ins on devices without a browser (RFC 8628): a device polls with its code until a user has entered the other one and decided.
CREATE TABLE oauth_device_codes (
    id             {{id}},
    hash           {{bytes}} NOT NULL UNIQUE, -- hash of the code with which the device polls
    user_hash      {{bytes}} NOT NULL UNIQUE, -- hash of the code that the user enters
    application_id BIGINT    NOT NULL REFERENCES oauth_applications (id), -- the application on the device
    scopes         TEXT      NOT NULL,        -- what it asks for, separated by spaces
    interval_s     BIGINT    NOT NULL,        -- seconds between two polls
    poll_after     BIGINT    NOT NULL,        -- when the next poll does not come too early
    created_at     BIGINT    NOT NULL,        -- when the device began
    expires_at     BIGINT    NOT NULL,        -- when both codes stop working
    grant_id       BIGINT    REFERENCES oauth_grants (id), -- what the user granted; NULL before that
    denied_at      BIGINT,                    -- when the user refused; NULL otherwise
    used_at        BIGINT,                    -- when the device got its tokens; NULL before that
    CONSTRAINT oauth_device_decided_once CHECK (grant_id IS NULL OR denied_at IS NULL),
    CONSTRAINT oauth_device_used_when_granted CHECK (used_at IS NULL OR grant_id IS NOT NULL)
);
CREATE INDEX oauth_device_codes_application ON oauth_device_codes (application_id);
CREATE INDEX oauth_device_codes_grant ON oauth_device_codes (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX oauth_device_codes_expiry ON oauth_device_codes (expires_at);

-- Access tokens.
CREATE TABLE oauth_access_tokens (
    id         {{id}},
    hash       {{bytes}} NOT NULL UNIQUE, -- hash of the token
    grant_id   BIGINT    NOT NULL REFERENCES oauth_grants (id), -- the grant that the token belongs to
    scopes     TEXT      NOT NULL,        -- what this token may do, separated by spaces
    created_at BIGINT    NOT NULL,        -- when it was issued
    expires_at BIGINT    NOT NULL,        -- when it stops working
    revoked_at BIGINT                     -- when it was revoked by itself; NULL while it is good
);
CREATE INDEX oauth_access_tokens_grant ON oauth_access_tokens (grant_id);
CREATE INDEX oauth_access_tokens_expiry ON oauth_access_tokens (expires_at);

-- Refresh tokens; each is exchanged once, for an access token and its successor.
CREATE TABLE oauth_refresh_tokens (
    id                {{id}},
    hash              {{bytes}} NOT NULL UNIQUE, -- hash of the token
    grant_id          BIGINT    NOT NULL REFERENCES oauth_grants (id), -- the grant that the token belongs to
    parent_id         BIGINT    UNIQUE, -- the token that was exchanged for this one; NULL for the first of a grant
    created_at        BIGINT    NOT NULL,        -- when it was issued
    expires_at        BIGINT    NOT NULL,        -- when it stops working
    used_at           BIGINT,                    -- when it was exchanged; NULL before that
    -- what the exchange answered, encrypted, kept for a short time in case the answer was lost
    answer            {{bytes}}
);
CREATE INDEX oauth_refresh_tokens_grant ON oauth_refresh_tokens (grant_id);
CREATE INDEX oauth_refresh_tokens_expiry ON oauth_refresh_tokens (expires_at);
CREATE INDEX oauth_refresh_tokens_kept ON oauth_refresh_tokens (grant_id) WHERE answer IS NOT NULL;
CREATE INDEX oauth_refresh_tokens_answers ON oauth_refresh_tokens (used_at) WHERE answer IS NOT NULL;

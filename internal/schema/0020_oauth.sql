-- +goose Up

-- Applications that integrators registered, and Stead's own (first_party,
-- which no customer owns). A deleted one stays until its tokens have expired,
-- so that these are answered as revoked.
CREATE TABLE oauth_applications (
    id            {{id}},
    client_id     TEXT    NOT NULL UNIQUE,
    owner_id      BIGINT,
    name          TEXT    NOT NULL,
    type          TEXT    NOT NULL CHECK (type IN ('public', 'confidential')),
    secret_hash   {{bytes}},
    redirect_uris TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    sandbox       BOOLEAN NOT NULL,
    first_party   BOOLEAN NOT NULL,
    disabled_at   BIGINT,
    deleted_at    BIGINT,
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    CONSTRAINT oauth_secret_of_confidential CHECK ((type = 'confidential') = (secret_hash IS NOT NULL)),
    CONSTRAINT oauth_admin_is_first_party CHECK (first_party OR scopes NOT LIKE '%admin%')
);
CREATE INDEX oauth_applications_owner ON oauth_applications (owner_id, id) WHERE deleted_at IS NULL;
CREATE INDEX oauth_applications_deleted ON oauth_applications (deleted_at) WHERE deleted_at IS NOT NULL;

-- What an account has allowed an application: a connected application.
CREATE TABLE oauth_consents (
    account_id     BIGINT NOT NULL,
    application_id BIGINT NOT NULL REFERENCES oauth_applications (id),
    scopes         TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (account_id, application_id)
);
CREATE INDEX oauth_consents_application ON oauth_consents (application_id);

-- One authorization: the family of all tokens that came of one code. Ending it
-- ends them all. expires_at is when the last of them does.
CREATE TABLE oauth_grants (
    id             {{id}},
    account_id     BIGINT NOT NULL,
    application_id BIGINT NOT NULL REFERENCES oauth_applications (id),
    scopes         TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    last_used_at   BIGINT,
    ended_at       BIGINT,
    end_reason     TEXT CHECK (end_reason IN ('code_reused', 'refresh_reused', 'code_misused', 'revoked',
                       'disconnected', 'application_deleted', 'account')),
    CONSTRAINT oauth_ended_for_a_reason CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX oauth_grants_account ON oauth_grants (account_id, application_id);
CREATE INDEX oauth_grants_application ON oauth_grants (application_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

CREATE TABLE oauth_codes (
    id           {{id}},
    hash         {{bytes}} NOT NULL UNIQUE,
    grant_id     BIGINT NOT NULL REFERENCES oauth_grants (id),
    redirect_uri TEXT   NOT NULL,
    challenge    TEXT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT
);
CREATE INDEX oauth_codes_grant ON oauth_codes (grant_id);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

CREATE TABLE oauth_access_tokens (
    id         {{id}},
    hash       {{bytes}} NOT NULL UNIQUE,
    grant_id   BIGINT NOT NULL REFERENCES oauth_grants (id),
    scopes     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX oauth_access_tokens_grant ON oauth_access_tokens (grant_id);
CREATE INDEX oauth_access_tokens_expiry ON oauth_access_tokens (expires_at);

-- parent_id is the token that was exchanged for this one. answer is what that
-- exchange answered, encrypted, kept for the grace of a lost answer; it is
-- given out once more at most (answered_again_at).
CREATE TABLE oauth_refresh_tokens (
    id                {{id}},
    hash              {{bytes}} NOT NULL UNIQUE,
    grant_id          BIGINT NOT NULL REFERENCES oauth_grants (id),
    parent_id         BIGINT UNIQUE,
    created_at        BIGINT NOT NULL,
    expires_at        BIGINT NOT NULL,
    used_at           BIGINT,
    answer            {{bytes}},
    answered_again_at BIGINT
);
CREATE INDEX oauth_refresh_tokens_grant ON oauth_refresh_tokens (grant_id);
CREATE INDEX oauth_refresh_tokens_expiry ON oauth_refresh_tokens (expires_at);
CREATE INDEX oauth_refresh_tokens_answers ON oauth_refresh_tokens (used_at) WHERE answer IS NOT NULL;

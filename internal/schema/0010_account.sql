-- +goose Up

-- Who may sign in. A closed account keeps its row, without what names a
-- person: other sections' rows (orders, ledger postings) refer to it.
CREATE TABLE account_users (
    id                  {{id}},
    email               TEXT    NOT NULL UNIQUE, -- normalised, so the index refuses other spellings
    email_verified_at   BIGINT,
    password_hash       TEXT    NOT NULL,        -- argon2id, with its parameters
    password_changed_at BIGINT  NOT NULL,
    name                TEXT    NOT NULL,
    locale              TEXT    NOT NULL,
    currency            TEXT    NOT NULL,
    admin               BOOLEAN NOT NULL,
    passkey_handle      {{bytes}} NOT NULL UNIQUE, -- what authenticators know the account by; random
    suspended_at        BIGINT,
    suspend_reason      TEXT    NOT NULL DEFAULT '',
    closed_at           BIGINT,
    created_at          BIGINT  NOT NULL,
    CONSTRAINT account_users_locale CHECK (locale IN ('uz', 'ru', 'en'))
);

-- Browsers that are signed in. Ended ones are kept for a while: they tell a
-- known device from a new one.
CREATE TABLE account_sessions (
    id               {{id}},
    account_id       BIGINT  NOT NULL REFERENCES account_users (id),
    token_hash       {{bytes}} NOT NULL UNIQUE,
    method           TEXT    NOT NULL,
    second_factor    BOOLEAN NOT NULL,
    address          TEXT    NOT NULL,
    user_agent       TEXT    NOT NULL,
    created_at       BIGINT  NOT NULL,
    authenticated_at BIGINT  NOT NULL,
    last_seen_at     BIGINT  NOT NULL,
    expires_at       BIGINT  NOT NULL,
    ended_at         BIGINT,
    CONSTRAINT account_sessions_method CHECK (method IN ('password', 'passkey'))
);
CREATE INDEX account_sessions_account ON account_sessions (account_id, ended_at, last_seen_at);
CREATE INDEX account_sessions_expiry ON account_sessions (expires_at);

-- What was begun and needs a second step: a sign-in whose password was right,
-- a passkey's challenge. The browser holds the token.
CREATE TABLE account_ceremonies (
    id         {{id}},
    account_id BIGINT REFERENCES account_users (id), -- NULL while nobody knows who signs in
    kind       TEXT    NOT NULL,
    token_hash {{bytes}} NOT NULL UNIQUE,
    challenge  TEXT    NOT NULL, -- JSON of the WebAuthn library; empty for second_factor
    attempts   INTEGER NOT NULL,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    CONSTRAINT account_ceremonies_kind CHECK (kind IN ('second_factor', 'passkey_registration', 'passkey_login', 'passkey_second_factor'))
);
CREATE INDEX account_ceremonies_expiry ON account_ceremonies (expires_at);
CREATE INDEX account_ceremonies_account ON account_ceremonies (account_id);

-- The authenticator app. A seed counts from confirmed_at on.
CREATE TABLE account_totp (
    account_id   BIGINT    NOT NULL PRIMARY KEY REFERENCES account_users (id),
    sealed_seed  {{bytes}} NOT NULL,
    last_step    BIGINT    NOT NULL, -- codes of this time step and before are used up
    confirmed_at BIGINT,
    created_at   BIGINT    NOT NULL
);

CREATE TABLE account_recovery_codes (
    id         {{id}},
    account_id BIGINT    NOT NULL REFERENCES account_users (id),
    code_hash  {{bytes}} NOT NULL,
    used_at    BIGINT,
    UNIQUE (account_id, code_hash)
);

CREATE TABLE account_passkeys (
    id            {{id}},
    account_id    BIGINT    NOT NULL REFERENCES account_users (id),
    credential_id {{bytes}} NOT NULL UNIQUE,
    sealed_credential {{bytes}} NOT NULL, -- JSON of the WebAuthn library: public key, counter, flags
    name          TEXT      NOT NULL,
    created_at    BIGINT    NOT NULL,
    last_used_at  BIGINT
);
CREATE INDEX account_passkeys_account ON account_passkeys (account_id, id);

-- Links sent by mail. The token is stored hashed; sealed_token is the token
-- for the job that sends the mail, gone once it was sent.
CREATE TABLE account_tokens (
    id           {{id}},
    account_id   BIGINT    NOT NULL REFERENCES account_users (id),
    purpose      TEXT      NOT NULL,
    email        TEXT      NOT NULL, -- where it was sent; for email, the address that it verifies
    token_hash   {{bytes}} NOT NULL UNIQUE,
    sealed_token {{bytes}},
    created_at   BIGINT    NOT NULL,
    expires_at   BIGINT    NOT NULL,
    used_at      BIGINT,
    CONSTRAINT account_tokens_purpose CHECK (purpose IN ('recovery', 'email'))
);
CREATE INDEX account_tokens_account ON account_tokens (account_id, purpose);
CREATE INDEX account_tokens_expiry ON account_tokens (expires_at);

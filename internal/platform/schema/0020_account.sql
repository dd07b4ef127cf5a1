-- +goose Up

-- Accounts: who may sign in. A closed account keeps its row, without what names a person, because rows of other
-- sections (orders, ledger postings) refer to it.
CREATE TABLE account_users (
    id                  {{id}},
    -- normalised, so that the index refuses other spellings of the same address
    email               TEXT      NOT NULL UNIQUE,
    email_verified_at   BIGINT,                        -- when the address was proved; NULL until then
    password_hash       TEXT      NOT NULL,            -- argon2id, with its parameters
    password_changed_at BIGINT    NOT NULL,            -- when the password was set
    name                TEXT      NOT NULL,            -- how the person wants to be called
    locale              TEXT      NOT NULL,            -- language of pages and mails
    currency            TEXT      NOT NULL,            -- currency in which prices are shown
    role                TEXT      NOT NULL DEFAULT '', -- role of a member of staff; empty for customers
    passkey_handle      {{bytes}} NOT NULL UNIQUE,     -- random name by which authenticators know the account
    sandbox_of          BIGINT, -- of a sandbox: the reseller's account that it belongs to; nobody signs in to a sandbox
    suspended_at        BIGINT, -- when an operator suspended the account; NULL while it is not suspended
    suspend_reason      TEXT      NOT NULL DEFAULT '', -- why, in the operator's words
    closed_at           BIGINT,                        -- when the account was closed; NULL while it is open
    created_at          BIGINT    NOT NULL,            -- when the account was registered
    CONSTRAINT account_users_locale CHECK (locale IN ('uz', 'ru', 'en')),
    CONSTRAINT account_users_role CHECK (role IN ('', 'owner', 'billing', 'support', 'technician', 'read_only'))
);
-- A reseller has one sandbox. Everything in the sandbox belongs to that account, so no query of one world finds a row
-- of the other.
CREATE UNIQUE INDEX account_users_sandbox ON account_users (sandbox_of) WHERE sandbox_of IS NOT NULL;

-- Accounts that were imported from another system, so that a second import adds only what is new.
CREATE TABLE account_imports (
    source      TEXT   NOT NULL, -- name of the system, as the operator gave it
    source_id   TEXT   NOT NULL, -- id of the client there
    account_id  BIGINT NOT NULL REFERENCES account_users (id), -- the account that was made of it
    imported_at BIGINT NOT NULL, -- when it was
    PRIMARY KEY (source, source_id)
);

-- Browsers that are signed in. Ended sessions are kept for a while: they tell a known device from a new one.
CREATE TABLE account_sessions (
    id               {{id}},
    account_id       BIGINT    NOT NULL REFERENCES account_users (id), -- the account that is signed in
    token_hash       {{bytes}} NOT NULL UNIQUE, -- hash of the cookie's token
    method           TEXT      NOT NULL,        -- how the account signed in; staff: a member of staff is signed in as its owner
    acting_id        BIGINT REFERENCES account_users (id), -- that member of staff; NULL when its owner is signed in
    second_factor    BOOLEAN   NOT NULL,        -- whether a second factor was proved
    address          TEXT      NOT NULL,        -- IP address of the browser at sign-in
    user_agent       TEXT      NOT NULL,        -- what the browser says it is
    created_at       BIGINT    NOT NULL,        -- when the browser signed in
    -- when the person last proved who they are; sensitive pages ask again after a while
    authenticated_at BIGINT    NOT NULL,
    last_seen_at     BIGINT    NOT NULL,        -- when the browser was last seen
    expires_at       BIGINT    NOT NULL,        -- when the session ends by itself
    ended_at         BIGINT, -- when it was ended: signed out, or ended from elsewhere; NULL while it lasts
    -- hash of the token by which the browser is recognized at a later sign-in
    device_hash      {{bytes}} NOT NULL,
    CONSTRAINT account_sessions_method CHECK (method IN ('password', 'passkey', 'staff')),
    CONSTRAINT account_sessions_acting CHECK ((method = 'staff') = (acting_id IS NOT NULL))
);
CREATE INDEX account_sessions_account ON account_sessions (account_id, ended_at, last_seen_at);
CREATE INDEX account_sessions_device ON account_sessions (device_hash);
CREATE INDEX account_sessions_expiry ON account_sessions (expires_at);

-- Ceremonies that wait for their second step: a sign-in whose password was right, a passkey's challenge. The browser
-- holds the token.
CREATE TABLE account_ceremonies (
    id         {{id}},
    account_id BIGINT    REFERENCES account_users (id), -- the account that signs in; NULL while it is not known
    kind       TEXT      NOT NULL,                      -- what is going on
    token_hash {{bytes}} NOT NULL UNIQUE,               -- hash of the browser's token
    challenge  TEXT      NOT NULL,                      -- JSON of the WebAuthn library; empty for second_factor
    attempts   INTEGER   NOT NULL,                      -- answers that were tried so far
    created_at BIGINT    NOT NULL,                      -- when the first step was done
    expires_at BIGINT    NOT NULL,                      -- when the second step comes too late
    CONSTRAINT account_ceremonies_kind CHECK (kind IN ('second_factor', 'passkey_registration', 'passkey_login',
        'passkey_second_factor', 'passkey_proof'))
);
CREATE INDEX account_ceremonies_expiry ON account_ceremonies (expires_at);
CREATE INDEX account_ceremonies_account ON account_ceremonies (account_id);

-- Authenticator apps (TOTP), one for each account. A seed counts from confirmed_at on.
CREATE TABLE account_totp (
    account_id   BIGINT    NOT NULL PRIMARY KEY REFERENCES account_users (id), -- the account that the app is for
    sealed_seed  {{bytes}} NOT NULL, -- the shared secret, encrypted
    last_step    BIGINT    NOT NULL, -- codes of this time step and earlier ones are used up
    confirmed_at BIGINT,             -- when the first code was right; NULL until then
    created_at   BIGINT    NOT NULL  -- when the seed was made
);

-- Recovery codes: each signs in once in place of a second factor.
CREATE TABLE account_recovery_codes (
    id         {{id}},
    account_id BIGINT    NOT NULL REFERENCES account_users (id), -- the account that the code opens
    code_hash  {{bytes}} NOT NULL, -- hash of the code
    used_at    BIGINT,             -- when it was used up; NULL while it is good
    UNIQUE (account_id, code_hash)
);

-- Passkeys (WebAuthn credentials).
CREATE TABLE account_passkeys (
    id                {{id}},
    account_id        BIGINT    NOT NULL REFERENCES account_users (id), -- the account that the passkey opens
    credential_id     {{bytes}} NOT NULL UNIQUE, -- the authenticator's name for it
    sealed_credential {{bytes}} NOT NULL,        -- JSON of the WebAuthn library (public key, counter, flags), encrypted
    name              TEXT      NOT NULL,        -- what its owner calls it
    created_at        BIGINT    NOT NULL,        -- when it was registered
    last_used_at      BIGINT                     -- when it last signed in; NULL before that
);
CREATE INDEX account_passkeys_account ON account_passkeys (account_id, id);

-- Links sent by mail, to recover an account or to verify an address.
CREATE TABLE account_tokens (
    id           {{id}},
    account_id   BIGINT    NOT NULL REFERENCES account_users (id), -- the account that the link is for
    purpose      TEXT      NOT NULL,        -- recovery: choose a new password; email: verify an address
    email        TEXT      NOT NULL,        -- where the link was sent; for email, the address that it verifies
    token_hash   {{bytes}} NOT NULL UNIQUE, -- hash of the link's token
    sealed_token {{bytes}}, -- the token, encrypted, for the job that sends the mail; NULL once it was sent
    created_at   BIGINT    NOT NULL,        -- when the link was asked for
    expires_at   BIGINT    NOT NULL,        -- when it stops working
    used_at      BIGINT,                    -- when it was used, or another link made it void; NULL while it is good
    CONSTRAINT account_tokens_purpose CHECK (purpose IN ('recovery', 'email'))
);
CREATE INDEX account_tokens_account ON account_tokens (account_id, purpose);
CREATE INDEX account_tokens_expiry ON account_tokens (expires_at);

-- Security log: what happened to the ways into an account. Its owner reads it.
CREATE TABLE account_security_events (
    id         {{id}},
    account_id BIGINT NOT NULL REFERENCES account_users (id), -- the account
    kind       TEXT   NOT NULL, -- what happened: signed_in, sign_in_failed, password_changed and others
    address    TEXT   NOT NULL, -- IP address of the browser; empty when an operator did it
    user_agent TEXT   NOT NULL, -- what the browser says it is
    times      BIGINT NOT NULL, -- how often: equal failures within an hour are one row
    created_at BIGINT NOT NULL, -- when it happened, the first time
    last_at    BIGINT NOT NULL  -- when it happened last
);
CREATE INDEX account_security_events_account ON account_security_events (account_id, last_at, id);
CREATE INDEX account_security_events_age ON account_security_events (last_at);

-- What staff have written about customers. Customers do not see it.
CREATE TABLE account_notes (
    id         {{id}},
    account_id BIGINT NOT NULL REFERENCES account_users (id), -- the customer
    author_id  BIGINT NOT NULL REFERENCES account_users (id), -- the member of staff
    text       TEXT   NOT NULL, -- the note
    created_at BIGINT NOT NULL  -- when it was written
);
CREATE INDEX account_notes_account ON account_notes (account_id, id);

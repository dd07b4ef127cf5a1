-- +goose Up

-- The price book (resources, section 7): zones in the operator's order. details are prices and rules as
-- JSON. A zone that the operator's file no longer names is off sale; who has a name in it keeps it.
CREATE TABLE domains_tlds (
    id       {{id}},
    tld      TEXT    NOT NULL UNIQUE,
    position INTEGER NOT NULL,
    on_sale  BOOLEAN NOT NULL,
    details  TEXT    NOT NULL
);

-- Registrations. status is what the registry said last, or what is asked of it. contacts are the
-- registrar's handles; the people behind them are kept by nobody here. step_at is when the registry is
-- asked again.
CREATE TABLE domains (
    id                  {{id}},
    account_id          BIGINT  NOT NULL,
    sandbox             BOOLEAN NOT NULL,
    name                TEXT    NOT NULL,
    tld                 TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('pending_registration', 'pending_transfer_in', 'active', 'expired',
                            'grace', 'redemption', 'pending_delete', 'transferred_out', 'cancelled', 'failed')),
    wholesale           BOOLEAN NOT NULL,
    auto_renew          BOOLEAN NOT NULL,
    privacy             BOOLEAN NOT NULL,
    locked              BOOLEAN NOT NULL,
    transfer_out        BOOLEAN NOT NULL,
    transfer_lock_until BIGINT,
    registered_at       BIGINT,
    expires_at          BIGINT,
    nameservers         TEXT    NOT NULL,
    registry            TEXT    NOT NULL,
    client_ref          TEXT,
    reminded            INTEGER,
    renew_at            BIGINT,
    step_at             BIGINT,
    created_at          BIGINT  NOT NULL,
    CONSTRAINT domains_dated CHECK (status IN ('pending_registration', 'pending_transfer_in', 'failed') OR expires_at IS NOT NULL)
);
CREATE INDEX domains_account ON domains (account_id, id);
CREATE INDEX domains_step ON domains (step_at) WHERE step_at IS NOT NULL;
CREATE UNIQUE INDEX domains_live ON domains (name, sandbox) WHERE status NOT IN ('transferred_out', 'cancelled', 'failed');

-- What is asked of the registrar and paid by an order. attempted: the registrar may have been asked, so
-- it is asked what came of it before anything is repeated. expires_from is when a domain that is renewed
-- expired before. sealed are the contact and the authorisation code on their way to the registrar; they
-- are wiped when the operation ends.
CREATE TABLE domains_operations (
    id           {{id}},
    domain_id    BIGINT  NOT NULL REFERENCES domains (id),
    order_id     BIGINT  NOT NULL UNIQUE,
    kind         TEXT    NOT NULL CHECK (kind IN ('register', 'transfer', 'renew', 'restore')),
    status       TEXT    NOT NULL CHECK (status IN ('pending', 'attempted', 'done', 'failed')),
    years        INTEGER NOT NULL CHECK (years BETWEEN 1 AND 10),
    expires_from BIGINT,
    sealed       {{bytes}},
    failure_key  TEXT,
    message      TEXT    NOT NULL DEFAULT '',
    created_at   BIGINT  NOT NULL,
    finished_at  BIGINT,
    CONSTRAINT domains_operations_wiped CHECK (status IN ('pending', 'attempted') OR sealed IS NULL),
    CONSTRAINT domains_operations_failed CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE INDEX domains_operations_domain ON domains_operations (domain_id, id);
CREATE UNIQUE INDEX domains_operations_open ON domains_operations (domain_id) WHERE status IN ('pending', 'attempted');

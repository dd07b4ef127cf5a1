-- +goose Up

-- The price book (resources, section 7). A zone that the operator's file no longer names is off sale; who has a name in
-- it keeps it.
CREATE TABLE domains_tlds (
    id       {{id}},
    tld      TEXT    NOT NULL UNIQUE, -- the zone, such as com
    position INTEGER NOT NULL,        -- its place in the operator's order
    on_sale  BOOLEAN NOT NULL,        -- whether the operator's file names it
    details  TEXT    NOT NULL         -- JSON object: prices and rules; opaque to SQL
);

-- Registrations of domain names.
CREATE TABLE domains (
    id                  {{id}},
    account_id          BIGINT  NOT NULL, -- the owner's account
    sandbox             BOOLEAN NOT NULL, -- whether the account is a sandbox
    name                TEXT    NOT NULL, -- in ASCII form
    tld                 TEXT    NOT NULL, -- the zone that it is in (domains_tlds)
    -- the last answer of the registry, or what is requested of it
    status              TEXT    NOT NULL CHECK (status IN ('pending_registration', 'pending_transfer_in', 'active',
        'expired', 'grace', 'redemption', 'pending_delete', 'transferred_out', 'cancelled', 'failed')),
    wholesale           BOOLEAN NOT NULL, -- whether the owner pays wholesale prices
    auto_renew          BOOLEAN NOT NULL, -- whether it is renewed from the wallet
    privacy             BOOLEAN NOT NULL, -- whether the registry hides the contacts
    locked              BOOLEAN NOT NULL, -- whether the registry refuses transfers
    transfer_out        BOOLEAN NOT NULL, -- whether a transfer to another registrar is under way
    transfer_lock_until BIGINT,           -- until when it may not be transferred; NULL without such a lock
    registered_at       BIGINT,           -- when it was registered; NULL before that
    expires_at          BIGINT,           -- until when it is paid for; NULL before it is there
    nameservers         TEXT    NOT NULL, -- JSON list of its name servers
    -- JSON object: what else the registry has of it: states, hosts, DS records, and the handles of its contacts. The
    -- persons behind them are not stored here
    registry            TEXT    NOT NULL,
    -- what the names of its contacts at the registry begin with; nobody can guess it, so it is nobody else's there.
    -- Empty: made of the id
    handle              TEXT    NOT NULL DEFAULT '',
    -- counts what was read from the registry: a reading made before another was written is older than the row and is
    -- made again
    seen                BIGINT  NOT NULL DEFAULT 0,
    client_ref          TEXT,             -- a reseller's own tag; NULL without one
    reminded            INTEGER, -- the fewest days before expiry of which the owner was notified; NULL before the first notice
    renew_at            BIGINT,           -- when its renewal is tried next; NULL where it is not
    step_at             BIGINT,           -- when the registry is asked again; NULL where it is not
    created_at          BIGINT  NOT NULL, -- when it was ordered
    CONSTRAINT domains_dated CHECK (status IN ('pending_registration', 'pending_transfer_in', 'failed')
        OR expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX domains_live ON domains (name, sandbox)
    WHERE status NOT IN ('transferred_out', 'cancelled', 'failed');
CREATE INDEX domains_account ON domains (account_id, id);
CREATE INDEX domains_account_client ON domains (account_id, client_ref, id);
CREATE INDEX domains_account_status ON domains (account_id, status, id);
CREATE INDEX domains_account_expiry ON domains (account_id, expires_at);
CREATE INDEX domains_step ON domains (step_at) WHERE step_at IS NOT NULL;

-- Operations: what is asked of the registrar and paid by an order.
CREATE TABLE domains_operations (
    id           {{id}},
    domain_id    BIGINT  NOT NULL REFERENCES domains (id), -- the registration
    order_id     BIGINT  NOT NULL UNIQUE,                  -- the order that pays for it
    kind         TEXT    NOT NULL CHECK (kind IN ('register', 'transfer', 'renew', 'restore')), -- what is asked
    -- attempted: the registrar may have been asked, so it is asked what came of it before anything is repeated
    status       TEXT    NOT NULL CHECK (status IN ('pending', 'attempted', 'done', 'failed')),
    -- whether the registry has taken it up and decides later. One that it then neither has nor waits for was refused,
    -- and is not asked for again
    taken_up     BOOLEAN NOT NULL DEFAULT FALSE,
    years        INTEGER NOT NULL CHECK (years BETWEEN 1 AND 10), -- for how long
    expires_from BIGINT,                                   -- of renewals: when the domain expired before
    -- the contact and the authorisation code on their way to the registrar, encrypted; wiped when the operation ends
    sealed       {{bytes}},
    failure_key  TEXT,                                     -- why it failed; NULL otherwise
    message      TEXT    NOT NULL DEFAULT '',              -- the registry's words
    -- who works on it; nobody else does before lease_until, because two workers at once could pay one back that the
    -- other has the registry do
    lease        TEXT,
    lease_until  BIGINT,                                   -- when the lease is over; NULL without one
    created_at   BIGINT  NOT NULL,                         -- when it was ordered
    finished_at  BIGINT,                                   -- when it was done or had failed; NULL before that
    CONSTRAINT domains_operations_wiped CHECK (status IN ('pending', 'attempted') OR sealed IS NULL),
    CONSTRAINT domains_operations_failed CHECK ((status = 'failed') = (failure_key IS NOT NULL))
);
CREATE INDEX domains_operations_domain ON domains_operations (domain_id, id);
CREATE UNIQUE INDEX domains_operations_open ON domains_operations (domain_id) WHERE status IN ('pending', 'attempted');
CREATE INDEX domains_operations_waiting ON domains_operations (id) WHERE status IN ('pending', 'attempted');

-- Simulated registries, whole: of sandboxes, and of a demonstration. Every process has them here.
CREATE TABLE domains_simulated (
    name     TEXT   NOT NULL PRIMARY KEY, -- which registry
    revision BIGINT NOT NULL,             -- rises with each change of the content
    content  TEXT   NOT NULL              -- JSON object: everything that the registry has
);

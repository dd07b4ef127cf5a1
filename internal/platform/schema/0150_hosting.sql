-- +goose Up

-- Domain names that hosting services answer to (resources, section 1; section "Service management"). A row is what
-- should be; status says how far the panel has followed.
CREATE TABLE hosting_domains (
    id             {{id}},
    account_id     BIGINT  NOT NULL,                -- the owner's account
    sandbox        BOOLEAN NOT NULL DEFAULT FALSE,  -- whether the account is a sandbox
    service_id     BIGINT  NOT NULL,                -- the service that answers to the name
    name           TEXT    NOT NULL,                -- in ASCII form
    -- the name that it had before another account turned out to own the domain, and gets back should that end; NULL: it
    -- has its own
    displaced_name TEXT,
    -- its own name from the last label to the first with a dot behind each, so that all names of a zone stand side by side
    reversed       {{bytes}} NOT NULL,
    -- an alias shows the primary domain's site, an addon a site of its own
    kind           TEXT    NOT NULL CHECK (kind IN ('primary', 'addon', 'alias', 'subdomain')),
    document_root  TEXT,                            -- path of the site in the service's home; NULL for aliases
    redirect_to    TEXT,                            -- address that all requests are sent to; NULL for none
    force_https    BOOLEAN NOT NULL DEFAULT FALSE,  -- whether requests without TLS are sent to HTTPS
    -- how far the panel has followed the row
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key    TEXT,                            -- why the panel refused it; NULL unless it failed
    revision       BIGINT  NOT NULL DEFAULT 1, -- version of the row; a job that followed an older one marks nothing
    tls            TEXT    NOT NULL DEFAULT 'none', -- what the panel says of TLS for the name
    created_at     BIGINT  NOT NULL,                -- when it was added
    activated_at   BIGINT,                          -- when the panel first had it; NULL before that
    reconcile_at   BIGINT  NOT NULL, -- of primary domains: when all of the service is next compared with its panel
    dns_due_at     BIGINT  NOT NULL,                -- when the DNS is next asked where the name points
    dns_found      TEXT    NOT NULL DEFAULT '[]',   -- JSON list of the addresses that the DNS gave
    dns_known      BOOLEAN NOT NULL DEFAULT FALSE,  -- whether the DNS answered when it was last asked
    dns_checked_at BIGINT,                          -- when that was; NULL before that
    CONSTRAINT hosting_domains_root CHECK ((kind = 'alias') = (document_root IS NULL)),
    CONSTRAINT hosting_domains_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL)),
    CONSTRAINT hosting_domains_primary_stays CHECK (kind <> 'primary' OR status <> 'removing')
);
-- A name lives on one service of each world.
CREATE UNIQUE INDEX hosting_domains_name ON hosting_domains (name, sandbox);
CREATE UNIQUE INDEX hosting_domains_primary ON hosting_domains (service_id) WHERE kind = 'primary';
CREATE INDEX hosting_domains_account ON hosting_domains (account_id, name);
CREATE INDEX hosting_domains_zone ON hosting_domains (account_id, reversed);
CREATE INDEX hosting_domains_service ON hosting_domains (service_id, id);
-- The row of the primary domain also represents its service as a whole.
CREATE INDEX hosting_domains_reconcile ON hosting_domains (reconcile_at) WHERE kind = 'primary';
CREATE INDEX hosting_domains_dns ON hosting_domains (dns_due_at);

-- What the panel counted of a service when it was last asked, for changes that must not wait for it.
CREATE TABLE hosting_usage (
    service_id  BIGINT PRIMARY KEY, -- the service
    counted     TEXT   NOT NULL,    -- JSON object of numbers by the names of the plan's limits
    -- JSON object of percents by the names of the plan's limits: at which use of each the owner was last notified
    told        TEXT   NOT NULL DEFAULT '{}',
    measured_at BIGINT NOT NULL     -- when the panel counted
);

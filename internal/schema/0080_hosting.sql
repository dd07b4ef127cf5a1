-- +goose Up

-- Names that hosting services answer to (resources, section 1; section
-- "Service management"). A row is what should be; status says how far the
-- panel has followed, and revision which version of the row it has followed.
CREATE TABLE hosting_domains (
    id             {{id}},
    account_id     BIGINT  NOT NULL,
    service_id     BIGINT  NOT NULL,
    name           TEXT    NOT NULL,
    kind           TEXT    NOT NULL CHECK (kind IN ('primary', 'addon', 'alias', 'subdomain')),
    document_root  TEXT,
    redirect_to    TEXT,
    force_https    BOOLEAN NOT NULL DEFAULT FALSE,
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'active', 'failed', 'removing')),
    failure_key    TEXT,
    revision       BIGINT  NOT NULL DEFAULT 1,
    tls            TEXT    NOT NULL DEFAULT 'none',
    created_at     BIGINT  NOT NULL,
    activated_at   BIGINT,
    reconcile_at   BIGINT  NOT NULL,
    dns_due_at     BIGINT  NOT NULL,
    dns_found      TEXT    NOT NULL DEFAULT '[]',
    dns_known      BOOLEAN NOT NULL DEFAULT FALSE,
    dns_checked_at BIGINT,
    CONSTRAINT hosting_domains_root CHECK ((kind = 'alias') = (document_root IS NULL)),
    CONSTRAINT hosting_domains_failure CHECK ((status = 'failed') = (failure_key IS NOT NULL)),
    CONSTRAINT hosting_domains_primary_stays CHECK (kind <> 'primary' OR status <> 'removing')
);
-- A name lives on one service of the platform.
CREATE UNIQUE INDEX hosting_domains_name ON hosting_domains (name);
CREATE UNIQUE INDEX hosting_domains_primary ON hosting_domains (service_id) WHERE kind = 'primary';
CREATE INDEX hosting_domains_service ON hosting_domains (service_id, id);
-- The primary domain stands for all of its service.
CREATE INDEX hosting_domains_reconcile ON hosting_domains (reconcile_at) WHERE kind = 'primary';
CREATE INDEX hosting_domains_dns ON hosting_domains (dns_due_at);

-- The domains that services had before there was this table.
INSERT INTO hosting_domains (account_id, service_id, name, kind, document_root, status, created_at, reconcile_at, dns_due_at)
    SELECT account_id, id, domain, 'primary', '/public_html', 'pending', created_at, 0, 0 FROM services
    WHERE domain IS NOT NULL AND status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating');

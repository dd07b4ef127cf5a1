-- +goose Up

-- Services (resources, section 1). The plan and its limits are copied from the
-- order, so that a service is what was sold. search is the label and the names
-- in lower case, because the engines fold letters differently.
CREATE TABLE services (
    id                      {{id}},
    account_id              BIGINT  NOT NULL,
    order_id                BIGINT  NOT NULL,
    type                    TEXT    NOT NULL,
    label                   TEXT    NOT NULL,
    status                  TEXT    NOT NULL CHECK (status IN ('pending', 'provisioning', 'active', 'past_due', 'suspended',
                                'terminating', 'terminated', 'failed', 'cancelled')),
    domain                  TEXT,
    client_ref              TEXT,
    search                  TEXT    NOT NULL,
    plan_id                 BIGINT  NOT NULL,
    plan_slug               TEXT    NOT NULL,
    plan_name               TEXT    NOT NULL,
    limits                  TEXT    NOT NULL,
    period_months           INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120),
    auto_renew              BOOLEAN NOT NULL,
    renew_price             BIGINT  NOT NULL CHECK (renew_price >= 0),
    failure_key             TEXT,
    suspend_reason          TEXT    CHECK (suspend_reason IN ('unpaid', 'abuse', 'manual', 'resource_limit')),
    pending_plan_id         BIGINT,
    pending_plan_at         BIGINT,
    panel                   TEXT    NOT NULL DEFAULT '',
    panel_ref               TEXT    NOT NULL DEFAULT '',
    username                TEXT    NOT NULL DEFAULT '',
    origin_url              TEXT    NOT NULL DEFAULT '',
    location                TEXT    NOT NULL DEFAULT '',
    ipv4                    TEXT    NOT NULL DEFAULT '',
    ipv6                    TEXT    NOT NULL DEFAULT '',
    nameservers             TEXT    NOT NULL DEFAULT '[]',
    created_at              BIGINT  NOT NULL,
    provisioning_at         BIGINT,
    provisioned_at          BIGINT,
    expires_at              BIGINT,
    next_renewal_attempt_at BIGINT,
    grace_until             BIGINT,
    suspended_at            BIGINT,
    terminates_at           BIGINT,
    CONSTRAINT services_suspended CHECK (status <> 'suspended' OR (suspend_reason IS NOT NULL AND suspended_at IS NOT NULL)),
    CONSTRAINT services_provisioning CHECK (status <> 'provisioning' OR (provisioning_at IS NOT NULL AND panel <> '')),
    CONSTRAINT services_provisioned CHECK (status NOT IN ('active', 'past_due', 'suspended', 'terminating', 'terminated')
        OR (provisioned_at IS NOT NULL AND expires_at IS NOT NULL AND panel_ref <> '')),
    CONSTRAINT services_failed CHECK (status <> 'failed' OR failure_key IS NOT NULL),
    CONSTRAINT services_pending_plan CHECK ((pending_plan_id IS NULL) = (pending_plan_at IS NULL))
);
-- A name is served once: an order that is not paid holds nothing.
CREATE UNIQUE INDEX services_live_domain ON services (domain)
    WHERE status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating');
CREATE INDEX services_account ON services (account_id, id);
CREATE INDEX services_account_status ON services (account_id, status, id);
CREATE INDEX services_account_type ON services (account_id, type, id);
CREATE INDEX services_account_expiry ON services (account_id, expires_at);
CREATE INDEX services_in_provisioning ON services (id) WHERE status = 'provisioning';

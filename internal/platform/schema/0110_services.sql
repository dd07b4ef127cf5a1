-- +goose Up

-- Services (resources, section 1). The plan and its limits are copied from the order, so that a service is what was
-- sold.
CREATE TABLE services (
    id                      {{id}},
    account_id              BIGINT  NOT NULL,               -- the owner's account
    sandbox                 BOOLEAN NOT NULL DEFAULT FALSE, -- whether the account is a sandbox
    order_id                BIGINT  NOT NULL,               -- the order that bought it
    type                    TEXT    NOT NULL,               -- kind of service, as the product says, such as hosting
    label                   TEXT    NOT NULL,               -- what its owner calls it
    -- pending: its order is not paid; past_due: its paid time is over and it still works; terminating: its account on
    -- the panel is being removed
    status                  TEXT    NOT NULL CHECK (status IN ('pending', 'provisioning', 'active', 'past_due',
        'suspended', 'terminating', 'terminated', 'failed', 'cancelled')),
    domain                  TEXT,                           -- the primary domain, in ASCII form; NULL without one
    client_ref              TEXT,                           -- a reseller's own tag; NULL without one
    metadata                TEXT    NOT NULL DEFAULT '{}',  -- a reseller's own notes: a JSON object of strings
    -- label and domain names in lower case, to be searched: the engines fold letters differently
    search                  TEXT    NOT NULL,
    plan_id                 BIGINT  NOT NULL,               -- the plan (catalog_plans)
    plan_slug               TEXT    NOT NULL,               -- the plan's slug
    plan_name               TEXT    NOT NULL,               -- the plan's name in the buyer's language
    limits                  TEXT    NOT NULL,               -- JSON object: limits of the plan, without add-ons
    addon_limits            TEXT    NOT NULL DEFAULT '{}',  -- JSON object of numbers: what add-ons add to the limits
    period_months           INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120), -- how long a renewal pays for
    auto_renew              BOOLEAN NOT NULL,               -- whether it is renewed from the wallet
    -- what the first period cost without setup, in US cents; the period begins when the service is provisioned
    first_price             BIGINT  NOT NULL DEFAULT 0,
    -- what a renewal costs, add-ons included, in US cents
    renew_price             BIGINT  NOT NULL CHECK (renew_price >= 0),
    -- what of renew_price the add-ons are, in US cents
    addon_price             BIGINT  NOT NULL DEFAULT 0 CHECK (addon_price >= 0),
    pending_plan_id         BIGINT, -- the plan that comes with the next renewal; NULL where none does
    pending_plan_at         BIGINT,                         -- when it comes; NULL where none does
    -- what a period of that plan costs without add-ons, in US cents, as its owner saw it; what the wallet covers is
    -- counted with it
    pending_price           BIGINT  CHECK (pending_price >= 0),
    failure_key             TEXT,                           -- why it could not be provisioned; NULL otherwise
    -- why it is suspended; NULL while it is not
    suspend_reason          TEXT    CHECK (suspend_reason IN ('unpaid', 'abuse', 'manual', 'resource_limit')),
    suspend_note            TEXT    NOT NULL DEFAULT '',    -- what its owner suspended it for
    -- the panel that serves it, such as node:3; empty before provisioning
    panel                   TEXT    NOT NULL DEFAULT '',
    -- the panel's name for its account; empty until the panel has it
    panel_ref               TEXT    NOT NULL DEFAULT '',
    epoch                   BIGINT  NOT NULL DEFAULT 0,     -- how often it has moved from one machine to another
    -- whether its account is being moved: nobody changes it meanwhile
    moving                  BOOLEAN NOT NULL DEFAULT FALSE,
    username                TEXT    NOT NULL DEFAULT '',    -- user name of the account on the machine
    origin_url              TEXT    NOT NULL DEFAULT '',    -- address that shows the site before DNS points there
    location                TEXT    NOT NULL DEFAULT '',    -- where the machine stands
    ipv4                    TEXT    NOT NULL DEFAULT '',    -- IPv4 address that serves it; empty without one
    ipv6                    TEXT    NOT NULL DEFAULT '',    -- IPv6 address that serves it; empty without one
    nameservers             TEXT    NOT NULL DEFAULT '[]',  -- JSON list of the name servers that serve its zones
    created_at              BIGINT  NOT NULL,               -- when it was ordered
    provisioning_at         BIGINT,                         -- when provisioning began; NULL before that
    provisioned_at          BIGINT,                         -- when the panel had it; NULL before that
    expires_at              BIGINT,                         -- when the paid time is over; NULL before provisioning
    -- when the next step of its life is due (renewal, reminder, suspension, end); NULL where there is none
    step_at                 BIGINT,
    next_renewal_attempt_at BIGINT,                         -- when its renewal is tried next; NULL where it is not
    renewal_failure         TEXT, -- why the last renewal failed; NULL when it went, whoever renewed it
    renewal_failed_at       BIGINT,                         -- when that was; NULL with renewal_failure
    reminded                INTEGER, -- the fewest days before expiry of which the owner was told; NULL when of none
    grace_until             BIGINT,                         -- until when it works unpaid; NULL while it is paid
    suspended_at            BIGINT,                         -- when it was suspended; NULL while it is not
    -- when its owner suspended it. While it equals suspended_at, the suspension is for the owner to lift
    owner_suspended_at      BIGINT,
    warned                  INTEGER, -- the fewest days before the end of which the owner was told; NULL when of none
    terminates_at           BIGINT,                         -- when it ends; NULL while nothing ends it
    ends_at_expiry          BOOLEAN NOT NULL DEFAULT FALSE, -- whether its owner has ordered its end with the paid time
    restore_order_id        BIGINT, -- the order held while a service that ended comes back; NULL otherwise
    restore_price           BIGINT  NOT NULL DEFAULT 0,     -- what of that order is the plan's, in US cents
    -- until when a job may be removing what is left of its account; NULL where none does. An account is made only when
    -- nobody removes one of the same name
    cleaning_until          BIGINT,
    CONSTRAINT services_suspended CHECK (status <> 'suspended'
        OR (suspend_reason IS NOT NULL AND suspended_at IS NOT NULL)),
    CONSTRAINT services_provisioning CHECK (status <> 'provisioning' OR (provisioning_at IS NOT NULL AND panel <> '')),
    CONSTRAINT services_provisioned CHECK (status NOT IN ('active', 'past_due', 'suspended', 'terminating',
        'terminated') OR (provisioned_at IS NOT NULL AND expires_at IS NOT NULL AND panel_ref <> '')),
    CONSTRAINT services_failed CHECK (status <> 'failed' OR failure_key IS NOT NULL),
    CONSTRAINT services_pending_plan CHECK ((pending_plan_id IS NULL) = (pending_plan_at IS NULL))
);
-- A name is served once in each world. An order that is not paid holds nothing.
CREATE UNIQUE INDEX services_live_domain ON services (domain, sandbox)
    WHERE status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating');
-- Accounts may have very many services: each question of a list is answered by an index alone. Lists leave out what has
-- ended, of which there is more with every year, so the indexes that answer lists know the state.
CREATE INDEX services_account ON services (account_id, id, expires_at, status);
CREATE INDEX services_account_status ON services (account_id, status, id);
CREATE INDEX services_account_type ON services (account_id, type, id);
CREATE INDEX services_account_plan ON services (account_id, plan_id, id);
CREATE INDEX services_account_client ON services (account_id, client_ref, id);
CREATE INDEX services_account_search ON services (account_id, id, search);
CREATE INDEX services_account_due ON services (account_id, expires_at, id, status);
-- The order in which renewals are due; the condition is record.renewing.
CREATE INDEX services_account_renewing ON services (account_id, expires_at, id, renew_price, pending_price, addon_price)
    WHERE auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'));
CREATE INDEX services_in_provisioning ON services (id) WHERE status = 'provisioning';
CREATE INDEX services_pending_plan_due ON services (pending_plan_at) WHERE pending_plan_at IS NOT NULL;
CREATE INDEX services_step ON services (step_at) WHERE step_at IS NOT NULL;
CREATE INDEX services_sandbox_step ON services (account_id, step_at) WHERE sandbox AND step_at IS NOT NULL;
CREATE INDEX services_renewals_due ON services (account_id, next_renewal_attempt_at)
    WHERE next_renewal_attempt_at IS NOT NULL;
CREATE INDEX services_attempts ON services (next_renewal_attempt_at) WHERE next_renewal_attempt_at IS NOT NULL;
CREATE INDEX services_renewal_failed ON services (renewal_failed_at) WHERE renewal_failure IS NOT NULL;
-- What the view of the health of renewals looks for: services in the middle of their life that no step will ever look
-- at, and those whose time has run out unnoticed.
CREATE INDEX services_forgotten ON services (id)
    WHERE step_at IS NULL AND status IN ('active', 'past_due', 'suspended');
CREATE INDEX services_active_expiry ON services (expires_at) WHERE status = 'active';

-- What may be left on a panel of a service that was placed elsewhere because the panel did not answer: it may have made the
-- account. A job removes it; the row goes when nothing is left.
CREATE TABLE services_left (
    service_id BIGINT NOT NULL REFERENCES services (id), -- the service
    panel      TEXT   NOT NULL,                          -- the panel that did not answer
    since      BIGINT NOT NULL,                          -- when the service was placed elsewhere
    PRIMARY KEY (service_id, panel)
);

-- What was paid for which time of a service. The part that is still to come is what a change of tariff counts against
-- the new plan's price.
CREATE TABLE services_periods (
    id         {{id}},
    service_id BIGINT NOT NULL REFERENCES services (id), -- the service
    starts_at  BIGINT NOT NULL,                          -- begin of the paid time
    ends_at    BIGINT NOT NULL,                          -- end of the paid time
    -- when the period began of which this is the rest, after another plan took the place of its first part; NULL: at
    -- starts_at
    began_at   BIGINT,
    amount     BIGINT NOT NULL CHECK (amount >= 0),      -- what was paid, in US cents
    CONSTRAINT services_periods_time CHECK (ends_at > starts_at)
);
CREATE INDEX services_periods_service ON services_periods (service_id, ends_at);

-- Results of the steps in the life of services.
CREATE TABLE services_steps (
    id          {{id}},
    service_id  BIGINT NOT NULL REFERENCES services (id), -- the service
    -- what was done
    did         TEXT   NOT NULL CHECK (did IN ('renew', 'remind', 'expire', 'suspend', 'wait', 'warn', 'terminate')),
    failure_key TEXT,                                     -- why it failed; NULL when it went
    days        INTEGER,                                  -- of reminders and warnings: how many days before
    at          BIGINT NOT NULL                           -- when it was done
);
CREATE INDEX services_steps_service ON services_steps (service_id, id);

-- What happened to services, as long as they are known.
CREATE TABLE services_history (
    id              {{id}},
    service_id      BIGINT NOT NULL REFERENCES services (id), -- the service
    type            TEXT   NOT NULL, -- kind of event, such as service.suspended
    status          TEXT   NOT NULL, -- the state afterwards
    previous_status TEXT,            -- the state that it left; NULL when the state stayed
    suspend_reason  TEXT,            -- as in services; NULL when it is not suspended
    error_key       TEXT,            -- what failed; NULL when nothing did
    days            INTEGER,         -- of reminders and warnings: how many days before
    created_at      BIGINT NOT NULL  -- when it happened
);
CREATE INDEX services_history_service ON services_history (service_id, id);

-- +goose Up

-- Services of which months are closed.
CREATE TABLE sla_services (
    service_id BIGINT PRIMARY KEY, -- the service
    account_id BIGINT NOT NULL,    -- its owner's account
    month      BIGINT NOT NULL,    -- the beginning of the month that is closed next, in UTC
    close_at   BIGINT NOT NULL     -- when it is closed
);
CREATE INDEX sla_services_due ON sla_services (close_at, service_id);
CREATE INDEX sla_services_account ON sla_services (account_id);

-- Which plan a service had since when: a month is judged by the plan with which it began.
CREATE TABLE sla_plans (
    service_id BIGINT NOT NULL, -- the service
    since      BIGINT NOT NULL, -- from when on it had the plan
    account_id BIGINT NOT NULL, -- its owner's account
    plan_id    BIGINT NOT NULL, -- the plan (catalog_plans)
    PRIMARY KEY (service_id, since)
);
CREATE INDEX sla_plans_account ON sla_plans (account_id);

-- Months that are closed, and what was given back for them (resources, section 10).
CREATE TABLE sla_months (
    id            {{id}},
    account_id    BIGINT  NOT NULL, -- whose service it was
    service_id    BIGINT  NOT NULL, -- the service
    month         BIGINT  NOT NULL, -- the beginning of the month, in UTC
    -- none: nothing is owed; proposed: a credit is owed; credited: it is in the wallet; rejected: staff have decided
    -- against it, or the account was closed
    status        TEXT    NOT NULL CHECK (status IN ('none', 'proposed', 'credited', 'rejected')),
    held          BOOLEAN NOT NULL, -- whether a proposed credit waits for an operator
    note          TEXT    NOT NULL, -- why it is held or was rejected: a word of ours, or an operator's; empty without one
    promised      BIGINT,           -- the promised uptime in millionths; NULL when the plan promised none
    uptime        BIGINT  NOT NULL CHECK (uptime BETWEEN 0 AND 1000000), -- in millionths, rounded down
    served_s      BIGINT  NOT NULL CHECK (served_s >= 0),      -- seconds that count: paid, without maintenance
    down_s        BIGINT  NOT NULL CHECK (down_s BETWEEN 0 AND served_s), -- seconds of these that it was down
    maintenance_s BIGINT  NOT NULL CHECK (maintenance_s >= 0), -- seconds of announced maintenance
    unknown_s     BIGINT  NOT NULL CHECK (unknown_s >= 0),     -- seconds of which nothing is known
    breached      BOOLEAN NOT NULL, -- whether the uptime was below the promise
    base          BIGINT  NOT NULL CHECK (base >= 0),          -- what was paid for the month, in US cents
    percent       INTEGER NOT NULL CHECK (percent BETWEEN 0 AND 100), -- what of it is given back
    amount        BIGINT  NOT NULL CHECK (amount BETWEEN 0 AND base), -- that, in US cents
    credit_at     BIGINT,           -- when a proposed credit is paid unless it is held; NULL when nothing is owed
    created_at    BIGINT  NOT NULL, -- when the month was closed
    decided_at    BIGINT,           -- when it was credited or rejected; NULL before that
    UNIQUE (service_id, month),
    CONSTRAINT sla_months_owed CHECK ((status = 'none') = (amount = 0) AND (amount = 0) = (credit_at IS NULL)),
    CONSTRAINT sla_months_decided CHECK ((status IN ('credited', 'rejected')) = (decided_at IS NOT NULL)),
    CONSTRAINT sla_months_held CHECK (NOT held OR status = 'proposed')
);
CREATE INDEX sla_months_account ON sla_months (account_id);
CREATE INDEX sla_months_status ON sla_months (status, id);
CREATE INDEX sla_months_due ON sla_months (credit_at, id) WHERE status = 'proposed' AND NOT held;

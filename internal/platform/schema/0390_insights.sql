-- +goose Up

-- What is to improve about services (resources, section 15).
CREATE TABLE insights (
    id             {{id}},
    account_id     BIGINT  NOT NULL, -- whose service it is
    service_id     BIGINT  NOT NULL, -- the service
    check_key      TEXT    NOT NULL, -- what was looked at, such as large_image
    subject        TEXT    NOT NULL, -- what has the fault, such as the path of a page; empty for the site itself
    kind           TEXT    NOT NULL, -- performance, security, seo, availability, cost, error or update
    severity       TEXT    NOT NULL, -- critical, high, medium, low or info
    severity_rank  INTEGER NOT NULL, -- the severity as a number, 0 is the worst; the order of lists
    title_key      TEXT    NOT NULL, -- names its title in the catalogue
    detail_key     TEXT    NOT NULL, -- names its description in the catalogue
    fix_key        TEXT    NOT NULL, -- names what to do in the catalogue
    evidence       TEXT    NOT NULL, -- JSON object: what was seen, without secrets
    fixable        BOOLEAN NOT NULL, -- whether changing files of the site can mend it
    status         TEXT    NOT NULL CHECK (status IN ('open', 'dismissed', 'resolved', 'expired')), -- where it stands
    dismissed_at   BIGINT,           -- when the customer dismissed it; NULL unless it is dismissed or was until it was gone
    dismiss_reason TEXT,             -- why, in the customer's words; NULL without
    first_seen_at  BIGINT  NOT NULL, -- when it was found first
    last_seen_at   BIGINT  NOT NULL, -- when it was found last
    advice         TEXT    NOT NULL DEFAULT '', -- what a language model says is to do; empty without
    advice_lang    TEXT    NOT NULL DEFAULT '', -- in which language; empty without
    advice_rank    INTEGER NOT NULL DEFAULT 0,  -- its place among those of the same severity, as the model says
    CONSTRAINT insights_dismissed CHECK (status <> 'dismissed' OR dismissed_at IS NOT NULL)
);
-- A fault is one insight.
CREATE UNIQUE INDEX insights_fault ON insights (service_id, check_key, subject);
CREATE INDEX insights_order ON insights (service_id, severity_rank, advice_rank, id);
CREATE INDEX insights_status_order ON insights (service_id, status, severity_rank, advice_rank, id);
CREATE INDEX insights_account ON insights (account_id);
CREATE INDEX insights_age ON insights (last_seen_at);

-- The last audit of each service that had one.
CREATE TABLE insights_audits (
    service_id  BIGINT  PRIMARY KEY, -- the service
    account_id  BIGINT  NOT NULL,    -- its owner's account
    started_at  BIGINT  NOT NULL,    -- when it began
    lease_until BIGINT  NOT NULL,    -- one that is still running then was killed
    finished_at BIGINT               -- when it was complete; NULL while it runs
);
CREATE INDEX insights_audits_account ON insights_audits (account_id);

-- Services that are audited every week.
CREATE TABLE insights_services (
    service_id BIGINT PRIMARY KEY, -- the service
    account_id BIGINT NOT NULL,    -- its owner's account
    next_at    BIGINT NOT NULL     -- when it is audited next
);
CREATE INDEX insights_services_next ON insights_services (next_at);
CREATE INDEX insights_services_account ON insights_services (account_id);

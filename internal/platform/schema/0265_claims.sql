-- +goose Up

-- Domains that accounts use or want, and what shows that they are theirs. A domain is one that can be registered; what
-- holds for it holds for all names below it.
CREATE TABLE claims_domains (
    id            {{id}},
    account_id    BIGINT  NOT NULL, -- who uses the domain or wants it
    domain        TEXT    NOT NULL, -- in ASCII form
    token         TEXT    NOT NULL, -- what proves control when the DNS of the domain has it
    -- how the account has shown that the domain is its own
    proof         TEXT    NOT NULL CHECK (proof IN ('none', 'txt', 'nameservers', 'registration')),
    proven_at     BIGINT,           -- when that was; NULL without a proof
    leads_here_at BIGINT,           -- when the DNS was last seen to lead to the account's services; NULL: it does not
    delegated_at  BIGINT,           -- when the domain was last seen to be delegated to our name servers; NULL: it is not
    -- when it takes the domain from its holder, who was notified; NULL: it does not
    takes_at      BIGINT,
    attempts      INTEGER NOT NULL DEFAULT 0, -- looks into the DNS since the last change
    checked_at    BIGINT,           -- when the DNS was last asked; NULL before that
    check_at      BIGINT  NOT NULL, -- when the claim is looked at next
    created_at    BIGINT  NOT NULL, -- when the account first wanted the domain
    CONSTRAINT claims_domains_proven CHECK ((proof = 'none') = (proven_at IS NULL))
);
CREATE UNIQUE INDEX claims_domains_account ON claims_domains (account_id, domain);
CREATE INDEX claims_domains_due ON claims_domains (check_at);

-- Who holds each domain: services of this account may answer to it and to the names below it, and no others.
CREATE TABLE claims_holders (
    domain     TEXT   NOT NULL PRIMARY KEY, -- in ASCII form
    account_id BIGINT NOT NULL,             -- the holder
    -- until when it is held although nothing uses it: a service that has ended can still be restored; NULL: no longer
    -- than it is used
    held_until BIGINT,
    since      BIGINT NOT NULL              -- when this account got it
);
CREATE INDEX claims_holders_account ON claims_holders (account_id);

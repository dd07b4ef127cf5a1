-- +goose Up

-- Invoices, credit notes and receipts (resources, section 6). A row is written without a number in the transaction of
-- the payment; the sequencer numbers what is committed, without a gap.
CREATE TABLE invoices (
    id           {{id}},
    account_id   BIGINT  NOT NULL,                           -- the buyer's account
    -- invoice: something was bought; credit_note: something was given back; receipt: money was paid in
    kind         TEXT    NOT NULL CHECK (kind IN ('invoice', 'credit_note', 'receipt')),
    -- what stands before the numbers; another seller has series of its own, and so has every sandbox
    seller       TEXT    NOT NULL,
    year         INTEGER NOT NULL,                           -- year of the number
    -- number within the seller's series of that kind and year, from 1 without a gap; NULL until the sequencer gives it
    sequence     BIGINT,
    order_id     BIGINT,                                     -- the order that was paid or refunded; NULL for receipts and for what was used
    topup_id     BIGINT,                                     -- the top-up that a receipt is for; NULL for purchases
    service_id   BIGINT,                                     -- the service that was bought or renewed; NULL without one
    corrects     BIGINT  REFERENCES invoices (id),           -- of credit notes: the invoice that they take back from
    -- JSON object: both parties, the lines and the tax as they were when it was issued; never changed
    document     TEXT    NOT NULL,
    subtotal     BIGINT  NOT NULL CHECK (subtotal >= 0),     -- sum of the lines before discount, in US cents
    discount     BIGINT  NOT NULL CHECK (discount >= 0),     -- in US cents
    tax          BIGINT  NOT NULL CHECK (tax >= 0),          -- tax added to the prices, in US cents
    tax_included BIGINT  NOT NULL CHECK (tax_included >= 0), -- tax that the prices contain, in US cents
    total        BIGINT  NOT NULL CHECK (total > 0),         -- in US cents
    credited     BIGINT  NOT NULL DEFAULT 0,                 -- what credit notes took back of the price, in US cents
    credited_tax BIGINT  NOT NULL DEFAULT 0, -- what credit notes took back of the tax added, in US cents
    issued_at    BIGINT  NOT NULL,                           -- date of the document
    UNIQUE (seller, kind, year, sequence),
    CONSTRAINT invoices_total CHECK (total = subtotal - discount + tax),
    CONSTRAINT invoices_one_tax CHECK (tax = 0 OR tax_included = 0),
    CONSTRAINT invoices_credited CHECK (credited BETWEEN 0 AND total - tax AND credited_tax BETWEEN 0 AND tax),
    CONSTRAINT invoices_corrects CHECK ((kind = 'credit_note') = (corrects IS NOT NULL))
);
CREATE UNIQUE INDEX invoices_order ON invoices (order_id) WHERE kind = 'invoice';
CREATE UNIQUE INDEX invoices_topup ON invoices (topup_id) WHERE kind = 'receipt';
CREATE INDEX invoices_account ON invoices (account_id, id);
CREATE INDEX invoices_account_kind ON invoices (account_id, kind, id);
CREATE INDEX invoices_service ON invoices (service_id, id) WHERE kind = 'invoice';
CREATE INDEX invoices_corrected ON invoices (corrects) WHERE corrects IS NOT NULL;
CREATE INDEX invoices_unnumbered ON invoices (id) WHERE sequence IS NULL;

-- Money that went into the wallet of an account without a document of its own: the next invoice mentions it in a line.
CREATE TABLE invoices_mentions (
    id         {{id}},
    account_id BIGINT NOT NULL,                -- the buyer's account
    kind       TEXT   NOT NULL,                -- kind of the line
    subject_id BIGINT NOT NULL,                -- what it is about, as its kind counts that: of a credit for uptime the month's id
    title      TEXT   NOT NULL,                -- of the line: of a credit for uptime its month, 2026-10
    domain     TEXT   NOT NULL,                -- name of the service; empty without one
    amount     BIGINT NOT NULL CHECK (amount > 0), -- what was put into the wallet, in US cents
    invoice_id BIGINT REFERENCES invoices (id), -- which mentions it; NULL until there is one
    UNIQUE (kind, subject_id)
);
CREATE INDEX invoices_mentions_open ON invoices_mentions (account_id, id) WHERE invoice_id IS NULL;

-- The counters of the series of numbers.
CREATE TABLE invoices_series (
    seller TEXT    NOT NULL, -- as in invoices
    kind   TEXT    NOT NULL, -- as in invoices
    year   INTEGER NOT NULL, -- as in invoices
    last   BIGINT  NOT NULL, -- the last number that was given
    PRIMARY KEY (seller, kind, year)
);

-- Billing profiles: whom the invoices of an account are for.
CREATE TABLE invoices_profiles (
    account_id  BIGINT  PRIMARY KEY, -- the buyer's account
    company     BOOLEAN NOT NULL,    -- whether the buyer is a company
    name        TEXT    NOT NULL,    -- of the company or the person
    tax_number  TEXT    NOT NULL,    -- the buyer's tax number; empty without one
    country     TEXT    NOT NULL,    -- two letters (ISO 3166-1); decides the tax
    region      TEXT    NOT NULL,    -- state or province; empty where there is none
    city        TEXT    NOT NULL,    -- town of the address
    postal_code TEXT    NOT NULL,    -- of the address
    address     TEXT    NOT NULL,    -- street and house
    email       TEXT    NOT NULL,    -- of who keeps the books; empty for the account's own
    updated_at  BIGINT  NOT NULL     -- when it last changed
);

-- The taxes by the country of the buyer as staff have set them. A row holds from its time on, until the next one does; without one
-- that has begun, those of the configuration hold.
CREATE TABLE invoices_tax_rules (
    id         {{id}},
    file       TEXT   NOT NULL, -- YAML, as docs/invoices.md describes it
    valid_from BIGINT NOT NULL, -- when it begins to hold
    created_at BIGINT NOT NULL  -- when it was set
);
CREATE INDEX invoices_tax_rules_begin ON invoices_tax_rules (valid_from, id);

-- +goose Up

-- Invoices, credit notes and receipts (resources, section 6). document holds both parties, the lines and the tax as
-- they were when it was issued, and is never changed. A row is written while its transaction goes on; the last thing
-- that the transaction does is to take the next number of the series, so there is no row without one to be seen, and
-- no number without its row. seller is what stands before the numbers: who writes another has series of its own, and
-- so has every sandbox. credited and credited_tax are what credit notes took back of the price and of the tax on top.
CREATE TABLE invoices (
    id           {{id}},
    account_id   BIGINT  NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('invoice', 'credit_note', 'receipt')),
    seller       TEXT    NOT NULL,
    year         INTEGER NOT NULL,
    sequence     BIGINT,
    order_id     BIGINT,
    topup_id     BIGINT,
    service_id   BIGINT,
    corrects     BIGINT REFERENCES invoices (id),
    document     TEXT    NOT NULL,
    subtotal     BIGINT  NOT NULL CHECK (subtotal >= 0),
    discount     BIGINT  NOT NULL CHECK (discount >= 0),
    tax          BIGINT  NOT NULL CHECK (tax >= 0),
    tax_included BIGINT  NOT NULL CHECK (tax_included >= 0),
    total        BIGINT  NOT NULL CHECK (total > 0),
    credited     BIGINT  NOT NULL DEFAULT 0,
    credited_tax BIGINT  NOT NULL DEFAULT 0,
    issued_at    BIGINT  NOT NULL,
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

-- The last number that was given.
CREATE TABLE invoices_series (
    seller TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    year   INTEGER NOT NULL,
    last   BIGINT  NOT NULL,
    PRIMARY KEY (seller, kind, year)
);

-- Whom the invoices of an account are for.
CREATE TABLE invoices_profiles (
    account_id  BIGINT  PRIMARY KEY,
    company     BOOLEAN NOT NULL,
    name        TEXT    NOT NULL,
    tax_number  TEXT    NOT NULL,
    country     TEXT    NOT NULL,
    region      TEXT    NOT NULL,
    city        TEXT    NOT NULL,
    postal_code TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    email       TEXT    NOT NULL,
    updated_at  BIGINT  NOT NULL
);

-- +goose Up

-- What is for sale (resources, section 12). Rows are made and changed by the import of the operator's YAML file and
-- never deleted, because orders and services refer to them: what the file no longer names is taken off sale. Translated
-- texts are JSON objects keyed by language.
CREATE TABLE catalog_categories (
    id          {{id}},
    slug        TEXT    NOT NULL UNIQUE, -- the category's name in the operator's file and in addresses
    name        TEXT    NOT NULL,        -- translated
    description TEXT    NOT NULL,        -- translated
    position    INTEGER NOT NULL,        -- order on the page
    available   BOOLEAN NOT NULL         -- whether the operator's file names it
);
CREATE INDEX catalog_categories_position ON catalog_categories (position, id);

-- Products of a category.
CREATE TABLE catalog_products (
    id          {{id}},
    slug        TEXT    NOT NULL UNIQUE, -- the product's name in the operator's file and in addresses
    category_id BIGINT  NOT NULL REFERENCES catalog_categories (id), -- the category it is shown in
    type        TEXT    NOT NULL,        -- kind of service that it sells, such as hosting
    name        TEXT    NOT NULL,        -- translated
    description TEXT    NOT NULL,        -- translated
    features    TEXT    NOT NULL,        -- JSON list of translated lines
    -- JSON object: days of each step in the life of its services; what it does not name is the platform's default
    terms       TEXT    NOT NULL DEFAULT '{}',
    position    INTEGER NOT NULL,        -- order on the page
    available   BOOLEAN NOT NULL         -- whether the operator's file names it
);
CREATE INDEX catalog_products_position ON catalog_products (position, id);
CREATE INDEX catalog_products_category ON catalog_products (category_id);

-- Plans of a product: what is bought.
CREATE TABLE catalog_plans (
    id         {{id}},
    slug       TEXT    NOT NULL UNIQUE,                      -- the plan's name in the operator's file and in addresses
    product_id BIGINT  NOT NULL REFERENCES catalog_products (id), -- the product it belongs to
    name       TEXT    NOT NULL,                             -- translated
    details    TEXT    NOT NULL, -- JSON object: limits and what else a plan has; opaque to SQL
    stock      BIGINT  CHECK (stock >= 0),                   -- how many may be sold; NULL for no bound
    sold       BIGINT  NOT NULL DEFAULT 0 CHECK (sold >= 0), -- sales, counted while there is a stock
    position   INTEGER NOT NULL,                             -- order on the page
    available  BOOLEAN NOT NULL                              -- whether the operator's file names it
);
CREATE INDEX catalog_plans_product ON catalog_plans (product_id, position, id);

-- Prices of plans by period. Orders copy the price that they were made at, so a price may change or go.
CREATE TABLE catalog_prices (
    plan_id            BIGINT  NOT NULL REFERENCES catalog_plans (id), -- the plan
    period_months      INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120), -- how long is paid for
    price              BIGINT  NOT NULL CHECK (price >= 0), -- of a period, in US cents
    -- of the first period, in US cents; NULL when it is that of the others
    first_period_price BIGINT  CHECK (first_period_price >= 0),
    setup              BIGINT  NOT NULL CHECK (setup >= 0), -- once, with the first period, in US cents
    PRIMARY KEY (plan_id, period_months)
);

-- Extras that are attached to services (resources, section 9), known by their key.
CREATE TABLE catalog_addons (
    id          {{id}},
    key         TEXT    NOT NULL UNIQUE, -- the add-on's name in the operator's file and in the interface
    name        TEXT    NOT NULL,        -- translated
    description TEXT    NOT NULL,        -- translated
    -- JSON object: the price of one for each period, the limits that one raises, how many a service may have, whether
    -- an operator makes it
    details     TEXT    NOT NULL,
    position    INTEGER NOT NULL,        -- order on the page
    available   BOOLEAN NOT NULL         -- whether the operator's file names it
);
CREATE INDEX catalog_addons_position ON catalog_addons (position, id);

-- +goose Up

-- What is for sale (resources, section 12). Rows are made and changed by the
-- import of the operator's YAML and never deleted: orders and services refer to
-- them. What the file no longer names is taken off sale. Translated texts are
-- JSON objects keyed by language.
CREATE TABLE catalog_categories (
    id          {{id}},
    slug        TEXT    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    available   BOOLEAN NOT NULL
);
CREATE INDEX catalog_categories_position ON catalog_categories (position, id);

CREATE TABLE catalog_products (
    id          {{id}},
    slug        TEXT    NOT NULL UNIQUE,
    category_id BIGINT  NOT NULL REFERENCES catalog_categories (id),
    type        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    features    TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    available   BOOLEAN NOT NULL
);
CREATE INDEX catalog_products_position ON catalog_products (position, id);
CREATE INDEX catalog_products_category ON catalog_products (category_id);

-- stock is how many may be sold, NULL for no bound; sold counts sales while a
-- plan has one.
CREATE TABLE catalog_plans (
    id         {{id}},
    slug       TEXT    NOT NULL UNIQUE,
    product_id BIGINT  NOT NULL REFERENCES catalog_products (id),
    name       TEXT    NOT NULL,
    details    TEXT    NOT NULL,
    stock      BIGINT  CHECK (stock >= 0),
    sold       BIGINT  NOT NULL DEFAULT 0 CHECK (sold >= 0),
    position   INTEGER NOT NULL,
    available  BOOLEAN NOT NULL
);
CREATE INDEX catalog_plans_product ON catalog_plans (product_id, position, id);

-- Orders copy the price they were made at, so a price may change or go.
CREATE TABLE catalog_prices (
    plan_id            BIGINT  NOT NULL REFERENCES catalog_plans (id),
    period_months      INTEGER NOT NULL CHECK (period_months BETWEEN 1 AND 120),
    price              BIGINT  NOT NULL CHECK (price >= 0),
    first_period_price BIGINT  CHECK (first_period_price >= 0),
    setup              BIGINT  NOT NULL CHECK (setup >= 0),
    PRIMARY KEY (plan_id, period_months)
);

-- +goose Up

-- What a US dollar is worth in the currencies that prices are shown in. Nothing is billed by it.
CREATE TABLE currencies_rates (
    currency   TEXT   PRIMARY KEY,             -- ISO 4217
    micros     BIGINT NOT NULL CHECK (micros > 0), -- millionths of the currency's main unit for a dollar
    rated_at   BIGINT NOT NULL,                -- the beginning of the day (UTC) for which the source gave the rate
    source     TEXT   NOT NULL,                -- who gave it (operator, cbu, ecb)
    updated_at BIGINT NOT NULL                 -- when it was stored
);

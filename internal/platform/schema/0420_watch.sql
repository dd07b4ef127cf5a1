-- +goose Up

-- What is looked at by itself, and what was seen the last time.
CREATE TABLE watch_checks (
    name    TEXT   NOT NULL PRIMARY KEY, -- what was looked at: ledger
    made_at BIGINT NOT NULL,             -- when
    problem TEXT   NOT NULL              -- what is wrong; empty: nothing
);

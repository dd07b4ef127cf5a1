-- +goose Up

-- What customers say of us (resources, section 12). An account writes one review; others read it once staff have
-- approved it.
CREATE TABLE reviews (
    id         {{id}},
    account_id BIGINT  UNIQUE,              -- whose review it is; NULL for a sample of the demonstration
    author     TEXT    NOT NULL,            -- the name that its author wants to be shown
    rating     INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5), -- stars
    title      TEXT    NOT NULL,            -- one line
    body       TEXT    NOT NULL,            -- plain text
    locale     TEXT    NOT NULL,            -- language that it is written in
    product    TEXT    NOT NULL,            -- name of the plan that its author had when writing
    sample     BOOLEAN NOT NULL,            -- whether it is made up, for the demonstration
    status     TEXT    NOT NULL CHECK (status IN ('pending', 'approved', 'rejected')), -- what staff have decided
    -- rises with every change of its author's: staff decide on the text that they have read
    version    INTEGER NOT NULL,
    reason     TEXT    NOT NULL,            -- why it was rejected, for its author; empty otherwise
    created_at BIGINT  NOT NULL,            -- when it was first written
    updated_at BIGINT  NOT NULL,            -- when its author last changed it
    decided_at BIGINT,                      -- when staff decided; NULL while it is pending
    CONSTRAINT reviews_author CHECK (sample = (account_id IS NULL))
);
-- The public list, and the average of all ratings.
CREATE INDEX reviews_listed ON reviews (status, created_at, id);
CREATE INDEX reviews_rated ON reviews (status, sample, rating);

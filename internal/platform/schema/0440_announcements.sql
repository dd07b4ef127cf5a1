-- +goose Up

-- What staff announce to customers.
CREATE TABLE announcements (
    id           {{id}},
    title        TEXT    NOT NULL, -- JSON object: language to text
    body         TEXT    NOT NULL, -- JSON object: language to plain text
    link         TEXT    NOT NULL, -- path of a page on this site; empty without one
    level        TEXT    NOT NULL CHECK (level IN ('info', 'warning')), -- how much it stands out
    audience     TEXT    NOT NULL CHECK (audience IN ('all', 'node', 'plan', 'resellers')), -- whom it is for
    audience_of  TEXT    NOT NULL, -- name of the machine or slug of the plan; empty for the other audiences
    starts_at    BIGINT,           -- when it is shown first; NULL in a draft: when it is published
    ends_at      BIGINT,           -- when it is not shown any more; NULL: when it is withdrawn
    notify       BOOLEAN NOT NULL, -- whether each account that is concerned gets a notification
    mail         BOOLEAN NOT NULL, -- whether that is mailed
    version      BIGINT  NOT NULL, -- one more with each change
    created_at   BIGINT  NOT NULL, -- when it was written first
    updated_at   BIGINT  NOT NULL, -- when it was changed last
    published_at BIGINT,           -- when it was published; NULL: it is a draft
    withdrawn_at BIGINT,           -- when it was withdrawn; NULL: it was not
    begun_at     BIGINT,           -- when the first batch of notifications was ordered; NULL before that
    reached      BIGINT  NOT NULL, -- the last account that the notifications have come to, in the order of ids
    told         BIGINT  NOT NULL, -- how many accounts have their notification
    finished_at  BIGINT,           -- when the last account was told; NULL before that
    CHECK (published_at IS NULL OR starts_at IS NOT NULL)
);
CREATE INDEX announcements_shown ON announcements (starts_at, id) WHERE published_at IS NOT NULL AND withdrawn_at IS NULL;

-- The announcements that accounts do not want to see again.
CREATE TABLE announcements_dismissals (
    account_id      BIGINT NOT NULL, -- the account
    announcement_id BIGINT NOT NULL REFERENCES announcements (id) ON DELETE CASCADE, -- the announcement
    dismissed_at    BIGINT NOT NULL, -- when it was dismissed
    PRIMARY KEY (account_id, announcement_id)
);
CREATE INDEX announcements_dismissals_of ON announcements_dismissals (announcement_id);

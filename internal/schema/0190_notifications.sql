-- +goose Up

-- What people are told of (resources, section 11). A row keeps the kind and what its words
-- need; the words are those of the reader's language when it is read. event_uid is the event
-- that it tells of, so that an event that is told twice makes one row.
CREATE TABLE notifications (
    id         {{id}},
    account_id BIGINT NOT NULL,
    event_uid  TEXT   NOT NULL UNIQUE,
    kind       TEXT   NOT NULL,
    severity   TEXT   NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    subject    TEXT   NOT NULL,
    subject_id BIGINT NOT NULL,
    words      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    read_at    BIGINT
);
CREATE INDEX notifications_account ON notifications (account_id, id);
CREATE INDEX notifications_unread ON notifications (account_id, id) WHERE read_at IS NULL;
CREATE INDEX notifications_created ON notifications (created_at);

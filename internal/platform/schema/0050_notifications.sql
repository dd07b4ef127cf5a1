-- +goose Up

-- Notifications: what people are told (resources, section 11). A row keeps the kind and the values that its text needs;
-- the text is that of the reader's language when it is read. Rows are kept for ninety days.
CREATE TABLE notifications (
    id         {{id}},
    account_id BIGINT NOT NULL, -- the account that is told
    -- the event it tells of (outbox_events.uid), so that an event that is heard twice makes one row
    event_uid  TEXT   NOT NULL UNIQUE,
    kind       TEXT   NOT NULL, -- what it is about; names its text
    -- warning and critical ones are mailed, too
    severity   TEXT   NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    subject    TEXT   NOT NULL, -- kind of thing it is about, as in outbox_events
    subject_id BIGINT NOT NULL, -- id of that thing
    words      TEXT   NOT NULL, -- JSON object: the values that the text names
    created_at BIGINT NOT NULL, -- when the event happened
    read_at    BIGINT           -- when it was marked as read; NULL before that
);
CREATE INDEX notifications_account ON notifications (account_id, id);
CREATE INDEX notifications_unread ON notifications (account_id, id) WHERE read_at IS NULL;
CREATE INDEX notifications_created ON notifications (created_at);

-- +goose Up

-- Notifications of accounts (resources, section 11). A row holds the kind and the values that its text needs;
-- the text is made in the reader's language when it is read. Rows are kept for ninety days.
CREATE TABLE notifications (
    id         {{id}},
    account_id BIGINT NOT NULL, -- the account that is notified
    -- the event that it is about (outbox_events.uid), so that an event that is delivered twice makes one row; of an announcement
    -- announcement-<id>-<account>
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

-- How accounts are told of a topic, beside the list in the panel. A topic without a row is mailed and pushed.
CREATE TABLE notifications_preferences (
    account_id BIGINT  NOT NULL, -- the account that has chosen
    topic      TEXT    NOT NULL, -- what the notifications are about; each kind belongs to one
    mail       BOOLEAN NOT NULL, -- whether warnings and worse are mailed
    push       BOOLEAN NOT NULL, -- whether they are put on the account's devices
    changed_at BIGINT  NOT NULL, -- when it was chosen
    PRIMARY KEY (account_id, topic)
);

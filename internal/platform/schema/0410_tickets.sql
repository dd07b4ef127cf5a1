-- +goose Up

-- Support tickets: what customers ask, and what staff answer.
CREATE TABLE tickets (
    id          {{id}},
    account_id  BIGINT NOT NULL, -- the customer's account
    service_id  BIGINT,          -- the service that it is about; NULL without one
    subject     TEXT   NOT NULL, -- one line
    -- open: staff must answer; waiting: the customer must; answered: nobody must; closed
    status      TEXT   NOT NULL CHECK (status IN ('open', 'waiting', 'answered', 'closed')),
    -- random part of the address at which answers by mail arrive; whoever answers must also write from the customer's address
    token       TEXT   NOT NULL UNIQUE,
    assignee_id BIGINT,          -- the member of staff who cares for it; NULL while nobody does
    language    TEXT   NOT NULL, -- language of the mails about it
    created_at  BIGINT NOT NULL, -- when it was opened
    updated_at  BIGINT NOT NULL, -- when somebody wrote last, or its state changed
    closed_at   BIGINT,          -- when it was closed; NULL while it is not
    CONSTRAINT tickets_closed CHECK ((status = 'closed') = (closed_at IS NOT NULL))
);
CREATE INDEX tickets_account ON tickets (account_id, id);
CREATE INDEX tickets_status ON tickets (status, updated_at);

-- What was written in a ticket.
CREATE TABLE tickets_messages (
    id         {{id}},
    ticket_id  BIGINT  NOT NULL REFERENCES tickets (id) ON DELETE CASCADE, -- the ticket
    author_id  BIGINT  NOT NULL, -- account of whoever wrote it
    staff      BOOLEAN NOT NULL, -- whether that is a member of staff
    internal   BOOLEAN NOT NULL, -- a note that only staff see
    via        TEXT    NOT NULL CHECK (via IN ('panel', 'mail')), -- how it came
    body       TEXT    NOT NULL, -- plain text
    mail_id    TEXT    UNIQUE,   -- Message-ID of the mail that it came by, so that a repeated delivery adds nothing; NULL without one
    created_at BIGINT  NOT NULL  -- when it was written
);
CREATE INDEX tickets_messages_ticket ON tickets_messages (ticket_id, id);

-- Files that were sent with a message.
CREATE TABLE tickets_attachments (
    id         {{id}},
    message_id BIGINT    NOT NULL REFERENCES tickets_messages (id) ON DELETE CASCADE, -- the message
    name       TEXT      NOT NULL, -- its name, without a path
    size       BIGINT    NOT NULL, -- in bytes
    content    {{bytes}} NOT NULL  -- the file
);
CREATE INDEX tickets_attachments_message ON tickets_attachments (message_id);

-- Answers that staff give often.
CREATE TABLE tickets_answers (
    id         {{id}},
    title      TEXT   NOT NULL UNIQUE, -- how staff find it
    body       TEXT   NOT NULL,        -- the text
    updated_at BIGINT NOT NULL         -- when it was written
);

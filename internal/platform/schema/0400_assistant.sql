-- +goose Up

-- Conversations of accounts with their assistant, one for each application.
CREATE TABLE assistant_messages (
    id         {{id}},
    account_id BIGINT  NOT NULL, -- whose conversation it is
    application_id BIGINT NOT NULL, -- the application by which it is held
    role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant')), -- who says it
    content    TEXT    NOT NULL, -- what is said, with secrets masked
    sources    TEXT    NOT NULL, -- JSON list: what an answer is from
    handover   BOOLEAN NOT NULL, -- whether an answer leads on to people
    worded     BOOLEAN NOT NULL, -- whether a model worded an answer
    created_at BIGINT  NOT NULL  -- when it was said
);
CREATE INDEX assistant_messages_account ON assistant_messages (account_id, application_id, id);

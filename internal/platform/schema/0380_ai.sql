-- +goose Up

-- How each account uses the AI agent (resources, section 13). An account without a row has it switched off.
CREATE TABLE ai_settings (
    account_id        BIGINT  PRIMARY KEY, -- the account
    enabled           BOOLEAN NOT NULL, -- whether the agent may work on its services
    mode              TEXT    NOT NULL CHECK (mode IN ('suggest', 'ask_before_write', 'autopilot')), -- what it may do without asking
    allowed_tools     TEXT    NOT NULL, -- JSON list of names; empty: all
    allowed_paths     TEXT    NOT NULL, -- JSON list of folders in which it may read and write
    denied_paths      TEXT    NOT NULL, -- JSON list of paths in these that it may not touch
    max_steps         INTEGER NOT NULL, -- the most answers of the model in a run
    monthly_budget    BIGINT  NOT NULL CHECK (monthly_budget >= 0), -- cents that runs of a calendar month may cost
    model             TEXT,             -- the chosen model; NULL: the first that is offered
    language          TEXT,             -- in which it answers; NULL: that of the message
    notify_on_insight BOOLEAN NOT NULL, -- whether the owner is notified of insights
    undo_when_broken  BOOLEAN NOT NULL, -- whether a run takes its changes back when the site does not work after them
    insight_told_at   BIGINT,           -- when the owner was last notified of insights; NULL before
    updated_at        BIGINT  NOT NULL  -- when they were changed last
);

-- Conversations with the agent about a service (resources, section 14).
CREATE TABLE ai_conversations (
    id              {{id}},
    account_id      BIGINT NOT NULL, -- whose service it is
    service_id      BIGINT NOT NULL, -- the service
    title           TEXT   NOT NULL, -- the beginning of its first message
    status          TEXT   NOT NULL CHECK (status IN ('idle', 'running', 'waiting_approval', 'failed')), -- that of its last run
    created_at      BIGINT NOT NULL, -- when it began
    last_message_at BIGINT NOT NULL  -- when something was said last
);
CREATE INDEX ai_conversations_service ON ai_conversations (service_id, account_id, last_message_at, id);
CREATE INDEX ai_conversations_account ON ai_conversations (account_id);
CREATE INDEX ai_conversations_age ON ai_conversations (last_message_at);

-- Runs of the agent, and of the undoing of its changes.
CREATE TABLE ai_runs (
    id              {{id}},
    account_id      BIGINT  NOT NULL, -- whose service it is
    service_id      BIGINT  NOT NULL, -- the service on which it works
    conversation_id BIGINT,           -- its conversation; NULL for an undo, and when the conversation was deleted
    kind            TEXT    NOT NULL CHECK (kind IN ('agent', 'undo')), -- a task of the model, or the undoing of changes
    status          TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'waiting_approval', 'completed', 'failed', 'cancelled')), -- where it stands
    end_reason      TEXT,             -- why it is over; NULL before
    terms           TEXT    NOT NULL, -- JSON object: the settings that held when it began
    epoch           BIGINT  NOT NULL, -- how often a process has taken it; who has an older number may not write
    lease_until     BIGINT  NOT NULL, -- until when a process works on it; others may take it after that
    resumes         INTEGER NOT NULL, -- how often it was taken from a process that had died
    site            TEXT    NOT NULL DEFAULT '', -- how the home page is: empty before it was seen, works, changed (not seen since), broken, unknown
    cancelling      BOOLEAN NOT NULL, -- whether it is to end
    asking          BOOLEAN NOT NULL, -- whether a model was asked that has not answered yet
    lost            INTEGER NOT NULL, -- how many answers were lost with a process
    steps           INTEGER NOT NULL, -- how often the model was asked
    deadline        BIGINT,           -- when its time is over; NULL while it does not work
    time_left       BIGINT  NOT NULL, -- microseconds of work that were left when it last stopped working
    held            BIGINT  NOT NULL CHECK (held >= 0), -- cents that are held for it
    cost            BIGINT  NOT NULL, -- what its steps cost, in pico-USD
    billed          BOOLEAN NOT NULL DEFAULT FALSE, -- whether what it cost is on an invoice
    charged         BIGINT  CHECK (charged BETWEEN 0 AND held), -- cents that it cost; NULL before its end
    input_tokens    BIGINT  NOT NULL, -- that the model read
    output_tokens   BIGINT  NOT NULL, -- that it wrote
    events          BIGINT  NOT NULL, -- the number of its last event
    created_at      BIGINT  NOT NULL, -- when it was asked for
    finished_at     BIGINT,           -- when it ended; NULL before
    CONSTRAINT ai_runs_ended CHECK ((finished_at IS NULL) = (status IN ('queued', 'running', 'waiting_approval'))
        AND (finished_at IS NULL) = (end_reason IS NULL) AND (finished_at IS NULL) = (charged IS NULL))
);
-- A service has one run at a time.
CREATE UNIQUE INDEX ai_runs_open ON ai_runs (service_id) WHERE status IN ('queued', 'running', 'waiting_approval');
CREATE INDEX ai_runs_due ON ai_runs (lease_until) WHERE status IN ('queued', 'running');
CREATE INDEX ai_runs_spent ON ai_runs (account_id, created_at);
CREATE INDEX ai_runs_unbilled ON ai_runs (account_id, finished_at) WHERE NOT billed AND charged > 0;
CREATE INDEX ai_runs_conversation ON ai_runs (conversation_id);
CREATE INDEX ai_runs_age ON ai_runs (created_at);

-- What was said, without secrets.
CREATE TABLE ai_messages (
    id              {{id}},
    conversation_id BIGINT  NOT NULL, -- its conversation
    run_id          BIGINT  NOT NULL, -- the run in which it was said
    role            TEXT    NOT NULL CHECK (role IN ('user', 'assistant', 'tool')), -- who said it
    content         TEXT    NOT NULL, -- the text
    call_id         BIGINT,           -- the call of which it is the result; NULL for what is no result
    failed          BOOLEAN NOT NULL, -- whether it is the result of a call that failed
    created_at      BIGINT  NOT NULL  -- when it was said
);
CREATE INDEX ai_messages_conversation ON ai_messages (conversation_id, id);

-- Tools that the model called.
CREATE TABLE ai_calls (
    id              {{id}},
    conversation_id BIGINT  NOT NULL, -- its conversation
    run_id          BIGINT  NOT NULL, -- its run
    message_id      BIGINT  NOT NULL, -- the message of the model that asked for it
    ref             TEXT    NOT NULL, -- the model's name of the call
    tool            TEXT    NOT NULL, -- the name of the tool, as the model wrote it
    arguments       TEXT    NOT NULL, -- as the model wrote them
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'waiting', 'done', 'failed', 'rejected', 'skipped')), -- where it stands
    malformed       BOOLEAN NOT NULL, -- whether there is no such tool, or the arguments are none of it
    signature       TEXT,             -- hash of tool, arguments and result, by which loops are found; NULL before the result
    summary         TEXT    NOT NULL DEFAULT '', -- the result in a few words
    created_at      BIGINT  NOT NULL, -- when the model asked for it
    finished_at     BIGINT            -- when the result was there; NULL before
);
CREATE INDEX ai_calls_run ON ai_calls (run_id, id);
CREATE INDEX ai_calls_conversation ON ai_calls (conversation_id, id);

-- What a person is asked before a call is done.
CREATE TABLE ai_approvals (
    id         {{id}},
    account_id BIGINT NOT NULL, -- whose service it is
    service_id BIGINT NOT NULL, -- the service
    run_id     BIGINT NOT NULL, -- the run that waits
    call_id    BIGINT NOT NULL, -- the call
    hash       TEXT   NOT NULL, -- hash of the call and of what it changes, from what to what; only exactly this is approved
    tool       TEXT   NOT NULL, -- the tool
    changes    TEXT   NOT NULL, -- JSON list: what it would change, with the differences
    status     TEXT   NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn', 'expired')), -- what became of it
    reason     TEXT,             -- why it was rejected, in the customer's words; NULL without
    expires_at BIGINT NOT NULL, -- when the run stops waiting
    created_at BIGINT NOT NULL, -- when it was asked
    decided_at BIGINT           -- when it was decided; NULL before
);
CREATE UNIQUE INDEX ai_approvals_open ON ai_approvals (run_id) WHERE status = 'pending';
CREATE INDEX ai_approvals_service ON ai_approvals (service_id, account_id, id);
CREATE INDEX ai_approvals_call ON ai_approvals (call_id, id);
CREATE INDEX ai_approvals_account ON ai_approvals (account_id);
CREATE INDEX ai_approvals_expiry ON ai_approvals (expires_at) WHERE status = 'pending';

-- The journal: each change of a customer's files is written here before it is made.
CREATE TABLE ai_changes (
    id          {{id}},
    account_id  BIGINT NOT NULL, -- whose service it is
    service_id  BIGINT NOT NULL, -- the service
    run_id      BIGINT NOT NULL, -- the run that makes it
    call_id     BIGINT,          -- the call that makes it; NULL for an undo
    undo_of     BIGINT,          -- the change that it undoes; NULL for others
    kind        TEXT   NOT NULL CHECK (kind IN ('create', 'edit', 'replace', 'move', 'delete', 'mkdir', 'rmdir', 'extract', 'php')), -- what is done
    path        TEXT   NOT NULL, -- where
    to_path     TEXT   NOT NULL, -- where it goes: of a move, and the place in the trash of what is deleted or extracted; else empty
    before_hash TEXT   NOT NULL, -- what is at the path before; empty: nothing
    after_hash  TEXT   NOT NULL, -- what is at the path after, of a move and a deletion at to_path; empty: nothing
    diff        TEXT   NOT NULL, -- the differences for people, without secrets
    bytes       BIGINT NOT NULL, -- how much is written
    status      TEXT   NOT NULL CHECK (status IN ('prepared', 'applied', 'failed', 'conflict', 'undone')), -- what became of it
    created_at  BIGINT NOT NULL, -- when it was written here
    settled_at  BIGINT           -- when it was made or could not be; NULL before
);
CREATE INDEX ai_changes_run ON ai_changes (run_id, id);
CREATE INDEX ai_changes_service ON ai_changes (service_id, account_id, id);
CREATE INDEX ai_changes_account ON ai_changes (account_id);
CREATE INDEX ai_changes_age ON ai_changes (created_at);

-- Contents of files before and after changes, by which they are made and undone.
CREATE TABLE ai_blobs (
    service_id BIGINT    NOT NULL, -- the service
    hash       TEXT      NOT NULL, -- SHA-256 of the content
    account_id BIGINT    NOT NULL, -- whose service it is
    content    {{bytes}} NOT NULL, -- compressed with gzip
    stored     BIGINT    NOT NULL, -- bytes of that
    kept_until BIGINT    NOT NULL, -- when it may go
    PRIMARY KEY (service_id, hash)
);
CREATE INDEX ai_blobs_account ON ai_blobs (account_id);
CREATE INDEX ai_blobs_age ON ai_blobs (kept_until);

-- What happened in runs, for who watches.
CREATE TABLE ai_events (
    run_id     BIGINT NOT NULL, -- the run
    seq        BIGINT NOT NULL, -- its number in the run, from 1
    type       TEXT   NOT NULL, -- such as tool.started
    data       TEXT   NOT NULL, -- JSON object
    created_at BIGINT NOT NULL, -- when it happened
    PRIMARY KEY (run_id, seq)
);
CREATE INDEX ai_events_age ON ai_events (created_at);

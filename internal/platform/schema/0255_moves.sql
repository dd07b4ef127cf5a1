-- +goose Up

-- Moves of services from one machine to another; a row for each move, kept.
CREATE TABLE moves_moves (
    id           {{id}},
    account_id   BIGINT  NOT NULL, -- the owner's account
    service_id   BIGINT  NOT NULL, -- the service
    -- recover: from a dead machine, out of the newest backup; move: from one that lives, with everything that it has
    kind         TEXT    NOT NULL CHECK (kind IN ('recover', 'move')),
    from_panel   TEXT    NOT NULL, -- the panel that it leaves, such as node:3
    to_panel     TEXT    NOT NULL DEFAULT '', -- the panel that it comes to; empty until room is reserved there
    wanted       TEXT    NOT NULL DEFAULT '', -- name of the node to which the operator wants it; empty for any
    wanted_location TEXT NOT NULL DEFAULT '', -- location to which the operator wants it; empty for any
    wanted_labels TEXT   NOT NULL DEFAULT '{}', -- JSON object: labels of the nodes to which the operator wants it
    empty        BOOLEAN NOT NULL DEFAULT FALSE, -- whether it is made without content where no backup can be had
    backup_id    BIGINT,           -- the backup that it is restored from; NULL while none is chosen, and where there is none
    refused      TEXT    NOT NULL DEFAULT '[]', -- JSON list: ids of backups that cannot be had on the other machine
    epoch        BIGINT,           -- the epoch that begins with it; NULL before the service has moved
    -- what is done next; closed: nothing more
    step         TEXT    NOT NULL CHECK (step IN ('lower', 'plan', 'save', 'adopt', 'check', 'make', 'hold', 'ready', 'commit', 'fill', 'restore',
        'open', 'undo', 'leave', 'keep', 'closed')),
    step_at      BIGINT  NOT NULL, -- when that step began
    tries        BIGINT  NOT NULL DEFAULT 0, -- how often the restore failed; of a move: how many copies were begun before
    pinned       BOOLEAN NOT NULL DEFAULT FALSE, -- whether the former machine keeps it unchanged until it is told otherwise
    failure_key  TEXT,             -- why it failed, or what is in its way now; NULL where nothing is
    cause        TEXT    NOT NULL DEFAULT '', -- the same in detail, for operators
    -- when caches have forgotten the former TTL of its records, so that it may begin; NULL before that is known, and where it does not wait
    lowered_until BIGINT,
    created_at   BIGINT  NOT NULL, -- when it was asked for
    committed_at BIGINT,           -- when the service had moved; NULL before that
    opened_at    BIGINT,           -- when all was restored; NULL before that
    left_at      BIGINT,           -- when the former machine knew of it; NULL before that
    closed_at    BIGINT,           -- when nothing was left to do; NULL before that
    CONSTRAINT moves_moves_committed CHECK ((epoch IS NULL) = (committed_at IS NULL)),
    CONSTRAINT moves_moves_closed CHECK ((step = 'closed') = (closed_at IS NOT NULL))
);
-- A service has one move at a time until all of it is on the other machine, or the move has failed.
CREATE UNIQUE INDEX moves_moves_service ON moves_moves (service_id) WHERE step NOT IN ('undo', 'leave', 'keep', 'closed');
CREATE INDEX moves_moves_open ON moves_moves (id) WHERE step <> 'closed';
CREATE INDEX moves_moves_from ON moves_moves (from_panel) WHERE epoch IS NOT NULL AND step <> 'closed';

-- +goose Up

-- Archives of what is kept about an account, which its owner has asked for; an account has one at most. The file is in
-- exports_parts.
CREATE TABLE exports (
    id           {{id}},
    account_id   BIGINT NOT NULL UNIQUE, -- the account
    status       TEXT   NOT NULL CHECK (status IN ('pending', 'ready', 'failed')), -- pending: a job makes it
    attempt      BIGINT NOT NULL, -- how often making it was begun
    done         BIGINT NOT NULL, -- steps of the attempt that are done
    steps        BIGINT NOT NULL, -- how many there are; 0 before the first attempt
    size         BIGINT NOT NULL, -- of the file, in bytes; 0 before it is ready
    requested_at BIGINT NOT NULL, -- when it was asked for
    ready_at     BIGINT,          -- when it was ready; NULL before that
    expires_at   BIGINT NOT NULL, -- when it is removed
    CONSTRAINT exports_ready CHECK ((status = 'ready') = (ready_at IS NOT NULL))
);
CREATE INDEX exports_expires ON exports (expires_at);

-- Files of archives, in parts of a megabyte.
CREATE TABLE exports_parts (
    export_id BIGINT    NOT NULL REFERENCES exports (id) ON DELETE CASCADE, -- the archive
    number    BIGINT    NOT NULL, -- place in the file, from 0
    content   {{bytes}} NOT NULL, -- the part, sealed
    PRIMARY KEY (export_id, number)
);

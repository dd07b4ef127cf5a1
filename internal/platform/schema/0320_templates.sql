-- +goose Up

-- The last site template that was put on each service. The row says what should be; a job writes the files.
CREATE TABLE templates_installations (
    id          {{id}},
    service_id  BIGINT  NOT NULL UNIQUE, -- the service
    account_id  BIGINT  NOT NULL,        -- its owner's account
    slug        TEXT    NOT NULL,        -- the template
    language    TEXT    NOT NULL,        -- language of its texts
    title       TEXT    NOT NULL,        -- name of the site; empty for the template's own
    directory   TEXT    NOT NULL,        -- where its files go, from the account's home
    overwrite   BOOLEAN NOT NULL,        -- whether files in the way are replaced
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'completed', 'failed')), -- how far the job came
    failure_key TEXT,                    -- why it failed; NULL otherwise
    -- folder in the account's home with what was replaced; empty when nothing was
    kept_in     TEXT    NOT NULL DEFAULT '',
    created_at  BIGINT  NOT NULL,        -- when it was asked for
    finished_at BIGINT                   -- when it was completed or failed; NULL before
);
CREATE INDEX templates_installations_account ON templates_installations (account_id);
-- How many services have each template.
CREATE INDEX templates_installations_used ON templates_installations (status, slug);

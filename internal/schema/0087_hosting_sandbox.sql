-- +goose Up

-- A name lives on one service of each world.
ALTER TABLE hosting_domains ADD COLUMN sandbox BOOLEAN NOT NULL DEFAULT FALSE;
DROP INDEX hosting_domains_name;
CREATE UNIQUE INDEX hosting_domains_name ON hosting_domains (name, sandbox);

-- +goose Up

-- Of how much of each limit the owner of a service was told: an object of percents by the names of the
-- plan's limits.
ALTER TABLE hosting_usage ADD COLUMN told TEXT NOT NULL DEFAULT '{}';

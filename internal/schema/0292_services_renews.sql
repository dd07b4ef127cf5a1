-- +goose Up

-- A reseller's list of what renews before a time leaves out what has ended, of which there is more with every year: the
-- indexes that answer lists know the state too.
DROP INDEX services_account_due;
CREATE INDEX services_account_due ON services (account_id, expires_at, id, status);
DROP INDEX services_account;
CREATE INDEX services_account ON services (account_id, id, expires_at, status);

-- +goose Up

-- For accounts with very many services: each of a list's questions is answered by an index alone. The first is the
-- order in which renewals are due; its condition is record.renewing.
CREATE INDEX services_account_renewing ON services (account_id, expires_at, id, renew_price)
    WHERE auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'));
CREATE INDEX services_account_due ON services (account_id, expires_at, id);
DROP INDEX services_account_expiry;
DROP INDEX services_account;
CREATE INDEX services_account ON services (account_id, id, expires_at);
CREATE INDEX services_account_search ON services (account_id, id, search);

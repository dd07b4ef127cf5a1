-- +goose Up

-- What a period of the plan costs that comes with the next renewal, without add-ons; NULL where none does. The next renewal
-- is that plan's: what the wallet covers is counted with it.
ALTER TABLE services ADD COLUMN pending_price BIGINT CHECK (pending_price >= 0);
DROP INDEX services_account_renewing;
CREATE INDEX services_account_renewing ON services (account_id, expires_at, id, renew_price, pending_price, addon_price)
    WHERE auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'));

-- +goose Up

-- The balance below which a reseller is told is one of the wallet's choices.
INSERT INTO wallet_settings (account_id, low_balance_threshold, low, auto_enabled, auto_state)
SELECT account_id, low_balance_threshold, FALSE, FALSE, 'armed' FROM reseller_settings r
WHERE low_balance_threshold > 0 AND NOT EXISTS (SELECT 1 FROM wallet_settings w WHERE w.account_id = r.account_id);
INSERT INTO wallet_ledger_accounts (kind, owner_id, balance)
SELECT 'customer', account_id, 0 FROM wallet_settings WHERE low_balance_threshold > 0
ON CONFLICT (owner_id, kind, name) DO NOTHING;
UPDATE wallet_ledger_accounts SET watched = TRUE
WHERE kind = 'customer' AND owner_id IN (SELECT account_id FROM wallet_settings WHERE low_balance_threshold > 0);
ALTER TABLE reseller_settings DROP COLUMN low_balance_threshold;

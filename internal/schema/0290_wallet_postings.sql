-- +goose Up

-- Every movement has a leg on one of the company's ledger accounts. Checking that the account is there locks its row,
-- which many share that post at the same time: that is much dearer than the posting itself. Ledger accounts are never
-- deleted.
{{postgres}} ALTER TABLE wallet_postings DROP CONSTRAINT wallet_postings_ledger_account_id_fkey;
